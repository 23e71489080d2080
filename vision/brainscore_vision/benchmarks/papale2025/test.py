import numpy as np
import pytest

from brainscore_vision import load_benchmark, load_dataset, load_metric, load_model
from brainscore_vision.benchmark_helpers import PrecomputedFeatures, neural_common
from brainscore_vision.testing.stand_ins import draw_stimuli, recordings, shuffled
from brainscore_vision.utils import LazyLoad

REGIONS = ["V1", "V4", "IT"]
N_SITES = 10  # of each monkey in each region
N_TRAIN, N_TEST, N_REPETITIONS = 120, 40, 30


@pytest.fixture(scope="module")
def truth(module_stand_ins):
    return stand_in(module_stand_ins)


def stand_in(stand_ins):
    """Make two monkeys with different noise, whose sites are each numbered from 0; the last site of a region is
    unreliable."""
    n = N_TRAIN + N_TEST
    stimuli = draw_stimuli("Papale2025", n)
    subjects = np.repeat(["monkeyF", "monkeyN"], 3 * N_SITES)
    repetitions, signal = recordings(
        stimuli,
        n_neuroids=len(subjects),
        n_repetitions=N_REPETITIONS,
        noise=1.0,
        neuroid_coords={
            "region": np.tile(np.repeat(REGIONS, N_SITES), 2),
            "subject": subjects,
            "neuroid_id": np.tile(np.arange(3 * N_SITES), 2),
            "reliability": np.tile([0.5] * (N_SITES - 1) + [0.2], 6),
        },
        time_bins=[(70, 170)],
    )
    noise = repetitions.values - np.tile(signal.values, (N_REPETITIONS, 1, 1))
    repetitions.values += noise * np.where(subjects == "monkeyF", 0.5, 2.0)[None, :, None]
    for name, rows, n_repetitions in (("train", np.arange(N_TRAIN), 1), ("test", np.arange(N_TRAIN, n), N_REPETITIONS)):
        some = stimuli.iloc[rows].reset_index(drop=True)
        some.identifier, some.stimulus_paths = f"Papale2025_stim_{name}", stimuli.stimulus_paths
        assembly = repetitions[(np.arange(n_repetitions)[:, None] * n + rows).ravel()]
        assembly.attrs.update(stimulus_set=some, stimulus_set_identifier=some.identifier)
        stand_ins.data(f"Papale2025_{name}", assembly, checked=False)
    return signal[:, :, 0]


def brain_of(truth, region):
    return truth.sel(neuroid=truth["region"] == region)


@pytest.mark.parametrize(
    ("region", "metric"),
    [
        pytest.param(region, metric, marks=[] if (region, metric) == ("IT", "ridgecv") else [pytest.mark.slow])
        for region in REGIONS
        for metric in ("ridge", "ridgecv")
    ],
)
def test_brain_reaches_its_ceiling(truth, region, metric):
    benchmark = load_benchmark(f"Papale2025.{region}-{metric}")
    assert (benchmark.version, benchmark.parent) == (3, region)
    score = benchmark(PrecomputedFeatures(brain_of(truth, region), visual_degrees=18))
    # Four dimensions are learned from 120 noisy images, which costs about 4/120 of the variance of their noise:
    # 2.25 and 9 times that of the signal in the two monkeys.
    lost = {"monkeyF": 0.08, "monkeyN": 0.3}
    for monkey, noise in {"monkeyF": 1.5, "monkeyN": 3.0}.items():
        assert 1 - lost[monkey] - 0.1 < float(score.attrs[monkey]) < 1.05
        reliability = 1 / (1 + noise**2 / N_REPETITIONS)
        assert float(score.attrs[monkey].ceiling) == pytest.approx(reliability, abs=0.03)
        assert score.attrs[monkey].attrs["raw"].attrs["raw"].sizes["neuroid"] == N_SITES - 1
    assert float(score) == pytest.approx(np.mean([float(score.attrs[monkey]) for monkey in lost]))
    described = {key: score.attrs[key] for key in ("n_stimuli", "n_neuroids", "n_trials")}
    assert described == {"n_stimuli": N_TRAIN + N_TEST, "n_neuroids": 2 * (N_SITES - 1), "n_trials": 1}


@pytest.mark.slow
def test_pixels_score_between_shuffled_and_the_brain(truth):
    benchmark = load_benchmark("Papale2025.IT-ridgecv")
    brain = float(benchmark(PrecomputedFeatures(brain_of(truth, "IT"), visual_degrees=18)))
    nothing = float(benchmark(PrecomputedFeatures(shuffled(brain_of(truth, "IT")), visual_degrees=18)))
    assert abs(nothing) < 0.1
    assert nothing + 0.1 < float(benchmark(load_model("pixels"))) < brain - 0.1


def assembly_as_in_the_tutorial(region, split, average_repetitions):
    assembly = load_dataset(f"Papale2025_{split}")
    assembly = neural_common.filter_reliable_neuroids(assembly, 0.3, "reliability")
    assembly = assembly.sel(region=region)
    assembly["region"] = "neuroid", [region] * assembly.sizes["neuroid"]
    return neural_common.average_repetition(assembly) if average_repetitions else assembly


@pytest.mark.slow
def test_tutorial_factory_runs(truth):
    load = assembly_as_in_the_tutorial
    benchmark = neural_common.TrainTestNeuralBenchmark(
        identifier="MyPapale2025.IT-ridge",
        version=2,
        train_assembly=LazyLoad(lambda: load("IT", split="train", average_repetitions=False)),
        test_assembly=LazyLoad(lambda: load("IT", split="test", average_repetitions=True)),
        similarity_metric=load_metric("ridge_split"),
        ceiling_func=lambda: load_metric("internal_consistency")(load("IT", split="test", average_repetitions=False)),
        visual_degrees=18,
        number_of_trials=1,
        parent="IT",
        bibtex="@article{x}",
    )
    score = benchmark(PrecomputedFeatures(brain_of(truth, "IT"), visual_degrees=18))
    assert score.attrs["n_neuroids"] == 2 * (N_SITES - 1)
    assert 0.5 < float(score) < 1.05


@pytest.mark.private_access
@pytest.mark.slow
@pytest.mark.parametrize(("region", "expected"), [("V1", 0.75668312), ("V4", 0.57444855), ("IT", 0.46021319)])
def test_published_numbers(region, expected):
    score = load_benchmark(f"Papale2025.{region}-ridgecv")(load_model("alexnet"))
    assert float(score) == pytest.approx(expected, abs=0.001)
