"""Score pairs one after the other, each in a process of its own, so that none can take the others down.

`run_pair` is the seam: whoever wants pairs scored elsewhere (in an isolated worker, on a cluster) gives `run_pairs`
another function of the same form.
"""

from __future__ import annotations

import dataclasses
import os
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from brainscore_core.errors import BrainScoreError, CorruptFileError
from brainscore_core.processes import Ended, run_bounded, scrub
from brainscore_core.scoring import provenance
from brainscore_core.scoring._secrets import environment_of, secrets_of
from brainscore_core.scoring.records import ScoreRecord, record_path

__all__ = ["Limits", "PairOutcome", "PairTask", "Runner", "UnscoredPair", "has_private_data", "run_pair", "run_pairs"]

_MOST_MESSAGE, _MOST_LINES, _MOST_BYTES = 1_000, 12, 2**20
_LEAST_S = 5.0  # a pair is not started with less time than that


class PairTask(Protocol):
    """A model to score on a benchmark, and what that takes; `brainscore_ci.planning.plan.Pair` is one."""

    @property
    def model(self) -> str:
        """Identifier."""

    @property
    def benchmark(self) -> str:
        """Identifier."""

    @property
    def minutes(self) -> float:
        """What it takes, about."""

    @property
    def memory_gb(self) -> float:
        """What it takes, about."""

    @property
    def private(self) -> bool:
        """Whether the benchmark needs private data."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How much more than planned a pair may take.

    Attributes
    ----------
    time, memory : float
        Times what was planned.
    least_minutes, least_memory_gb : float
        What every pair is given: weights and data may have to be fetched, and a learning framework be loaded.
    most_minutes : float
        What is left for it.
    """

    time: float = 4.0
    memory: float = 2.0
    least_minutes: float = 10.0
    least_memory_gb: float = 4.0
    most_minutes: float = float("inf")

    def seconds(self, pair: PairTask) -> float:
        """Return when a pair is stopped."""
        return 60 * min(self.most_minutes, max(self.least_minutes, self.time * pair.minutes))

    def memory_bytes(self, pair: PairTask) -> float:
        """Return with how much memory a pair is stopped."""
        return 1e9 * max(self.least_memory_gb, self.memory * pair.memory_gb)


@dataclass(frozen=True)
class PairOutcome:
    """A record, and what was said on the way to it, without secrets."""

    record: ScoreRecord
    output: str = ""


class Runner(Protocol):
    """What scores one pair: `run_pair`, or something else of that form."""

    def __call__(self, pair: PairTask, library: str, limits: Limits) -> PairOutcome:
        """Return the record of a pair, be it that it failed."""


def has_private_data(environment: Mapping[str, str] | None = None) -> bool:
    """Tell whether there are credentials for private data: variables of AWS that say who asks."""
    names = ("AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_ROLE_ARN", "AWS_WEB_IDENTITY_TOKEN_FILE")
    return any((os.environ if environment is None else environment).get(name) for name in names)


def run_pair(
    pair: PairTask,
    library: str,
    limits: Limits = Limits(),
    *,
    environment: Mapping[str, str] | None = None,
    python: str = sys.executable,
) -> PairOutcome:
    """Score a pair with the scoring command of a library, in a process of its own.

    The process gets no credentials, but for those that read private data if the pair is private; it is ended with
    everything it started when it takes too long or too much memory.

    Parameters
    ----------
    library : str
        Package with the command line, such as ``'mylibrary'``.
    environment : mapping of str to str, optional
        To choose the environment variables from; None: those of this process.
    python : str
        Interpreter.

    Returns
    -------
    PairOutcome
        Its record says 'scored', or 'failed:<class>' with the class of the error; 'failed:Timeout',
        'failed:MemoryLimit', 'failed:<signal>' or 'failed:Exit<status>' if the process ended otherwise;
        'failed:NoRecord' if it ended well without the record of this pair.
    """
    surroundings = os.environ if environment is None else environment
    secrets = secrets_of(surroundings)
    with tempfile.TemporaryDirectory(prefix="brainscore-pair-") as name:
        folder = Path(name)
        files = {"record": folder / "record.json", "failure": folder / "failure.json"}
        command = [
            *(python, "-m", library, "score"),
            *(f"--model_identifier={pair.model}", f"--benchmark_identifier={pair.benchmark}"),
            *(f"--{option}={file}" for option, file in files.items()),
        ]
        try:
            ended = run_bounded(
                command,
                environment=environment_of(surroundings, with_aws=pair.private),
                folder=folder,
                timeout_s=limits.seconds(pair),
                memory_bytes=limits.memory_bytes(pair),
                secrets=secrets,
            )
        except (OSError, ValueError) as error:  # ValueError: an identifier holds what no argument can
            return PairOutcome(_failed(pair, "NotStarted", str(error)))
        record = _record(pair, ended, files, limits)
    return PairOutcome(dataclasses.replace(record, message=scrub(record.message, secrets)), ended.output)


def _record(pair: PairTask, ended: Ended, files: Mapping[str, Path], limits: Limits) -> ScoreRecord:
    """Return the record that a process has written, or the one that says how it failed."""
    if ended.problem is None:
        record = _read(files["record"], pair)
        is_score = record is not None and record.is_scored
        return record if record and is_score else _failed(pair, "NoRecord", _last_lines(ended), ended.seconds)
    if ended.stopped == "Timeout":
        message = f"stopped after {limits.seconds(pair) / 60:.1f} minutes; {pair.minutes:g} were planned"
        return _failed(pair, ended.problem, message, ended.seconds)
    if ended.stopped == "MemoryLimit":
        message = f"stopped at {limits.memory_bytes(pair) / 1e9:.1f} GB of memory; {pair.memory_gb:g} were planned"
        return _failed(pair, ended.problem, message, ended.seconds)
    record = _read(files["failure"], pair) if ended.status > 0 else None
    if record is not None and record.status.startswith("failed:"):
        return record
    return _failed(pair, ended.problem, _last_lines(ended), ended.seconds)


def _read(file: Path, pair: PairTask) -> ScoreRecord | None:
    """Return the record that a process has written; None unless it is a record of the pair in a file of its own."""
    try:
        status = file.lstat()
        if not stat.S_ISREG(status.st_mode) or status.st_size > _MOST_BYTES:
            return None
        record = ScoreRecord.read(file)
    except (CorruptFileError, OSError):
        return None
    return record if (record.model, record.benchmark) == (pair.model, pair.benchmark) else None


def _failed(pair: PairTask, problem: str, message: str = "", duration_s: float | None = None) -> ScoreRecord:
    return ScoreRecord.without_score(
        f"failed:{problem}", message, model=pair.model, benchmark=pair.benchmark, duration_s=duration_s
    )


def _last_lines(ended: Ended) -> str:
    lines = [line for line in ended.output.splitlines() if line.strip()]
    return "\n".join(lines[-_MOST_LINES:])[-_MOST_MESSAGE:]


# -- many pairs --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class UnscoredPair:
    """A pair that has no new record, and why."""

    pair: PairTask
    reason: str
    is_fine: bool


def run_pairs(
    pairs: Iterable[PairTask],
    records: Path,
    *,
    library_of: Callable[[PairTask], str],
    revision_of: Callable[[str, str], str | None] = lambda kind, identifier: None,  # noqa: ARG005 - a default that knows none
    is_scored: Callable[[str, str], str | None] = lambda model, benchmark: None,  # noqa: ARG005 - the same
    with_private: bool | None = None,
    minutes: float = float("inf"),
    limits: Limits = Limits(),
    run: Runner = run_pair,
    tell: Callable[[PairTask, PairOutcome], object] = lambda pair, ran: None,  # noqa: ARG005 - a default that says nothing
) -> tuple[list[ScoreRecord], list[UnscoredPair]]:
    """Score pairs and write each record as soon as it is there; nothing that happens to one keeps another back.

    Parameters
    ----------
    records : Path
        Folder of the records, see `record_path`.
    library_of : callable
        Returns the package whose command line scores a pair.
    revision_of : callable
        ``revision_of('model' or 'benchmark', identifier)`` returns the digest that the record keeps.
    is_scored : callable
        ``is_scored(model, benchmark)`` returns why a pair need not be scored again, or None.
    with_private : bool, optional
        Whether private pairs are scored; None: if there are credentials. Without, their records say that they were
        skipped.
    minutes : float
        After which nothing more is started and what runs is stopped: a job has to end in time to keep its records.
    limits : Limits
        Of each pair.
    run : Runner
        What scores one pair.
    tell : callable
        Is told about each new record.

    Returns
    -------
    list of ScoreRecord
        The new ones.
    list of UnscoredPair
        The pairs without a new record.
    """
    todo = list(pairs)
    # What a plugin writes into its own folder while it runs must not count as its code.
    revisions = {
        (kind, identifier): revision_of(kind, identifier)
        for pair in todo
        for kind, identifier in (("model", pair.model), ("benchmark", pair.benchmark))
    }
    private = has_private_data() if with_private is None else with_private
    deadline = time.monotonic() + 60 * minutes
    made: list[ScoreRecord] = []
    left: list[UnscoredPair] = []
    for pair in todo:
        reason = is_scored(pair.model, pair.benchmark)
        seconds = deadline - time.monotonic()
        if reason is not None:
            left.append(UnscoredPair(pair, reason, is_fine=True))
            continue
        if seconds < _LEAST_S:
            left.append(UnscoredPair(pair, "no time was left for it", is_fine=False))
            continue
        if pair.private and not private:
            ran = PairOutcome(
                ScoreRecord.without_score(
                    "skipped:private data are not available", model=pair.model, benchmark=pair.benchmark
                )
            )
        else:
            within = dataclasses.replace(limits, most_minutes=min(limits.most_minutes, seconds / 60))
            ran = _run_safely(run, pair, library_of, within)
        record = dataclasses.replace(
            ran.record,
            model_revision=revisions["model", pair.model],
            benchmark_revision=revisions["benchmark", pair.benchmark],
            version_class=provenance.version_class(),
        )
        ran = PairOutcome(record, ran.output)
        try:
            record.write(record_path(records, pair.model, pair.benchmark))
        except (OSError, ValueError) as error:
            left.append(UnscoredPair(pair, f"its record cannot be written: {error}", is_fine=False))
            continue
        made.append(record)
        tell(pair, ran)
    return made, left


def _run_safely(run: Runner, pair: PairTask, library_of: Callable[[PairTask], str], limits: Limits) -> PairOutcome:
    try:
        return run(pair, library_of(pair), limits)
    except BrainScoreError as error:
        return PairOutcome(_failed(pair, type(error).__name__, str(error)))
    except Exception as error:  # noqa: BLE001 - whatever it is, the other pairs have to be scored
        return PairOutcome(_failed(pair, type(error).__name__, f"{type(error).__name__}: {error}"))
