"""Stand-ins for a model: stored features, and a model shared among benchmarks."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from brainscore_core.config import memory_budget
from brainscore_core.errors import AssemblyError
from brainscore_core.identity.digest import content_digest
from brainscore_vision.benchmark_helpers.recordings import squeeze_single_timebin
from brainscore_vision.benchmark_helpers.screen import ModelProxy, Presented
from brainscore_vision.model_interface import BrainModel

if TYPE_CHECKING:
    import numpy.typing as npt

    from brainscore_core.supported_data_standards.brainio.assemblies import (
        BehavioralAssembly,
        DataAssembly,
        NeuroidAssembly,
    )
    from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet

__all__ = ["PrecomputedFeatures", "SharedCandidate", "once"]


class PrecomputedFeatures(BrainModel):
    """A model that answers with stored features, in the order of the stimuli.

    Features have dims (presentation, ...) and ``stimulus_id``; or are such assemblies by stimulus set identifier. For a
    repeated stimulus, its first presentation is returned.

    Examples
    --------
    A test that observes a benchmark derives from it:

    >>> class Watched(PrecomputedFeatures):
    ...     def look_at(self, stimuli, number_of_trials=1):
    ...         self.shown = list(stimuli['stimulus_id'])
    ...         return super().look_at(stimuli, number_of_trials)
    """

    def __init__(self, features: DataAssembly | Mapping[str, DataAssembly], visual_degrees: float) -> None:
        self.features = features
        self._visual_degrees = visual_degrees

    @property
    def identifier(self) -> str:
        """A name that is equal for equal features only."""
        assemblies = self.features.values() if isinstance(self.features, Mapping) else [self.features]
        parts = [
            (np.asarray(assembly.values), [str(name) for name in assembly["stimulus_id"].values])
            for assembly in assemblies
        ]
        return f"precomputed-{content_digest(parts)[:12]}"

    def visual_degrees(self) -> float:
        """Return the width of the field of view, degrees."""
        return self._visual_degrees

    def start_task(self, task: str, fitting_stimuli: object = None) -> None:
        """Accept any task; the features stay the same."""

    def start_recording(self, recording_target: str, time_bins: Sequence[tuple[float, float]]) -> None:
        """Accept any region; the features stay the same."""

    def look_at(
        self,
        stimuli: StimulusSet,
        number_of_trials: int = 1,  # noqa: ARG002 - the interface has it
    ) -> BehavioralAssembly | NeuroidAssembly:
        """Return the stored features, the same for every trial; `AssemblyError` if there are none."""
        features = self._features_of(stimuli)
        row_of: dict[Hashable, int] = {}
        for row, stimulus_id in enumerate(features["stimulus_id"].values):
            row_of.setdefault(stimulus_id, row)
        ids = list(stimuli["stimulus_id"].values)
        absent = [stimulus_id for stimulus_id in ids if stimulus_id not in row_of]
        if absent:
            raise AssemblyError(
                f"Precomputed features are missing for {len(absent)} of {len(ids)} stimuli (first: "
                f"{absent[:3]}); known are {len(row_of)} such as {list(row_of)[:3]}. Check that both use the same "
                "stimulus_id."
            )
        features = features[{"presentation": [row_of[stimulus_id] for stimulus_id in ids]}]
        return cast("NeuroidAssembly", squeeze_single_timebin(features))  # the class of `features`

    def _features_of(self, stimuli: StimulusSet) -> DataAssembly:
        if not isinstance(self.features, Mapping):
            return self.features
        identifier = stimuli.identifier
        # `place_on_screen` appends the conversion after a double dash.
        for key in (identifier, str(identifier).split("--")[0]):
            if key in self.features:
                return self.features[key]
        raise AssemblyError(
            f"Precomputed features are missing for the stimulus set {identifier!r}; known are {list(self.features)}."
        )


# -- sharing -----------------------------------------------------------------------------------------------------------
# Share one model among benchmarks, without asking it anything twice.

Result = TypeVar("Result")


class SharedCandidate(ModelProxy):
    """A model that repeats its answer to an earlier question.

    A question consists of a region and its time bins, or a task and its fitting stimuli; the stimuli, with all columns
    and files; and the number of trials. Other attributes are the model's, which must not change.

    Parameters
    ----------
    most_bytes
        Memory for answers; beyond it, the oldest is dropped. Memory-mapped ones take none. None: the memory budget.
    """

    def __init__(self, model: BrainModel, most_bytes: int | None = None) -> None:
        self._most_bytes = memory_budget() if most_bytes is None else most_bytes
        self._asked: str | None = None  # digest of the last preparation, if it has one
        self._answers: OrderedDict[str, NeuroidAssembly | BehavioralAssembly] = OrderedDict()
        self._results: dict[Hashable, object] = {}
        super().__init__(model)

    def start_task(self, task: str, *fitting: Any, **more: Any) -> None:  # arguments depend on the task
        """Prepare the model for a task, unless it is prepared for exactly that."""
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
        **more: Any,  # options of the model
    ) -> BehavioralAssembly | NeuroidAssembly:
        """Return the answer, stored or new; the caller may change it."""
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


def once(candidate: BrainModel, step: Hashable, compute: Callable[[], Result], *shown: object) -> Result:
    """Return the result of a step for a model as prepared; for a `SharedCandidate`, compute it once.

    The name of the `step`, or its function, `shown` and the model's last preparation must determine the result, which
    must not be changed.
    """
    model = candidate.model if isinstance(candidate, Presented) else candidate
    if isinstance(model, SharedCandidate):
        return model.once(step, compute, *shown)
    return compute()


def _digest_of(*parts: object) -> str | None:
    """Return a digest of a question; None if a part has none, and nothing can be shared."""
    try:
        return content_digest(*map(_plain, parts))
    except (TypeError, OSError):
        return None


def _plain(part: object) -> object:
    import pandas as pd  # heavy; imported where there are stimuli

    if isinstance(part, pd.DataFrame):
        columns = {str(name): part[name].to_numpy() for name in part.columns}
        paths = getattr(part, "stimulus_paths", {})
        files = [Path(paths[stimulus_id]) for stimulus_id in dict.fromkeys(part["stimulus_id"]) if stimulus_id in paths]
        return ["stimuli", content_digest(getattr(part, "identifier", None), list(columns), columns, files)]
    if isinstance(part, dict):
        return {name: _plain(value) for name, value in part.items()}
    if isinstance(part, Sequence) and not isinstance(part, (str, bytes)):
        return [_plain(item) for item in part]
    return part


def _bytes_of(answer: NeuroidAssembly | BehavioralAssembly) -> int:
    return 0 if _is_mapped(answer.values) else int(answer.nbytes)


def _is_mapped(values: npt.NDArray[Any]) -> bool:
    base: object = values
    while isinstance(base, np.ndarray) and not isinstance(base, np.memmap):
        base = base.base
    return isinstance(base, np.memmap)


def _own(answer: NeuroidAssembly | BehavioralAssembly) -> NeuroidAssembly | BehavioralAssembly:
    """Copy an answer's values, unless read-only in a file."""
    if _is_mapped(answer.values):
        return answer.copy(deep=False)
    return answer.copy(data=np.array(answer.values))
