"""Stand for a model that runs in another process: a benchmark asks as it asks any model, and does not notice."""

from __future__ import annotations

import inspect
import math
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

from pydantic import TypeAdapter

from brainscore_core.errors import (
    CandidateDiedError,
    CandidateError,
    CandidateTimeoutError,
    CorruptFileError,
    InvalidAnswerError,
    PeerClosedError,
    PeerTimeoutError,
    ProtocolError,
)
from brainscore_core.scoring.isolation.wire import Connection, Message
from brainscore_core.untrusted import Name, at_most, checked
from brainscore_vision.benchmark_helpers.sharing import with_signature
from brainscore_vision.isolation import protocol
from brainscore_vision.model_interface import BrainModel

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.assemblies import BehavioralAssembly, NeuroidAssembly
    from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet

__all__ = ["RemoteModel"]

_Names = Annotated[list[Name], at_most(1_000)]
_TEXT, _DEGREES = TypeAdapter(Name), TypeAdapter(float)
_ACCEPTED = TypeAdapter(dict[Name, _Names | None])
_LAYERS = TypeAdapter(dict[Name, Name | _Names])
_DIGEST = TypeAdapter(Name | None)
_ORIGIN = TypeAdapter(dict[Name, Any])
_MOST_ORIGIN = 1_000  # entries


class RemoteModel(BrainModel):
    """A model in another process.

    Parameters
    ----------
    connection : Connection
        To the candidate.
    folder : Path
        Where the files of the stimuli of the moment are put, for the candidate to read.
    answer_s : float
        Seconds within which an answer has to be there.
    why : callable
        Returns what is known of the end of the candidate's process, for messages.

    Raises
    ------
    CandidateDiedError, CandidateTimeoutError, InvalidAnswerError
        By every method: the candidate has gone, is silent, or says something else than an answer. After that it is
        asked nothing more (`is_lost`).
    CandidateError
        By every method: what the model has raised. The name of the class is that of the nearest class of errors that
        the library or Python has.
    """

    def __init__(
        self,
        connection: Connection,
        folder: Path,
        *,
        answer_s: float = math.inf,
        why: Callable[[], str] = lambda: "",
    ) -> None:
        self._connection, self._folder, self._answer_s, self._why = connection, folder, answer_s, why
        self._number = 0
        self._n_shown = 0
        self._task: str | None = None
        self._learned_from: list[Path] = []
        self._lost: CandidateError | None = None
        self._known: dict[str, Any] = {}

    @property
    def is_lost(self) -> bool:
        """Whether the candidate can be asked nothing more."""
        return self._lost is not None

    def load(self) -> None:
        """Let the candidate load its model."""
        accepted = self._checked(_ACCEPTED, self._ask(protocol.LOAD), "parameters")
        for name in ("start_task", "look_at"):  # some benchmarks ask which options a model knows
            method = getattr(type(self), name).__get__(self)
            vars(self)[name] = with_signature(method, _signature(accepted.get(name)))

    @property
    def identifier(self) -> str:
        """The identifier of the model."""
        return str(self._once("identifier", _TEXT))

    def visual_degrees(self) -> float:
        """Return the width of the model's field of view, degrees of visual angle."""
        degrees = float(self._once("visual_degrees", _DEGREES))
        if not 0 < degrees < math.inf:
            raise self._end(InvalidAnswerError(f"The candidate's field of view is {degrees} degrees wide."))
        return degrees

    def weights_digest(self) -> str | None:
        """Return the digest of the weights, as the candidate says it; None if it is silent."""
        digest: str | None = self._checked(_DIGEST, self._ask("weights_digest"), "digest of weights")
        return digest

    @property
    def region_layer_map(self) -> Mapping[str, str | list[str]]:
        """Layer or layers of each region, as far as the model says; with a method ``origin``, see `layer_origin`."""
        layers = self._checked(_LAYERS, self._ask("region_layers"), "layers")
        return _Layers(layers, self._origin)

    def _origin(self, region: str) -> Mapping[str, object]:
        origin: dict[str, Any] = self._checked(_ORIGIN, self._ask("layer_origin", region), "origin of a layer")
        if _n_entries(origin) > _MOST_ORIGIN:
            raise self._end(InvalidAnswerError("The candidate tells more of the origin of a layer than it may."))
        return origin

    def start_task(self, task: str, *fitting: Any, **more: Any) -> None:  # each task takes something else
        """Prepare the model for a task; files of stimuli to learn from stay there until the next preparation."""
        self._start("start_task", task, fitting, more)
        self._task = task

    def start_recording(self, recording_target: str, *time_bins: Any, **more: Any) -> None:
        """Prepare the model for a recording."""
        self._start("start_recording", recording_target, time_bins, more)
        self._task = None

    def look_at(
        self, stimuli: StimulusSet, number_of_trials: int = 1, **more: Any
    ) -> BehavioralAssembly | NeuroidAssembly:
        """Show stimuli and return what the model answers, after a look whether it is an answer to these stimuli."""
        folder = self._new_folder()
        try:
            told, shown = protocol.hand_out(stimuli, folder)
            given = {"number_of_trials": number_of_trials, **more}
            content = self._ask("look_at", told, **given)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        try:
            answer = protocol.read_answer(
                content,
                shown,
                number_of_trials=number_of_trials,
                in_threes=self._task == BrainModel.Task.odd_one_out,
                is_neural=self._task is None,
            )
        except InvalidAnswerError as error:
            raise self._end(error) from error
        return cast("NeuroidAssembly", answer)

    def _start(self, method: str, what: str, args: Sequence[Any], more: Mapping[str, Any]) -> None:
        while self._learned_from:
            shutil.rmtree(self._learned_from.pop(), ignore_errors=True)

        def hand(stimuli: StimulusSet) -> dict[str, object]:
            self._learned_from.append(self._new_folder())
            return protocol.hand_out(stimuli, self._learned_from[-1])[0]

        told = [protocol.held_stimuli(each, hand) for each in args]
        self._ask(method, what, *told, **{name: protocol.held_stimuli(each, hand) for name, each in more.items()})

    def _new_folder(self) -> Path:
        self._n_shown += 1
        return self._folder / f"{self._n_shown:06}"

    # -- questions -----------------------------------------------------------------------------------------------------

    def _once(self, question: str, kind: TypeAdapter[Any]) -> Any:
        if question not in self._known:
            self._known[question] = self._checked(kind, self._ask(question), question)
        return self._known[question]

    def _ask(self, question: str, *args: Any, **more: Any) -> object:
        """Return the answer to a question, as the candidate gives it."""
        if self._lost is not None:
            raise self._lost
        self._number += 1
        try:
            self._connection.send(Message(question, self._number, {"args": list(args), "more": more}), self._answer_s)
            reply = self._connection.receive(self._answer_s)
        except PeerTimeoutError as error:
            message = f"The candidate did not answer {question!r} within {self._answer_s:g} s."
            raise self._end(CandidateTimeoutError(message)) from error
        except PeerClosedError as error:
            ended = self._why()
            raise self._end(
                CandidateDiedError(f"The candidate ended before it answered {question!r}.{ended}")
            ) from error
        except ProtocolError as error:
            raise self._end(InvalidAnswerError(f"The candidate gave no answer to {question!r}: {error}")) from error
        if reply.number != self._number or reply.kind not in (protocol.ANSWER, protocol.ERROR):
            raise self._end(InvalidAnswerError(f"The candidate gave an answer to something else than {question!r}."))
        if reply.kind == protocol.ERROR:
            raise protocol.candidate_error(reply.content)
        return reply.content

    def _checked(self, kind: TypeAdapter[Any], content: object, what: str) -> Any:
        try:
            return checked(kind, content, what)
        except CorruptFileError as error:
            raise self._end(InvalidAnswerError(f"The candidate does not say what it was asked for: {error}")) from None

    def _end(self, error: CandidateError) -> CandidateError:
        """Note that the candidate is lost, and return the error that says why."""
        self._lost = error
        self._connection.close()
        return error


class _Layers(dict[str, "str | list[str]"]):
    """Layers of regions that also know how they came to be."""

    def __init__(self, layers: Mapping[str, str | list[str]], origin: Callable[[str], Mapping[str, object]]) -> None:
        super().__init__(layers)
        self.origin = origin


def _signature(names: Sequence[str] | None) -> inspect.Signature | None:
    """Return a signature with parameters of these names; None for any."""
    if names is None or not all(name.isidentifier() for name in names) or len(set(names)) != len(names):
        return None
    return inspect.Signature([inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names])


def _n_entries(value: object) -> int:
    if isinstance(value, dict):
        return sum(1 + _n_entries(each) for each in value.values())
    return sum(1 + _n_entries(each) for each in value) if isinstance(value, (list, tuple)) else 1
