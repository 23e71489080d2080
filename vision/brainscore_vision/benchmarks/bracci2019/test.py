import numpy as np
import pytest
from scipy.stats import spearmanr

from brainscore_vision import load_benchmark
from brainscore_vision.benchmark_helpers import PrecomputedFeatures
from brainscore_vision.testing.stand_ins import draw_stimuli, recordings, shuffled

from .benchmark import REGIONS, Bracci2019RSA

N_SUBJECTS, N_VOXELS = 5, 60  # voxels in each of the three regions


@pytest.fixture(scope="module")
def patterns(module_stand_ins):
    return stand_in(module_stand_ins)


def stand_in(stand_ins):
    """Make patterns of 27 conditions, subject by subject; return them with and without noise."""
    stimuli = draw_stimuli("Bracci2019", 27, columns={"image_group": list(range(1, 10)) * 3})
    assembly, truth = recordings(
        stimuli,
        n_neuroids=3 * N_VOXELS * N_SUBJECTS,
        n_repetitions=1,
        noise=1.0,
        neuroid_coords={
            "roi": np.tile(np.repeat([0, 1, 2], N_VOXELS), N_SUBJECTS),
            "subject": np.repeat(np.arange(N_SUBJECTS), 3 * N_VOXELS),
            "voxels": np.tile(np.arange(3 * N_VOXELS), N_SUBJECTS),
        },
    )
    assembly = assembly.drop_vars(["repetition", "neuroid_id"])  # as in the file
    assembly.values += 7  # voxels have a mean response, too
    stand_ins.data("Bracci2019", assembly, checked=False)
    return assembly, truth


def rdm_of(values):
    return 1 - np.corrcoef(values)[np.tril_indices(27, -1)]


@pytest.mark.parametrize("region", REGIONS)
def test_noiseless_brain_scores_between_the_bounds(patterns, region):
    number, recorded = REGIONS[region]
    benchmark = load_benchmark(f"Bracci2019.{region}-rdm")
    parent = "Bracci2019" if region == "anteriorVTC" else None
    assert (benchmark.version, benchmark.parent, benchmark.region) == (1, parent, recorded)
    if region != "anteriorVTC":
        assert load_benchmark(f"Bracci2019_RSA-{region}").region == recorded
    _, truth = patterns
    brain = truth.sel(neuroid=truth["roi"] == number)
    score = benchmark(PrecomputedFeatures(brain, visual_degrees=8))
    assert score.attrs["raw"].attrs["n_subjects"] == N_SUBJECTS
    lower = benchmark.ceiling.attrs["lower_bound"] / float(benchmark.ceiling)
    assert 0.5 < lower < float(score) <= 1
    assert abs(float(benchmark(PrecomputedFeatures(shuffled(brain), visual_degrees=8)))) < 0.2


def test_published_score_matches_a_direct_computation(patterns):
    assembly, truth = patterns
    here = assembly["roi"].values == 2
    subjects = assembly["subject"].values[here]
    values = assembly.values[:, here] - assembly.values[:, here].mean(axis=0)
    own = [rdm_of(values[:, subjects == subject]) for subject in range(N_SUBJECTS)]
    others = [np.mean([own[other] for other in range(N_SUBJECTS) if other != s], axis=0) for s in range(N_SUBJECTS)]
    ceiling = np.mean([spearmanr(*pair)[0] for pair in zip(own, others, strict=True)])
    average = np.mean([values[:, subjects == subject] for subject in range(N_SUBJECTS)], axis=0)
    brain = truth.sel(neuroid=truth["roi"] == 2)
    expected = spearmanr(rdm_of(brain.values), rdm_of(average))[0] / ceiling
    score = Bracci2019RSA("anteriorVTC", published=True)(PrecomputedFeatures(brain, visual_degrees=8))
    assert float(score) == pytest.approx(expected, abs=1e-9)
    assert float(score) > float(load_benchmark("Bracci2019.anteriorVTC-rdm")(PrecomputedFeatures(brain, 8)))
