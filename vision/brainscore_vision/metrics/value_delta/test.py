import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brainscore_core.errors import AssemblyError
from brainscore_core.metrics import Score
from brainscore_vision import load_metric

NUMBERS = st.floats(-20, 20, allow_subnormal=False)


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [(1.25, 1.25, 1), (1.5, 1.0, 0.6065), (1.0, 1.5, 0.6065), (1.0, -1.0, 0.1353), (-5.0, 5.0, 0.0)],
)
def test_scores_equal_the_published_ones(source, target, expected):
    score = load_metric("value_delta")(source, target)
    assert float(score) == pytest.approx(expected, abs=5e-4)
    assert score.attrs["raw"].values.tolist() == [source, target]
    assert np.isnan(score.attrs["error"])
    assert "neither number has an error" in score.attrs["error_nan_reason"]
    assert score.attrs["quantity"] == "share"


@given(one=NUMBERS, two=NUMBERS, shift=NUMBERS)
def test_score_is_symmetric_and_independent_of_the_origin(one, two, shift):
    metric = load_metric("value_delta", scale=0.75)
    assert 0 < float(metric(one, two)) <= 1
    assert float(metric(one, two)) == float(metric(two, one))
    assert float(metric(one + shift, two + shift)) == pytest.approx(float(metric(one, two)), rel=1e-9)


def test_scale_sets_how_fast_the_score_falls():
    assert float(load_metric("value_delta", scale=0.5)(1, 3)) == pytest.approx(np.exp(-1))


def test_accepts_scores_and_arrays_of_one_number():
    assert float(load_metric("value_delta")(Score(1.0), np.array([2.0]))) == pytest.approx(np.exp(-1))


@pytest.mark.parametrize("value", [np.nan, np.inf, [1.0, 2.0], "one", None])
def test_rejects_values_that_are_not_one_number(value):
    with pytest.raises(AssemblyError, match="target value"):
        load_metric("value_delta")(1.0, value)


@pytest.mark.parametrize("scale", [0, -1, np.nan])
def test_rejects_a_scale_that_is_not_positive(scale):
    with pytest.raises(ValueError, match="positive"):
        load_metric("value_delta", scale=scale)


def with_error(value, error, **attrs):
    score = Score(value)
    score.attrs.update(error=error, **attrs)
    return score


def test_errors_of_both_numbers_are_propagated():
    metric = load_metric("value_delta", scale=0.5)
    score = metric(with_error(1.0, 0.3, error_over=["subject"]), with_error(3.0, 0.4))
    assert score.attrs["error"] == pytest.approx(0.5 * np.exp(-1) * 0.5)
    assert score.attrs["error_over"] == ["subject"]
    expected = np.exp(-0.5 * np.array([2 + 1.959964 * 0.5, 2 - 1.959964 * 0.5]))
    np.testing.assert_allclose(score.attrs["interval"], expected, rtol=1e-6)
    exact = metric(1.0, with_error(3.0, 0.4, error_df=3.0))
    assert exact.attrs["error"] == pytest.approx(0.5 * np.exp(-1) * 0.4)
    assert exact.attrs["interval"][1] == pytest.approx(np.exp(-0.5 * (2 - 3.182446 * 0.4)), rel=1e-6)


def test_interval_reaches_one_if_the_difference_may_be_zero():
    low, high = load_metric("value_delta")(with_error(1.0, 0.3), 1.2).attrs["interval"]
    assert high == 1
    assert low == pytest.approx(np.exp(-(0.2 + 1.959964 * 0.3)), rel=1e-6)
