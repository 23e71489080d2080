import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import sem

from brainscore_vision.metric_helpers.uncertainty.jackknife import jackknife_error, mean_error, pair_mean_error

SAMPLES = st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=20)


@given(values=SAMPLES)
def test_jackknife_of_a_mean_is_its_standard_error(values):
    x = np.array(values)
    left_out = (x.sum() - x) / (len(x) - 1)
    assert mean_error(x) == pytest.approx(sem(x), rel=1e-9, abs=1e-12)
    assert jackknife_error(left_out) == pytest.approx(sem(x), rel=1e-6, abs=1e-9)


def test_unknown_values_do_not_count_and_one_value_has_no_error():
    assert mean_error([1.0, np.nan, 3.0]) == pytest.approx(1.0)
    assert np.isnan(mean_error([1.0]))
    assert np.isnan(mean_error([]))
    assert np.isnan(jackknife_error([1.0]))
    assert np.isnan(jackknife_error([1.0, np.nan, 2.0]))


def test_error_over_pairs_leaves_out_one_unit_with_all_its_pairs():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(6, 6))
    np.fill_diagonal(table, np.nan)
    table[1, 4] = np.nan
    left_out = [np.nanmean(np.delete(np.delete(table, unit, axis=0), unit, axis=1)) for unit in range(6)]
    assert pair_mean_error(table) == pytest.approx(jackknife_error(left_out), rel=1e-12)
    upper = np.where(np.triu(np.ones((6, 6)), 1) > 0, table, np.nan)
    left_out = [np.nanmean(np.delete(np.delete(upper, unit, axis=0), unit, axis=1)) for unit in range(6)]
    assert pair_mean_error(upper) == pytest.approx(jackknife_error(left_out), rel=1e-12)
    assert np.isnan(pair_mean_error(table[:2, :2]))


def test_error_over_pairs_describes_new_samples_of_units():
    """The values of a pair are the sum of those of its units: the spread of the mean over samples is known."""
    rng = np.random.default_rng(1)
    means, errors = [], []
    for _ in range(400):
        unit = rng.normal(size=12)
        table = unit[:, None] + unit
        np.fill_diagonal(table, np.nan)
        means.append(np.nanmean(table))
        errors.append(pair_mean_error(table))
    assert np.mean(errors) == pytest.approx(np.std(means), rel=0.1)
