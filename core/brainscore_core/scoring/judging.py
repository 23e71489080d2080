"""Run and watch the process that scores one model's pairs, and return their outcomes.

This process, the judge, and its children end when a pair exceeds its limits or the caller stops iterating.
"""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Literal

from pydantic import TypeAdapter

from brainscore_core.errors import CorruptFileError
from brainscore_core.processes import Program, running, scrub
from brainscore_core.records.record import MOST_BYTES, ScoreRecord, record_path
from brainscore_core.records.store import lock_path
from brainscore_core.scoring.pairs import Limits, Outcome, Pair
from brainscore_core.untrusted import Name, checked, parse

__all__ = ["EventReader", "Isolation", "Judge", "Step", "append_event", "failed"]


# -- events ------------------------------------------------------------------------------------------------------------
#
# Report the start and end of each pair of a batch, line by line in a file.
#
# The scoring process appends; its parent reads within bounds, since a model there may write anything.


_MOST_BYTES = 8 * 2**10  # of a line
_MOST_AT_A_TIME = 2**16

Step = Literal["started", "ended"]
"""State of a pair; one that has ended has a record."""

_LINE: TypeAdapter[tuple[Step, str]] = TypeAdapter(tuple[Step, Name])


def append_event(file: Path, step: Step, benchmark: str) -> None:
    """Append a line to a file in a single write."""
    with file.open("ab", buffering=0) as stream:
        stream.write(f"{json.dumps([step, benchmark])}\n".encode())


class EventReader:
    """Read the events of a growing file, at most three for each pair; a context manager.

    The file is created, and read even if another takes its place.
    """

    def __init__(self, file: Path, n_pairs: int) -> None:
        self._stream = file.open("x+b", buffering=0)
        self._unread = 3 * n_pairs * _MOST_BYTES
        self._line_start = b""

    def new(self) -> Iterator[tuple[Step, str]]:
        """Yield step and benchmark of each whole line written since the last call."""
        chunk = os.read(self._stream.fileno(), min(self._unread, _MOST_AT_A_TIME))
        self._unread -= len(chunk)
        *lines, self._line_start = (self._line_start + chunk).split(b"\n")
        for line in lines:
            try:
                yield checked(_LINE, parse(line, "event", _MOST_BYTES), "event")
            except CorruptFileError:
                continue

    def __enter__(self) -> EventReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stream.close()


# -- work folders ------------------------------------------------------------------------------------------------------
#
# Give a temporary folder; if its owner is killed, the next owner of one removes it.
#
# The owner's lock on a file next to it ends with its process, even if containers share the temporary folder.


_LOCK = ".lock"


@contextmanager
def work_folder(prefix: str) -> Iterator[Path]:
    """Give an empty temporary folder; remove it, and abandoned ones of this user and prefix."""
    parent = Path(tempfile.gettempdir())
    for lock in parent.glob(f"{prefix}*{_LOCK}"):
        with suppress(OSError):
            _remove_if_left(lock)
    lock, number = _new_lock(prefix)
    folder = lock.with_suffix("")
    try:
        folder.mkdir(mode=0o700)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        lock.unlink(missing_ok=True)
        os.close(number)


def _new_lock(prefix: str) -> tuple[Path, int]:
    while True:
        number, name = tempfile.mkstemp(prefix=prefix, suffix=_LOCK)
        try:
            if _locked(number) and _is_at(number, Path(name)):
                return Path(name), number
        except OSError:  # no locks here, for any process
            return Path(name), number
        os.close(number)  # removed as abandoned before it was locked


def _remove_if_left(lock: Path) -> None:
    number = os.open(lock, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    try:
        status = os.fstat(number)
        is_mine = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()
        if is_mine and _locked(number) and _is_at(number, lock):
            shutil.rmtree(lock.with_suffix(""), ignore_errors=True)
            lock.unlink()
    finally:
        os.close(number)


def _is_at(number: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(number), path.stat(follow_symlinks=False))
    except FileNotFoundError:
        return False


def _locked(number: int) -> bool:
    """Lock an open file until it is closed; False if another process holds the lock."""
    if sys.platform == "win32":
        raise OSError("these locks do not exist on Windows")
    import fcntl  # not on Windows

    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


# -- the judge ---------------------------------------------------------------------------------------------------------


Isolation = Literal["auto", "box", "none"]
_MOST_MESSAGE, _MOST_LINES = 1_000, 12
_POLL_S = 0.1
_SETTLE_S = 0.05  # output printed before an event may arrive after it
_NO_TIME_LEFT = "NoTimeLeft"
# A judge may put a pipe or a link in place of a file.
_NO_WAITING = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)


@dataclass(frozen=True, kw_only=True)
class Judge:
    """Scores pairs of one model in its own process.

    Attributes
    ----------
    library
        Package whose command ``judge`` is run, such as ``'mylibrary'``.
    isolation : 'auto', 'box' or 'none'
        Where the model runs: in a box or, with public data only, in the judge's process; 'auto': in a box if available.
    environment
        All environment variables of the process; None: the same as for this process.
    secrets
        Texts that are removed from every outcome.
    """

    library: str
    isolation: Isolation = "auto"
    environment: Mapping[str, str] | None = None
    secrets: Sequence[str] = ()
    python: str = sys.executable
    limits: Limits = field(default_factory=Limits)

    def outcomes(
        self, pairs: Sequence[Pair], *, no_time_left: Callable[[], bool] = lambda: False, is_second: bool = False
    ) -> Iterator[Outcome]:
        """Yield the outcomes of one model's pairs, until a pair ends the process.

        Once `no_time_left`, called several times a second, the process ends, and the pair in progress has no outcome. A
        process that is killed before its first pair counts as an accident without outcome; if it `is_second`, all pairs
        fail.
        """
        with work_folder("brainscore-batch-") as folder:
            (folder / "tmp").mkdir()
            surroundings = os.environ if self.environment is None else self.environment
            # Leftovers of an ended process are removed with the folder.
            environment = {**surroundings, **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(folder / "tmp"))}
            with EventReader(folder / "events.jsonl", len(pairs)) as events:
                watch = _Watch(self, pairs, folder / "records", events, no_time_left)
                try:
                    with running(self._command(pairs, folder), environment=environment, folder=folder) as program:
                        problem = yield from watch.until_the_end(program)
                except (OSError, ValueError) as error:  # ValueError: an identifier that no argument can hold
                    yield from (Outcome(failed(pair, "NotStarted", str(error))) for pair in pairs)
                else:
                    yield from watch.remaining(problem, is_second=is_second)

    def _command(self, pairs: Sequence[Pair], folder: Path) -> list[str]:
        return [
            *(self.python, "-m", self.library, "judge"),
            *("--model", pairs[0].model),
            *("--benchmark", *(pair.benchmark for pair in pairs)),
            *("--records", str(folder / "records"), "--events", str(folder / "events.jsonl")),
            *("--isolation", self.isolation),
        ]


class _Watch:
    def __init__(
        self, judge: Judge, pairs: Sequence[Pair], records: Path, events: EventReader, no_time_left: Callable[[], bool]
    ) -> None:
        self.judge, self.records, self.events, self.no_time_left = judge, records, events, no_time_left
        self.pending = {pair.benchmark: pair for pair in pairs}
        self.current: Pair | None = None
        self.has_started = False
        self.since = time.monotonic()
        self.peak_memory = 0
        self.output = self.next_output = ""

    def until_the_end(self, program: Program) -> Generator[Outcome, None, str | None]:
        """Yield outcomes while the process runs; return its problem, None for success."""
        while True:
            ended = program.wait(_POLL_S)
            self.peak_memory = max(self.peak_memory, program.memory_bytes())
            events = list(self.events.new())
            if events and not ended:
                time.sleep(_SETTLE_S)
            excess = None if events or ended else self._excess()
            if events or ended or excess:
                self._listen(program, [step for step, _ in events])
            for step, benchmark in events:
                pair = self.pending.get(benchmark)
                if pair is None:
                    continue
                if step == "started":
                    self.current, self.has_started, self.since = pair, True, time.monotonic()
                else:
                    yield self._outcome(pair)
                    self.current, self.since = None, time.monotonic()
            if ended or excess:
                return ended.problem if ended else excess
            self.peak_memory = program.memory_bytes() if events else self.peak_memory

    def _listen(self, program: Program, steps: Sequence[Step]) -> None:
        """Take new output; if one pair ended and another started meanwhile, either may have printed it."""
        new = program.take_output(self.judge.secrets)
        self.output, self.next_output = self.next_output + new, ""
        if steps and steps[-1] == "started":
            self.next_output = new if "ended" in steps else self.output

    def _excess(self) -> str | None:
        pair = self.current or next(iter(self.pending.values()), None)
        if self.no_time_left():
            return _NO_TIME_LEFT
        if pair is None:  # all have ended, so the process is about to
            return None
        if time.monotonic() - self.since > self.judge.limits.seconds(pair):
            return "Timeout"
        return "MemoryLimit" if self.peak_memory > self.judge.limits.memory_bytes(pair) else None

    def remaining(self, problem: str | None, *, is_second: bool) -> Iterator[Outcome]:
        """Yield the outcomes of the pairs that explain the end, or that it explains."""
        pairs = [self.current] if self.current else []
        if problem is None or (not self.has_started and problem != _NO_TIME_LEFT):  # the model cannot even be loaded
            is_accident = problem is not None and problem.startswith("SIG") and not is_second
            pairs = [] if is_accident else list(self.pending.values())
        for pair in pairs:
            if problem != _NO_TIME_LEFT or self._record(pair) is not None:
                yield self._outcome(pair, problem)

    def _outcome(self, pair: Pair, problem: str | None = None) -> Outcome:
        del self.pending[pair.benchmark]
        record = self._record(pair)
        if record is None:
            seconds = time.monotonic() - self.since
            record = failed(pair, problem or "NoRecord", self._message(pair, problem), seconds, tail=self.output)
        elif not record.is_scored and not record.tail:
            record = dataclasses.replace(record, tail=_last_lines(self.output))
        peak = max(record.peak_memory_bytes or 0, self.peak_memory) or None
        message, tail = (scrub(words, self.judge.secrets) for words in (record.message, record.tail))
        record = dataclasses.replace(record, message=message, tail=tail, peak_memory_bytes=peak)
        return Outcome(record, self.output, *self._files_beside(record))

    def _message(self, pair: Pair, problem: str | None) -> str:
        limits = self.judge.limits
        if problem == "Timeout":
            return f"stopped after {limits.seconds(pair) / 60:.1f} minutes; {pair.minutes:g} were planned"
        if problem == "MemoryLimit":
            return f"stopped at {limits.memory_bytes(pair) / 1e9:.1f} GB of memory; {pair.memory_gb:g} were planned"
        return _last_lines(self.output)

    def _record(self, pair: Pair) -> ScoreRecord | None:
        """Return the record that the process wrote for a pair, if any."""
        content = _content(record_path(self.records, pair.model, pair.benchmark), MOST_BYTES)
        try:
            record = ScoreRecord.from_json(content)
        except CorruptFileError:
            return None
        return record if (record.model, record.benchmark) == (pair.model, pair.benchmark) else None

    def _files_beside(self, record: ScoreRecord) -> tuple[bytes, str, str]:
        """Return the values of a record and the locks of both environments."""
        path = record_path(self.records, record.model, record.benchmark)
        values = b""
        if record.values:
            from brainscore_core.records import values as files  # heavy: NumPy, which planning lacks

            values = _content(files.values_path(path), files.MOST_BYTES)
        digests = record.environment, record.candidate_environment
        locks = [_content(lock_path(path, digest), MOST_BYTES) if digest else b"" for digest in digests]
        return values, locks[0].decode("utf-8", "replace"), locks[1].decode("utf-8", "replace")


def _content(file: Path, most_bytes: int) -> bytes:
    """Return the content of a file that the process made; empty if it is too large or no regular file."""
    try:
        number = os.open(file, os.O_RDONLY | _NO_WAITING)
        with os.fdopen(number, "rb") as stream:
            status = os.fstat(number)
            if not stat.S_ISREG(status.st_mode) or status.st_size > most_bytes:
                return b""
            return stream.read(most_bytes)
    except OSError:
        return b""


def failed(
    pair: Pair, problem: str, message: str = "", duration_s: float | None = None, *, tail: str = ""
) -> ScoreRecord:
    """Return the record of a failed pair; `problem` is the error's class, `tail` the last output."""
    return ScoreRecord.without_score(
        f"failed:{problem}",
        message,
        model=pair.model,
        benchmark=pair.benchmark,
        duration_s=duration_s,
        tail=_last_lines(tail),
    )


def _last_lines(output: str) -> str:
    lines = [line for line in output.splitlines() if line.strip()]
    return "\n".join(lines[-_MOST_LINES:])[-_MOST_MESSAGE:]
