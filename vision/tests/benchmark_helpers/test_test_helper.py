import numpy as np
import pytest

from brainscore_core.metrics import Score
from brainscore_core.supported_data_standards.brainio.packaging import write_netcdf
from brainscore_core.testing.synthetic import assembly_of
from brainscore_vision import benchmark_registry
from brainscore_vision.benchmark_helpers import test_helper
from brainscore_vision.benchmark_helpers.neural_common import NeuralBenchmark

IDS = ["a", "b", "c", "d"]


def agreement(source, target):
    """Return the share of equal values, with a value for each split and neuroid."""
    equal = np.tile((source.values == target.values).mean(axis=0), (10, 1))
    score = Score(equal.mean())
    score.attrs["raw"] = Score(
        equal,
        coords={"split": ("split", range(10)), "neuroid_id": ("neuroid", ["p", "q"]), "x": ("neuroid", [0, 1])},
        dims=["split", "neuroid"],
    )
    return score


@pytest.fixture
def recordings(write_stimuli, make_recordings):
    objects = ["x", "x", "y", "y"]
    return make_recordings(
        np.arange(8.0).reshape(4, 2),
        stimulus_set=write_stimuli(dict.fromkeys(IDS, np.full((10, 10, 3), (255, 0, 0))), "four", object_name=objects),
        attrs={"stimulus_set_identifier": "four"},
        object_name=("presentation", objects),
        neuroid_id=("neuroid", ["p", "q"]),
        region=("neuroid", ["V1", "V1"]),
    )


@pytest.fixture
def identifier(recordings):
    def make(trials=5):
        return NeuralBenchmark(
            identifier="Helped2026.V1-agreement",
            version=1,
            assembly=recordings,
            similarity_metric=agreement,
            visual_degrees=4,
            number_of_trials=trials,
            ceiling_func=lambda: Score(0.8),
            parent="V1",
            bibtex="",
        )

    benchmark_registry["Helped2026.V1-agreement"] = make
    benchmark_registry["Helped2026.V1-once"] = lambda: make(trials=1)
    yield "Helped2026.V1-agreement"
    del benchmark_registry["Helped2026.V1-agreement"], benchmark_registry["Helped2026.V1-once"]


def test_ceilings_test_compares_the_ceiling(identifier):
    test_helper.StandardizedTests().ceilings_test(identifier, pytest.approx(0.8))
    with pytest.raises(AssertionError, match=r"ceiling of 'Helped2026"):
        test_helper.StandardizedTests().ceilings_test(identifier, pytest.approx(0.7))


@pytest.mark.parametrize("name", ["self_regression_test", "self_rdm_test"])
def test_self_tests_compare_the_score_of_the_data_themselves(identifier, name):
    check = getattr(test_helper.StandardizedTests(), name)
    check(identifier, visual_degrees=4, expected=pytest.approx(1))
    with pytest.raises(AssertionError, match="against themselves"):
        check(identifier, visual_degrees=4, expected=pytest.approx(0.5))


def test_repetitions_test_rejects_a_single_trial(identifier):
    test_helper.NumberOfTrialsTests().repetitions_test(identifier)
    with pytest.raises(AssertionError, match="1 time"):
        test_helper.NumberOfTrialsTests().repetitions_test("Helped2026.V1-once")


def test_amount_gray_test_compares_the_share_of_gray(identifier):
    # 10 px at 4 degrees on a screen of 8 degrees: 300 of 20 x 20 px are gray; the share is divided by 3 channels.
    test_helper.VisualDegreesTests().amount_gray_test(identifier, 8, "a", pytest.approx(300 / 1200))
    with pytest.raises(AssertionError, match="share of gray"):
        test_helper.VisualDegreesTests().amount_gray_test(identifier, 4, "a", pytest.approx(0.25))


@pytest.mark.parametrize(("changed", "expected"), [(0, 1.0), (1, 7 / 8)])
def test_run_test_scores_stored_features(identifier, recordings, tmp_path, changed, expected):
    order = [2, 0, 3, 1]  # stored in a different order from the presentation
    values = recordings.values[order].copy()
    values[0, 0] += changed
    paths = [f"/elsewhere/{IDS[i]}.png" for i in order]
    features = assembly_of(values, stimulus_id=None, stimulus_path=paths, layer=("neuroid", ["conv", "conv"]))
    path = tmp_path / "features.nc"
    write_netcdf(features, path)
    test_helper.PrecomputedTests().run_test(identifier, path, pytest.approx(expected))
