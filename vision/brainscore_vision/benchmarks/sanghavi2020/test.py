import numpy as np
import pytest

from brainscore_vision import load_benchmark
from brainscore_vision.benchmark_helpers import PrecomputedFeatures
from brainscore_vision.benchmark_helpers.test_helper import StandardizedTests
from brainscore_vision.testing.stand_ins import draw_stimuli, recordings, shuffled

# Data -> stimuli, degrees, trials, column by which splits are stratified; region -> ceiling, self-regression.
EXPERIMENTS = {
    "Sanghavi2020": ("hvm", 8, 28, "object_name"),
    "SanghaviJozwik2020": ("BOLD5000", 8, 37, None),
    "SanghaviMurty2020": ("Rust2012", 5, 50, None),
}
PUBLISHED = {
    "Sanghavi2020": {"V4": (0.8892049, 0.9727137), "IT": (0.868293, 0.890062)},
    "SanghaviJozwik2020": {"V4": (0.9630336, 0.9739177), "IT": (0.860352, 0.9999779)},
    "SanghaviMurty2020": {"V4": (0.9666086, 0.978581), "IT": (0.875714, 0.9997532)},
}


@pytest.fixture(scope="module", params=EXPERIMENTS)
def experiment(request, module_stand_ins):
    return stand_in(module_stand_ins, request.param)


def stand_in(stand_ins, dataset):
    """Make responses of both regions in three time bins, where only 70 to 170 ms distinguishes the images."""
    stimuli_identifier, degrees, trials, _ = EXPERIMENTS[dataset]
    stimuli = draw_stimuli(stimuli_identifier, 60, columns={"object_name": ["bear", "elephant", "person"] * 20})
    bins = [(70, 170), (170, 270), (70, 270)]
    assembly, truth = recordings(
        stimuli,
        n_neuroids=56,
        n_repetitions=trials,
        noise=1.0,
        neuroid_coords={"region": ["V4"] * 28 + ["IT"] * 28},
        time_bins=bins,
    )
    assembly.values[:, :, 1:] = np.random.default_rng(0).normal(size=(60 * trials, 56, 2))
    assembly["time_bin_id"] = "time_bin", [0, 1, 2]
    stand_ins.data(dataset, assembly)
    return dataset, truth[:, :, 0], degrees, trials


@pytest.mark.parametrize("region", ["IT", pytest.param("V4", marks=pytest.mark.slow)])
def test_brain_reaches_its_ceiling_and_shuffled_does_not(experiment, region):
    dataset, truth, degrees, trials = experiment
    brain = truth.sel(neuroid=truth["region"] == region)
    benchmark = load_benchmark(f"{dataset}.{region}-pls")
    assert (benchmark.version, benchmark.parent) == (2, region)
    score = benchmark(PrecomputedFeatures(brain, degrees))
    low, high = score.attrs["interval"]
    assert low <= 1 <= high
    assert high - low < 0.1
    assert float(score.ceiling) == pytest.approx(trials / (trials + 1), abs=0.01)
    assert score.attrs["raw"].attrs["stratified_by"] == EXPERIMENTS[dataset][3]
    described = {key: score.attrs[key] for key in ("n_stimuli", "n_neuroids", "n_trials")}
    assert described == {"n_stimuli": 60, "n_neuroids": 28, "n_trials": trials}
    assert abs(float(benchmark(PrecomputedFeatures(shuffled(brain), degrees)))) < 0.15


def test_images_have_their_size_in_the_experiment_and_its_trials(experiment):
    dataset, truth, degrees, _ = experiment
    shown = []

    class Onlooker(PrecomputedFeatures):
        def look_at(self, stimuli, number_of_trials=1):
            shown.append((stimuli.identifier, number_of_trials))
            return super().look_at(stimuli, number_of_trials)

    load_benchmark(f"{dataset}.IT-pls")(Onlooker(truth, visual_degrees=degrees))
    assert shown == [EXPERIMENTS[dataset][::2]]  # not placed on a larger or smaller screen


@pytest.mark.memory_intense
@pytest.mark.private_access
@pytest.mark.slow
@pytest.mark.parametrize("dataset", PUBLISHED)
@pytest.mark.parametrize("region", ["V4", "IT"])
def test_published_numbers(dataset, region):
    identifier = f"{dataset}.{region}-pls"
    ceiling, against_itself = PUBLISHED[dataset][region]
    StandardizedTests().ceilings_test(identifier, pytest.approx(ceiling, abs=0.001))
    StandardizedTests().self_regression_test(
        identifier, visual_degrees=EXPERIMENTS[dataset][1], expected=pytest.approx(against_itself, abs=0.001)
    )
