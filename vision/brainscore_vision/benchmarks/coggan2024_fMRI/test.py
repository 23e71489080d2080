import numpy as np
import pytest

from brainscore_core import Score
from brainscore_core.errors import AssemblyError
from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
from brainscore_vision import load_benchmark, load_dataset, load_model
from brainscore_vision.benchmark_helpers import PrecomputedFeatures
from brainscore_vision.benchmark_helpers.screen import place_on_screen
from brainscore_vision.benchmarks import BenchmarkBase
from brainscore_vision.testing.stand_ins import draw_stimuli, recordings, shuffled

from .benchmark import Coggan2024, rdm_of_units

REGIONS = ["V1", "V2", "V4", "IT"]
N_CONDITIONS, N_SUBJECTS, N_VOXELS = 24, 9, 80


@pytest.fixture(scope="module")
def patterns(module_stand_ins):
    return stand_in(module_stand_ins)


def stand_in(stand_ins):
    """Return a brain with forty times as many voxels in each region, and the similarities of noisy voxels in nine
    people."""
    objects = np.repeat(["bear", "bison", "elephant", "hare", "jeep", "lamp", "sportsCar", "teapot"], 3)
    columns = {"object_name": objects, "occlusion_condition": ["whole", "top", "bottom"] * 8}
    stimuli = draw_stimuli("Coggan2024_fMRI", N_CONDITIONS, columns=columns)
    regions = np.repeat(REGIONS, N_VOXELS)
    assembly, truth = recordings(
        stimuli, n_neuroids=len(regions), n_repetitions=N_SUBJECTS, noise=1.0, neuroid_coords={"region": regions}
    )
    people = assembly.values.reshape(N_SUBJECTS, N_CONDITIONS, -1)
    squares = [np.corrcoef(person[:, regions == region]) for region in REGIONS for person in people]
    data = NeuroidAssembly(
        np.stack(squares, axis=2),
        coords={
            "stimulus_id": ("presentation", stimuli["stimulus_id"]),
            "subject": ("neuroid", [f"s{number}" for number in range(N_SUBJECTS)] * 4),
            "region": ("neuroid", np.repeat(REGIONS, N_SUBJECTS)),
        },
        dims=["presentation", "presentation", "neuroid"],
        attrs=truth.attrs,
    )
    stand_ins.data("Coggan2024_fMRI", data, checked=False)
    # Noise makes all patterns less similar, weak responses most: without it, this brain would not be like the others.
    many = truth[:, np.tile(np.arange(len(regions)), 40)]
    many.values += 5 + np.random.default_rng(0).normal(size=many.shape)  # unresponsive units are ignored
    return many, squares


def brain_of(patterns, region):
    many, _ = patterns
    return many.sel(neuroid=many["region"] == region)


@pytest.mark.parametrize("region", ["IT", *(pytest.param(name, marks=pytest.mark.slow) for name in REGIONS[:3])])
def test_large_brain_scores_between_the_bounds(patterns, region):
    benchmark = load_benchmark(f"tong.Coggan2024_fMRI.{region}-rdm")
    assert (benchmark.version, benchmark.parent, benchmark.timebins) == (1, region, [(0, 250)])
    score = benchmark(PrecomputedFeatures(brain_of(patterns, region), visual_degrees=9))
    lower = benchmark.ceiling.attrs["lower_bound"] / float(benchmark.ceiling)
    assert 0.5 < lower < float(score) <= 1
    assert score.attrs["raw"].attrs["n_subjects"] == N_SUBJECTS
    assert abs(float(benchmark(PrecomputedFeatures(shuffled(brain_of(patterns, region)), 9)))) < 0.2


def test_published_score_matches_a_direct_computation(patterns):
    _, squares = patterns
    people = [square[~np.eye(N_CONDITIONS, dtype=bool)] for square in squares[-N_SUBJECTS:]]
    others = [np.mean(people[:i] + people[i + 1 :], axis=0) for i in range(N_SUBJECTS)]
    ceiling = np.mean([np.corrcoef(*pair)[0, 1] for pair in zip(people, others, strict=True)])
    brain = brain_of(patterns, "IT")
    z = (brain.values - brain.values.mean(axis=0)) / brain.values.std(axis=0)
    model = np.corrcoef(z)[~np.eye(N_CONDITIONS, dtype=bool)]
    raw = np.mean([np.corrcoef(model, person)[0, 1] for person in people])
    for features, expected in ((brain, min((raw / ceiling) ** 2, 1)), (shuffled(brain), None)):
        benchmark = Coggan2024("IT", published=True)
        score = benchmark(PrecomputedFeatures(features, visual_degrees=9))
        assert float(benchmark.ceiling) == pytest.approx(ceiling, abs=1e-9)
        expected = (float(score.attrs["raw"]) / ceiling) ** 2 if expected is None else expected
        assert float(score) == pytest.approx(expected, abs=1e-9)


def test_only_responsive_units_are_compared(patterns):
    brain = brain_of(patterns, "IT")
    quiet = brain.copy(data=brain.values - brain.values.mean(axis=0))
    mixed = np.concatenate([quiet.values[:, :-3], brain.values[:, -3:] + 50, np.ones((N_CONDITIONS, 1))], axis=1)
    made = NeuroidAssembly(mixed, coords={"stimulus_id": brain["stimulus_id"]}, dims=brain.dims)
    np.testing.assert_allclose(rdm_of_units(made).values, rdm_of_units(brain[:, -3:] + 1000).values, atol=1e-9)
    spread = brain.copy(data=quiet.values + np.linspace(-1, 1, brain.sizes["neuroid"]))
    with pytest.raises(AssemblyError, match="None of 3200 units"):
        rdm_of_units(spread)


class AsInTheTutorial(BenchmarkBase):
    """A benchmark on given similarities, as a contributor would write it after the tutorial on neural benchmarks."""

    def __init__(self, identifier, assembly, ceiling_func, visual_degrees, **kwargs):
        super().__init__(identifier=identifier, ceiling_func=ceiling_func, **kwargs)
        self._assembly = assembly
        self._visual_degrees = visual_degrees
        self.region = np.unique(assembly["region"])[0]

    def __call__(self, candidate):
        stimulus_set = place_on_screen(
            self._assembly.stimulus_set,
            target_visual_degrees=candidate.visual_degrees(),
            source_visual_degrees=self._visual_degrees,
        )
        candidate.start_recording(self.region, time_bins=[(0, 250)])
        source_assembly = candidate.look_at(stimulus_set, number_of_trials=1)
        upper = np.triu_indices(N_CONDITIONS, k=1)
        source_rsm = np.corrcoef(source_assembly.values)[upper]
        people = np.moveaxis(self._assembly.values, self._assembly.dims.index("neuroid"), 0)
        raw_score = np.mean([np.corrcoef(source_rsm, person[upper])[0, 1] for person in people])
        ceiling = self._ceiling_func(self._assembly)
        return Score(raw_score / ceiling)


def test_tutorial_class_runs(patterns):
    assembly = load_dataset("Coggan2024_fMRI")
    benchmark = AsInTheTutorial(
        identifier="MyCoggan2024_fMRI.IT-rdm",
        version=1,
        assembly=assembly.sel(neuroid=assembly["region"] == "IT"),
        visual_degrees=9,
        ceiling_func=lambda _assembly: 0.8,
        parent="IT",
        bibtex="@article{x}",
    )
    brain = brain_of(patterns, "IT")
    assert float(benchmark(PrecomputedFeatures(brain, 9))) > 0.5
    assert abs(float(benchmark(PrecomputedFeatures(shuffled(brain), 9)))) < 0.2


@pytest.mark.private_access
@pytest.mark.slow
@pytest.mark.parametrize(
    ("region", "expected"), [("V1", 0.0182585), ("V2", 0.3352083), ("V4", 0.3008136), ("IT", 0.4486508)]
)
def test_published_numbers(region, expected):
    assert float(Coggan2024(region, published=True)(load_model("alexnet"))) == pytest.approx(expected, abs=0.005)
