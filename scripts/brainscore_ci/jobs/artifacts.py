"""Read uploaded records, as far as the plan asked that very job for them."""

from __future__ import annotations

import hashlib
import re
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from brainscore_ci.jobs.publishable import public_record
from brainscore_ci.planning.shards import pair_shards
from brainscore_core.errors import CorruptFileError
from brainscore_core.records.record import MOST_BYTES, ScoreRecord, record_path, values_path
from brainscore_core.records.store import lock_path, replaces
from brainscore_core.untrusted import shown

if TYPE_CHECKING:
    from brainscore_ci.planning.plan import Plan
    from brainscore_ci.planning.policy import Policy
    from brainscore_core.scoring.pairs import Pair

# Files beside records; read only if a record names them.
_BESIDE = re.compile(r".+\.values\.npz|environment-[0-9a-f]{16}\.txt", re.DOTALL)


def read_records(
    folder: Path, plan: Plan, policy: Policy, revision_of: Callable[[str, str], str | None]
) -> tuple[dict[tuple[str, str], ScoreRecord], list[str]]:
    """Read the records that jobs uploaded; jobs run code of strangers, so only planned records count.

    The folder holds a folder ``records-<i>`` per job, with records at `record_path`; the plan keeps one job from
    forging the result of another. Records of other revisions than ``revision_of('model' or 'benchmark', identifier)``
    are refused. Returns records by (model, benchmark), and problems with other files.
    """
    records: dict[tuple[str, str], ScoreRecord] = {}
    shards = {f"records-{number}": shard for number, shard in enumerate(pair_shards(plan.pairs, policy))}
    problems: list[str] = []
    for artifact in sorted(folder.glob("records-*")):
        if artifact.name not in shards or artifact.is_symlink():
            problems.append(f"{shown(artifact.name)} is of no job of the plan")
            continue
        planned = {(pair.model, pair.benchmark): pair for pair in shards[artifact.name].tasks}
        for file in sorted(artifact.rglob("*")):
            if stat.S_ISDIR(file.lstat().st_mode) or _BESIDE.fullmatch(file.name):
                continue
            try:
                record = _read_record(file, artifact, planned, revision_of)
            except CorruptFileError as error:
                problems.append(f"{artifact.name}: {error}")
                continue
            key = record.model, record.benchmark
            if replaces(record, records.get(key)):
                records[key] = record
    return records, problems


def read_beside(
    folder: Path, plan: Plan, policy: Policy, records: Mapping[tuple[str, str], ScoreRecord]
) -> dict[str, bytes]:
    """Return relative path -> content of the values and locks that public records name by digest."""
    contents: dict[str, bytes] = {}
    for number, shard in enumerate(pair_shards(plan.pairs, policy)):
        for pair in shard.tasks:
            record = records.get((pair.model, pair.benchmark))
            if record is None or pair.private:
                continue
            for path, digest in beside_of(record).items():
                content = _content(folder / f"records-{number}" / path)
                if hashlib.sha256(content).hexdigest() == digest:
                    contents[path.as_posix()] = content
    return contents


def beside_of(record: ScoreRecord) -> dict[Path, str]:
    """Return paths and digests of the files beside a record."""
    path = record_path(Path(), record.model, record.benchmark)
    values = {values_path(path): record.values} if record.values else {}
    locks = [digest for digest in (record.environment, record.candidate_environment) if digest]
    return values | {lock_path(path, digest): digest for digest in locks}


def _content(file: Path) -> bytes:
    try:
        status = file.lstat()
        return file.read_bytes() if stat.S_ISREG(status.st_mode) and status.st_size <= MOST_BYTES else b""
    except OSError:
        return b""


def _read_record(
    file: Path, artifact: Path, planned: Mapping[tuple[str, str], Pair], revision_of: Callable[[str, str], str | None]
) -> ScoreRecord:
    """Read one record of a job's pairs, without private parts."""
    where = shown(file.relative_to(artifact).as_posix())
    status = file.lstat()
    if not stat.S_ISREG(status.st_mode) or status.st_size > MOST_BYTES or file.suffix != ".json":
        raise CorruptFileError(f"{where} is no record: not a JSON file of at most {MOST_BYTES // 2**20} MiB")
    try:
        record = ScoreRecord.from_json(file.read_bytes(), where)
    except CorruptFileError as error:
        raise CorruptFileError(shown(str(error))) from error
    pair = planned.get((record.model, record.benchmark))
    if pair is None or file.relative_to(artifact) != record_path(Path(), pair.model, pair.benchmark):
        raise CorruptFileError(f"{where} is the record of a pair that is not planned for this job, or lies elsewhere")
    if code_of(record)[:2] != revisions_of(record, revision_of):
        raise CorruptFileError(f"{where} is of other code than the checkout")
    return public_record(record, revision_of) if pair.private else record


def revisions_of(record: ScoreRecord, revision_of: Callable[[str, str], str | None]) -> tuple[str | None, str | None]:
    """Return the current revisions of a record's model and benchmark."""
    return revision_of("model", record.model), revision_of("benchmark", record.benchmark)


def code_of(record: ScoreRecord) -> tuple[str | None, str | None, str]:
    """Return the revisions of a record's model and benchmark, and its version class of the library."""
    return record.model_revision, record.benchmark_revision, record.version_class
