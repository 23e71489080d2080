import numpy as np
import pytest
from scipy.stats import sem

from brainscore_core.errors import AssemblyError, CeilingError
from brainscore_core.metrics import Score
from brainscore_vision.benchmark_helpers import bound_score
from brainscore_vision.benchmark_helpers.neural_common import neuroid_wise_explained_var
from brainscore_vision.metric_helpers.uncertainty.errors import standard_error_of_median


@pytest.mark.parametrize(("value", "expected"), [(1.2, 1), (-0.1, 0), (0.4, 0.4), (0, 0), (1, 1)])
def test_bound_score_clips_in_place_but_not_the_raw_score(value, expected):
    score = Score(value)
    score.attrs["raw"] = Score(value)
    assert bound_score(score) is None
    assert float(score) == expected
    assert float(score.attrs["raw"]) == value


def test_bound_score_clips_entries_and_keeps_nan():
    score = Score([1.5, np.nan, -2, 0.5], dims=["x"])
    bound_score(score)
    np.testing.assert_array_equal(score.values, [1, np.nan, 0, 0.5])


def test_neuroid_wise_explained_variance_matches_hand_computation(per_neuroid):
    raw, ceiling = per_neuroid([0.6, -0.3]), per_neuroid([0.5, 0.9], ids=["n1", "n0"])
    score = neuroid_wise_explained_var(raw, ceiling)
    np.testing.assert_allclose(score.attrs["ceiled_scores"].values, [0.36 / 0.9, -0.09 / 0.5])
    assert float(score) == pytest.approx((0.4 - 0.18) / 2)
    assert float(neuroid_wise_explained_var(raw, ceiling, np.max)) == pytest.approx(0.4)


def test_neuroid_wise_ignores_nan_neuroids(per_neuroid):
    score = neuroid_wise_explained_var(per_neuroid([0.6, np.nan, 0.3]), per_neuroid([0.9, np.nan, 0.5]))
    np.testing.assert_allclose(score.attrs["ceiled_scores"].values, [0.4, np.nan, 0.18])
    assert float(score) == pytest.approx(0.29)


def test_neuroid_wise_error_is_of_the_mean_over_neuroids(per_neuroid):
    raw, ceiling = per_neuroid([0.6, np.nan, 0.3, 0.5]), per_neuroid([0.9, np.nan, 0.5, 0.5])
    raw.attrs.update(error=0.1, error_over=["split"], error_df=3.0)
    score = neuroid_wise_explained_var(raw, ceiling)
    assert score.attrs["error"] == pytest.approx(sem([0.4, 0.18, 0.5]))
    assert score.attrs["error_over"] == ["neuroid"]
    assert "error_df" not in score.attrs  # it belongs to the raw score
    median = neuroid_wise_explained_var(raw, ceiling, np.median)
    assert median.attrs["error"] == pytest.approx(standard_error_of_median([0.4, 0.18, 0.5]))
    assert "max over neuroids" in neuroid_wise_explained_var(raw, ceiling, np.max).attrs["error_nan_reason"]
    single = neuroid_wise_explained_var(per_neuroid([0.6]), per_neuroid([0.9]))
    assert np.isnan(single.attrs["error"])
    assert "a single neuroid" in single.attrs["error_nan_reason"]


def test_neuroid_wise_rejects_a_ceiling_that_is_not_a_reliability(per_neuroid):
    score, ceiling = per_neuroid([0.6, 0.3]), per_neuroid([0.9, 0.5])
    score.attrs["quantity"], ceiling.attrs["quantity"] = "correlation", "reliability"
    assert "quantity" not in neuroid_wise_explained_var(score, ceiling).attrs
    ceiling.attrs["quantity"] = "share"
    with pytest.raises(CeilingError, match="share"):
        neuroid_wise_explained_var(score, ceiling)


def test_neuroid_wise_needs_the_same_neuroids(per_neuroid):
    with pytest.raises(AssemblyError, match="same unique neuroid_id"):
        neuroid_wise_explained_var(per_neuroid([0.6, 0.3]), per_neuroid([0.5, 0.9], ids=["n0", "other"]))
    with pytest.raises(CeilingError, match="1 of 2"):
        neuroid_wise_explained_var(per_neuroid([0.6, 0.3]), per_neuroid([0.5, 0.0]))
    with pytest.raises(AssemblyError, match="each neuroid"):
        neuroid_wise_explained_var(Score(0.5), per_neuroid([0.5]))
