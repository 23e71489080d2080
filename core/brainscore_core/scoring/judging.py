"""Start the process that scores pairs of one model, watch it, and say of each pair how it ended.

The process, the judge, writes a record of each pair and tells which pair it is at (`brainscore_core.scoring.events`).
It is ended with everything it started when a pair takes too long or too much memory, and when whoever reads the
outcomes stops doing so.
"""

from __future__ import annotations

import dataclasses
import os
import stat
import sys
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from brainscore_core.errors import CorruptFileError
from brainscore_core.processes import Program, running, scrub
from brainscore_core.records.record import MOST_BYTES, ScoreRecord, record_path
from brainscore_core.records.store import lock_path
from brainscore_core.scoring.events import Event, EventReader
from brainscore_core.scoring.pairs import Limits, PairOutcome, PairTask
from brainscore_core.scoring.work_folder import work_folder

__all__ = ["Isolation", "Judge", "failed"]

Isolation = Literal["auto", "box", "none"]
_MOST_MESSAGE, _MOST_LINES = 1_000, 12
_LOOK_EVERY_S = 0.1
_SETTLE_S = 0.05  # what was said before an event was told is still on its way
_NO_TIME_LEFT = "NoTimeLeft"
_NO_WAITING = getattr(os, "O_NONBLOCK", 0) | getattr(
    os, "O_NOFOLLOW", 0
)  # for what somebody may put in place of a file


@dataclass(frozen=True, kw_only=True)
class Judge:
    """What scores pairs of one model, in a process of its own.

    Attributes
    ----------
    library : str
        Package whose command ``judge`` is run, such as ``'mylibrary'``.
    isolation : 'auto', 'box' or 'none'
        Where the model runs: in a box, or, with public data only, in the process that judges; 'auto': in a box where
        there is one.
    environment : mapping of str to str
        All environment variables that the process gets.
    secrets : sequence of str
        What must be in no outcome.
    python : str
        Interpreter.
    limits : Limits
        Of each pair.
    """

    library: str
    isolation: Isolation = "auto"
    environment: Mapping[str, str] | None = None
    secrets: Sequence[str] = ()
    python: str = sys.executable
    limits: Limits = field(default_factory=Limits)

    def outcomes(
        self,
        pairs: Sequence[PairTask],
        *,
        no_time_left: Callable[[], bool] = lambda: False,
        is_second: bool = False,
    ) -> Iterator[PairOutcome]:
        """Yield the outcomes of pairs of one model as they come, until one ends the process.

        Parameters
        ----------
        pairs : sequence of PairTask
            At least one; those after the one that ended the process have no outcome.
        no_time_left : callable
            Asked several times a second; True ends the process, and the pair that it is at has no outcome.
        is_second : bool
            Whether a process for the same pairs was killed before it had begun with one: if this one is too, all pairs
            have failed so; else it may have been an accident, and none has an outcome.
        """
        with work_folder("brainscore-batch-") as folder:
            (folder / "tmp").mkdir()
            surroundings = os.environ if self.environment is None else self.environment
            # What it has not removed when it is ended goes with the folder.
            environment = {**surroundings, **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(folder / "tmp"))}
            with EventReader(folder / "events.jsonl", len(pairs)) as events:
                watch = _Watch(self, pairs, folder / "records", events, no_time_left)
                try:
                    with running(self._command(pairs, folder), environment=environment, folder=folder) as program:
                        problem = yield from watch.until_the_end(program)
                except (OSError, ValueError) as error:  # ValueError: an identifier holds what no argument can
                    yield from (PairOutcome(failed(pair, "NotStarted", str(error))) for pair in pairs)
                else:
                    yield from watch.left(problem, is_second=is_second)

    def _command(self, pairs: Sequence[PairTask], folder: Path) -> list[str]:
        return [
            *(self.python, "-m", self.library, "judge"),
            *("--model", pairs[0].model),
            *("--benchmark", *(pair.benchmark for pair in pairs)),
            *("--records", str(folder / "records"), "--events", str(folder / "events.jsonl")),
            *("--isolation", self.isolation),
        ]


class _Watch:
    """Follows the pairs of one process."""

    def __init__(
        self,
        judge: Judge,
        pairs: Sequence[PairTask],
        records: Path,
        events: EventReader,
        no_time_left: Callable[[], bool],
    ) -> None:
        self.judge, self.records, self.events, self.no_time_left = judge, records, events, no_time_left
        self.pending = {pair.benchmark: pair for pair in pairs}
        self.at: PairTask | None = None  # the pair that has started and not ended
        self.has_started = False
        self.since = time.monotonic()
        self.most_memory = 0
        self.said = self.said_before = ""

    def until_the_end(self, program: Program) -> Generator[PairOutcome, None, str | None]:
        """Yield outcomes while the process runs; return what ended it, None for success."""
        while True:
            ended = program.wait(_LOOK_EVERY_S)
            self.most_memory = max(self.most_memory, program.memory_bytes())
            news = list(self.events.new())
            if news and not ended:
                time.sleep(_SETTLE_S)
            excess = None if news or ended else self._excess()
            if news or ended or excess:
                self._listen(program, news)
            yield from self._take(news)
            if ended or excess:
                return ended.problem if ended else excess
            self.most_memory = program.memory_bytes() if news else self.most_memory

    def _listen(self, program: Program, news: Sequence[Event]) -> None:
        """Take what was said; of pairs that end or begin at nearly the same time, nobody knows who said what."""
        new = program.take_output(self.judge.secrets)
        self.said, self.said_before = self.said_before + new, ""
        if news and news[-1].event == "started":  # it may have been said by that pair
            self.said_before = new if any(each.event == "ended" for each in news) else self.said

    def _take(self, news: Sequence[Event]) -> Iterator[PairOutcome]:
        for event in news:
            pair = self.pending.get(event.benchmark)
            if pair is None:
                continue
            if event.event == "started":
                self.at, self.has_started, self.since = pair, True, time.monotonic()
            else:
                yield self._outcome(pair)
                self.at, self.since = None, time.monotonic()

    def _excess(self) -> str | None:
        """Return of what the pair that the process is at took too much."""
        pair = self.at or next(iter(self.pending.values()), None)
        if self.no_time_left():
            return _NO_TIME_LEFT
        if pair is None:  # all have ended, so the process is about to
            return None
        if time.monotonic() - self.since > self.judge.limits.seconds(pair):
            return "Timeout"
        return "MemoryLimit" if self.most_memory > self.judge.limits.memory_bytes(pair) else None

    def left(self, problem: str | None, *, is_second: bool) -> Iterator[PairOutcome]:
        """Yield the outcomes of the pairs that explain the end, or that the end explains."""
        blamed = [self.at] if self.at else []
        if problem is None or (not self.has_started and problem != _NO_TIME_LEFT):  # the model cannot even be loaded
            is_accident = problem is not None and problem.startswith("SIG") and not is_second
            blamed = [] if is_accident else list(self.pending.values())
        for pair in blamed:
            if problem != _NO_TIME_LEFT or self._record(pair) is not None:
                yield self._outcome(pair, problem)

    def _outcome(self, pair: PairTask, problem: str | None = None) -> PairOutcome:
        del self.pending[pair.benchmark]
        record = self._record(pair)
        if record is None:
            seconds = time.monotonic() - self.since
            record = failed(pair, problem or "NoRecord", self._excuse(pair, problem), seconds, tail=self.said)
        elif not record.is_scored and not record.tail:
            record = dataclasses.replace(record, tail=_last_lines(self.said))
        seen = max(record.peak_memory_bytes or 0, self.most_memory) or None
        message, tail = (scrub(each, self.judge.secrets) for each in (record.message, record.tail))
        record = dataclasses.replace(record, message=message, tail=tail, peak_memory_bytes=seen)
        return PairOutcome(record, self.said, *self._beside(record))

    def _excuse(self, pair: PairTask, problem: str | None) -> str:
        limits = self.judge.limits
        if problem == "Timeout":
            return f"stopped after {limits.seconds(pair) / 60:.1f} minutes; {pair.minutes:g} were planned"
        if problem == "MemoryLimit":
            return f"stopped at {limits.memory_bytes(pair) / 1e9:.1f} GB of memory; {pair.memory_gb:g} were planned"
        return _last_lines(self.said)

    def _record(self, pair: PairTask) -> ScoreRecord | None:
        """Return what the process has written of a pair; None unless it is its record, in a file of its own."""
        content = _content(record_path(self.records, pair.model, pair.benchmark), MOST_BYTES)
        try:
            record = ScoreRecord.from_json(content)
        except CorruptFileError:
            return None
        return record if (record.model, record.benchmark) == (pair.model, pair.benchmark) else None

    def _beside(self, record: ScoreRecord) -> tuple[bytes, str, str]:
        """Return what the process has written beside a record: values, and the locks of both environments."""
        path = record_path(self.records, record.model, record.benchmark)
        values = b""
        if record.values:
            from brainscore_core.records.values import MOST_BYTES as MOST_VALUES  # brings NumPy, which planning lacks
            from brainscore_core.records.values import values_path

            values = _content(values_path(path), MOST_VALUES)
        named = record.environment, record.candidate_environment
        locks = [_content(lock_path(path, each), MOST_BYTES) if each else b"" for each in named]
        return values, locks[0].decode("utf-8", "replace"), locks[1].decode("utf-8", "replace")


def _content(file: Path, most_bytes: int) -> bytes:
    """Return the content of a file that the process has made; nothing if it is too large, or no file of its own."""
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
    pair: PairTask, problem: str, message: str = "", duration_s: float | None = None, *, tail: str = ""
) -> ScoreRecord:
    """Return the record of a pair that failed; `problem` is the class of what went wrong, `tail` what was said."""
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
