"""Collect the records of all jobs that score, keep them on a branch, and say what is missing.

The branch has its own history (records only), one commit for each collection, and is never forced: where somebody else
was faster, the records are put on top of what is there now.
"""

from __future__ import annotations

import os
import random
import stat
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from brainscore_ci.reporting.markdown import code, escape, table
from brainscore_core.errors import BrainScoreError, CorruptFileError, UploadError
from brainscore_core.git import environment_of_git, run_git, said
from brainscore_core.scoring.records import MOST_BYTES, ScoreRecord, record_path
from brainscore_core.scoring.store import BranchStore, Store, replaces, why_not_again
from brainscore_core.untrusted import shown

if TYPE_CHECKING:
    from brainscore_ci.planning.plan import Pair, Plan
    from brainscore_core.processes import Captured

__all__ = ["Collected", "collect", "publish", "read_records", "summary"]

_MOST_ROWS = 2_000
_TRIES = 12
# What git says where the branch has changed since it was fetched, or changes right now.
_FASTER = ("fetch first", "non-fast-forward", "cannot lock ref", "failed to update ref", "already exists")
_README = """# Scores

One JSON record for each model and benchmark that was scored: `<benchmark>/<model>.json`, with other characters than
letters, digits and ` +=@,()[]_.-~` percent-encoded. Written by the workflow `score`; do not edit.
"""


@dataclass(frozen=True)
class Collected:
    """What became of a plan.

    Attributes
    ----------
    records : tuple of ScoreRecord
        Of pairs of the plan, sorted.
    missing : tuple of Pair
        Pairs of the plan without a record.
    problems : tuple of str
        What is wrong with other files; harmless in a log.
    """

    records: tuple[ScoreRecord, ...]
    missing: tuple[Pair, ...]
    problems: tuple[str, ...]

    @property
    def is_complete(self) -> bool:
        """Whether every pair has a record, and every file is one."""
        return not self.missing and not self.problems


def read_records(
    folder: Path, plan: Plan, revision_of: Callable[[str, str], str | None]
) -> tuple[dict[tuple[str, str], ScoreRecord], list[str]]:
    """Read the records that jobs have left; jobs run code of strangers, so only what is as planned counts.

    Parameters
    ----------
    folder : Path
        Records lie at `record_path`, or below a folder for each artifact.
    plan : Plan
        Records of other pairs are refused.
    revision_of : callable
        ``revision_of('model' or 'benchmark', identifier)``: records of other code are refused.

    Returns
    -------
    dict of (str, str) to ScoreRecord
    list of str
        What is wrong with the other files.
    """
    planned = {(pair.model, pair.benchmark) for pair in plan.pairs}
    found: dict[tuple[str, str], ScoreRecord] = {}
    problems: list[str] = []
    for file in sorted(folder.rglob("*")):
        status = file.lstat()
        if stat.S_ISDIR(status.st_mode):
            continue
        where = shown(file.relative_to(folder).as_posix())
        if not stat.S_ISREG(status.st_mode) or status.st_size > MOST_BYTES or file.suffix != ".json":
            problems.append(f"{where} is no record: not a JSON file of at most {MOST_BYTES // 2**20} MiB")
            continue
        try:
            record = ScoreRecord.from_json(file.read_bytes(), where)
        except CorruptFileError as error:
            problems.append(shown(str(error)))
            continue
        key = record.model, record.benchmark
        if key not in planned or file.parts[-2:] != record_path(Path(), *key).parts:
            problems.append(f"{where} is the record of a pair that is not planned, or lies elsewhere")
        elif (record.model_revision, record.benchmark_revision) != (
            revision_of("model", record.model),
            revision_of("benchmark", record.benchmark),
        ):
            problems.append(f"{where} is of other code than what is checked out")
        elif replaces(record, found.get(key)):
            found[key] = record
    return found, problems


def collect(
    plan: Plan,
    folder: Path,
    repository: Path,
    branch: str,
    revision_of: Callable[[str, str], str | None],
    *,
    remote: str = "origin",
    token: str = "",
) -> Collected:
    """Read the records of a plan, publish them on a branch (see `publish`), and tell what is missing.

    Raises
    ------
    UploadError
        If the branch cannot be written.
    """
    found, problems = read_records(folder, plan, revision_of) if folder.is_dir() else ({}, [])
    what = f"{len(found)} {'pair' if len(found) == 1 else 'pairs'}"
    message = f"Record {what} of {(plan.head or 'the working tree')[:12]}\n"
    commit = publish(list(found.values()), repository, branch, message=message, remote=remote, token=token)
    with BranchStore(repository, commit or f"{remote}/{branch}") as store:
        missing = [pair for pair in plan.pairs if not _is_there(pair, found, store, revision_of)]
    records = tuple(found[key] for key in sorted(found))
    return Collected(records, tuple(missing), tuple(problems))


def _is_there(
    pair: Pair,
    found: Mapping[tuple[str, str], ScoreRecord],
    store: Store,
    revision_of: Callable[[str, str], str | None],
) -> bool:
    """Tell whether a pair has a record, from this attempt or from an earlier one of the same run."""
    if (pair.model, pair.benchmark) in found:
        return True
    revisions = revision_of("model", pair.model), revision_of("benchmark", pair.benchmark)
    return why_not_again(store.get(pair.model, pair.benchmark), *revisions) is not None


def publish(
    records: Sequence[ScoreRecord],
    repository: Path,
    branch: str,
    *,
    message: str,
    remote: str = "origin",
    token: str = "",
) -> str | None:
    """Commit records to a branch of the remote, and make the branch if there is none.

    Parameters
    ----------
    records : sequence of ScoreRecord
        Those that do not take the place of what is there (`replaces`) are left out.
    repository : Path
        A checkout; neither its files nor its index nor its branches change.
    message : str
        Of the commit.
    token : str
        Which the remote is reached with, if it is reached by https.

    Returns
    -------
    str or None
        The commit that holds the records; None if there is neither a branch nor a record. Where nothing is new,
        nothing is committed.

    Raises
    ------
    UploadError
        If the remote cannot be reached or refuses, or others are always faster.
    """
    git = _Git(repository, remote, token)
    for attempt in range(_TRIES):
        if attempt:
            time.sleep(random.uniform(0.2, 1.0) * min(attempt, 5))  # noqa: S311 - so that two do not meet again
        parent = git.fetched(branch)
        commit = git.commit(records, parent, message)
        if commit == parent or git.pushed(commit, branch):
            return commit
    raise UploadError(
        f"The branch {branch!r} of {remote} was changed by others {_TRIES} times in a row. Run this again."
    )


class _Git:
    """Git, without what a person or a checkout has configured beside, and with the token in the environment."""

    def __init__(self, repository: Path, remote: str, token: str) -> None:
        self.repository = repository
        self.remote = remote
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
        """Return the commit of a branch of the remote, brought here; None if there is no such branch."""
        listed = self._done("ls-remote", "--exit-code", self.remote, f"refs/heads/{branch}")
        if listed.status == 2:  # what --exit-code gives where there is none
            return None
        if listed.status != 0:
            raise self._error("ls-remote", listed)
        tracking = f"refs/remotes/{self.remote}/{branch}"
        self.run("fetch", "--quiet", "--no-tags", self.remote, f"+refs/heads/{branch}:{tracking}")
        return self.run("rev-parse", f"{tracking}^{{commit}}").decode().strip()

    def commit(self, records: Sequence[ScoreRecord], parent: str | None, message: str) -> str | None:
        """Return a commit with the records on top of another; that one if nothing is new."""
        with BranchStore(self.repository, parent or "") as store:
            known = [store.get(each.model, each.benchmark) if parent else None for each in records]
        new = [each for each, old in zip(records, known, strict=True) if replaces(each, old)]
        files = {record_path(Path(), each.model, each.benchmark).as_posix(): each.to_json() for each in new}
        if parent is None:
            if not files:
                return None
            files["README.md"] = _README
        with tempfile.TemporaryDirectory() as folder:
            index = Path(folder) / "index"
            self.run("read-tree", parent or "--empty", index=index)
            written = [Path(folder) / str(number) for number in range(len(files))]
            for file, text in zip(written, files.values(), strict=True):
                file.write_text(text, encoding="utf-8", newline="\n")
            paths = "".join(f"{file.as_posix()}\n" for file in written).encode()
            blobs = self.run("hash-object", "-w", "--no-filters", "--stdin-paths", stdin=paths).decode().split()
            rows = "".join(f"100644 {blob}\t{path}\0" for blob, path in zip(blobs, files, strict=True))
            self.run("update-index", "-z", "--index-info", stdin=rows.encode(), index=index)
            tree = self.run("write-tree", index=index).decode().strip()
        if parent is not None and tree == self.run("rev-parse", f"{parent}^{{tree}}").decode().strip():
            return parent
        parents = [] if parent is None else ["-p", parent]
        return self.run("commit-tree", tree, *parents, stdin=message.encode()).decode().strip()

    def pushed(self, commit: str | None, branch: str) -> bool:
        """Tell whether a commit is the branch of the remote now; False if somebody else was faster."""
        if commit is None:
            return True
        done = self._done("push", "--porcelain", self.remote, f"{commit}:refs/heads/{branch}")
        if done.status == 0:
            return True
        refused = [line for line in done.stdout.decode("utf-8", "replace").splitlines() if line.startswith("!")]
        told = " ".join(refused) + done.stderr.decode("utf-8", "replace")
        if any(reason in told for reason in _FASTER):
            return False
        raise self._error("push", done)


def summary(collected: Collected, plan: Plan) -> str:
    """Return the table of a collection as Markdown; names and messages may come from anybody."""
    records = collected.records
    scored = sum(record.is_scored for record in records)
    lines = [
        f"## Scores: {scored} of {len(plan.pairs)} pairs scored",
        "",
        *[f"- no record: {code(pair.model)} on {code(pair.benchmark)}" for pair in collected.missing[:_MOST_ROWS]],
        *[f"- {escape(problem)}" for problem in collected.problems[:_MOST_ROWS]],
        "",
    ]
    header = ("model", "benchmark", "status", "score", "± standard error", "raw", "ceiling")
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
