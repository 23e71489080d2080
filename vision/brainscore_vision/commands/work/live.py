"""Show a campaign's progress: a live table at a terminal, else lines for each pair and a heartbeat."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from brainscore_core import command_line
from brainscore_core.errors import harmless
from brainscore_core.scoring.campaign import Progress, duration, result

if TYPE_CHECKING:
    from collections.abc import Callable

    from brainscore_core.scoring.pairs import Outcome, Pair

__all__ = ["telling"]

_ROWS = 12
_HEARTBEAT_S = 60.0


@contextmanager
def telling(
    pairs: Sequence[Pair], heartbeat_s: float = _HEARTBEAT_S
) -> Iterator[tuple[Callable[[Pair], object], Callable[[Pair, Outcome], None]]]:
    """Give the functions to call with each pair as it starts, and as it ends."""
    progress = Progress(pairs)
    if not sys.stderr.isatty():

        def tell(pair: Pair, outcome: Outcome) -> None:
            progress.count(pair, outcome)
            command_line.say(progress.line(outcome) + _why(outcome))

        is_over = Event()

        def beat() -> None:
            while not is_over.wait(heartbeat_s):
                command_line.say(progress.heartbeat())

        thread = Thread(target=beat, name="heartbeat", daemon=True)
        thread.start()
        try:
            yield lambda pair: command_line.say(progress.start(pair)), tell
        finally:
            is_over.set()
            thread.join()
        return
    last: deque[Outcome] = deque(maxlen=_ROWS)

    def take(pair: Pair, outcome: Outcome) -> None:
        progress.count(pair, outcome)
        last.append(outcome)

    with Live(
        console=Console(stderr=True),
        get_renderable=lambda: _table(progress, last),
        refresh_per_second=2,
        transient=True,
    ):
        yield progress.start, take


def _table(progress: Progress, last: Sequence[Outcome]) -> Group:
    table = Table(box=None, pad_edge=False, show_header=False)
    for outcome in list(last):
        style = "red" if outcome.record.status.startswith("failed:") else ""
        table.add_row(Text(harmless(result(outcome) + _why(outcome)), style=style, overflow="ellipsis", no_wrap=True))
    seconds = progress.seconds_left()
    rest = "" if seconds is None else f", about {duration(seconds)} left"
    passed = duration(progress.clock() - progress.started)
    failed = f", {progress.n_failed} failed" if progress.n_failed else ""
    line = Text(f"{progress.n_done} of {progress.n_pairs} pairs{failed}; {passed}{rest}")
    running = Text(harmless(progress.heartbeat()), overflow="ellipsis", no_wrap=True)
    return Group(table, running, ProgressBar(total=max(1, progress.n_pairs), completed=progress.n_done, width=60), line)


def _why(outcome: Outcome) -> str:
    """Return the message of a failure as a line; a skipped pair has the reason in its status."""
    record = outcome.record
    if record.status.startswith("skipped:"):
        return ""
    said = " ".join(record.message.split())
    return f". {said[:300]}" if said and record.score is None else ""
