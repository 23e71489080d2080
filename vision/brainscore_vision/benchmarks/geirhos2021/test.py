"""Check the excluded levels; the real run is in `vision/tests/integration/test_geirhos.py`."""

import numpy as np
import pytest

from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
from brainscore_core.testing.synthetic import answers_of
from brainscore_vision import load_benchmark, stimulus_set_registry
from brainscore_vision.model_interface import BrainModel
from brainscore_vision.testing.people import draw_choices
from brainscore_vision.testing.stand_ins import draw_stimuli

from .benchmark import DATASETS


def stand_in(stand_ins, name):
    """Replace the data by made-up images and people, in blocks of a label; some images are hard for everybody."""
    (condition,) = (dataset for dataset in DATASETS if dataset.replace("-", "") == name)
    truth = np.repeat(["bear", "bird", "boat", "car", "cat"], 12)
    columns = {
        "truth": truth,
        "condition": ["kept"] * 60,
        "stimulus_id": [f"{n:02}_{of}" for n, of in enumerate(truth)],
    }
    stimuli = draw_stimuli(f"Geirhos2021_{condition}", 60, columns=columns, size_px=8)
    accuracy = np.random.default_rng(0).choice([0.2, 0.9], 60)
    people = draw_choices(stimuli, accuracy=accuracy, n_subjects=8, presentation_coords=["truth", "condition"])
    stand_ins.data(f"Geirhos2021_{condition}", people)


def stimuli(tmp_path, conditions):
    stimulus_set = StimulusSet(
        {
            "stimulus_id": [str(i) for i in range(len(conditions))],
            "condition": conditions,
            "truth": ["dog", "dog", "cat", "cat"],
        }
    )
    stimulus_set.identifier = "levels"
    stimulus_set.stimulus_paths = {str(i): tmp_path / f"{i}.png" for i in range(len(conditions))}
    return stimulus_set


class AlwaysCat(BrainModel):
    identifier = "always-cat"

    def visual_degrees(self):
        return 8

    def start_task(self, task, fitting_stimuli):
        self.task, self.labels = task, fitting_stimuli

    def look_at(self, stimuli, number_of_trials=1):
        n, self.number_of_trials = len(stimuli), number_of_trials
        return answers_of([["cat"] * n], stimulus_id=stimuli["stimulus_id"].to_numpy(), trial=range(n))


@pytest.mark.parametrize(
    "conditions", [[np.inf, 0.7, 0.55, 1.0], ["inf", "0.7", "0.55", "1.0"]], ids=["numbers", "text"]
)
def test_excluded_levels_are_not_shown(tmp_path, conditions):
    stimulus_set_registry["Geirhos2021_high-pass"] = lambda: stimuli(tmp_path, conditions)
    try:
        model = AlwaysCat()
        score = load_benchmark("Geirhos2021highpass-top1")(model)
    finally:
        del stimulus_set_registry["Geirhos2021_high-pass"]
    assert score.attrs["n_stimuli"] == 2
    assert float(score) == 0.5  # of a dog (0.7) and a cat (1.0)
    assert (model.task, model.labels) == ("label", ["cat", "dog"])
    assert model.number_of_trials == 10
