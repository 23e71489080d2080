"""What travels between a campaign and its workers, as JSON text, and what a worker does with it.

Nothing that a plugin made is pickled: a worker gets the names and limits of pairs, and gives records. What arrives is
read strictly, on both sides.
"""

from __future__ import annotations

import binascii
import json
import math
from base64 import b64decode, b64encode
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, Strict, TypeAdapter

from brainscore_core.errors import CorruptFileError
from brainscore_core.records.record import MOST_BYTES, ScoreRecord
from brainscore_core.scoring.batches import Batch, run_batch
from brainscore_core.scoring.pairs import Limits, PairOutcome, gpus_of
from brainscore_core.untrusted import MOST_NAME, Flag, Untrusted, at_most, read, text

if TYPE_CHECKING:
    from distributed import Worker

    from brainscore_core.scoring.judging import Isolation

__all__ = ["Task", "outcome_of", "outcome_text", "score_task"]

_MOST_PAIRS = 10_000  # of one piece
_MOST_OUTPUT = 20_000  # characters of what was said on the way to a record
# What stands beside a record. More does not travel, as the scheduler has the last outcomes in memory.
_MOST_VALUES = 8 * 2**20
_MOST_ENCODED = 4 * (_MOST_VALUES // 3 + 1)
_Cost = Annotated[float, Strict(), Field(ge=0, le=1e9)]
_Few = Annotated[int, Strict(), Field(ge=0, le=1024)]
_Name = Annotated[str, text(MOST_NAME)]


@dataclass(frozen=True)
class _Pair(Untrusted):
    """A pair as a worker is given it; see `brainscore_core.scoring.pairs.PairTask`."""

    model: _Name
    benchmark: _Name
    minutes: _Cost
    memory_gb: _Cost
    private: Flag
    gpus: _Few


@dataclass(frozen=True, kw_only=True)
class _Limits(Untrusted):
    """`Limits`, with None for what is not limited, as JSON has no infinity."""

    time: _Cost
    memory: _Cost
    least_minutes: _Cost
    least_memory_gb: _Cost
    most_minutes: _Cost | None


@dataclass(frozen=True, kw_only=True)
class Task(Untrusted):
    """A piece of a campaign, as a worker is given it.

    Attributes
    ----------
    key : str
        Of the piece.
    topic : str
        Under which the worker says what it has; see `score_task`.
    minutes : float or None
        After which no pair is started; None: whenever.
    """

    key: _Name
    topic: _Name
    library: _Name
    isolation: Literal["auto", "box", "none"]
    minutes: _Cost | None
    limits: _Limits
    pairs: Annotated[tuple[_Pair, ...], at_most(_MOST_PAIRS)]

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
            minutes=_finite(minutes),
            limits=_Limits(**{**asdict(limits), "most_minutes": _finite(limits.most_minutes)}),
            pairs=tuple(
                _Pair(
                    pair.model,
                    pair.benchmark,
                    float(pair.minutes),
                    float(pair.memory_gb),
                    pair.private,
                    gpus_of(pair),
                )
                for pair in batch.pairs
            ),
        )

    def to_json(self) -> str:
        """Return what `from_json` reads."""
        return json.dumps(asdict(self), allow_nan=False)

    @classmethod
    def from_json(cls, data: str) -> Task:
        """Read a task.

        Raises
        ------
        CorruptFileError
            If it is no task, or one of another version of the library.
        """
        return read(_TASK, data, "task")

    def outcomes(self, is_over: Callable[[], bool] = lambda: False) -> Generator[PairOutcome, None, None]:
        """Score the pairs, here, and yield the outcome of each as soon as it is there, until `is_over` says so."""
        given = {name: value for name, value in asdict(self.limits).items() if value is not None}
        yield from run_batch(
            Batch(self.pairs),
            self.library,
            Limits(**given),
            isolation=self.isolation,
            minutes=math.inf if self.minutes is None else self.minutes,
            is_over=is_over,
        )


_TASK = TypeAdapter(Task)


def score_task(data: str) -> list[str]:
    """Score the pairs of a task in a worker of dask.

    Each outcome is told to the scheduler as an event as soon as it is there, so that a worker that is lost takes only
    the pair with it that it is working on. Events may get lost, so all outcomes are returned too.

    Parameters
    ----------
    data : str
        `Task.to_json`.

    Returns
    -------
    list of str
        The `outcome_text` of each pair that was reached.
    """
    from distributed import get_worker

    task, worker = Task.from_json(data), get_worker()
    worker.log_event(task.topic, {"piece": task.key, "begun": True})
    texts = []
    key = worker.get_current_task()
    with closing(task.outcomes(lambda: not _is_wanted(worker, key))) as outcomes:
        for outcome in outcomes:
            texts.append(outcome_text(outcome))
            worker.log_event(task.topic, {"piece": task.key, "outcome": texts[-1]})
    return texts


def _is_wanted(worker: Worker, key: Any) -> bool:
    """Tell whether whoever gave the task still waits for it: dask does not end what a thread does."""
    state = worker.state.tasks.get(key)
    return state is not None and state.state != "cancelled"


def outcome_text(outcome: PairOutcome) -> str:
    """Return an outcome as JSON text; of a long output the end, and no values of more than 8 MiB."""
    values = outcome.values if len(outcome.values) <= _MOST_VALUES else b""
    return json.dumps(
        {
            "record": outcome.record.to_json(),
            "output": outcome.output[-_MOST_OUTPUT:],
            "values": b64encode(values).decode("ascii"),
            "lock": outcome.lock if len(outcome.lock) <= MOST_BYTES else "",
            "candidate_lock": outcome.candidate_lock if len(outcome.candidate_lock) <= MOST_BYTES else "",
        }
    )


def outcome_of(data: object) -> PairOutcome:
    """Read what `outcome_text` made.

    Raises
    ------
    CorruptFileError
        If it is anything else.
    """
    if not isinstance(data, str):
        raise CorruptFileError("An outcome is expected as text.")
    found = read(_OUTCOME, data, "outcome")
    try:
        values = b64decode(found.values, validate=True)
    except (binascii.Error, ValueError) as error:
        raise CorruptFileError(f"The values of an outcome are expected in base64: {error}.") from error
    record = ScoreRecord.from_json(found.record, "What a worker gave")
    return PairOutcome(record, found.output, values, found.lock, found.candidate_lock)


@dataclass(frozen=True)
class _Outcome(Untrusted):
    record: Annotated[str, text(MOST_BYTES)]
    output: Annotated[str, text(_MOST_OUTPUT)]
    values: Annotated[str, text(_MOST_ENCODED)]
    lock: Annotated[str, text(MOST_BYTES)]
    candidate_lock: Annotated[str, text(MOST_BYTES)]


_OUTCOME = TypeAdapter(_Outcome)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
