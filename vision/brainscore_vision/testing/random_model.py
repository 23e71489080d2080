"""A stand-in for a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from brainscore_core.supported_data_standards.brainio.assemblies import BehavioralAssembly, NeuroidAssembly
from brainscore_vision.model_interface import BrainModel

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet

__all__ = ["RandomModel"]

Coords = Mapping[str, tuple[str, npt.ArrayLike]]


class RandomModel(BrainModel):
    """A model that always gives the same random answer to a stimulus."""

    def __init__(self, visual_degrees: float = 8.0, *, n_neuroids: int = 40, seed: int = 0) -> None:
        self._visual_degrees = visual_degrees
        self._n_neuroids = n_neuroids
        self._seed = seed
        self._task: str | None = None
        self._labels: Sequence[str] = ()
        self._region = ""
        self._time_bins: Sequence[tuple[float, float]] = ()
        self.has_behaved = False
        """Whether a task was started."""

    @property
    def identifier(self) -> str:
        """``random-<seed>``."""
        return f"random-{self._seed}"

    def visual_degrees(self) -> float:
        """Return the width of the field of view, degrees."""
        return self._visual_degrees

    def start_task(self, task: str, fitting_stimuli: Any = None) -> None:  # depends on the task
        """Accept any task."""
        self._task, self.has_behaved = task, True
        if task == BrainModel.Task.probabilities:
            self._labels = sorted({str(label) for label in fitting_stimuli["image_label"]})
        elif task == BrainModel.Task.label:
            imagenet = isinstance(fitting_stimuli, str)
            self._labels = [f"n{number:08d}" for number in range(1000)] if imagenet else list(fitting_stimuli)

    def start_recording(self, recording_target: str, time_bins: Sequence[tuple[float, float]] = ((70, 170),)) -> None:
        """Accept any region and time bins."""
        self._task, self._region, self._time_bins = None, recording_target, list(time_bins)

    def look_at(
        self,
        stimuli: StimulusSet,
        number_of_trials: int = 1,  # noqa: ARG002 - the interface has it
    ) -> BehavioralAssembly | NeuroidAssembly:
        """Return random activity or random choices, with all columns of the stimuli."""
        coords = {
            name: ("presentation", stimuli[name].to_numpy()) for name in stimuli.columns if name != "presentation"
        }
        if self._task is None:
            return self._activity(stimuli, coords)
        if self._task == BrainModel.Task.odd_one_out:
            return self._odd_ones(stimuli)
        return self._choices(stimuli, coords)

    def _generators(self, stimuli: StimulusSet) -> list[np.random.Generator]:
        texts = [str(stimulus_id) for stimulus_id in stimuli["stimulus_id"]]
        return [np.random.default_rng([self._seed, *text.encode()]) for text in texts]

    def _activity(self, stimuli: StimulusSet, coords: Coords) -> NeuroidAssembly:
        shape = (self._n_neuroids, max(len(self._time_bins), 1))
        values = np.array([generator.standard_normal(shape) for generator in self._generators(stimuli)])
        names = [f"{self.identifier}.{number}" for number in range(self._n_neuroids)]
        coords = {
            **coords,
            "neuroid_id": ("neuroid", names),
            "region": ("neuroid", [self._region] * self._n_neuroids),
            "layer": ("neuroid", ["random"] * self._n_neuroids),
        }
        if len(self._time_bins) < 2:
            return NeuroidAssembly(values[:, :, 0], coords=coords, dims=["presentation", "neuroid"])
        coords["time_bin_start"] = ("time_bin", [start for start, _ in self._time_bins])
        coords["time_bin_end"] = ("time_bin", [end for _, end in self._time_bins])
        return NeuroidAssembly(values, coords=coords, dims=["presentation", "neuroid", "time_bin"])

    def _choices(self, stimuli: StimulusSet, coords: Coords) -> BehavioralAssembly:
        weights = np.array([generator.random(len(self._labels)) for generator in self._generators(stimuli)])
        if self._task == BrainModel.Task.probabilities:
            shares = weights / weights.sum(axis=1, keepdims=True)
            coords = {**coords, "choice": ("choice", list(self._labels))}
            return BehavioralAssembly(shares, coords=coords, dims=["presentation", "choice"])
        picked = np.array(list(self._labels))[weights.argmax(axis=1)]
        return BehavioralAssembly(picked[np.newaxis], coords=coords, dims=["choice", "presentation"])

    def _odd_ones(self, stimuli: StimulusSet) -> BehavioralAssembly:
        ids = stimuli["stimulus_id"].to_numpy().reshape(-1, 3)
        places = [generator.integers(3) for generator in self._generators(stimuli)[::3]]
        choices = ids[np.arange(len(ids)), places]
        coords = {"stimulus_id": ("presentation", ["|".join(map(str, trio)) for trio in ids])}
        return BehavioralAssembly(choices[np.newaxis], coords=coords, dims=["choice", "presentation"])
