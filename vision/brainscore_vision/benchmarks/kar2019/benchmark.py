"""Compare when models and IT solve images: object solution times (Kar et al. 2019).

Images of 8 degrees; activity of IT in 18 bins of 10 ms from 70 ms after onset. An image is solved when a linear decoder
recognises its object as well as monkeys do (see the metric ``ost``). The ceiling is the authors'.
"""

import numpy as np

from brainscore_vision import load_dataset, load_metric
from brainscore_vision.benchmark_helpers.recordings import RecordingConditions, describe, show, varies_over_time
from brainscore_vision.benchmarks import BenchmarkBase, ceil_score
from brainscore_vision.data_helpers import cite_data
from brainscore_vision.metrics import Score
from brainscore_vision.model_interface import BrainModel
from brainscore_vision.utils import LazyLoad

BIBTEX = cite_data("kar2019")

VISUAL_DEGREES = 8
NUMBER_OF_TRIALS = 44
TIME_BINS = [(start, start + 10) for start in range(70, 250, 10)]  # ms after onset
CEILING = 0.79


class DicarloKar2019OST(BenchmarkBase):
    """Correlate the solution times of a model with those of IT.

    The score is NaN for a model whose answer to the first image is the same in all time bins, before it sees the other
    images, and for one that solves no image.
    """

    def __init__(self) -> None:
        super().__init__(
            identifier="Kar2019-ost", version=2, ceiling_func=lambda: Score(CEILING), parent="IT", bibtex=BIBTEX
        )
        self._assembly = LazyLoad(load_assembly)
        self._similarity_metric = load_metric("ost", crossvalidation_kwargs={"compat": True})
        self._visual_degrees = VISUAL_DEGREES
        self._number_of_trials = NUMBER_OF_TRIALS

    def __call__(self, candidate: BrainModel) -> Score:
        """Score a candidate."""
        stimuli = self._assembly.stimulus_set
        candidate.start_recording("IT", time_bins=TIME_BINS)
        if not varies_over_time(show(candidate, stimuli[:1], self._visual_degrees, self._number_of_trials)):
            return self._not_applicable(candidate.identifier)
        recorded = show(candidate, stimuli, self._visual_degrees, self._number_of_trials)
        score = ceil_score(self._similarity_metric(recorded, self._assembly), self.ceiling)
        conditions = RecordingConditions("IT", TIME_BINS, self._visual_degrees, self._number_of_trials)
        describe(score, candidate, [recorded], conditions)
        if np.isnan(score):
            score.attrs["not_applicable"] = (
                f"Model {candidate.identifier!r} solves too few images, or all at the same time, for a correlation."
            )
        return score

    def _not_applicable(self, model: str) -> Score:
        score = ceil_score(Score(np.nan), self.ceiling)
        score.attrs["not_applicable"] = (
            f"Model {model!r} does not change over time: it responds the same in all {len(TIME_BINS)} "
            f"bins from {TIME_BINS[0][0]} to {TIME_BINS[-1][1]} ms, so that it solves all images at once."
        )
        return score


def load_assembly():
    """Load solution times in ms by a support vector machine, dims (presentation), each image once."""
    assembly = load_dataset("Kar2019")
    _, first = np.unique(assembly["stimulus_id"].values, return_index=True)
    times = assembly[{"decoder": np.flatnonzero(assembly["decoder"].values == "svm")[0], "presentation": first}]
    times = times.assign_coords(truth=("presentation", times["image_label"].values))
    stimuli = assembly.stimulus_set.assign(truth=assembly.stimulus_set["image_label"])
    times.attrs["stimulus_set"] = stimuli
    return times
