from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t as student

from brainscore_core.benchmarks import ceil_score, explained_variance
from brainscore_core.metrics import Score
from brainscore_core.metrics.errors import attach_influence
from brainscore_core.statistics.influence import Influence, fieller_interval, tail_freedom


def mean_of(table, **kwargs):
    """Return the influences on the mean of a table, shape (stimuli, units)."""
    n, q = table.shape
    return Influence.of_mean(table, np.arange(n), np.arange(q), **kwargs)


def random_effects(rng, n=40, q=12, stimuli=1.0, units=1.0, cells=1.0):
    return stimuli * rng.standard_normal((n, 1)) + units * rng.standard_normal(q) + cells * rng.standard_normal((n, q))


@pytest.mark.parametrize("spreads", [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 3), (0.5, 1, 1)])
def test_variance_of_a_mean_matches_simulated_random_effects(spreads):
    rng = np.random.default_rng(0)
    tables = [random_effects(rng, 40, 30, *spreads) for _ in range(600)]
    true = np.var([table.mean() for table in tables], ddof=1)
    stated = np.mean([mean_of(table).variance for table in tables])
    assert stated == pytest.approx(true, rel=0.2)


def test_resampling_both_factors_counts_cell_noise_three_times():
    table = random_effects(np.random.default_rng(1), 60, 50, 0, 0, 1)
    influence = mean_of(table)
    rng = np.random.default_rng(2)
    drawn = [table[rng.integers(60, size=60)][:, rng.integers(50, size=50)].mean() for _ in range(2000)]
    assert np.var(drawn) / influence.variance == pytest.approx(3, rel=0.15)


def test_interval_covers_the_truth_at_its_stated_rate():
    rng = np.random.default_rng(3)
    held = []
    for _ in range(800):
        table = random_effects(rng, 30, 5)
        low, high = mean_of(table).interval(table.mean())
        held.append(low <= 0 <= high)
    assert 0.93 <= np.mean(held) <= 0.97


def test_intervals_are_wider_if_few_units_dominate():
    assert tail_freedom(np.zeros(3)) == tail_freedom(np.array([1.0, -1.0])) == np.inf
    assert tail_freedom(np.array([1.0, *np.full(19, 1e-6)])) == 1
    normal = [tail_freedom(x) for x in np.random.default_rng(0).standard_normal((500, 40))]
    assert 15 < np.median(normal) < 20
    plain = mean_of(random_effects(np.random.default_rng(0), 200, 12, 0, 1, 0))
    few = replace(plain, interval_freedom=2.0)
    assert few.degrees_of_freedom == pytest.approx(2, rel=1e-2)
    assert (few.error, few.freedoms) == (plain.error, plain.freedoms)  # tests between models keep their freedom
    assert (plain - few).interval_freedom == (2 * few).interval_freedom == 2


def test_degrees_of_freedom_follow_the_dominant_factor():
    rng = np.random.default_rng(4)
    assert mean_of(random_effects(rng, 200, 5, 0, 1, 0)).degrees_of_freedom == pytest.approx(4, rel=1e-3)
    assert mean_of(random_effects(rng, 20, 50, 1, 0, 0)).degrees_of_freedom == pytest.approx(19, rel=1e-3)
    table = random_effects(rng, 200, 5, 0, 1, 0)
    influence = mean_of(table)
    low, high = influence.interval(0.0)
    assert high == -low == pytest.approx(student.ppf(0.975, 4) * influence.error, rel=1e-3)


def test_shared_influences_of_two_scores_cancel_or_add_up():
    rng = np.random.default_rng(5)
    table = random_effects(rng)
    one = mean_of(table)
    assert (one - one).variance == 0
    assert (one + one).error == pytest.approx(2 * one.error)
    assert (2 * one).error == (one * 2).error == pytest.approx(2 * one.error)
    other = mean_of(random_effects(rng)).within(stimuli="other/", units="other/")
    assert (one + other).variance == pytest.approx(one.variance + other.variance, rel=1e-9)
    shared = mean_of(random_effects(rng)).within(units="other/")
    by_stimulus = one.cells.sum(axis=1), shared.cells.sum(axis=1)
    both = Influence(one.cells, one.stimuli.astype(object).astype(str), one.units)
    assert (both + shared).components[0] == pytest.approx(np.sum((by_stimulus[0] + by_stimulus[1]) ** 2))


def test_unit_freedom_may_be_less_than_the_number_of_units():
    rng = np.random.default_rng(6)
    one = replace(mean_of(random_effects(rng, 200, 12, 0, 1, 0)), freedom=4.0)
    assert one.degrees_of_freedom == pytest.approx(4, rel=1e-3)
    assert (2 * one).freedom == one.within(units="a").freedom == 4
    other = replace(mean_of(random_effects(rng, 200, 12, 0, 1, 0)), freedom=6.0)
    assert (one - other).freedom == 4
    apart = one + other.within(units="other/", stimuli="other/")
    variances = one.components[1], other.components[1]
    expected = sum(variances) ** 2 / (variances[0] ** 2 / 4 + variances[1] ** 2 / 6)
    assert apart.freedom == pytest.approx(expected)
    assert expected > 6
    whole = mean_of(random_effects(rng, 200, 12, 0, 1, 0)).within(units="whole/")
    assert (one + 1e-9 * whole).freedom == pytest.approx(4)


@settings(max_examples=30)
@given(seed=st.integers(0, 10_000))
def test_influences_are_matched_by_name_not_position(seed):
    rng = np.random.default_rng(seed)
    one, other = mean_of(random_effects(rng, 9, 7)), mean_of(random_effects(rng, 9, 7))
    rows, columns = rng.permutation(9), rng.permutation(7)
    moved = Influence(other.cells[np.ix_(rows, columns)], other.stimuli[rows], other.units[columns])
    np.testing.assert_allclose((one + moved).components, (one + other).components)
    part = Influence(other.cells[:4, 2:], other.stimuli[:4], other.units[2:])
    expected = one.cells.copy()
    expected[:4, 2:] += part.cells
    np.testing.assert_allclose((one + part).cells, expected)


def compact(influence, columns, rng):
    """Return influences that store only some units' cells, and the same influences with every cell written out."""
    of_units = rng.standard_normal(len(influence.units))
    part = Influence(influence.cells[:, columns], influence.stimuli, influence.units, "neuroid", columns, of_units)
    full = np.zeros(influence.cells.shape) + of_units / len(influence.stimuli)
    full[:, columns] += influence.cells[:, columns]
    return part, Influence(full, influence.stimuli, influence.units)


@settings(max_examples=30)
@given(seed=st.integers(0, 10_000))
def test_compact_influences_equal_their_full_form(seed):
    rng = np.random.default_rng(seed)
    one, full_one = compact(mean_of(random_effects(rng, 9, 7)), np.array([1, 2, 5]), rng)
    other, full_other = compact(mean_of(random_effects(rng, 9, 7)), np.array([0, 5]), rng)
    for short, full in (
        (one, full_one),
        (one + other, full_one + full_other),
        (one - 3 * other, full_one - 3 * full_other),
        (one.within(units="x"), full_one),
    ):
        np.testing.assert_allclose(short.components, full.components)
        np.testing.assert_allclose(short.by_stimulus, full.by_stimulus, atol=1e-12)
        np.testing.assert_allclose(short.by_unit, full.by_unit, atol=1e-12)


def test_of_margins_reproduces_the_given_margins():
    rng = np.random.default_rng(6)
    rows, columns, rest = rng.standard_normal(9), rng.standard_normal(7), rng.standard_normal((9, 7))
    influence = Influence.of_margins(np.arange(9), np.arange(7), rows, columns, rest, unit="subject")
    np.testing.assert_allclose(influence.cells.sum(axis=1), rows - rows.mean())
    np.testing.assert_allclose(influence.cells.sum(axis=0), columns - columns.mean())
    assert influence.unit == "subject"
    assert repr(influence) == "<Influence of 9 stimuli x 7 subjects>"


@pytest.mark.parametrize(
    ("sizes", "most"), [([10] * 5, 0.985), ([10] * 8, 0.97), ([10] * 20, 0.97), ([2, 4, 6, 10, 20, 30], 0.985)]
)
def test_intervals_over_clusters_cover_the_truth(sizes, most):
    clusters, rng = np.repeat(np.arange(len(sizes)), sizes), np.random.default_rng(7)
    held = {name: [] for name in ("stimulus", "object")}
    for _ in range(500):
        table = random_effects(rng, len(clusters), 5, units=0.3) + rng.standard_normal((len(sizes), 1))[clusters]
        of_stimuli = mean_of(table)
        of_objects = of_stimuli.over_clusters(clusters, "object")
        np.testing.assert_allclose(of_objects.by_unit, of_stimuli.by_unit, atol=1e-12)
        for influence in (of_stimuli, of_objects):
            low, high = influence.interval(table.mean())
            held[influence.stimulus].append(low <= 0 <= high)
    assert np.mean(held["stimulus"]) < 0.91  # pictures of an object are not independent
    assert 0.93 <= np.mean(held["object"]) <= most  # slightly too wide for few or unequal clusters


def test_equal_clusters_count_as_means_and_singles_as_stimuli():
    table = random_effects(np.random.default_rng(8), 12, 6)
    one, clusters = mean_of(table), np.repeat(np.arange(4), 3)
    grouped, of_means = one.over_clusters(clusters, "object"), mean_of(table.reshape(4, 3, 6).mean(axis=1))
    np.testing.assert_allclose(grouped.components[:2], np.array(of_means.components[:2]) * [6 / 5, 1])
    assert grouped.freedoms == pytest.approx(of_means.freedoms)
    single = one.over_clusters(np.arange(12), "object")
    np.testing.assert_allclose(single.components[:2], np.array(one.components[:2]) * [6 / 5, 1])
    assert single.freedoms == pytest.approx(one.freedoms)
    unequal = one.over_clusters(np.repeat(np.arange(4), [6, 2, 2, 2]), "object")
    assert 1 < unequal.freedoms[0] < 3
    assert (unequal - 2 * unequal).freedoms == (2 * unequal).freedoms == unequal.freedoms
    twice = unequal + unequal.within(stimuli="other/", units="other/")
    assert twice.freedoms[0] == pytest.approx(2 * unequal.freedoms[0])
    assert repr(twice) == "<Influence of 8 objects x 12 neuroids>"


@pytest.mark.parametrize(("shape", "reason"), [((5, 1), "a single neuroid"), ((1, 5), "a single stimulus")])
def test_single_neuroid_or_stimulus_has_no_error_but_a_reason(shape, reason):
    score = attach_influence(Score(0.5), mean_of(np.random.default_rng(0).standard_normal(shape)))
    assert np.isnan(score.attrs["error"])
    assert np.isnan(score.attrs["interval"]).all()
    assert score.attrs["error_nan_reason"].startswith(reason)


def test_cells_are_checked_for_undefined_values_once():
    searched = []

    class Cells(np.ndarray):
        def __array_ufunc__(self, function, method, *inputs, **kwargs):
            searched.extend([function.__name__] if function is np.isfinite else [])
            return getattr(function, method)(*(np.asarray(each) for each in inputs), **kwargs)

    cells = random_effects(np.random.default_rng(0)).view(Cells)
    score = attach_influence(Score(0.5), Influence(cells, np.arange(40), np.arange(12)))
    assert score.attrs["error"] > 0
    assert searched == ["isfinite"]


def test_undefined_influences_have_no_error_but_a_reason():
    influence = Influence(np.full((3, 3), np.nan), np.arange(3), np.arange(3))
    assert np.isnan(influence.error)
    assert "undefined" in attach_influence(Score(0.5), influence).attrs["error_nan_reason"]


def test_attach_influence_sets_the_attributes_of_a_score():
    influence = mean_of(random_effects(np.random.default_rng(8)) / 10)
    score = attach_influence(Score(0.5), influence, scale="fisher")
    assert score.attrs["error"] == influence.error
    assert score.attrs["error_over"] == ["stimulus", "neuroid"]
    assert 0 < score.attrs["stimulus_error"] < score.attrs["error"]
    assert score.attrs["influence"] is influence
    assert "error_nan_reason" not in score.attrs


@given(score=st.floats(-1, 1), width=st.floats(0.01, 3))
def test_fisher_interval_stays_between_minus_one_and_one(score, width):
    influence = mean_of(random_effects(np.random.default_rng(9)) * width)
    low, high = influence.interval(score, scale="fisher")
    if abs(score) < 1:
        assert -1 <= low <= score <= high <= 1


def test_interval_without_variance_is_the_score():
    certain = mean_of(np.ones((5, 4)))
    assert certain.interval(0.7) == (0.7, 0.7)
    assert certain.interval(1.0, scale="fisher") == (1.0, 1.0)
    with pytest.raises(ValueError, match=r"got shape \(3, 2\) for 3 stimuli and 3 neuroids"):
        Influence(np.zeros((3, 2)), np.arange(3), np.arange(3))


# -- ratios ------------------------------------------------------------------------------------------------------------


def ratio_data(rng, top=2.0, bottom=1.0, noise=1.0):
    """Return the means and influences of two tables of the same stimuli and units, which share noise."""
    common = random_effects(rng, 40, 15)
    tables = [mean + noise * (common + random_effects(rng, 40, 15)) for mean in (top, bottom)]
    return [table.mean() for table in tables], [mean_of(table) for table in tables]


def test_fieller_interval_covers_the_true_ratio():
    rng = np.random.default_rng(10)
    held = []
    for _ in range(400):
        means, influences = ratio_data(rng, noise=0.5)
        low, high = fieller_interval(*means, *influences)
        held.append(low <= 2 <= high)
    assert 0.92 <= np.mean(held) <= 0.98


def test_fieller_interval_with_uncertain_or_exact_denominator():
    means, influences = ratio_data(np.random.default_rng(11), bottom=0.05)
    assert np.isnan(fieller_interval(*means, *influences)).all()
    (top, _), (influence, _) = ratio_data(np.random.default_rng(12))
    low, high = fieller_interval(top, 2.0, influence, 0.0 * influence)
    np.testing.assert_allclose((low, high), np.array(influence.interval(top)) / 2)
    assert fieller_interval(1.0, 2.0, 0.0 * influence, 0.0 * influence) == (0.5, 0.5)


def score_with_influence(value, table, **attrs):
    score = attach_influence(Score(value), mean_of(table))
    score.attrs.update(attrs)
    return score


def test_noise_shared_by_score_and_ceiling_cancels_in_the_ratio():
    rng = np.random.default_rng(13)
    table = random_effects(rng) / 20
    score, ceiling = score_with_influence(0.5, table), score_with_influence(0.5, table)
    ratio = ceil_score(score, ceiling)
    assert float(ratio) == 1
    assert ratio.attrs["error"] == pytest.approx(0, abs=1e-12)
    apart = ceil_score(score, score_with_influence(0.5, random_effects(rng) / 20))
    assert apart.attrs["error"] > 0.03
    assert apart.attrs["interval"][0] < 1 < apart.attrs["interval"][1]
    assert ratio.attrs["raw"].attrs["influence"] is score.attrs["influence"]
    assert ratio.attrs["influence"] is not score.attrs["influence"]


def test_ceiling_without_influences_counts_as_exact():
    score = score_with_influence(0.5, random_effects(np.random.default_rng(14)) / 20)
    assert ceil_score(score, 0.5).attrs["error"] == pytest.approx(2 * score.attrs["error"])
    np.testing.assert_allclose(ceil_score(score, 0.5).attrs["interval"], np.array(score.attrs["interval"]) * 2)
    squared = explained_variance(score, 0.5)
    ends = np.array(score.attrs["interval"])
    np.testing.assert_allclose(squared.attrs["interval"], ends * np.abs(ends) / 0.5)


def test_error_of_explained_variance_is_not_zero_at_zero():
    table = random_effects(np.random.default_rng(15)) / 20
    score = explained_variance(score_with_influence(0.0, table), 0.5)
    assert score.attrs["error"] == pytest.approx(np.sqrt(2) * mean_of(table).variance / 0.5)
    low, high = score.attrs["interval"]
    assert low < 0 < high


def test_ceiling_that_may_be_zero_gives_no_interval_but_a_reason():
    rng = np.random.default_rng(16)
    ceiled = ceil_score(score_with_influence(0.3, random_effects(rng)), score_with_influence(0.1, random_effects(rng)))
    assert np.isnan(ceiled.attrs["interval"]).all()
    assert "ceiling does not differ from 0" in ceiled.attrs["interval_nan_reason"]
    assert np.isfinite(float(ceiled))
