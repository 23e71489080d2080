import numpy as np
import pytest
from scipy import stats

from brainscore_core.metrics import _bootstrap
from brainscore_core.metrics._bootstrap import (
    bootstrap_distribution,
    percentile_interval,
    standard_error,
    standard_error_of_mean,
)


class TestStandardErrorOfMean:
    @pytest.mark.parametrize("axis", [None, 0, 1, (0, 2)])
    def test_agrees_with_scipy(self, axis):
        values = np.random.default_rng(0).random((4, 5, 6))
        expected = stats.sem(values, axis=axis, ddof=1)
        np.testing.assert_allclose(standard_error_of_mean(values, axis), expected)

    def test_nan_is_left_out(self):
        assert standard_error_of_mean([1.0, np.nan, 3.0]) == pytest.approx(1.0)  # sd sqrt(2), n 2

    def test_too_few(self):
        assert np.isnan(standard_error_of_mean([1.0]))
        assert np.isnan(standard_error_of_mean([np.nan, np.nan]))


class TestDistribution:
    def test_same_as_drawing_one_by_one(self):
        values = np.random.default_rng(0).random((5, 3))
        drawn = bootstrap_distribution(values, ["split", "neuroid"], ["neuroid"], n_bootstrap=20, seed=4)
        rows = np.random.default_rng(4).integers(0, 3, size=(20, 3))
        np.testing.assert_allclose(drawn, [values[:, row].mean() for row in rows])

    def test_several_dimensions_are_drawn_independently(self):
        values = np.random.default_rng(0).random((4, 2, 3))
        dims = ["a", "b", "c"]
        drawn = bootstrap_distribution(values, dims, ["c", "a"], np.median, n_bootstrap=10, seed=1)
        generator = np.random.default_rng(1)
        columns, rows = generator.integers(0, 3, size=(10, 3)), generator.integers(0, 4, size=(10, 4))
        expected = [np.median(values[row][:, :, column]) for row, column in zip(rows, columns, strict=True)]
        np.testing.assert_allclose(drawn, expected)

    def test_blocks_change_nothing(self, monkeypatch):
        values = np.random.default_rng(0).random((30, 4))
        whole = bootstrap_distribution(values, ["a", "b"], ["a"], n_bootstrap=50)
        monkeypatch.setattr(_bootstrap, "_BLOCK_VALUES", 7 * values.size)
        np.testing.assert_array_equal(bootstrap_distribution(values, ["a", "b"], ["a"], n_bootstrap=50), whole)

    def test_seed(self):
        values = np.arange(10.0)
        same = [bootstrap_distribution(values, ["a"], ["a"], seed=3) for _ in range(2)]
        np.testing.assert_array_equal(*same)
        assert not np.array_equal(same[0], bootstrap_distribution(values, ["a"], ["a"], seed=4))

    @pytest.mark.parametrize(
        ("values", "dims", "over", "options", "message"),
        [
            ([1.0], ["a", "b"], ["a"], {}, "2 dimensions"),
            ([1.0], ["a"], ["b"], {}, "Cannot draw along"),
            ([1.0], ["a"], [], {}, "Cannot draw along"),
            ([], ["a"], ["a"], {}, "no entry"),
            ([1.0], ["a"], ["a"], {"n_bootstrap": 0}, "at least 1"),
        ],
    )
    def test_bad_input(self, values, dims, over, options, message):
        with pytest.raises(ValueError, match=message):
            bootstrap_distribution(values, dims, over, **options)


class TestStandardError:
    def test_mean_has_its_known_standard_error(self):
        values = np.random.default_rng(0).standard_normal(400)
        estimate = standard_error(values, ["x"], ["x"], n_bootstrap=4000)
        assert estimate == pytest.approx(values.std() / 20, rel=0.05)  # divisor n: the bootstrap's population

    def test_constant_values_have_none(self):
        assert standard_error([2.0] * 5, ["x"], ["x"]) == 0

    def test_draws_without_value_are_left_out(self):
        assert np.isfinite(standard_error([1.0, 2.0, 3.0, np.nan], ["x"], ["x"]))
        assert np.isnan(standard_error([np.nan], ["x"], ["x"], n_bootstrap=3))

    def test_other_statistic(self):
        values = np.random.default_rng(2).standard_normal(200)
        estimate = standard_error(values, ["x"], ["x"], np.std, n_bootstrap=3000)
        assert estimate == pytest.approx(values.std() / np.sqrt(2 * 200), rel=0.15)  # of a normal sample


class TestInterval:
    def test_covers_as_often_as_it_says(self):
        generator = np.random.default_rng(5)
        hits = 0
        for repeat in range(300):
            low, high = percentile_interval(generator.standard_normal(60), ["x"], ["x"], n_bootstrap=300, seed=repeat)
            hits += low <= 0 <= high
        assert 0.90 <= hits / 300 <= 0.98

    def test_level(self):
        values = np.random.default_rng(0).random(50)
        wide = percentile_interval(values, ["x"], ["x"], level=0.99)
        narrow = percentile_interval(values, ["x"], ["x"], level=0.5)
        assert wide[0] < narrow[0] < values.mean() < narrow[1] < wide[1]
        drawn = bootstrap_distribution(values, ["x"], ["x"])
        assert np.mean((drawn >= narrow[0]) & (drawn <= narrow[1])) == pytest.approx(0.5, abs=0.01)

    @pytest.mark.parametrize("level", [0, 1, -0.5, 95])
    def test_impossible_level(self, level):
        with pytest.raises(ValueError, match="between 0 and 1"):
            percentile_interval([1.0, 2.0], ["x"], ["x"], level=level)

    def test_nothing_but_nan(self):
        assert np.isnan(percentile_interval([np.nan], ["x"], ["x"], n_bootstrap=3)).all()
