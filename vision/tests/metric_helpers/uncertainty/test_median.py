import itertools

import numpy as np
import pytest

from brainscore_vision.metric_helpers.uncertainty.median import median_standard_error


@pytest.mark.parametrize("values", [[1.0, 2.0, 3.0], [4.0, -1.0, 0.5, 9.0, 9.0]])
def test_equals_all_resamples(values):
    medians = [np.median(drawn) for drawn in itertools.product(values, repeat=len(values))]
    assert median_standard_error(values) == pytest.approx(np.std(medians), abs=1e-12)


def test_even_numbers_are_close_to_drawing():
    rng = np.random.default_rng(0)
    values = rng.normal(size=60)
    drawn = np.median(values[rng.integers(0, 60, size=(20_000, 60))], axis=1).std()
    assert median_standard_error(values) == pytest.approx(drawn, rel=0.05)


def test_nan_does_not_count_and_one_value_has_no_error():
    assert median_standard_error([1.0, np.nan, 2.0, 3.0]) == median_standard_error([3.0, 1.0, 2.0])
    assert np.isnan(median_standard_error([1.0, np.nan]))
    assert np.isnan(median_standard_error([]))
    assert median_standard_error([2.0, 2.0, 2.0]) == 0.0
