"""Tasks and outcomes as JSON text, and the function that a worker runs.

Nothing made by a plugin is pickled: workers get names and limits of pairs and return records.
"""

from __future__ import annotations

import dataclasses
import json
import math
from base64 import b64encode
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import TypeAdapter

from brainscore_core.errors import CorruptFileError
from brainscore_core.records.record import MOST_BYTES
from brainscore_core.scoring.batches import Batch, run_batch
from brainscore_core.scoring.pairs import MOST_OUTPUT, MOST_VALUES, Cost, Limits, Outcome, Pair
from brainscore_core.untrusted import Name, Untrusted, at_most, read

if TYPE_CHECKING:
    from brainscore_core.scoring.judging import Isolation

__all__ = ["Task", "outcome_of", "outcome_text", "score_task"]

_MOST_PAIRS = 10_000  # of one piece


@dataclass(frozen=True, kw_only=True)
class Task(Untrusted):
    """A piece of a campaign for one worker, who starts no further pair after `minutes` and logs events of a `topic`."""

    key: Name
    topic: Name
    library: Name
    isolation: Literal["auto", "box", "none"]
    minutes: Cost | None
    limits: Limits
    pairs: Annotated[tuple[Pair, ...], at_most(_MOST_PAIRS)]

    @classmethod
    def of(
        cls, key: str, topic: str, batch: Batch, library: str, limits: Limits, isolation: Isolation, minutes: float
    ) -> Task:
        """Make the task of a piece."""
        return cls(
            key=key,
            topic=topic,
            library=library,
            isolation=isolation,
            minutes=minutes if math.isfinite(minutes) else None,  # JSON has no infinity
            limits=limits,
            pairs=tuple(dataclasses.replace(pair, reasons=()) for pair in batch.pairs),
        )

    def to_json(self) -> str:
        """Return what `from_json` reads."""
        return json.dumps(asdict(self), allow_nan=False)

    @classmethod
    def from_json(cls, data: str) -> Task:
        """Read a task; raise `CorruptFileError` if it is none, or of another version of the library."""
        return read(_TASK, data, "task")

    def outcomes(self, is_over: Callable[[], bool] = lambda: False) -> Generator[Outcome, None, None]:
        """Score the pairs in this process's children and yield each outcome at once, until `is_over` returns True."""
        yield from run_batch(
            Batch(self.pairs),
            self.library,
            self.limits,
            isolation=self.isolation,
            minutes=math.inf if self.minutes is None else self.minutes,
            is_over=is_over,
        )


_TASK = TypeAdapter(Task)
_OUTCOME = TypeAdapter(Outcome)


def score_task(data: str) -> list[str]:
    """Score the pairs of a `Task` in a worker of dask; return the `outcome_text` of each pair that was reached.

    Each outcome is also logged as an event at once; events may get lost.
    """
    from distributed import get_worker  # optional dependency

    task, worker = Task.from_json(data), get_worker()
    worker.log_event(task.topic, {"piece": task.key, "begun": True})
    texts = []
    key: Any = worker.get_current_task()

    def is_cancelled() -> bool:  # dask doesn't end a running thread
        state = worker.state.tasks.get(key)
        return state is None or state.state == "cancelled"

    with closing(task.outcomes(is_cancelled)) as outcomes:
        for outcome in outcomes:
            texts.append(outcome_text(outcome))
            worker.log_event(task.topic, {"piece": task.key, "outcome": texts[-1]})
    return texts


def outcome_text(outcome: Outcome) -> str:
    """Return an outcome as JSON text, with the end of a long output, and without values of more than `MOST_VALUES`."""
    return json.dumps(
        {
            "record": outcome.record.to_json(),
            "output": outcome.output[-MOST_OUTPUT:],
            "values": b64encode(outcome.values if len(outcome.values) <= MOST_VALUES else b"").decode("ascii"),
            "lock": outcome.lock if len(outcome.lock) <= MOST_BYTES else "",
            "candidate_lock": outcome.candidate_lock if len(outcome.candidate_lock) <= MOST_BYTES else "",
        }
    )


def outcome_of(data: object) -> Outcome:
    """Read what `outcome_text` made; raise `CorruptFileError` for anything else."""
    if not isinstance(data, str):
        raise CorruptFileError("An outcome is expected as text.")
    return read(_OUTCOME, data, "outcome")
