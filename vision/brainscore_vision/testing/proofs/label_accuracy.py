"""Test benchmarks on the ImageNet category of an image, with synthetic images."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from brainscore_core.supported_data_standards.brainio.assemblies import BehavioralAssembly
from brainscore_vision.benchmark_helpers.stand_ins import PrecomputedFeatures
from brainscore_vision.loading import load_benchmark, load_stimulus_set
from brainscore_vision.testing.stand_ins import draw_stimuli

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
    from brainscore_vision.testing.stand_ins import StandIns

__all__ = ["LabelAccuracyProof"]


class _Observer(PrecomputedFeatures):
    def __init__(self, stimuli: StimulusSet, answers: Any) -> None:
        coords = {"stimulus_id": ("presentation", stimuli["stimulus_id"]), "label": ("presentation", answers)}
        super().__init__(BehavioralAssembly([answers], coords=coords, dims=["choice", "presentation"]), 8)

    def start_task(self, task: Any, fitting_stimuli: Any = None) -> None:
        self.asked = task, fitting_stimuli

    def look_at(self, stimuli: StimulusSet, number_of_trials: int = 1) -> Any:
        self.seen = list(stimuli.columns), number_of_trials
        return super().look_at(stimuli, number_of_trials)


class LabelAccuracyProof:
    """Set the benchmark in a class of tests, and inherit these.

    `identifier` and `parent` are the benchmark's; `stimulus_set` identifies its `n_images` images, whose column
    ``synset`` names the category; each is shown `number_of_trials` times.

    Examples
    --------
    In ``test.py``::

        class TestMine(LabelAccuracyProof):
            identifier = "Mine2026-top1"
            parent = "engineering"
            stimulus_set = "Mine2026"
            n_images = 5_000
    """

    identifier: str
    parent: str
    stimulus_set: str
    n_images: int
    number_of_trials = 10

    @classmethod
    def stand_in(cls, stand_ins: StandIns) -> StimulusSet:
        """Replace the images by made-up ones, two of each of 20 categories, in blocks."""
        numbers = np.repeat(np.arange(0, 1000, 50), 2)
        columns: dict[str, Any] = {"synset": [f"n0000{number:04d}" for number in numbers], "label": numbers}
        stimuli = draw_stimuli(cls.stimulus_set, 40, columns=columns, size_px=16)
        stand_ins.stimuli(cls.stimulus_set, stimuli)
        return stimuli

    def test_constructing_it_loads_nothing(self) -> None:
        """Building it fetches nothing."""
        benchmark = load_benchmark(self.identifier)
        assert (benchmark.identifier, benchmark.parent, benchmark.version) == (self.identifier, self.parent, 1)
        assert float(benchmark.ceiling) == 1

    def test_correct_answers_to_synthetic_images_score_one(self, stand_ins: StandIns) -> None:
        """Correct answers score 1, guesses little, and categories stay hidden."""
        stimuli = self.stand_in(stand_ins)
        synsets = stimuli["synset"].to_numpy()
        benchmark = load_benchmark(self.identifier)
        seeing, guessing = (
            _Observer(stimuli, answers) for answers in (synsets, np.random.default_rng(0).permutation(synsets))
        )
        score = benchmark(seeing)
        assert float(score) == 1
        assert seeing.asked == ("label", "imagenet")
        assert seeing.seen == (["stimulus_id"], self.number_of_trials)  # neither synset nor label
        assert score.attrs["n_stimuli"] == 40
        assert score.attrs["interval"] == (pytest.approx(0.912, abs=5e-3), pytest.approx(1))
        assert np.isnan(score.attrs["error"]), "answers that are all right have no spread to tell an error from"
        assert float(benchmark(guessing)) < 0.3

    @pytest.mark.private_access
    @pytest.mark.slow
    def test_correct_answers_to_all_images_score_one(self) -> None:
        """Correct answers to all images score 1."""
        stimuli = load_stimulus_set(self.stimulus_set)
        score = load_benchmark(self.identifier)(_Observer(stimuli, stimuli["synset"].to_numpy()))
        assert float(score) == 1
        assert score.attrs["n_stimuli"] == self.n_images
