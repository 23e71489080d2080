"""Run in the box: load one model and answer the judge's questions until it closes the connection.

``python -m brainscore_vision.isolation.candidate --model IDENTIFIER --fd NUMBER``; ``--fetch`` instead of ``--fd`` only
loads the model, to fetch its weights.
"""

from __future__ import annotations

import argparse
import inspect
import os
import socket
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brainscore_core import command_line
from brainscore_core.config import settings
from brainscore_core.errors import (
    BrainScoreError,
    NotApplicableError,
    OfflineError,
    PeerClosedError,
    ProtocolError,
)
from brainscore_core.plugin_management.index import library_roots
from brainscore_core.scoring.isolation.wire import Connection, Message
from brainscore_vision.isolation import protocol
from brainscore_vision.loading import load_model
from brainscore_vision.model_interface import layer_origin, region_layers, weights_digest

if TYPE_CHECKING:
    from brainscore_vision.model_interface import BrainModel

__all__ = ["main", "serve"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve, or fetch, and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m brainscore_vision.isolation.candidate")
    parser.add_argument("--model", required=True)
    mode = parser.add_mutually_exclusive_group(required=True)
    mode.add_argument("--fd", type=int, help="file descriptor of the socket to the judge")
    mode.add_argument("--fetch", action="store_true", help="load the model and exit")
    parser.add_argument("--weights", type=Path, help="folder with downloaded weights")
    options = parser.parse_args(arguments)
    if options.fetch:
        try:
            load_model(options.model)
        except BrainScoreError as error:  # the judge passes the output on: a traceback would only hide the message
            command_line.say(str(error))
            return 1
        return 0
    os.set_inheritable(options.fd, False)
    if options.weights is not None:
        place = settings().home / "weights"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(options.weights)
    protocol.get_ready()
    serve(Connection(socket.socket(fileno=options.fd)), lambda: load_model(options.model))
    return 0


def serve(connection: Connection, load: Callable[[], BrainModel]) -> None:
    """Answer questions until the connection is closed; `load` returns the model."""
    answers = _Answers(load)
    while True:
        try:
            question = connection.receive()
        except PeerClosedError:
            return
        try:  # without a name: a large answer would take memory until the next question
            connection.send(Message(protocol.ANSWER, question.number, answers.to(question)))
        except PeerClosedError:
            return
        except Exception as error:  # noqa: BLE001 - of the model: the judge decides how to report it
            connection.send(Message(protocol.ERROR, question.number, protocol.content_of_error(error)))


class _Answers:
    def __init__(self, load: Callable[[], BrainModel]) -> None:
        self._load = load
        self._model: BrainModel | None = None
        self._asked: dict[str, Callable[..., object]] = {
            protocol.LOAD: self._load_model,
            "identifier": lambda: str(self.model.identifier),
            "visual_degrees": lambda: float(self.model.visual_degrees()),
            "start_task": lambda *args, **more: self._start("start_task", args, more),
            "start_recording": lambda *args, **more: self._start("start_recording", args, more),
            "look_at": self._look_at,
            "weights_digest": lambda: weights_digest(self.model),
            "region_layers": lambda: _plain(region_layers(self.model)),
            "layer_origin": lambda region: _plain(layer_origin(self.model, region)),
            "state": lambda: weights_digest(self.model),
            "plugins": _imported_plugins,
        }

    @property
    def model(self) -> BrainModel:
        if self._model is None:
            raise ProtocolError("The model is not loaded; the judge must send 'load' first.")
        return self._model

    def to(self, question: Message) -> object:
        if question.kind not in self._asked or not isinstance(question.content, dict):
            raise ProtocolError(f"Unknown question {question.kind!r}.")
        content: Any = protocol.taken(question.content)
        return self._asked[question.kind](*content.get("args", ()), **content.get("more", {}))

    def _load_model(self) -> object:
        if self._model is None:
            try:
                self._model = self._load()
            except OfflineError as error:  # the box sets the variable that its message blames
                source = error.absent.partition(" is not at ")[0] or "A file"
                raise OfflineError(
                    f"{source} is not on this machine. A model in a box has no network: its files are downloaded "
                    "beforehand, which failed (see the warning above) or was forbidden by BRAINSCORE_OFFLINE.",
                    error.absent,
                ) from error
        return {"start_task": _names(self._model.start_task), "look_at": _names(self._model.look_at)}

    def _start(self, method: str, args: Sequence[Any], more: dict[str, Any]) -> None:
        try:
            getattr(self.model, method)(*args, **more)
        except (NotApplicableError, NotImplementedError):
            raise
        except Exception:  # asked without stimuli, a model may only decline
            if not any(protocol.holds_stimuli(value) and value.empty for value in (*args, *more.values())):
                raise

    def _look_at(self, stimuli: Any, **more: Any) -> object:
        answer = self.model.look_at(stimuli, **more)
        return protocol.content_of_answer(answer, [*map(str, stimuli.columns)])


def _imported_plugins() -> list[str]:
    starts = {f"{root.path}{os.sep}": root.folder for root in library_roots("brainscore_vision")}
    files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    plugins = set()
    for file in files:
        for start, folder in starts.items():
            if isinstance(file, str) and file.startswith(start):  # as text: called often, for many modules
                name, _, rest = file.removeprefix(start).partition(os.sep)
                plugins.update([f"{folder}/{name}"] if rest else [])
    return sorted(plugins)


def _names(method: Callable[..., object]) -> list[str] | None:
    try:
        parameters = inspect.signature(method).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return None
    return [parameter.name for parameter in parameters]


def _plain(value: object) -> object:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


if __name__ == "__main__":
    sys.exit(main())
