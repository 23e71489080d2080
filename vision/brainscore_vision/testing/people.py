"""Stand-ins for behaviour."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from brainscore_core.supported_data_standards.brainio.assemblies import BehavioralAssembly
from brainscore_vision.model_interface import BrainModel

if TYPE_CHECKING:
    import numpy.typing as npt

    from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet

__all__ = ["KnownAnswers", "draw_choices"]


def draw_choices(
    stimuli: StimulusSet,
    *,
    accuracy: float | npt.ArrayLike,
    n_subjects: int,
    truth: str = "truth",
    presentation_coords: Sequence[str] = (),
    seed: int = 0,
) -> BehavioralAssembly:
    """Draw choices of people: each sees each stimulus once.

    Parameters
    ----------
    stimuli
        With the right label in the column `truth`, at least two different ones.
    accuracy : float or array-like, shape (n_stimuli,) or (n_subjects, n_stimuli)
        Probability of the right label; wrong ones are equally probable.
    presentation_coords
        Columns of the stimuli that become coordinates; others are joined on loading.

    Returns
    -------
    BehavioralAssembly, dims (presentation)
        The labels; coordinates `stimulus_id`, `subject` (from ``'1'``) and `presentation_coords`; attribute
        ``stimulus_set``.
    """
    generator = np.random.default_rng([seed, n_subjects])
    right = np.tile(np.asarray(stimuli[truth]).astype(str), (n_subjects, 1))
    labels = np.unique(right)
    place = np.searchsorted(labels, right)
    other = (place + generator.integers(1, len(labels), right.shape)) % len(labels)
    choices = np.where(generator.random(right.shape) < np.asarray(accuracy, dtype=float), right, labels[other])
    coords: dict[str, Any] = {
        name: ("presentation", np.tile(np.asarray(stimuli[name]), n_subjects))
        for name in dict.fromkeys(["stimulus_id", *presentation_coords])
    }
    coords["subject"] = ("presentation", np.repeat([str(number + 1) for number in range(n_subjects)], len(stimuli)))
    attrs = {"stimulus_set": stimuli, "stimulus_set_identifier": stimuli.identifier}
    return BehavioralAssembly(choices.ravel(), coords=coords, dims=["presentation"], attrs=attrs)


class KnownAnswers(BrainModel):
    """A model that gives each stimulus a given answer, for any task.

    `answers` are labels by stimulus; for ``odd_one_out``, the odd one by the stimuli of a trial in any order,
    ``'a|b|c'``. The last `task` and its `labels` are kept.
    """

    def __init__(self, answers: Mapping[str, str], visual_degrees: float = 8.0) -> None:
        self._answers = {_trial(stimuli.split("|")): answer for stimuli, answer in answers.items()}
        self._visual_degrees = visual_degrees
        self.task: str | None = None
        self.labels: list[str] = []

    identifier = "known-answers"

    def visual_degrees(self) -> float:
        """Return the width of the field of view, degrees."""
        return self._visual_degrees

    def start_task(self, task: str, fitting_stimuli: Any = None) -> None:  # depends on the task
        """Set task and labels."""
        self.task = task
        if task == BrainModel.Task.probabilities:
            self.labels = list(dict.fromkeys(map(str, fitting_stimuli["image_label"])))
        elif task == BrainModel.Task.label:
            self.labels = list(fitting_stimuli)

    def look_at(
        self,
        stimuli: StimulusSet,
        number_of_trials: int = 1,  # noqa: ARG002 - the interface has it
    ) -> BehavioralAssembly:
        """Return the answers with all columns of the stimuli; probabilities are 1 or 0."""
        ids = stimuli["stimulus_id"].astype(str).to_numpy()
        if self.task == BrainModel.Task.odd_one_out:
            trials = ["|".join(trial) for trial in ids.reshape(-1, 3)]
            odd = [[self._answers[_trial(trial)] for trial in ids.reshape(-1, 3)]]
            numbered = {"stimulus_id": ("presentation", trials), "trial": ("presentation", range(len(trials)))}
            return BehavioralAssembly(odd, coords=numbered, dims=["choice", "presentation"])
        labels = np.array([self._answers[stimulus_id] for stimulus_id in ids])
        coords: dict[str, Any] = {str(name): ("presentation", stimuli[name].to_numpy()) for name in stimuli.columns}
        if self.task == BrainModel.Task.label:
            return BehavioralAssembly(labels[np.newaxis], coords=coords, dims=["choice", "presentation"])
        sure = (labels[:, np.newaxis] == np.array(self.labels)).astype(float)
        return BehavioralAssembly(
            sure, coords={**coords, "choice": ("choice", self.labels)}, dims=["presentation", "choice"]
        )


def _trial(stimuli: Iterable[str]) -> str:
    return "|".join(sorted(stimuli))
