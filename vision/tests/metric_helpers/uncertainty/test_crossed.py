import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import sem, t

from brainscore_core.metrics import Score
from brainscore_vision.metric_helpers.uncertainty.errors import (
    Spread,
    attach_spread,
    crossed_influence,
    crossed_median_spread,
    crossed_spread,
    proportion_interval,
    spread_of_units,
    t_interval,
)


def influences(table):
    return (table - table.mean()) / table.size


def test_spread_of_one_kind_of_units_is_the_standard_error():
    x = np.random.default_rng(0).normal(size=9)
    spread = spread_of_units((x - x.mean()) / 9)
    assert spread.error == pytest.approx(sem(x))
    assert spread.df == 8
    assert np.isnan(spread_of_units([0.0]).error)


def test_crossed_spread_equals_the_analysis_of_variance():
    """The expected mean squares of two random factors give an unbiased variance of the grand mean."""
    table = np.random.default_rng(0).normal(size=(5, 9)) + np.arange(5)[:, None] + np.arange(9)
    rows, columns = table.mean(axis=1), table.mean(axis=0)
    rest = table - rows[:, None] - columns + table.mean()
    interaction = (rest**2).sum() / (4 * 8)
    subject, stimulus = rows.var(ddof=1) * 9, columns.var(ddof=1) * 5  # mean squares
    spread = crossed_spread(influences(table))
    assert spread.error == pytest.approx(np.sqrt((subject + stimulus - interaction) / table.size))
    df = (subject + stimulus - interaction) ** 2 / (subject**2 / 4 + stimulus**2 / 8 + interaction**2 / 32)
    assert spread.df == pytest.approx(df)


def test_named_influences_have_the_same_error():
    table = np.random.default_rng(0).normal(size=(20, 30))
    influence = crossed_influence(influences(table), np.arange(30), np.arange(20))
    assert influence.error == pytest.approx(crossed_spread(influences(table)).error, rel=0.05)
    assert influence.unit == "subject"
    assert crossed_influence(np.ones((1, 3)), np.arange(3), np.array(["a"])).why_unknown.startswith("a single subject")


def test_crossed_spread_is_at_least_that_of_each_factor():
    """The opposite answers of two subjects cancel for every stimulus."""
    table = np.outer([1.0, -1.0], np.ones(6)) + np.outer([1.0, -1.0], np.arange(6))
    x = influences(table)
    assert crossed_spread(x).error == pytest.approx(spread_of_units(x.sum(axis=1)).error)


def test_stimuli_of_single_subjects_are_nested():
    table = np.kron(np.eye(4), np.ones(5)) > 0
    x = np.where(table, np.random.default_rng(0).normal(size=(4, 20)) + 3 * np.arange(4)[:, None], 0)
    x = np.where(table, x - x.sum() / 20, 0) / 20
    assert crossed_spread(x, table).error == pytest.approx(spread_of_units(x.sum(axis=1)).error, rel=0.05)
    more = np.zeros((6, 30))
    more[:4, :20] = x
    assert crossed_spread(more, more != 0) == crossed_spread(x, table)


def test_one_subject_or_one_stimulus_has_no_spread():
    assert np.isnan(crossed_spread(np.ones((1, 5))).error)
    assert np.isnan(crossed_spread(np.ones((5, 1))).error)


def means_of(tables):
    """Return the means of tables of shape (n_variables, n_subjects, n_stimuli), and their influences."""
    means = tables.mean(axis=(1, 2))
    return means, (tables - means[:, None, None]) / tables[0].size


def test_median_of_equal_variables_has_the_spread_of_one():
    table = np.random.default_rng(0).normal(size=(6, 30)) + np.arange(6)[:, None]
    spread = crossed_median_spread(*means_of(np.stack([table] * 4)))
    alone = crossed_spread(influences(table))
    assert (spread.error, spread.df) == pytest.approx((alone.error, alone.df))


@pytest.mark.slow  # 300 simulated experiments for each
@pytest.mark.parametrize("shared", [0.0, 0.3, 0.9])
@pytest.mark.parametrize("differing", [0.0, 0.05])
def test_spread_of_a_median_matches_simulated_variables(shared, differing):
    """Answers have a part shared by all variables and a part specific to each, which are in both sums, and variables
    differ."""
    rng = np.random.default_rng(1)
    middles, stated = [], []
    for _ in range(300):
        common, own = rng.normal(size=(1, 5, 30)), rng.normal(size=(15, 5, 30))
        tables = np.sqrt(shared) * common + np.sqrt(1 - shared) * own
        means, moved = means_of(tables + differing * rng.normal(size=(15, 1, 1)))
        middles.append(np.median(means))
        stated.append(crossed_median_spread(means, moved).error)
    # Never below the error over one factor, which is slightly too large if only single answers vary.
    assert np.sqrt(np.mean(np.square(stated))) == pytest.approx(np.std(middles), rel=0.17)


def test_interval_without_skewness_equals_students():
    assert t_interval(2.0, Spread(0.5, 7.0)) == pytest.approx(t.interval(0.95, 7, loc=2, scale=0.5))
    nearly = t_interval(2.0, Spread(0.5, 7.0, 1e-6))
    assert nearly == pytest.approx(t.interval(0.95, 7, loc=2, scale=0.5), abs=1e-5)
    assert np.isnan(t_interval(2.0, Spread(float("nan"), 7.0))).all()


def test_interval_of_a_skewed_estimate_solves_the_transformation():
    low, high = t_interval(2.0, Spread(0.5, 1e9, 0.4))
    for end, expected in ((low, 1.96), (high, -1.96)):
        z, k = (2.0 - end) / 0.5, 0.4
        assert z + k / 3 * z**2 + k**2 / 27 * z**3 + k / 6 == pytest.approx(expected, abs=1e-4)
    assert high - 2.0 > 2.0 - low  # an estimate that is too low by chance has a small error


def test_correction_improves_the_coverage_of_skewed_means():
    rng = np.random.default_rng(0)
    held = {"plain": 0, "corrected": 0}
    for _ in range(2000):
        x = rng.exponential(size=15)
        spread = spread_of_units((x - x.mean()) / 15)
        for name, each in (("plain", spread._replace(skewness=0.0)), ("corrected", spread)):
            low, high = t_interval(x.mean(), each)
            held[name] += low <= 1 <= high
    assert held["plain"] / 2000 < 0.92
    assert 0.92 < held["corrected"] / 2000 < 0.97


@given(right=st.integers(1, 40), n=st.integers(41, 100))
def test_interval_of_a_proportion_equals_wilsons(right, n):
    from scipy.stats import binomtest

    p = right / n
    low, high = proportion_interval(p, Spread(np.sqrt(p * (1 - p) / n), 1e9), n)
    expected = binomtest(right, n).proportion_ci(method="wilson")
    assert (low, high) == pytest.approx((expected.low, expected.high), abs=1e-5)


def test_attach_spread_writes_attributes():
    score = attach_spread(Score(0.5), Spread(0.1, 4.0), over=["subject"], interval=(0.3, 0.7))
    assert score.attrs == {
        "error": 0.1,
        "error_over": ["subject"],
        "error_df": 4.0,
        "interval": (0.3, 0.7),
        "interval_level": 0.95,
        "interval_method": "influence of single answers",
    }


def test_zero_or_unknown_spread_gives_no_error():
    score = attach_spread(Score(1.0), Spread(0.0, 4.0), over=["subject"], interval=(0.9, 1.0))
    assert np.isnan(score.attrs["error"])
    assert "no spread" in score.attrs["error_nan_reason"]
    assert score.attrs["interval"] == (0.9, 1.0)
    few = attach_spread(
        Score(1.0), Spread(*[float("nan")] * 2), over=["subject"], interval=(np.nan, np.nan), missing="one subject"
    )
    assert few.attrs["error_nan_reason"] == "one subject"
    assert "interval" not in few.attrs
