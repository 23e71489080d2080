import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import sem

from brainscore_core.metrics import Score
from brainscore_vision.metric_helpers.uncertainty import errors

SAMPLES = st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=20)


@given(values=SAMPLES)
def test_jackknife_of_a_mean_is_its_standard_error(values):
    x = np.array(values)
    left_out = (x.sum() - x) / (len(x) - 1)
    assert errors.standard_error(x) == pytest.approx(sem(x), rel=1e-9, abs=1e-12)
    assert errors.jackknife_error(left_out) == pytest.approx(sem(x), rel=1e-6, abs=1e-9)


def test_standard_error_ignores_nan_and_needs_two_values():
    assert errors.standard_error([1.0, np.nan, 3.0]) == pytest.approx(1.0)
    assert np.isnan(errors.standard_error([1.0]))
    assert np.isnan(errors.standard_error([]))
    assert np.isnan(errors.jackknife_error([1.0]))
    assert np.isnan(errors.jackknife_error([1.0, np.nan, 2.0]))


@pytest.mark.parametrize("values", [[1.0, 2.0, 3.0], [4.0, -1.0, 0.5, 9.0, 9.0]])
def test_error_of_median_equals_all_resamples(values):
    medians = [np.median(drawn) for drawn in itertools.product(values, repeat=len(values))]
    assert errors.standard_error_of_median(values) == pytest.approx(np.std(medians), abs=1e-12)


def test_error_of_median_of_even_counts_approximates_resampling():
    rng = np.random.default_rng(0)
    values = rng.normal(size=60)
    drawn = np.median(values[rng.integers(0, 60, size=(20_000, 60))], axis=1).std()
    assert errors.standard_error_of_median(values) == pytest.approx(drawn, rel=0.05)


def test_error_of_median_ignores_nan_and_needs_two_values():
    assert errors.standard_error_of_median([1.0, np.nan, 2.0, 3.0]) == errors.standard_error_of_median([3.0, 1.0, 2.0])
    assert np.isnan(errors.standard_error_of_median([1.0, np.nan]))
    assert np.isnan(errors.standard_error_of_median([]))
    assert errors.standard_error_of_median([2.0, 2.0, 2.0]) == 0.0


@given(values=st.lists(SAMPLES.map(lambda drawn: (drawn + [0.0] * 20)[:20]), min_size=1, max_size=4))
def test_errors_along_an_axis_equal_those_of_single_columns(values):
    table = np.array(values)
    np.testing.assert_allclose(errors.standard_errors(table, axis=1), sem(table, axis=1), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        errors.standard_errors(table.T), [errors.standard_error(row) for row in table], rtol=1e-12
    )


def test_error_of_a_score_matches_a_hand_computed_value():
    score = errors.attach_standard_error(Score(2.0), [1.0, 2.0, 3.0], over="split")
    assert score.attrs == {"error": pytest.approx(1 / np.sqrt(3)), "error_over": ["split"]}  # variance 2 / (3 - 1)


def test_errors_of_a_score_have_its_labels():
    score = Score([2.0, np.nan], coords={"time_bin": [50, 70]}, dims=["time_bin"], attrs={"raw": 1})
    error = errors.attach_standard_error(score, [[1.0, 1.0], [3.0, 2.0]], over="split").attrs["error"]
    np.testing.assert_array_equal(error.values, [1.0, np.nan])
    assert error["time_bin"].values.tolist() == [50, 70]
    assert error.attrs == {}


@pytest.mark.parametrize(
    ("values", "reason"),
    [([1.0], "fewer than two splits"), ([1.0, np.nan], "undefined for the 2 splits"), ([], "fewer than two splits")],
)
def test_an_absent_error_has_a_reason(values, reason):
    score = errors.attach_standard_error(Score(1.0), values, over="split")
    assert np.isnan(score.attrs["error"])
    assert reason in score.attrs["error_nan_reason"]


def test_an_undefined_score_has_no_error():
    score = errors.note_error(Score(np.nan), 0.5, over="subject", n=3)
    assert np.isnan(score.attrs["error"])
    assert "3 subjects" in score.attrs["error_nan_reason"]


def test_shaped_like_copies_only_labels_and_nan():
    assert errors.shaped_like(Score(1.0), np.array(0.5)) == 0.5
    score = Score([1.0, np.nan], coords={"time_bin": [50, 70]}, dims=["time_bin"])
    score.attrs["quantity"] = "correlation"
    for shaped in (
        errors.shaped_like(score, [0.1, 0.2]),
        errors.attach_split_error(score, [[1.0, 0], [3, 4]]).attrs["split_error"],
    ):
        assert type(shaped) is Score
        assert shaped["time_bin"].values.tolist() == [50, 70]
        assert shaped.attrs == {}
    assert score.values[0] == 1.0
    np.testing.assert_array_equal(shaped.values, [1.0, np.nan])  # NaN where the score is NaN
