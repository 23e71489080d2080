"""A stand-in for a model: stored features."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, cast

import numpy as np

from brainscore_core.errors import AssemblyError
from brainscore_core.identity.digest import content_digest
from brainscore_vision.benchmark_helpers.recordings.recording import squeeze_single_timebin
from brainscore_vision.model_interface import BrainModel

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.assemblies import (
        BehavioralAssembly,
        DataAssembly,
        NeuroidAssembly,
    )
    from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet

__all__ = ["PrecomputedFeatures"]


class PrecomputedFeatures(BrainModel):
    """A model that answers with stored features, in the order of the stimuli.

    Features have dims (presentation, ...) and ``stimulus_id``; or are such assemblies by stimulus set identifier. For a
    repeated stimulus, its first presentation is returned.
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
                f"There are no precomputed features for {len(absent)} of {len(ids)} stimuli (first: "
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
            f"There are no precomputed features for the stimulus set {identifier!r}; known are {list(self.features)}."
        )
