"""Let one model take part in several benchmarks, and ask it nothing twice.

Benchmarks that share stimuli then share one look at them: what a model answered is kept, as long as it fits the memory,
and so is what benchmarks compute from it (see `once`). Everything is forgotten with the `SharedCandidate`.
"""

from __future__ import annotations

import functools
import inspect
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from brainscore_core.config import memory_budget
from brainscore_core.identity.digest import content_digest
from brainscore_vision.model_interface import BrainModel

if TYPE_CHECKING:
    import numpy.typing as npt

    from brainscore_core.supported_data_standards.brainio.assemblies import BehavioralAssembly, NeuroidAssembly
    from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet

__all__ = ["SharedCandidate", "once", "with_signature"]

Result = TypeVar("Result")


class SharedCandidate(BrainModel):
    """A model as several benchmarks see it: asked what it was asked before, it gives the same answer.

    A question is a region and its time bins, or a task and what it was fitted on; the stimuli with the content of
    their files and all their columns; and the number of trials. A model that answers every trial anew is so recorded
    once and compared several times, like a subject. What else a benchmark reads of the model is read of the model.

    Parameters
    ----------
    model : BrainModel
        Must not change meanwhile.
    most_bytes : int, optional
        How much memory answers may take before the oldest is forgotten; memory-mapped ones take none. None: the
        memory budget.
    """

    def __init__(self, model: BrainModel, most_bytes: int | None = None) -> None:
        self._model = model
        self._most_bytes = memory_budget() if most_bytes is None else most_bytes
        self._asked: str | None = None  # what the model was last prepared for; None if that has no digest
        self._answers: OrderedDict[str, NeuroidAssembly | BehavioralAssembly] = OrderedDict()
        self._results: dict[Hashable, object] = {}
        for name in ("start_task", "look_at"):  # some benchmarks ask which options a model knows
            vars(self)[name] = with_signature(getattr(self, name), _signature_of(getattr(model, name)))

    def __getattr__(self, name: str) -> Any:  # whatever the model has
        if name == "_model":  # before __init__ has run, as in a copy
            raise AttributeError(name)
        return getattr(self._model, name)

    @property
    def identifier(self) -> str:
        """The identifier of the model."""
        return self._model.identifier

    def visual_degrees(self) -> float:
        """Return the width of the model's field of view, degrees of visual angle."""
        return self._model.visual_degrees()

    def start_task(self, task: str, *fitting: Any, **more: Any) -> None:  # each task takes something else
        """Prepare the model for a task; not if it is prepared for exactly that."""
        asked = _digest_of("task", task, fitting, more)
        if asked is None or asked != self._asked:
            self._asked = None  # if this fails, the model is in an unknown state
            self._model.start_task(task, *fitting, **more)
            self._asked = asked

    def start_recording(self, recording_target: str, *time_bins: Any, **more: Any) -> None:
        """Prepare the model for a recording."""
        self._asked = None
        self._model.start_recording(recording_target, *time_bins, **more)
        self._asked = _digest_of("recording", recording_target, [*time_bins, *more.values()])

    def look_at(
        self,
        stimuli: StimulusSet,
        number_of_trials: int = 1,
        **more: Any,  # options that the model knows
    ) -> BehavioralAssembly | NeuroidAssembly:
        """Return what the model answers, or answered when it saw the same; the caller may change the result."""
        key = None if self._asked is None else _digest_of(self._asked, stimuli, number_of_trials, more)
        if key is None:
            return self._model.look_at(stimuli, number_of_trials=number_of_trials, **more)
        if key not in self._answers:
            answer = self._model.look_at(stimuli, number_of_trials=number_of_trials, **more)
            size = _bytes_of(answer)
            if size > self._most_bytes:
                return answer
            while size + sum(map(_bytes_of, self._answers.values())) > self._most_bytes:
                self._answers.popitem(last=False)
            self._answers[key] = answer
        self._answers.move_to_end(key)
        return _own(self._answers[key])

    def once(self, step: Hashable, compute: Callable[[], Result], *shown: object) -> Result:
        """See the function `once`."""
        digest = _digest_of(*shown)
        if self._asked is None or digest is None:
            return compute()
        key = (self._asked, step, digest)
        if key not in self._results:
            self._results[key] = compute()
        return cast("Result", self._results[key])


def with_signature(method: Callable[..., Result], signature: inspect.Signature | None) -> Callable[..., Result]:
    """Return a method that shows the parameters of another one; None: its own."""
    if signature is None:
        return method

    @functools.wraps(method)
    def same(*args: Any, **more: Any) -> Result:
        return method(*args, **more)

    vars(same)["__signature__"] = signature
    return same


def _signature_of(method: Callable[..., object]) -> inspect.Signature | None:
    try:
        return inspect.signature(method)
    except (TypeError, ValueError):  # has none to show
        return None


def once(candidate: BrainModel, step: Hashable, compute: Callable[[], Result], *shown: object) -> Result:
    """Return what a step gives for a model as it is prepared; of a `SharedCandidate` it is computed once.

    Parameters
    ----------
    step : hashable
        Which step it is: a name, or the function that makes it. With `shown` and with what the model was last
        prepared for, it has to say everything that the result depends on.
    compute : callable
        Makes the result, which nobody may change.
    *shown
        Stimulus sets, numbers and texts. If one of them has no digest, nothing is shared.
    """
    if isinstance(candidate, SharedCandidate):
        return candidate.once(step, compute, *shown)
    return compute()


def _stimuli_digest(stimuli: StimulusSet) -> str:
    """Return a digest of identifier, columns and the content of all files of a stimulus set."""
    columns = {str(name): stimuli[name].to_numpy() for name in stimuli.columns}
    paths = getattr(stimuli, "stimulus_paths", {})
    shown = dict.fromkeys(stimuli["stimulus_id"])
    files = [Path(paths[stimulus_id]) for stimulus_id in shown if stimulus_id in paths]
    return content_digest(getattr(stimuli, "identifier", None), list(columns), columns, files)


def _digest_of(*parts: object) -> str | None:
    """Return a digest of a question; None if it has none, so that nothing is shared."""
    try:
        return content_digest(*map(_plain, parts))
    except (TypeError, OSError):
        return None


def _plain(part: object) -> object:
    import pandas as pd  # imported by whoever has stimuli

    if isinstance(part, pd.DataFrame):
        return ["stimuli", _stimuli_digest(cast("StimulusSet", part))]
    if isinstance(part, dict):
        return {name: _plain(value) for name, value in part.items()}
    if isinstance(part, Sequence) and not isinstance(part, (str, bytes)):
        return [_plain(each) for each in part]
    return part


def _bytes_of(answer: NeuroidAssembly | BehavioralAssembly) -> int:
    return 0 if _is_mapped(answer.values) else int(answer.nbytes)


def _is_mapped(values: npt.NDArray[Any]) -> bool:
    base: object = values
    while isinstance(base, np.ndarray) and not isinstance(base, np.memmap):
        base = base.base
    return isinstance(base, np.memmap)


def _own(answer: NeuroidAssembly | BehavioralAssembly) -> NeuroidAssembly | BehavioralAssembly:
    """Return an answer with values of its own, unless they lie in a file, where they cannot be changed."""
    if _is_mapped(answer.values):
        return answer.copy(deep=False)
    return answer.copy(data=np.array(answer.values))
