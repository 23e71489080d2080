"""Write records and the summary of a scoring run, and find reusable records in a folder or on a branch of git."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Annotated, Protocol

from pydantic import Field, Strict, TypeAdapter

from brainscore_core.errors import CorruptFileError, RecordsError
from brainscore_core.files import atomic_path
from brainscore_core.git import BlobReader, ask_git
from brainscore_core.identity import software
from brainscore_core.identity.digest import text_digest
from brainscore_core.records.record import MOST_BYTES, ScoreRecord, record_path, values_path
from brainscore_core.untrusted import MOST_BYTES as MOST_RUN_BYTES
from brainscore_core.untrusted import Count, Line, Name, Untrusted, at_most, matching, read, read_start, text

__all__ = [
    "BRANCH_FOLDER",
    "RUN_FILE",
    "BranchStore",
    "FolderStore",
    "RecordStore",
    "Run",
    "is_recorded",
    "keep",
    "keep_lock",
    "lock_path",
    "read_lock_of",
    "replaces",
    "reuse",
    "why_not_again",
]


_SHOWN = 5  # problems in a message
BRANCH_FOLDER = "records"
"""Folder of a branch with all its records, so no identifier can collide with another file of the branch."""


def keep(record: ScoreRecord, path: Path, values: bytes = b"", lock: str = "", candidate_lock: str = "") -> ScoreRecord:
    """Write the files whose digests a record names, then the record, each whole or not at all.

    Parameters
    ----------
    values
        Content of `brainscore_core.records.values`; dropped from the returned record if its digest differs.
    lock, candidate_lock
        Installed names and versions (`software.installed`), and the same for the model's own environment; written once
        in each folder.

    Raises `CorruptFileError` if the record contradicts itself, see `ScoreRecord.from_json`.
    """
    content = record.checked_json()  # before anything is written
    for names, digest in (lock, record.environment), (candidate_lock, record.candidate_environment):
        if digest and text_digest(names) == digest:
            keep_lock(path, names)
    if not record.values or hashlib.sha256(values).hexdigest() != record.values:
        record = dataclasses.replace(record, values=None)
        record.write(path)
        return record
    # Neither replaces an older one before there is room for both.
    with atomic_path(path) as temporary:
        temporary.write_text(content, encoding="utf-8")
        with atomic_path(values_path(path)) as beside:
            beside.write_bytes(values)
    return record


def keep_lock(record: Path, lock: str) -> str:
    """Write a lock to its `lock_path`, unless it exists, and return its digest."""
    digest = text_digest(lock)
    path = lock_path(record, digest)
    if not path.is_file():
        with atomic_path(path) as temporary:
            temporary.write_text(lock, encoding="utf-8", newline="\n")
    return digest


def read_lock_of(record: Path, environment: str) -> str | None:
    """Return the lock with a digest, next to a record; None if the file is missing or holds another lock."""
    try:
        content = read_start(lock_path(record, environment), MOST_BYTES).decode("utf-8")
    except (OSError, ValueError):
        return None
    return content if text_digest(content) == environment else None


def lock_path(record: Path, environment: str) -> Path:
    """Return the path of a lock next to a record: ``environment-<start of its digest>.txt``."""
    return record.with_name(f"environment-{environment[:16]}.txt")


class RecordStore(Protocol):
    """A source of records."""

    def get(self, model: str, benchmark: str) -> ScoreRecord | None:
        """Return a pair's record; None if there is no readable one."""


class FolderStore:
    """A folder of records at their `record_path`; it need not exist."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def get(self, model: str, benchmark: str) -> ScoreRecord | None:
        """See `RecordStore.get`."""
        try:
            record = ScoreRecord.read(record_path(self.folder, model, benchmark))
        except OSError:  # CorruptFileError is one
            return None
        return record if (record.model, record.benchmark) == (model, benchmark) else None

    def __iter__(self) -> Iterator[ScoreRecord]:
        """Yield all readable records, sorted by file."""
        return (record for record, _ in self._files() if record is not None)

    def whole(self) -> list[ScoreRecord]:
        """Return all records, sorted by file.

        Raises `RecordsError` with the reasons if files are unreadable or not at the place of their record.
        """
        found = list(self._files())
        if problems := [problem for _, problem in found if problem]:
            shown = problems[:_SHOWN] + [f"... and {len(problems) - _SHOWN} more"] * (len(problems) > _SHOWN)
            raise RecordsError(
                f"Not every file in {self.folder} is a record. Score those pairs again, or move the files away:\n"
                + "\n".join(shown)
            )
        return [record for record, _ in found if record is not None]

    def _files(self) -> Iterator[tuple[ScoreRecord | None, str]]:
        """Yield each file's record, or None and why it is not a record."""
        for file in sorted(self.folder.glob("*/*.json")):
            try:
                record = ScoreRecord.read(file)
            except OSError as error:
                yield None, str(error)
                continue
            place = record_path(self.folder, record.model, record.benchmark)
            yield (record, "") if place == file else (None, f"{file} is a record that belongs at {place}")


class BranchStore:
    """Records in the `BRANCH_FOLDER` of a branch, if it exists, read from git's object store; a context manager."""

    def __init__(self, repository: Path, branch: str) -> None:
        self.branch = branch
        self._repository = repository

    @cached_property
    def _blobs(self) -> BlobReader:
        return BlobReader(self._repository)

    @cached_property
    def _exists(self) -> bool:
        return self._content("") is not None

    def get(self, model: str, benchmark: str) -> ScoreRecord | None:
        """See `RecordStore.get`."""
        if not self._exists:
            return None
        content = self._content(record_path(Path(BRANCH_FOLDER), model, benchmark).as_posix())
        try:
            record = ScoreRecord.from_json(content or b"")
        except CorruptFileError:
            return None
        return record if (record.model, record.benchmark) == (model, benchmark) else None

    def pairs_of(self, owners: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
        """Return (model, benchmark) with a record, among known ('model' or 'benchmark', identifier)."""
        if not self._exists:
            return []
        path = Path(BRANCH_FOLDER)
        names = {(kind, record_path(path, name, name).stem): name for kind, name in owners if kind == "model"}
        names |= {(kind, record_path(path, "", name).parent.name): name for kind, name in owners if kind == "benchmark"}
        listed = ask_git(
            self._repository, "ls-tree", "-r", "-z", "--name-only", "--full-tree", self.branch, BRANCH_FOLDER
        )
        files = [Path(file) for file in listed.decode("utf-8", "surrogateescape").split("\0") if file.endswith(".json")]
        pairs = ((names.get(("model", file.stem)), names.get(("benchmark", file.parent.name))) for file in files)
        return [(model, benchmark) for model, benchmark in pairs if model is not None and benchmark is not None]

    def _content(self, path: str) -> bytes | None:
        """Return a file's content, cut if it is too large; paths have encoded identifiers."""
        return self._blobs.read(f"{self.branch}:{path}", MOST_BYTES + 1)

    def close(self) -> None:
        """End the reading program, which the first question started."""
        if "_blobs" in vars(self):
            self._blobs.close()

    def __enter__(self) -> BranchStore:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def why_not_again(
    record: ScoreRecord | None,
    model_revision: str | None,
    benchmark_revision: str | None,
    *,
    with_private: bool = False,
) -> str | None:
    """Return why a pair need not be scored again; None otherwise, and for a pair that failed.

    `with_private`: private data are available, so pairs skipped without them are tried again.
    """
    if record is None or not _is_current(record, (model_revision, benchmark_revision)):
        return None
    if record.is_scored:
        how = "scored" if record.status == "scored" else "found not applicable"
        return f"{how} on {record.created_in_utc[:10]} with the same code and library {record.version_class}"
    if record.status.startswith("skipped:") and not with_private:
        return f"skipped before: {record.status.removeprefix('skipped:')}"
    return None


def _is_current(record: ScoreRecord, revisions: tuple[str | None, str | None]) -> bool:
    current = (*revisions, software.version_class())
    return None not in revisions and current == (record.model_revision, record.benchmark_revision, record.version_class)


def is_recorded(store: RecordStore, revision_of: Callable[[str, str], str | None]) -> Callable[[str, str], bool]:
    """Return the function that says whether a pair has a record of the present code, failed or not."""

    def has_record(model: str, benchmark: str) -> bool:
        record = store.get(model, benchmark)
        revisions = revision_of("model", model), revision_of("benchmark", benchmark)
        return record is not None and _is_current(record, revisions)

    return has_record


def reuse(
    stores: Sequence[RecordStore], revision_of: Callable[[str, str], str | None], *, with_private: bool = False
) -> Callable[[str, str], str | None]:
    """Return the function ``is_scored(model, benchmark)`` for planning and scoring, see `why_not_again`.

    ``revision_of('model' or 'benchmark', identifier)`` returns the present revision.
    """

    def is_scored(model: str, benchmark: str) -> str | None:
        for store in stores:
            record = store.get(model, benchmark)
            if record is not None:
                revisions = revision_of("model", model), revision_of("benchmark", benchmark)
                reason = why_not_again(record, *revisions, with_private=with_private)
                if reason is not None:
                    return reason
        return None

    return is_scored


def replaces(new: ScoreRecord, old: ScoreRecord | None) -> bool:
    """Return whether a record replaces another one of the same pair.

    A score replaces any record; a failure replaces a score of other code (with the same code, the machine failed); a
    skipped pair only a skipped one.
    """
    if old is None or new.is_scored or old.status.startswith("skipped:"):
        return True
    if new.status.startswith("skipped:"):
        return False
    code = (new.model_revision, new.benchmark_revision, new.version_class)
    return not old.is_scored or code != (old.model_revision, old.benchmark_revision, old.version_class)


# -- the last scoring run ----------------------------------------------------------------------------------------------
#
# Summarise the last scoring run in one JSON file, next to the folders of records.


RUN_FILE = "run.json"

_MOST_MISSING = 1_000
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", re.ASCII)
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}", re.ASCII)

_Time = Annotated[str, text(40), matching(_TIME, "a time such as 2026-10-03T08:00:00+00:00")]
_Commit = Annotated[str, text(64), matching(_COMMIT, "a commit in hexadecimal digits")]
_Seconds = Annotated[float, Strict(), Field(ge=0, le=1e12)]


@dataclass(frozen=True, kw_only=True)
class Run(Untrusted):
    """Plan and results of a scoring run for one commit."""

    commit: _Commit | None  # None: uncommitted code
    # Trigger, such as ``'push'`` for a merge. Start of the first pair and end of the last one: UTC, ISO 8601. None
    # without a record.
    event: Name
    started: _Time | None
    finished: _Time | None
    duration_s: _Seconds  # sum over all pairs, which may have run in parallel
    # Number of planned pairs and of new records
    n_planned: Count
    n_records: Count
    n_missing: Count  # planned pairs without any record, old or new
    # Models and benchmarks of the first 1,000 of them
    missing: Annotated[tuple[tuple[Line, Line], ...], at_most(_MOST_MISSING)]

    @classmethod
    def of(
        cls,
        records: Iterable[ScoreRecord],
        missing: Sequence[tuple[str, str]],
        *,
        commit: str | None,
        event: str,
        n_planned: int,
    ) -> Run:
        """Summarise the new records and the models and benchmarks of all planned pairs without a record."""
        new_records = list(records)
        took = [timedelta(seconds=max(0.0, min(record.duration_s or 0.0, 1e9))) for record in new_records]
        ends = [_time(record.created) for record in new_records]
        spans = [(end - spent, end) for end, spent in zip(ends, took, strict=True) if end is not None]
        return cls(
            commit=commit,
            event=event,
            started=_written(min(start for start, _ in spans)) if spans else None,
            finished=_written(max(end for _, end in spans)) if spans else None,
            duration_s=round(sum(took, timedelta()).total_seconds(), 1),
            n_planned=n_planned,
            n_records=len(new_records),
            n_missing=len(missing),
            missing=tuple(missing[:_MOST_MISSING]),
        )

    def to_json(self) -> str:
        """Return the content of the file."""
        return json.dumps(dataclasses.asdict(self), indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, data: str | bytes) -> Run:
        """Read what `to_json` wrote; raise `CorruptFileError` for anything else."""
        return read(_RUN, data, "run", MOST_RUN_BYTES)


_RUN = TypeAdapter(Run)


def _time(value: str) -> datetime | None:
    """Return the time in a record, which may be any text; None if invalid or outside 2000-2199."""
    try:
        time = datetime.fromisoformat(value)
        time = time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return time if 2000 <= time.year < 2200 else None


def _written(at: datetime) -> str:
    return at.isoformat(timespec="seconds")
