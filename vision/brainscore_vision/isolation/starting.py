"""Start the process of a candidate in a box, and end it."""

from __future__ import annotations

import math
import socket
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from brainscore_core.config import memory_budget
from brainscore_core.scoring.isolation.box import start_boxed
from brainscore_core.scoring.isolation.wire import Bounds, Connection
from brainscore_vision.isolation.prepared import Prepared, box_of, prepare, weights_of
from brainscore_vision.isolation.proxy import RemoteModel

if TYPE_CHECKING:
    from brainscore_core.processes import Program

__all__ = ["started"]

_SETTLE_S = 2.0
_MOST_SAID = 600  # characters


@contextmanager
def started(model: str, *, answer_s: float = math.inf) -> Iterator[RemoteModel]:
    """Give a model that runs in a box, which has ended after the block.

    Parameters
    ----------
    model : str
        Identifier.
    answer_s : float
        Seconds within which each answer has to be there.

    Raises
    ------
    IsolationError
        If there is no box on this machine.
    ConfigurationError, RequirementsError
        See `prepare`.
    """
    prepared = prepare(model)
    with ExitStack() as held:
        folder = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="brainscore-candidate-")))
        stimuli = folder / "stimuli"
        stimuli.mkdir()
        ours, theirs = socket.socketpair()
        held.callback(ours.close)
        with theirs:
            box = box_of(prepared, stimuli=stimuli)
            command = _command(prepared, theirs.fileno())
            program = held.enter_context(start_boxed(command, box, pass_fds=[theirs.fileno()]))
        bounds = Bounds(memory_bytes=memory_budget(), folder=folder)
        yield RemoteModel(Connection(ours, bounds), stimuli, answer_s=answer_s, why=lambda: _why(program))


def _command(prepared: Prepared, fd: int) -> list[str]:
    command = [str(prepared.python), "-P", "-m", "brainscore_vision.isolation.candidate"]
    weights = weights_of(prepared)
    shared = [] if weights is None else ["--weights", str(weights)]
    return [*command, "--model", prepared.model, "--fd", str(fd), *shared]


def _why(program: Program) -> str:
    """Return how the process of a candidate ended and the end of what it said, as far as it has ended."""
    ended = program.wait(_SETTLE_S)
    if ended is None:
        return " It has closed its connection, and goes on."
    said = program.take_output().strip()[-_MOST_SAID:]
    return f" It ended with {ended.problem or 'success'}.{' The end of its output: ' if said else ''}{said}"
