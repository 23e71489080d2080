import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import pearsonr
from scipy.stats import t as student
from scipy.stats.mstats import hdmedian

from brainscore_vision.metric_helpers.arrays.influence import (
    correlation_influence,
    left_out_influences,
    median_freedom,
    median_influence,
    median_of_columns,
    median_of_correlations,
    order_weights,
)
from brainscore_vision.metric_helpers.uncertainty.errors import jackknife_error
from brainscore_vision.metric_helpers.uncertainty.intervals import weighted_correlations


def pair(seed=0, n=60, q=5):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, q)) * 3 + 7
    return x, x + rng.standard_normal((n, q)) * 4


def test_squared_influences_sum_to_the_jackknife_variance():
    values = np.random.default_rng(0).normal(size=9)
    influences = left_out_influences(values)
    assert np.sqrt((influences**2).sum()) == pytest.approx(jackknife_error(values))
    assert influences[values.argmin()] == influences.max()


def test_correlation_influence_is_the_derivative_by_weight():
    x, y = pair()
    r, influence = correlation_influence(x, y)
    np.testing.assert_allclose(r, [pearsonr(*columns)[0] for columns in zip(x.T, y.T, strict=True)])
    np.testing.assert_allclose(influence.sum(axis=0), 0, atol=1e-12)
    step = 1e-6
    weights = 1 + step * np.eye(60)
    moved = weighted_correlations(weights, x, y)
    numeric = (moved - r) / step * 60  # by the share of a row in the weights
    np.testing.assert_allclose(influence * np.sqrt(60 * 56), numeric, atol=1e-3)


def test_squared_influences_sum_to_a_correlations_variance():
    found, stated = [], []
    for seed in range(2000):
        r, influence = correlation_influence(*pair(seed, n=10, q=1))
        found.append(r[0])
        stated.append((influence**2).sum())
    assert np.sqrt(np.mean(stated)) == pytest.approx(np.std(found), rel=0.1)


def test_fewer_than_five_rows_have_no_influence():
    r, influence = correlation_influence(*pair(n=4))
    assert np.isfinite(r).all()
    assert np.isnan(influence).all()


def test_constant_columns_are_undefined():
    x, y = pair()
    x[:, 2] = 1
    r, influence = correlation_influence(x, y)
    assert np.isnan(r).tolist() == [False, False, True, False, False]
    assert np.isnan(influence).any(axis=0).tolist() == np.isnan(r).tolist()


@settings(max_examples=50)
@given(values=st.lists(st.floats(-5, 5), min_size=2, max_size=40))
def test_median_influence_equals_the_jackknife_of_hdmedian(values):
    values = np.array(values)
    influence, slope = median_influence(values)
    n = len(values)
    others = [np.delete(values, place) for place in range(n)]
    left_out = np.array([float(hdmedian(each)) if n > 2 else each[0] for each in others])
    assert (influence**2).sum() == pytest.approx((n - 1) * left_out.var(), abs=1e-9)
    assert influence.sum() == pytest.approx(0, abs=1e-9)
    assert slope.sum() == pytest.approx(1)
    assert slope @ values == pytest.approx(float(hdmedian(values)), abs=1e-9)


@pytest.mark.parametrize("n", [8, 20, 100])
def test_median_freedom_matches_simulated_variances(n):
    values = np.random.default_rng(n).standard_normal((3000, n))
    variances = np.array([(median_influence(row)[0] ** 2).sum() for row in values])
    worth = 2 * variances.mean() ** 2 / variances.var()  # degrees of freedom of a scaled chi square
    assert worth == pytest.approx(median_freedom(n), rel=1 / 6)
    assert worth < 0.5 * (n - 1)
    held = np.abs(np.median(values, axis=1)) <= np.sqrt(variances) * student.ppf(0.975, median_freedom(n))
    assert 0.94 <= held.mean() <= 0.97


def test_median_freedom_of_few_values_is_n_minus_one():
    assert [median_freedom(n) for n in (1, 2, 3)] == [0, 1, 2]


def test_median_of_columns_combines_rows_and_columns():
    of_rows = np.random.default_rng(0).standard_normal((30, 5))
    values = np.array([0.1, np.nan, 0.3, 0.2, 0.5])
    cells, columns, of_neuroids, _ = median_of_columns(values, of_rows)
    of_units, slopes = median_influence(values[[0, 2, 3, 4]])
    assert columns.tolist() == [0, 2, 3, 4]
    np.testing.assert_allclose(of_neuroids[columns], of_units)
    np.testing.assert_allclose(cells, slopes * of_rows[:, columns])
    assert of_neuroids[1] == 0
    assert np.isnan(median_of_columns(np.full(5, np.nan), of_rows)[0]).all()


def test_median_influence_of_one_value_is_zero():
    influence, slope = median_influence(np.array([3.0]))
    assert (influence.tolist(), slope.tolist()) == ([0.0], [1.0])


def test_order_weights_are_read_only():
    with pytest.raises(ValueError, match="read-only"):
        order_weights(5)[0] = 1


def tables(n_parts=3, n=12, q=6, seed=0):
    rng = np.random.default_rng(seed)
    rows = [rng.permutation(20)[:n] for _ in range(n_parts)]
    x = rng.standard_normal((20, q))
    y = x + rng.standard_normal((20, q))
    parts = [(y[row], x[row], row) for row in rows]
    return parts, np.stack([correlation_influence(*part[:2])[0] for part in parts])


def dense(found, n_stimuli, n_neuroids):
    """Return the influence of every cell, with those of whole neuroids spread over stimuli."""
    cells, columns, of_neuroids, _ = found
    full = np.zeros((n_stimuli, n_neuroids)) + of_neuroids / n_stimuli
    full[:, columns] += cells
    return full


def test_influences_on_the_mean_of_medians_add_up():
    parts, r = tables()
    cells = dense(median_of_correlations(parts, 20, r), 20, 6)
    expected = np.zeros((20, 6))
    for (x, y, rows), of_part in zip(parts, r, strict=True):
        of_units, slope = median_influence(of_part)
        expected[rows] += slope * correlation_influence(x, y)[1] / 3
        expected += of_units / 60
    np.testing.assert_allclose(cells, expected, atol=1e-14)
    assert (cells[np.setdiff1d(np.arange(20), np.concatenate([row for *_, row in parts]))].std(axis=0) < 1e-15).all()


def test_presentations_of_a_stimulus_add_up_and_slopes_scale():
    parts, r = tables(1)
    (x, y, _), twice = parts[0], np.arange(12) // 2
    cells = dense(median_of_correlations([(x, y, twice)], 6, r), 6, 6)
    apart = dense(median_of_correlations([(x, y, np.arange(12))], 12, r), 12, 6)
    np.testing.assert_allclose(cells, apart.reshape(6, 2, 6).sum(axis=1), atol=1e-14)
    double = dense(median_of_correlations([(x, y, np.arange(12))], 12, 2 * r, np.full_like(r, 2)), 12, 6)
    np.testing.assert_allclose(double, 2 * apart, atol=1e-14)


def test_undefined_correlations_are_excluded():
    parts, r = tables()
    r[:, 3] = np.nan
    cells = dense(median_of_correlations(parts, 20, r), 20, 6)
    assert (cells[:, 3] == 0).all()
    assert np.isfinite(cells).all()
    r[1] = np.nan
    assert np.isnan(median_of_correlations(parts, 20, r)[0]).all()


def test_only_cells_near_the_median_of_many_neuroids_are_stored():
    parts, r = tables(2, q=3000)
    cells, columns, of_neuroids, _ = median_of_correlations(parts, 20, r)
    assert cells.shape == (20, len(columns))
    assert len(columns) < 1000
    assert (of_neuroids != 0).sum() > 2900


def test_freedom_of_a_mean_of_medians_grows_with_independence():
    parts, r = tables(8, q=40)
    one = median_of_correlations(parts[:1], 20, r[:1]).freedom
    assert one == median_freedom(40)
    same = median_of_correlations(parts, 20, np.repeat(r[:1], 8, axis=0)).freedom
    assert same == pytest.approx(one)
    mixed = median_of_correlations(parts, 20, np.random.default_rng(0).standard_normal((8, 40))).freedom
    assert 3 * one < mixed <= 39


def test_pairs_of_test_stimuli_share_their_deviation():
    """Two stimuli correlate at 1 or -1; squares over six disjoint pairs sum to 12 / (12 - 4) of the variance of their
    mean."""
    r = np.array([[1.0], [-1], [1], [1], [-1], [1]])
    parts = [(np.zeros((2, 1)), np.zeros((2, 1)), np.array([2 * index, 2 * index + 1])) for index in range(6)]
    cells = median_of_correlations(parts, 12, r).cells
    assert (cells**2).sum() == pytest.approx(r.var(ddof=1) / 6 * 12 / 8)
    np.testing.assert_allclose(cells[::2], cells[1::2])
    assert np.isnan(median_of_correlations(parts[:1], 12, r[:1]).cells).all()  # undefined for one split
