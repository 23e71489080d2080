"""Check the benchmarks on recordings of the same form whose truth is known, and the published scores.

There are two made-up people with three electrodes each, whose signal turns from one pattern to another over time.
"""

import numpy as np
import pytest

from brainscore_vision import load_benchmark, load_dataset, load_model
from brainscore_vision.benchmark_helpers import PrecomputedFeatures
from brainscore_vision.benchmarks.gifford2022.benchmark import Gifford2022, load_assembly
from brainscore_vision.testing.stand_ins import draw_stimuli, shuffled

pytestmark = pytest.mark.usefixtures("kept_homes")

IDENTIFIERS = ["Gifford2022.IT-ridge", "Gifford2022.IT-ridgecv"]
STARTS = np.arange(-20, 80) / 100  # seconds
WINDOW = (STARTS >= 0) & (STARTS < 0.6)


@pytest.fixture(scope="module")
def truth(module_stand_ins):
    return stand_in(module_stand_ins)


def stand_in(stand_ins):
    stimuli = {}
    for name, n in {"train": 40, "test": 24}.items():
        label = [f"concept{number:02d}" for number in range(n)]
        columns = {"label": label, "object_name": label, "label_idx": np.arange(n)}
        stimuli[name] = draw_stimuli(f"Gifford2022_stim_{name}", n, columns=columns)
    return stand_ins.split(
        "Gifford2022",
        stimuli,
        {"train": 4, "test": 8},
        noise=1,
        n_neuroids=6,
        neuroid_coords={"subject": ["sub-01"] * 3 + ["sub-02"] * 3, "channel": ["Pz", "Oz", "O1"] * 2},
        time_bins=[(round(start, 2), round(start + 0.01, 2)) for start in STARTS],
    )


@pytest.fixture(scope="module")
def brain(truth):
    # Six electrodes at one time span the four dimensions of the signal at all times.
    return PrecomputedFeatures(truth[{"time_bin": 0}], visual_degrees=8)


def test_each_electrode_and_bin_in_the_window_is_a_neuroid(truth):
    repetitions = load_dataset("Gifford2022_test")
    assembly = load_assembly("IT", "test", average_repetitions=False)
    assert dict(assembly.sizes) == {"presentation": 24 * 8, "neuroid": 6 * 60}
    np.testing.assert_allclose(assembly.values[:, 60:120], repetitions.values[:, 1, WINDOW], rtol=1e-6)
    assert assembly["recording_time"].values[:60].tolist() == list(range(0, 600, 10))
    assert len(set(assembly["neuroid_id"].values)) == 360
    assert set(assembly["region"].values) == {"IT"}
    assert (assembly["time_bin_start"].item(), assembly["time_bin_end"].item()) == (0, 600)


def test_repetitions_are_averaged_on_loading(truth):
    single, mean = (load_assembly("IT", "train", average) for average in (False, True))
    assert (single.sizes["presentation"], mean.sizes["presentation"]) == (160, 40)
    order = [np.flatnonzero(single["stimulus_id"].values == each) for each in mean["stimulus_id"].values]
    np.testing.assert_allclose(mean.values, [single.values[rows].mean(axis=0) for rows in order], atol=1e-5)
    assert mean.dtype == np.float32


@pytest.mark.parametrize("identifier", IDENTIFIERS)
def test_responses_are_predicted_up_to_their_reliability(brain, identifier):
    benchmark = load_benchmark(identifier)
    assert (benchmark.identifier, benchmark.version, benchmark.parent) == (identifier, 3, "IT")
    assert benchmark._visual_degrees == 7  # noqa: SLF001 - the paradigm
    assert "10.1016/j.neuroimage.2022.119754" in benchmark.bibtex
    assert benchmark.timebins == [(0, 600)]
    score = benchmark(brain)
    assert float(benchmark.ceiling) == pytest.approx(1 / (1 + 1 / 8), abs=0.03)  # noise 1, eight repetitions
    assert float(score) == pytest.approx(1, abs=0.06)
    assert score.attrs["n_neuroids"] == 360
    assert {"sub-01", "sub-02"} <= set(score.attrs)


def test_published_window_is_accepted(truth):
    assert Gifford2022("IT", "ridge", timebins=[(0, 0.6)]).timebins == [(0, 0.6)]


@pytest.mark.parametrize("identifier", [IDENTIFIERS[0], pytest.param(IDENTIFIERS[1], marks=pytest.mark.slow)])
def test_brain_scores_above_pixels_above_shuffled(truth, brain, identifier):
    benchmark = load_benchmark(identifier)
    of_brain, of_pixels = (float(benchmark(model)) for model in (brain, load_model("pixels")))
    of_shuffled = float(benchmark(PrecomputedFeatures(shuffled(brain.features), 8)))
    assert of_brain > of_pixels + 0.1 > of_shuffled + 0.1
    assert abs(of_shuffled) < 0.1


@pytest.mark.private_access
@pytest.mark.slow
@pytest.mark.memory_intense
def test_published_score_of_alexnet():
    score = load_benchmark("Gifford2022.IT-ridgecv")(load_model("alexnet"))
    assert float(score) == pytest.approx(0.2868879, abs=0.001)
