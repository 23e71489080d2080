import numpy as np
import pytest

from brainscore_core.supported_data_standards.brainio.packaging import write_netcdf
from brainscore_vision import load_benchmark, load_ceiling, load_metric, load_model
from brainscore_vision.benchmark_helpers import PrecomputedFeatures, test_helper
from brainscore_vision.benchmark_helpers.neural_common import NeuralBenchmark
from brainscore_vision.benchmarks.majajhong2015.benchmark import DicarloMajajHong2015Region, load_assembly
from brainscore_vision.loading import find_plugin_directory, known_identifiers
from brainscore_vision.testing.stand_ins import draw_stimuli, recordings, shuffled

BINS = [(start, start + 10) for start in range(0, 40, 10)]
DIMS = ("neuroid", "presentation", "time_bin")  # as packaged


@pytest.fixture(scope="module")
def truths(module_stand_ins):
    return stand_in(module_stand_ins)


def stand_in(stand_ins):
    """Make 30 sites of each area in two animals, 10 repetitions of 64 images; return the truth, in one bin and over
    time."""
    stimuli = {
        access: draw_stimuli(
            f"hvm-{access}",
            64,
            size_px=32,
            columns={"object_name": [f"object_{number % 8}" for number in range(64)], "variation": variation * 32},
        )
        for access, variation in {"public": [0, 3], "private": [6, 6]}.items()
    }
    made = {}
    for name, bins in {
        "MajajHong2015.public": [(70, 170)],
        "MajajHong2015.temporal.public": BINS,
        "MajajHong2015.private": [(70, 170)],
    }.items():
        made[name] = recordings(
            stimuli[name.rpartition(".")[2]],
            n_neuroids=60,
            n_repetitions=10,
            time_bins=bins,
            dims=DIMS,
            neuroid_coords={"region": ["V4", "IT"] * 30, "animal": ["Chabo", "Tito"] * 30},
        )
        stand_ins.data(name, made[name][0])
    return {name: truth.transpose("presentation", "neuroid", "time_bin") for name, (_, truth) in made.items()}


def test_identifiers_equal_their_keys():
    own = find_plugin_directory("benchmark", "MajajHong2015public.V4-pls")
    named = [name for name in known_identifiers("benchmark") if name.startswith("MajajHong2015")]
    identifiers = [name for name in named if find_plugin_directory("benchmark", name) == own]
    assert len(identifiers) == 22
    for identifier in identifiers:
        assert load_benchmark(identifier).identifier == identifier


QUICK = {("V4", "pls"), ("IT", "rdm")}


@pytest.mark.parametrize(
    ("region", "metric", "tolerance"),
    [
        pytest.param(region, metric, tolerance, marks=[] if (region, metric) in QUICK else [pytest.mark.slow])
        for region in ("V4", "IT")
        for metric, tolerance in {"pls": None, "ridge": 0.03, "rdm": 0.01, "cka": 0.01}.items()
    ],
)
def test_brain_reaches_its_ceiling_and_shuffled_does_not(truths, region, metric, tolerance):
    truth = truths["MajajHong2015.public"]
    benchmark = load_benchmark(f"MajajHong2015public.{region}-{metric}")
    seen = truth if metric in ("pls", "ridge") else truth[{"neuroid": truth["region"].values == region}]
    score = benchmark(PrecomputedFeatures(seen, visual_degrees=8))
    assert benchmark.region == region
    assert benchmark.timebins == [(70, 170)]
    assert (score.attrs["n_stimuli"], score.attrs["n_neuroids"], score.attrs["n_trials"]) == (64, 30, 50)
    for part in (score, score.attrs["raw"], benchmark.ceiling):
        assert part.attrs["error_over"] == ["object_name", "neuroid"]
    if tolerance is None:
        low, high = score.attrs["interval"]
        assert low <= 1 <= high
        assert high - low < 0.05
    else:
        assert float(score) == pytest.approx(1, abs=tolerance)
    assert abs(float(benchmark(PrecomputedFeatures(shuffled(seen), visual_degrees=8)))) < 0.1


@pytest.mark.parametrize("metric", ["pls", pytest.param("rdm", marks=pytest.mark.slow)])
def test_brain_reaches_the_ceiling_on_private_images(truths, metric):
    truth = truths["MajajHong2015.private"]
    benchmark = load_benchmark(f"MajajHong2015.IT-{metric}")
    seen = truth if metric == "pls" else truth[{"neuroid": truth["region"].values == "IT"}]
    score = benchmark(PrecomputedFeatures(seen, visual_degrees=8))
    assert float(score) == pytest.approx(1, abs=0.05)
    assert (score.attrs["n_stimuli"], score.attrs["n_neuroids"], score.attrs["n_trials"]) == (64, 30, 50)


@pytest.mark.parametrize("metric", ["pls", pytest.param("ridge", marks=pytest.mark.slow)])
def test_brain_reaches_the_ceiling_of_a_time_course(truths, metric):
    truth = truths["MajajHong2015.temporal.public"]
    benchmark = load_benchmark(f"MajajHong2015public.IT-temporal-{metric}")
    score = benchmark(PrecomputedFeatures(truth, visual_degrees=8))
    assert benchmark.timebins == BINS
    assert score.ndim == benchmark.ceiling.ndim == 0
    assert float(score) == pytest.approx(1, abs=0.02)
    static = truth.copy(data=np.repeat(truth.values[:, :, :1], len(BINS), axis=2))
    assert float(benchmark(PrecomputedFeatures(static, visual_degrees=8))) < 0.9
    assert abs(float(benchmark(PrecomputedFeatures(shuffled(truth), visual_degrees=8)))) < 0.1


def test_pixels_score_between_chance_and_the_brain(truths):
    of_pixels = float(load_benchmark("MajajHong2015public.IT-pls")(load_model("pixels")))
    assert 0.2 < of_pixels < 0.9  # half of the planted signal is in the pixels


def region_as_in_the_tutorial(region, access, identifier_metric_suffix, similarity_metric, ceiler):
    assembly_repetition = load_assembly(average_repetitions=False, region=region, access=access)
    assembly = load_assembly(average_repetitions=True, region=region, access=access)
    return NeuralBenchmark(
        identifier=f"MyMajajHong2015.{region}-{identifier_metric_suffix}",
        version=3,
        assembly=assembly,
        similarity_metric=similarity_metric,
        visual_degrees=8,
        number_of_trials=50,
        ceiling_func=lambda: ceiler(assembly_repetition),
        parent=region,
        bibtex="@article{x}",
    )


@pytest.mark.parametrize("factory", [region_as_in_the_tutorial, DicarloMajajHong2015Region])
def test_tutorial_factory_gives_the_same_score(factory, truths, tmp_path):
    benchmark = factory(
        region="IT",
        access="public",
        identifier_metric_suffix="pls",
        similarity_metric=load_metric("pls", compat=True),  # as the benchmark with published numbers
        ceiler=load_ceiling("internal_consistency"),
    )
    truth = truths["MajajHong2015.public"]
    score = benchmark(PrecomputedFeatures(truth, visual_degrees=8))
    assert float(score) == float(load_benchmark("MajajHong2015public.IT-pls")(PrecomputedFeatures(truth, 8)))
    features = truth.squeeze("time_bin", drop=True)
    stimuli = benchmark._assembly.stimulus_set  # noqa: SLF001 - as published tests read it
    paths = [str(stimuli.get_stimulus(stimulus_id)) for stimulus_id in features["stimulus_id"].values]
    features = features.drop_vars(["stimulus_id", "object_name", "variation"], errors="ignore")
    features["stimulus_path"] = "presentation", paths
    write_netcdf(features, tmp_path / "features.nc")
    expected = pytest.approx(float(score.raw), abs=1e-6)
    test_helper.PrecomputedTests().run_test("MajajHong2015public.IT-pls", tmp_path / "features.nc", expected)


def test_names_in_older_tutorials_load_public_benchmarks(truths):
    older, current = (load_benchmark(f"MajajHong2015{name}-pls") for name in (".IT.public", "public.IT"))
    assert float(older.ceiling) == float(current.ceiling)
    assert (older.version, older.parent, older.region) == (current.version, None, current.region)


def test_recordings_of_one_area_load_averaged_or_single(truths):
    repetitions, mean = (load_assembly(average, region="V4", access="public") for average in (False, True))
    assert dict(repetitions.sizes) == {"presentation": 640, "neuroid": 30}
    assert dict(mean.sizes) == {"presentation": 64, "neuroid": 30}
    assert set(mean["region"].values) == {"V4"}
    assert mean.attrs["stimulus_set"].identifier == "hvm-public"


@pytest.mark.private_access
@pytest.mark.memory_intense
@pytest.mark.parametrize(
    ("identifier", "ceiling"), [("MajajHong2015.V4-pls", 0.89503), ("MajajHong2015.IT-pls", 0.821841)]
)
def test_published_ceilings(identifier, ceiling):
    test_helper.StandardizedTests().ceilings_test(identifier, pytest.approx(ceiling, abs=0.001))


@pytest.mark.memory_intense
@pytest.mark.parametrize(
    ("identifier", "raw"),
    [
        pytest.param("MajajHong2015.V4-pls", 0.923713, marks=pytest.mark.private_access),
        pytest.param("MajajHong2015.IT-pls", 0.823433, marks=pytest.mark.private_access),
        pytest.param("MajajHong2015public.V4-pls", 0.897956, marks=pytest.mark.network),
        pytest.param("MajajHong2015public.IT-pls", 0.816251, marks=pytest.mark.network),
    ],
)
def test_published_self_regression(identifier, raw):
    test_helper.StandardizedTests().self_regression_test(identifier, 8, pytest.approx(raw, abs=0.001))


GREY = [
    ("MajajHong2015.V4-pls", "40a786ed8e13db10185ddfdbe07759d83a589e1c", 0.251345, 0.0054886, "private_access"),
    ("MajajHong2015.IT-pls", "40a786ed8e13db10185ddfdbe07759d83a589e1c", 0.251345, 0.0054886, "private_access"),
    ("MajajHong2015public.V4-pls", "8a72e2bfdb8c267b57232bf96f069374d5b21832", 0.25071, 0.00460, "network"),
    ("MajajHong2015public.IT-pls", "8a72e2bfdb8c267b57232bf96f069374d5b21832", 0.25071, 0.00460, "network"),
]


@pytest.mark.parametrize(
    ("identifier", "stimulus_id", "at_14", "at_6"),
    [pytest.param(*row, marks=getattr(pytest.mark, mark)) for *row, mark in GREY],
)
def test_published_amount_of_grey(identifier, stimulus_id, at_14, at_6):
    for degrees, expected in ((14, at_14), (6, at_6)):
        test_helper.VisualDegreesTests().amount_gray_test(
            identifier, degrees, stimulus_id, pytest.approx(expected, abs=0.0001)
        )


@pytest.mark.private_access
@pytest.mark.parametrize("identifier", ["MajajHong2015.V4-pls", "MajajHong2015.IT-pls"])
def test_model_trials_match_the_recordings(identifier):
    test_helper.NumberOfTrialsTests().repetitions_test(identifier)


def test_tutorial_functions_make_the_registered_benchmarks():
    from brainscore_vision.benchmarks.majajhong2015 import (
        DicarloMajajHong2015ITPLS,
        DicarloMajajHong2015V4PLS,
        MajajHongITPublicBenchmark,
        MajajHongV4PublicBenchmark,
    )

    for key, make in {
        "MajajHong2015.V4-pls": DicarloMajajHong2015V4PLS,
        "MajajHong2015.IT-pls": DicarloMajajHong2015ITPLS,
        "MajajHong2015.V4.public-pls": MajajHongV4PublicBenchmark,
        "MajajHong2015.IT.public-pls": MajajHongITPublicBenchmark,
    }.items():
        assert make().identifier == load_benchmark(key).identifier == key
