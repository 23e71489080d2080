import numpy as np
import pytest
from scipy.stats import pearsonr

from brainscore_vision.metric_helpers.arrays.correlation import (
    ORDINARY,
    extreme_exponent,
    ordinary,
    ordinary_columns,
    pearson_columns,
)


def test_ordinary_numbers_are_unchanged():
    for values in (np.array([2.0**ORDINARY / 2, -1.0]), np.array([2.0**-ORDINARY]), np.zeros(3), np.array([np.nan])):
        assert extreme_exponent(values) == 0
        assert ordinary(values)[0] is values
    assert extreme_exponent(np.zeros((0, 3))) == extreme_exponent() == extreme_exponent(np.array([np.inf, 1.0])) == 0


@pytest.mark.parametrize("unit", [1e-320, 1e-300, 1e-100, 1e-21, 1e20, 1e150, 1e300])
def test_extreme_numbers_are_divided_by_a_power_of_two(unit):
    train, test = np.array([[1.0, -3.0], [np.nan, 2.0]]) * unit, np.array([7.0]) * unit
    scaled = ordinary(train, test)
    exponent = extreme_exponent(train, test)
    assert exponent == np.frexp(7.0 * unit)[1]
    for given, found in zip((train, test), scaled, strict=True):
        np.testing.assert_array_equal(np.ldexp(found, exponent), given)  # exact
    assert 0.5 <= scaled[1][0] < 1


def test_only_extreme_single_precision_becomes_double():
    assert ordinary(np.float32([3e30]))[0].dtype == np.float64
    assert ordinary(np.float32([3.0]))[0].dtype == np.float32


def test_each_column_has_its_own_scale():
    values = np.array([[3.0, 0.0, -5e300], [1.0, 0.0, 2e-300]])
    largest = np.abs(ordinary_columns(values)).max(axis=0)
    assert largest[1] == 0
    assert ((largest[[0, 2]] >= 0.5) & (largest[[0, 2]] < 1)).all()


@pytest.mark.parametrize("unit", [1e-300, 1e-160, 1e160, 1e300])
def test_correlations_of_columns_in_extreme_units(unit):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 12, 3))
    y[:, 2] = 4.0
    expected = [pearsonr(x[:, i], y[:, i])[0] for i in range(2)]
    for pair in ((x * unit, y), (x, y * unit), (x * [1, unit, 1], y * [unit, 1, unit])):
        found = pearson_columns(*pair)
        np.testing.assert_allclose(found[:2], expected, rtol=1e-12)
        assert np.isnan(found[2])
