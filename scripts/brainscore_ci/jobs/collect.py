"""Collect the records of all jobs, commit them to a branch, and report missing pairs.

The branch is never forced: after a concurrent push, the records go on top.
"""

from __future__ import annotations

import hashlib
import os
import random
import re
import stat
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from brainscore_ci.jobs.publishable import public_record
from brainscore_ci.planning.checkout import Checkout, read_checkout, read_own_checkout
from brainscore_ci.planning.plan import Plan
from brainscore_ci.planning.shards import pair_shards
from brainscore_ci.reporting.markdown import code, escape, table
from brainscore_ci.reporting.report import SUMMARY_BYTES
from brainscore_ci.reporting.step import append_summary, for_log
from brainscore_core.command_line import FAILED, show
from brainscore_core.errors import BrainScoreError, CorruptFileError, UploadError, count
from brainscore_core.git import environment_of_git, run_git, said
from brainscore_core.identity.software import version_class
from brainscore_core.plugin_management.registrations import constants, parse
from brainscore_core.records.record import MOST_BYTES, ScoreRecord, record_path, values_path
from brainscore_core.records.store import (
    BRANCH_FOLDER,
    RUN_FILE,
    BranchStore,
    RecordStore,
    Run,
    lock_path,
    replaces,
    why_not_again,
)
from brainscore_core.untrusted import shown

if TYPE_CHECKING:
    from brainscore_ci.planning.policy import Policy
    from brainscore_core.processes import Captured
    from brainscore_core.scoring.pairs import Pair

# -- Read uploaded records, as far as the plan asked that very job for them --------------------------------------------

# Files next to records; read only if a record names them.
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
    """Return paths and digests of the files next to a record."""
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


# -- commit the records and report missing pairs -----------------------------------------------------------------------

_MOST_ROWS = 2_000
_TRIES = 12
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
# Messages of git about concurrent changes.
_FASTER = ("fetch first", "non-fast-forward", "cannot lock ref", "failed to update ref", "already exists")
_README = """# Scores

One JSON record for each model and benchmark that was scored: `records/<benchmark>/<model>.json`, with other characters
than letters, digits and ` +=@,()[]_.-` percent-encoded. Beside it may stand the values of single neuroids and subjects,
`<model>.values.npz`, and what was installed, `environment-<digest>.txt`. `run.json` says what the last run has done
that brought a record. Written by the workflow `score`; do not edit.

Who removes records names them in the same commit in `gone.txt`, a model, a benchmark or a pair `<model> <benchmark>` a
line; without that the leaderboard is not built.
"""


@dataclass(frozen=True)
class Collected:
    """Result of collecting a plan's records.

    Problems with other files are safe in a log. `outdated` records are unpublished, since the branch of the plugins no
    longer has their code.
    """

    records: tuple[ScoreRecord, ...]
    missing: tuple[Pair, ...]
    problems: tuple[str, ...]
    outdated: tuple[ScoreRecord, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Whether every pair has a record, and every file is a record."""
        return not self.missing and not self.problems


def collect(
    plan: Plan,
    folder: Path,
    checkout: Checkout,
    branch: str,
    *,
    code_branch: str = "",
    remote: str = "origin",
    token: str = "",
) -> Collected:
    """Read the records of a plan (`read_records`), `publish` them on a branch, and find missing pairs.

    Only records of the current code of `code_branch`, if named, are published, so a late run replaces nothing newer.
    """
    repository, revision_of = checkout.repository, checkout.revision_of
    found, problems = read_records(folder, plan, checkout.policy, revision_of)
    what = f"{len(found)} {'pair' if len(found) == 1 else 'pairs'}"
    message = f"Record {what} of {(plan.head or 'the working tree')[:12]}\n"
    kept = found

    def of_today(git: _Git) -> Sequence[ScoreRecord]:
        nonlocal kept
        kept = (
            {(record.model, record.benchmark): record for record in git.current(found.values(), code_branch)}
            if code_branch
            else found
        )
        return list(kept.values())

    def missing_at(commit: str | None) -> list[Pair]:
        with BranchStore(repository, commit or f"{remote}/{branch}") as store:
            return [pair for pair in plan.pairs if not _is_there(pair, found, store, revision_of)]

    def run_at(parent: str | None) -> Run:
        missing = [(pair.model, pair.benchmark) for pair in missing_at(parent)]
        head = plan.head if plan.head and _COMMIT.fullmatch(plan.head) else None
        return Run.of(found.values(), missing, commit=head, event=plan.event, n_planned=len(plan.pairs))

    beside = read_beside(folder, plan, checkout.policy, found)
    commit = publish(
        of_today, repository, branch, message=message, beside=beside, run=run_at, remote=remote, token=token
    )
    missing = missing_at(commit)
    outdated = tuple(found[key] for key in sorted(found.keys() - kept.keys()))
    return Collected(tuple(kept[key] for key in sorted(kept)), tuple(missing), tuple(problems), outdated)


def _is_there(
    pair: Pair,
    found: Mapping[tuple[str, str], ScoreRecord],
    store: RecordStore,
    revision_of: Callable[[str, str], str | None],
) -> bool:
    if (pair.model, pair.benchmark) in found:
        return True
    revisions = revision_of("model", pair.model), revision_of("benchmark", pair.benchmark)
    return why_not_again(store.get(pair.model, pair.benchmark), *revisions) is not None


def publish(
    records: Sequence[ScoreRecord] | Callable[[_Git], Sequence[ScoreRecord]],
    repository: Path,
    branch: str,
    *,
    message: str,
    beside: Mapping[str, bytes] = MappingProxyType({}),
    run: Callable[[str | None], Run] | None = None,
    remote: str = "origin",
    token: str = "",
) -> str | None:
    """Commit records to a branch of the remote, created if absent; return the commit with the records, if any.

    Raises `UploadError` if the remote is unreachable or refuses, or every attempt meets a concurrent push.

    Parameters
    ----------
    records
        Those that do not replace the existing record (`replaces`) are skipped. A callable is called at each attempt.
    repository
        A checkout; its files, index and branches stay unchanged.
    beside
        Path -> content of files next to records, see `read_beside`.
    run
        Parent commit, or None -> the run to write; written only together with records.
    """
    git = _Git(repository, remote, token)
    for attempt in range(_TRIES):
        if attempt:
            time.sleep(random.uniform(0.2, 1.0) * min(attempt, 5))  # noqa: S311 - so that two do not meet again
        parent = git.fetched(branch)
        commit = git.commit(records(git) if callable(records) else records, parent, message, beside, run)
        if commit == parent or git.pushed(commit, branch):
            return commit
    raise UploadError(
        f"The branch {branch!r} of {remote} was changed by others {_TRIES} times in a row. Run this again."
    )


class _Git:
    """Git without the configuration of a person or checkout, and with the token in its environment."""

    def __init__(self, repository: Path, remote: str, token: str) -> None:
        self.repository = repository
        self.remote = remote
        self._orders: dict[tuple[str, ...], bool] = {}
        self.environment: Mapping[str, str] = os.environ
        address = self.run("remote", "get-url", remote).decode("utf-8", "replace").strip()
        self.environment = environment_of_git(
            os.environ,
            author=("brainscore", "brainscore@users.noreply.github.com"),
            settings={"gc.auto": "0"},
            token=token if address.startswith("https://") else "",
            address="/".join(address.split("/")[:3]) + "/",
        )

    def run(self, *arguments: str, stdin: bytes = b"", index: Path | None = None) -> bytes:
        done = self._done(*arguments, stdin=stdin, index=index)
        if done.status != 0:
            raise self._error(arguments[0], done)
        return done.stdout

    def _done(self, *arguments: str, stdin: bytes = b"", index: Path | None = None) -> Captured:
        own = {} if index is None else {"GIT_INDEX_FILE": str(index)}
        return run_git(self.repository, *arguments, stdin=stdin, environment={**self.environment, **own})

    def _error(self, what: str, done: Captured) -> BrainScoreError:
        return UploadError(f"git {what} failed in {self.repository} ({self.remote}): {said(done)}")

    def fetched(self, branch: str) -> str | None:
        """Fetch a branch of the remote and return its commit, if it exists."""
        listed = self._done("ls-remote", "--exit-code", self.remote, f"refs/heads/{branch}")
        if listed.status == 2:  # --exit-code: no such branch
            return None
        if listed.status != 0:
            raise self._error("ls-remote", listed)
        tracking = f"refs/remotes/{self.remote}/{branch}"
        self.run("fetch", "--quiet", "--no-tags", self.remote, f"+refs/heads/{branch}:{tracking}")
        return self.run("rev-parse", f"{tracking}^{{commit}}").decode().strip()

    def current(self, records: Iterable[ScoreRecord], branch: str) -> list[ScoreRecord]:
        """Return the records of the current plugins and library of a remote branch."""
        commit = self.fetched(branch)
        if commit is None:
            raise UploadError(f"{self.remote} has no branch {branch!r}, so it is not known which records are of today.")
        with tempfile.TemporaryDirectory() as folder:
            index, tree = Path(folder) / "index", Path(folder) / "tree"
            self.run("read-tree", commit, index=index)
            self.run("checkout-index", "--all", f"--prefix={tree.as_posix()}/", index=index)
            current, file = read_checkout(tree), tree / "core/brainscore_core/_version.py"
            version = constants(parse(file.read_bytes())).get("__version__") if file.is_file() else None
            library = version_class(version) if isinstance(version, str) else version_class()
            return [
                record for record in records if code_of(record) == (*revisions_of(record, current.revision_of), library)
            ]

    def is_older(self, new: ScoreRecord, old: ScoreRecord) -> bool:
        """Return whether a record is of an earlier commit than the record it would replace.

        Revisions and the library's release can be equal although the library changed.
        """
        commits = [record.source_revision or "" for record in (new, old)]
        if commits[0] == commits[1] or not all(map(_COMMIT.fullmatch, commits)):
            return False
        if tuple(commits) not in self._orders:
            self._orders[tuple(commits)] = self._done("merge-base", "--is-ancestor", *commits).status == 0
        return self._orders[tuple(commits)]

    def commit(
        self,
        records: Sequence[ScoreRecord],
        parent: str | None,
        message: str,
        beside: Mapping[str, bytes],
        run: Callable[[str | None], Run] | None,
    ) -> str | None:
        """Return a commit with the new records on top of another; `parent` if nothing is new."""
        with BranchStore(self.repository, parent or "") as store:
            existing = [store.get(record.model, record.benchmark) if parent else None for record in records]
        pairs = zip(records, existing, strict=True)
        new = [record for record, old in pairs if replaces(record, old) and not (old and self.is_older(record, old))]
        files = {
            record_path(Path(BRANCH_FOLDER), record.model, record.benchmark).as_posix(): record.to_json().encode()
            for record in new
        }
        paths = [path.as_posix() for record in new for path in beside_of(record)]
        files |= {f"{BRANCH_FOLDER}/{path}": beside[path] for path in paths if path in beside}
        if files and run is not None:
            files[RUN_FILE] = run(parent).to_json().encode()
        if parent is None:
            if not files:
                return None
            files["README.md"] = _README.encode()
        with tempfile.TemporaryDirectory() as folder:
            index = Path(folder) / "index"
            self.run("read-tree", parent or "--empty", index=index)
            written = [Path(folder) / str(number) for number in range(len(files))]
            for file, content in zip(written, files.values(), strict=True):
                file.write_bytes(content)
            listing = "".join(f"{file.as_posix()}\n" for file in written).encode()
            blobs = self.run("hash-object", "-w", "--no-filters", "--stdin-paths", stdin=listing).decode().split()
            rows = "".join(f"100644 {blob}\t{path}\0" for blob, path in zip(blobs, files, strict=True))
            self.run("update-index", "-z", "--index-info", stdin=rows.encode(), index=index)
            tree = self.run("write-tree", index=index).decode().strip()
        self._check_written(tree, {**self._listed(parent), **dict(zip(files, blobs, strict=True))})
        if parent is not None and tree == self.run("rev-parse", f"{parent}^{{tree}}").decode().strip():
            return parent
        parents = [] if parent is None else ["-p", parent]
        return self.run("commit-tree", tree, *parents, stdin=message.encode()).decode().strip()

    def _listed(self, tree: str | None) -> dict[str, str]:
        """Return path -> digest of the content of each file of a tree or commit."""
        listing = "" if tree is None else self.run("ls-tree", "-r", "-z", "--full-tree", tree).decode()
        rows = (row.partition("\t") for row in listing.split("\0")[:-1])
        return {path: head.split()[2] for head, _, path in rows}

    def _check_written(self, tree: str, meant: Mapping[str, str]) -> None:
        """Raise `UploadError` if a tree has unexpected files, or two names that some file systems confuse."""
        written = self._listed(tree).items()
        if written != meant.items():
            differ = ", ".join(sorted({shown(path) for path, _ in written ^ meant.items()})[:3])
            raise UploadError(f"The tree of records would not hold what was meant: {differ} would be lost or changed.")
        spellings: dict[str, str] = {}
        for path in sorted(meant):
            for name in (path.rpartition("/")[0], path):
                other = spellings.setdefault(name.casefold(), name)
                if other != name:
                    raise UploadError(f"{name} differs from {other} by case alone. Rename a model or benchmark.")

    def pushed(self, commit: str | None, branch: str) -> bool:
        """Return whether a commit was pushed; False after a concurrent push."""
        if commit is None:
            return True
        done = self._done("push", "--porcelain", self.remote, f"{commit}:refs/heads/{branch}")
        if done.status == 0:
            return True
        refused = [line for line in done.stdout.decode("utf-8", "replace").splitlines() if line.startswith("!")]
        message = " ".join(refused) + done.stderr.decode("utf-8", "replace")
        if any(reason in message for reason in _FASTER):
            return False
        raise self._error("push", done)


def summary(collected: Collected, plan: Plan) -> str:
    """Return the table of a collection as Markdown; names and messages are untrusted."""
    records = collected.records
    scored = sum(record.is_scored for record in (*records, *collected.outdated))
    lines = [
        f"## Scores: {scored} of {count(len(plan.pairs), 'pair')} scored",
        "",
        *[f"- no record: {code(pair.model)} on {code(pair.benchmark)}" for pair in collected.missing[:_MOST_ROWS]],
        *[f"- {escape(problem)}" for problem in collected.problems[:_MOST_ROWS]],
        *[
            f"- not published: {code(record.model)} on {code(record.benchmark)} is a score of older code"
            for record in collected.outdated[:_MOST_ROWS]
        ],
        "",
    ]
    header = ("model", "benchmark", "status", "score", "± error over new data", "raw", "ceiling")
    failed_first = sorted(records, key=lambda record: not record.status.startswith("failed:"))
    if records:
        above, rows = table(header, (_row(record) for record in failed_first[:_MOST_ROWS]))
        lines += [*above, *rows]
    if len(records) > _MOST_ROWS:
        lines += ["", f"... and {len(records) - _MOST_ROWS} more on the branch."]
    return "\n".join(lines) + "\n"


def _row(record: ScoreRecord) -> tuple[str, ...]:
    numbers = (record.score, record.error, record.raw, record.ceiling)
    message = f": {escape(record.message, 200)}" if record.message else ""
    return (
        code(record.model),
        code(record.benchmark),
        f"{code(record.status)}{message}",
        *("" if number is None else f"{number:.4f}" for number in numbers),
    )


def run(plan: Path, records: Path, branch: str, *, code_branch: str, remote: str) -> int:
    """Run the command `collect`: commit the records of all jobs, and tell GitHub."""
    planned = Plan.read(plan)
    collected = collect(
        *(planned, records, read_own_checkout(Path.cwd()), branch),
        code_branch=code_branch,
        remote=remote,
        token=os.environ.get("GITHUB_TOKEN", ""),
    )
    text = summary(collected, planned)
    show(for_log(text))
    append_summary(text.encode()[:SUMMARY_BYTES].decode(errors="ignore"))
    return 0 if collected.is_complete else FAILED
