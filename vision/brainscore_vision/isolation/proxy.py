"""Represent a model in another process."""

from __future__ import annotations

import inspect
import math
import secrets
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, cast

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
    StateChangedError,
)
from brainscore_core.scoring.isolation.wire import Bounds, Connection, Message
from brainscore_core.untrusted import Name, at_most, checked
from brainscore_vision.benchmark_helpers.screen import with_signature
from brainscore_vision.isolation import protocol
from brainscore_vision.isolation.kept import KeptAnswers, question_digest
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
_PREPARATIONS = ("start_task", "start_recording")
_NOTHING: dict[str, object] = {"args": [], "more": {}}
# Answers are bounded by their question. Each presentation may have a number of values in each time bin (the first layer
# of VGG-16 has 3.2 million units) and labels in the header; all units and presentations together may have labels.
_MOST_VALUES, _LABELS_BYTES = 2**22, 2**30
_HEADER_BYTES, _PRESENTATION_BYTES = 2**18, 2**12
_ABOUT_THE_MODEL = 2**20  # bytes of the header, and of arrays

Result = TypeVar("Result")


class RemoteModel(BrainModel):
    """A model in another process.

    Parameters
    ----------
    connection : Connection, or callable that returns one
        A callable is called before the first question.
    folder
        Folder of the current stimulus files, readable to the candidate.
    answer_s
        Time limit for each answer, s.
    why
        Returns how the candidate's process ended, for messages.
    kept
        Store of answers, consulted first. None: the candidate is asked everything.
    environment_lock
        Names and versions installed in the candidate's environment; None: the same as in this one.

    Raises
    ------
    CandidateDiedError, CandidateTimeoutError, InvalidAnswerError
        By every method, if the candidate has ended, is too slow, or sends no valid answer. It is then lost (`is_lost`).
    CandidateError
        By every method, for an error of the model, with the name of the nearest class of the library or Python.
    StateChangedError
        By every method, if the started candidate's state differs from that of stored answers given before. Repeat
        earlier questions.
    """

    def __init__(
        self,
        connection: Connection | Callable[[], Connection],
        folder: Path,
        *,
        answer_s: float = math.inf,
        why: Callable[[], str] = lambda: "",
        kept: KeptAnswers | None = None,
        environment_lock: str | None = None,
    ) -> None:
        self.environment_lock = environment_lock
        self._connection = None if callable(connection) else connection
        self._connect = connection if callable(connection) else None
        self._folder, self._answer_s, self._why, self._kept = folder, answer_s, why, kept
        self._n_shown = 0
        self._task: str | None = None
        self._n_presentations, self._n_bins = 0, 1
        self._learned_from: list[Path] = []
        self._lost: CandidateError | None = None
        self._known: dict[str, Any] = {}
        self._is_loaded = False
        self._prepared: _Prepared | None = _Prepared()
        self.n_found = 0
        """Number of stored answers used."""
        self.has_seen = False
        """Whether the candidate was shown stimuli for this pair, so the benchmark applies to it."""
        self.has_changed = False
        """Whether `StateChangedError` was raised, even if a benchmark caught it; reset it after asking again."""

    @property
    def is_lost(self) -> bool:
        """Whether the candidate can be asked nothing more."""
        return self._lost is not None

    def load(self) -> None:
        """Load the model, or use stored answers."""
        accepted = self._ask(_reader(_ACCEPTED, "parameters"), protocol.LOAD)
        for name in ("start_task", "look_at"):  # some benchmarks inspect the options of a model
            method = getattr(type(self), name).__get__(self)
            vars(self)[name] = with_signature(method, _signature(accepted.get(name)))

    @property
    def identifier(self) -> str:
        """The model's identifier."""
        return str(self._once("identifier", _reader(_TEXT, "identifier")))

    def visual_degrees(self) -> float:
        """See `BrainModel.visual_degrees`."""
        return float(self._once("visual_degrees", _degrees))

    def weights_digest(self) -> str | None:
        """Return the digest that the candidate reports; None without one."""
        digest: str | None = self._ask(_reader(_DIGEST, "digest of weights"), "weights_digest")
        return digest

    @property
    def region_layer_map(self) -> Mapping[str, str | list[str]]:
        """Layer or layers of each region, as reported; with a method ``origin``, see `layer_origin`."""
        return _Layers(self._ask(_reader(_LAYERS, "layers"), "region_layers"), self._origin)

    def _origin(self, region: str) -> Mapping[str, object]:
        origin: dict[str, Any] = self._ask(_reader(_ORIGIN, "origin of a layer", _MOST_ORIGIN), "layer_origin", region)
        return origin

    def start_task(self, task: str, *fitting: Any, **more: Any) -> None:  # each task takes something else
        """Prepare the model for a task; training stimuli stay until the next preparation.

        It is first asked without them: after seeing stimuli it can't decline.
        """
        if not self.has_seen and any(map(protocol.holds_stimuli, (*fitting, *more.values()))):
            self._start("start_task", task, fitting, more, is_shown=False)  # the last time that it may decline
            self.has_seen = True
        self._start("start_task", task, fitting, more)
        self._task, self._n_bins = task, 1

    def start_recording(self, recording_target: str, *time_bins: Any, **more: Any) -> None:
        """Prepare the model for a recording."""
        self._start("start_recording", recording_target, time_bins, more)
        self._task = None
        bins: Any = time_bins[0] if time_bins else more.get("time_bins")
        self._n_bins = max(1, len(bins)) if hasattr(bins, "__len__") else 1

    def look_at(
        self, stimuli: StimulusSet, number_of_trials: int = 1, **more: Any
    ) -> BehavioralAssembly | NeuroidAssembly:
        """Show stimuli and return the answer, validated for these."""
        folder = self._new_folder()
        try:
            description, presented = protocol.hand_out(stimuli, folder)
            self.has_seen = True

            def read(content: object) -> Any:
                return protocol.read_answer(
                    content,
                    presented,
                    number_of_trials=number_of_trials,
                    in_threes=self._task == BrainModel.Task.odd_one_out,
                    is_neural=self._task is None,
                )

            self._n_presentations = len(presented.ids) * number_of_trials
            answer = self._ask(read, "look_at", description, number_of_trials=number_of_trials, **more)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        return cast("NeuroidAssembly", answer)

    def _start(
        self, method: str, what: str, args: Sequence[Any], more: Mapping[str, Any], *, is_shown: bool = True
    ) -> None:
        while self._learned_from:
            shutil.rmtree(self._learned_from.pop(), ignore_errors=True)

        def hand(stimuli: StimulusSet) -> dict[str, object]:
            self._learned_from.append(self._new_folder())
            rows = stimuli if is_shown else stimuli.iloc[:0]
            return protocol.hand_out(rows, self._learned_from[-1], "image_label")[0]

        positional = [protocol.held_stimuli(argument, hand) for argument in args]
        named = {name: protocol.held_stimuli(argument, hand) for name, argument in more.items()}
        self._prepared = None  # a failure leaves the model in an unknown state
        self._ask(lambda _content: None, method, what, *positional, **named)  # its return value has no meaning

    def _new_folder(self) -> Path:
        self._n_shown += 1
        return self._folder / f"{self._n_shown:06}"

    # -- questions -----------------------------------------------------------------------------------------------------

    def _once(self, question: str, read: Callable[[object], Any]) -> Any:
        if question not in self._known:
            self._known[question] = self._ask(read, question)
        return self._known[question]

    def _ask(self, read: Callable[[object], Result], question: str, *args: Any, **more: Any) -> Result:
        """Return an answer, stored or from the candidate, after `read` has validated it."""
        if self._lost is not None:
            raise self._lost
        content = {"args": list(args), "more": more}
        is_preparation = question in _PREPARATIONS
        key = self._key(question, content, is_preparation=is_preparation)
        stored = self._kept.find(key) if self._kept and key else None
        if stored is not None:
            try:
                answer = read(stored[0])
            except InvalidAnswerError:
                pass  # as if it were missing
            else:
                self.n_found += 1
                if is_preparation:
                    self._prepared = _Prepared(question, content, key, is_told=False)
                return answer
        self._reach(is_preparation=is_preparation)
        reply = self._exchange(question, content)
        try:
            answer = read(reply)
        except InvalidAnswerError as error:
            raise self._end(error) from error
        if self._kept and key:
            self._kept.keep(key, reply, self._exchange("plugins", _NOTHING))
        if is_preparation:
            self._prepared = _Prepared(question, content, key)
        return answer

    def _key(self, question: str, content: object, *, is_preparation: bool) -> str | None:
        preparation = _Prepared() if is_preparation else self._prepared
        if self._kept is None or preparation is None or preparation.key is None:
            return None
        try:
            return question_digest(question, content, preparation.key)
        except (ProtocolError, OSError):
            return None

    def _reach(self, *, is_preparation: bool) -> None:
        """Let the candidate run, ready for a question."""
        if self._connection is None and self._connect is not None:
            self._connection = self._connect()
        if self._kept is not None and not self._is_loaded:
            self._is_loaded = True
            loaded = self._exchange(protocol.LOAD, _NOTHING)
            is_same = self._kept.begin(_reader(_DIGEST, "state")(self._exchange("state", _NOTHING)))
            self._kept.keep(question_digest(protocol.LOAD, _NOTHING, ""), loaded, self._exchange("plugins", _NOTHING))
            if not is_same and self.n_found:
                self._known.clear()
                self._prepared, self.has_changed = _Prepared(), True
                raise StateChangedError(
                    "The model's weights differ from those behind its stored answers, or it does not report them."
                )
        held = self._prepared
        if held is not None and held.question and not held.is_told and not is_preparation:
            self._exchange(held.question, held.content)
            self._prepared = _Prepared(held.question, held.content, held.key)

    def _exchange(self, question: str, content: object) -> object:
        if self._connection is None:
            raise self._end(CandidateDiedError("No candidate is available to answer."))
        number = secrets.randbelow(2**53)  # no answer can precede its question: a count could be guessed
        try:
            self._connection.send(Message(question, number, content), self._answer_s)
            reply = self._connection.receive(self._answer_s, self._bounds_of(question, self._connection.bounds))
        except PeerTimeoutError as error:
            message = f"The candidate did not answer {question!r} within {self._answer_s:g} s."
            raise self._end(CandidateTimeoutError(message)) from error
        except PeerClosedError as error:
            ended = self._why()
            raise self._end(
                CandidateDiedError(f"The candidate ended before it answered {question!r}.{ended}")
            ) from error
        except ProtocolError as error:
            raise self._end(
                InvalidAnswerError(f"The candidate gave no valid answer to {question!r}: {error}")
            ) from error
        if reply.number != number or reply.kind not in (protocol.ANSWER, protocol.ERROR):
            raise self._end(InvalidAnswerError(f"The candidate answered something other than {question!r}."))
        if reply.kind == protocol.ERROR:
            raise protocol.candidate_error(reply.content, may_decline=not self.has_seen)
        return reply.content

    def _bounds_of(self, question: str, bounds: Bounds) -> Bounds:
        if question != "look_at":
            return replace(bounds, header_bytes=_ABOUT_THE_MODEL, array_bytes=_ABOUT_THE_MODEL)
        values = self._n_presentations * self._n_bins * _MOST_VALUES * 8
        return replace(
            bounds,
            header_bytes=min(bounds.header_bytes, _HEADER_BYTES + _PRESENTATION_BYTES * self._n_presentations),
            array_bytes=min(bounds.array_bytes, _LABELS_BYTES + values),
        )

    def _end(self, error: CandidateError) -> CandidateError:
        self._lost = error
        if self._connection is not None:
            self._connection.close()
        return error


@dataclass(frozen=True)
class _Prepared:
    question: str = ""
    content: object = None
    key: str | None = ""
    is_told: bool = True


def _reader(kind: TypeAdapter[Any], what: str, most: float = math.inf) -> Callable[[object], Any]:
    def read(content: object) -> Any:
        try:
            value = checked(kind, content, what)
        except CorruptFileError as error:
            raise InvalidAnswerError(f"The candidate's answer lacks what was asked for: {error}") from None
        if _n_entries(value) > most:
            raise InvalidAnswerError(f"The candidate's answer on the {what} is larger than allowed.")
        return value

    return read


def _degrees(content: object) -> float:
    degrees = float(_reader(_DEGREES, "visual_degrees")(content))
    if not 0 < degrees < math.inf:
        raise InvalidAnswerError(
            f"The candidate's field of view is {degrees} degrees; expected a finite number above 0."
        )
    return degrees


class _Layers(dict[str, "str | list[str]"]):
    def __init__(self, layers: Mapping[str, str | list[str]], origin: Callable[[str], Mapping[str, object]]) -> None:
        super().__init__(layers)
        self.origin = origin


def _signature(names: Sequence[str] | None) -> inspect.Signature | None:
    if names is None or not all(name.isidentifier() for name in names) or len(set(names)) != len(names):
        return None
    return inspect.Signature([inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names])


def _n_entries(value: object) -> int:
    if isinstance(value, dict):
        return sum(1 + _n_entries(item) for item in value.values())
    return sum(1 + _n_entries(item) for item in value) if isinstance(value, (list, tuple)) else 1
