import numpy as np
import pytest

from brainscore_vision import load_benchmark, load_dataset
from brainscore_vision.benchmark_helpers import PrecomputedFeatures
from brainscore_vision.benchmark_helpers.test_helper import NumberOfTrialsTests, StandardizedTests, VisualDegreesTests
from brainscore_vision.benchmarks.freemanziemba2013.benchmarks.benchmark import load_assembly
from brainscore_vision.benchmarks.freemanziemba2013.benchmarks.public_benchmarks import FreemanZiembaV1PublicBenchmark
from brainscore_vision.testing.stand_ins import draw_stimuli, recordings, shuffled

PRIVATE = ["FreemanZiemba2013.V1-pls", "FreemanZiemba2013.V2-pls"]
PUBLIC = ["FreemanZiemba2013public.V1-pls", "FreemanZiemba2013public.V2-pls"]
BINS = [(start, start + 25) for start in range(25, 225, 25)]  # real bins have 1 ms
REGIONS = ["V1", "V2"] * 30


@pytest.fixture(scope="module")
def truth(module_stand_ins):
    return stand_in(module_stand_ins, "public")


def stand_in(stand_ins, access):
    """Make recordings of 30 neurons of each area, 10 repetitions of 60 images, with only noise outside the window."""
    access = access or "private"  # as identifiers name it
    stimuli = draw_stimuli(
        f"FreemanZiemba2013.aperture-{access}",
        60,
        size_px=32,
        columns={"texture_type": ["texture", "noise"] * 30, "texture_family": np.arange(60) % 5},
    )
    measured, truth = recordings(stimuli, n_neuroids=60, neuroid_coords={"region": REGIONS}, time_bins=BINS)
    measured = measured.copy()
    outside = [bool(start < 50 or end > 200) for start, end in BINS]
    measured.values[:, :, outside] = np.random.default_rng(0).normal(size=(600, 60, sum(outside)))
    stand_ins.data(f"FreemanZiemba2013.{access}", measured.transpose("neuroid", "presentation", "time_bin"))
    return truth[{"time_bin": np.flatnonzero(~np.array(outside))}].mean("time_bin")


REGIONS_TO_PROVE = ["V1", pytest.param("V2", marks=pytest.mark.slow)]


@pytest.mark.parametrize("region", REGIONS_TO_PROVE)
def test_brain_reaches_its_ceiling_within_the_interval(truth, region):
    benchmark = load_benchmark(f"FreemanZiemba2013public.{region}-pls")
    score = benchmark(PrecomputedFeatures(truth, visual_degrees=4))
    low, high = score.attrs["interval"]
    assert low <= 1 <= high
    assert high - low < 0.05
    assert benchmark.region == region
    assert benchmark.timebins == [(50, 200)]
    assert (score.attrs["n_stimuli"], score.attrs["n_neuroids"], score.attrs["n_trials"]) == (60, 30, 20)
    assert abs(float(benchmark(PrecomputedFeatures(shuffled(truth), visual_degrees=4)))) < 0.1


@pytest.mark.parametrize("region", REGIONS_TO_PROVE)
def test_true_geometry_reaches_its_ceiling(truth, region):
    benchmark = load_benchmark(f"FreemanZiemba2013public.{region}-rdm")
    own, other = (truth[{"neuroid": np.array(REGIONS) == each}] for each in (region, {"V1": "V2", "V2": "V1"}[region]))
    assert float(benchmark(PrecomputedFeatures(own, visual_degrees=4))) == pytest.approx(1, abs=0.01)
    assert float(benchmark(PrecomputedFeatures(other, visual_degrees=4))) < 0.99
    assert abs(float(benchmark(PrecomputedFeatures(shuffled(own), visual_degrees=4)))) < 0.1


@pytest.mark.slow
def test_brain_reaches_the_ceiling_on_private_images(module_stand_ins):
    private = stand_in(module_stand_ins, "private")
    for region in ("V1", "V2"):
        own = private[{"neuroid": np.array(REGIONS) == region}]
        for metric, seen in {"pls": private, "rdm": own}.items():
            score = load_benchmark(f"FreemanZiemba2013.{region}-{metric}")(PrecomputedFeatures(seen, visual_degrees=4))
            assert float(score) == pytest.approx(1, abs=0.05)
            assert (score.attrs["n_stimuli"], score.attrs["n_neuroids"]) == (60, 30)


def test_spikes_are_averaged_over_the_window(truth):
    spikes = load_dataset("FreemanZiemba2013.public")
    inside = (spikes["time_bin_start"].values >= 50) & (spikes["time_bin_end"].values <= 200)
    own = spikes[{"neuroid": spikes["region"].values == "V2", "time_bin": inside}].transpose("presentation", ...)
    loaded = load_assembly(average_repetitions=False, region="V2", access="public")
    np.testing.assert_allclose(loaded.values, own.mean("time_bin").transpose("presentation", "neuroid").values)
    assert loaded.attrs["stimulus_set"].identifier == "FreemanZiemba2013.aperture-public"


def test_older_name_makes_the_same_benchmark():
    assert FreemanZiembaV1PublicBenchmark().identifier == "FreemanZiemba2013public.V1-pls"


@pytest.mark.private_access
@pytest.mark.memory_intense
@pytest.mark.parametrize(
    ("identifier", "ceiling", "itself"), [(*PRIVATE[:1], 0.873345, 0.668491), (*PRIVATE[1:], 0.824836, 0.553155)]
)
def test_published_ceilings_and_self_regression(identifier, ceiling, itself):
    StandardizedTests().ceilings_test(identifier, pytest.approx(ceiling, abs=0.001))
    StandardizedTests().self_regression_test(identifier, 4, pytest.approx(itself, abs=0.001))


@pytest.mark.network
@pytest.mark.memory_intense
@pytest.mark.parametrize(("identifier", "itself"), [(PUBLIC[0], 0.679954), (PUBLIC[1], 0.577498)])
def test_published_self_regression_of_public_recordings(identifier, itself):
    StandardizedTests().self_regression_test(identifier, 4, pytest.approx(itself, abs=0.001))


@pytest.mark.parametrize(
    ("identifier", "stimulus_id", "at_14", "at_6"),
    [
        *(
            pytest.param(
                name, "c3a633a13e736394f213ddf44bf124fe80cabe07", 0.31429, 0.22966, marks=pytest.mark.private_access
            )
            for name in PRIVATE
        ),
        *(
            pytest.param(name, "21041db1f26c142812a66277c2957fb3e2070916", 0.314561, 0.23113, marks=pytest.mark.network)
            for name in PUBLIC
        ),
    ],
)
def test_published_amount_of_grey(identifier, stimulus_id, at_14, at_6):
    for degrees, expected in ((14, at_14), (6, at_6)):
        VisualDegreesTests().amount_gray_test(identifier, degrees, stimulus_id, pytest.approx(expected, abs=0.0001))


@pytest.mark.private_access
@pytest.mark.parametrize("identifier", PRIVATE)
def test_model_trials_match_the_recordings(identifier):
    NumberOfTrialsTests().repetitions_test(identifier)
