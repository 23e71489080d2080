"""Start and end a candidate in a box, or use only its stored answers."""

from __future__ import annotations

import math
import socket
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from brainscore_core.config import memory_budget
from brainscore_core.errors import BrainScoreError
from brainscore_core.scoring.isolation.box import start_boxed
from brainscore_core.scoring.isolation.wire import Bounds, Connection
from brainscore_vision.isolation.kept import KeptAnswers, may_be_kept
from brainscore_vision.isolation.prepared import Prepared, box_of, prepare, prepared_before, weights_of
from brainscore_vision.isolation.protocol import get_ready
from brainscore_vision.isolation.proxy import RemoteModel
from brainscore_vision.model_helpers.activations.cache import NotStoredError

if TYPE_CHECKING:
    from brainscore_core.processes import Program

__all__ = ["remembered", "started"]

_SETTLE_S = 2.0
_MOST_SAID = 600  # characters


@contextmanager
def started(model: str, *, answer_s: float = math.inf) -> Iterator[RemoteModel]:
    """Give a model in a box; its process ends after the block.

    `answer_s` limits each answer, in seconds. `IsolationError` if no box is available; for other errors see `prepare`.
    """
    prepared = prepare(model)
    with ExitStack() as held:
        folder = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="brainscore-candidate-")))
        stimuli = folder / "stimuli"
        stimuli.mkdir()
        bounds = Bounds(memory_bytes=memory_budget(), folder=folder)
        programs: list[Program] = []

        def connect() -> Connection:
            ours, theirs = socket.socketpair()
            held.callback(ours.close)
            with theirs:
                box = box_of(prepared, stimuli=stimuli)
                command = _command(prepared, theirs.fileno())
                programs.append(held.enter_context(start_boxed(command, box, pass_fds=[theirs.fileno()])))
            return Connection(ours, bounds)

        # At once if it will be asked, so that it gets ready while the key of stored answers is computed.
        connection = None if may_be_kept(model) else connect()
        get_ready()
        answers = KeptAnswers(prepared, bounds)
        yield RemoteModel(
            connection or (connect() if answers.is_empty else connect),
            stimuli,
            answer_s=answer_s,
            why=lambda: _why(programs[0]),
            kept=answers,
            environment_lock=prepared.lock,
        )


@contextmanager
def remembered(model: str) -> Iterator[RemoteModel]:
    """Give a model that only repeats stored answers; nothing is started.

    `NotStoredError` if no answers of the present model are stored, and by a question without one.
    """
    try:
        prepared = prepared_before(model)
    except BrainScoreError as error:
        raise NotStoredError(f"No answers of {model!r} are kept: {error}") from error
    with tempfile.TemporaryDirectory(prefix="brainscore-candidate-") as name:
        answers = None if prepared is None else KeptAnswers(prepared, Bounds(memory_bytes=memory_budget()))
        if prepared is None or answers is None or answers.is_empty:
            raise NotStoredError(f"No answers of {model!r}, as it is now, are kept.")

        def refuse() -> Connection:
            raise NotStoredError(
                f"Not all answers of {model!r} that are asked for are kept. Scoring the pair in a box keeps them."
            )

        yield RemoteModel(refuse, Path(name) / "stimuli", kept=answers, environment_lock=prepared.lock)


def _command(prepared: Prepared, fd: int) -> list[str]:
    command = [str(prepared.python), "-P", "-m", "brainscore_vision.isolation.candidate"]
    weights = weights_of(prepared)
    shared = [] if weights is None else ["--weights", str(weights)]
    return [*command, "--model", prepared.model, "--fd", str(fd), *shared]


def _why(program: Program) -> str:
    ended = program.wait(_SETTLE_S)
    if ended is None:
        return " It has closed its connection, and goes on."
    output = program.take_output().strip()[-_MOST_SAID:]
    is_too_large = ended.stopped == "MemoryLimit"
    how = "used more memory than its limit" if is_too_large else f"ended with {ended.problem or 'success'}"
    return f" It {how}.{' The end of its output: ' if output else ''}{output}"
