"""Test comparisons of models against hand-computed answers, brute force, and what new experiments give."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from brainscore_core.errors import ContractError
from brainscore_core.statistics.averages import Estimate
from brainscore_core.statistics.joint_errors import JointErrors
from brainscore_core.statistics.tests import Comparison, holm, letters, tie_groups


def independent(scores, errors, df=np.inf, **kwargs):
    estimates = [Estimate(score, error, df=df) for score, error in zip(scores, errors, strict=True)]
    return Comparison(np.array(scores, dtype=float), JointErrors.of_estimates(estimates), **kwargs)


def with_common_error(scores, error, df=1e9):
    """Return a comparison of scores whose differences all have the error `error`, and scores a common one beside."""
    n = len(scores)
    moments = np.zeros((3, n, n))
    moments[0] = 4.0 + error**2 / 2 * np.eye(n)
    return Comparison(np.asarray(scores, dtype=float), JointErrors.of_moments(moments, (df, np.inf)))


# -- differences


def test_differences_are_compared_with_students_t():
    compared = independent([0.5, 0.4], [0.03, 0.04], df=8.0)
    df = (0.05**2) ** 2 / (0.03**4 / 8 + 0.04**4 / 8)  # Welch
    assert compared.differences.tolist() == pytest.approx(np.array([[0, 0.1], [-0.1, 0]]))
    assert compared.p[0, 1] == pytest.approx(2 * stats.t.sf(0.1 / 0.05, df))
    assert compared.margins[1, 0] == pytest.approx(0.05 * stats.t.ppf(0.975, df))
    assert np.isnan(compared.p.diagonal()).all()
    narrow = independent([0.5, 0.4], [0.03, 0.04], df=8.0, level=0.68)
    assert narrow.margins[0, 1] == pytest.approx(0.05 * stats.t.ppf(0.84, df))


def test_two_tables_are_compared_by_the_paired_t_test():
    tables = np.random.default_rng(0).standard_normal((2, 30, 1))
    compared = Comparison(tables.mean(axis=(1, 2)), JointErrors.of_tables(tables, over="stimuli"))
    expected = stats.ttest_rel(tables[0, :, 0], tables[1, :, 0])
    assert compared.p[0, 1] == pytest.approx(expected.pvalue)
    interval = compared.differences[0, 1] + np.array([-1, 1]) * compared.margins[0, 1]
    assert interval == pytest.approx(tuple(expected.confidence_interval()))


def test_what_has_no_error_does_not_differ_and_copies_do_not():
    unknown = independent([0.5, 0.1, 0.9], [0.01, np.nan, 0.01])
    assert unknown.differs.tolist() == [[False, False, True], [False, False, False], [True, False, False]]
    assert np.isnan(unknown.p[0, 1])
    copy = independent([0.5, 0.5, 0.4], [0.0, 0.0, 0.0])
    assert (copy.p[0, 1], copy.p[0, 2]) == (1, 0)


def test_shapes_and_levels_that_are_none_are_refused():
    joint = independent([0.5, 0.4], [0.1, 0.1]).joint
    with pytest.raises(ContractError, match="one score for each"):
        Comparison(np.array([0.5]), joint)
    with pytest.raises(ValueError, match="between 0 and 1"):
        Comparison(np.array([0.5, 0.4]), joint, level=95)


@settings(max_examples=200)
@given(t=st.floats(0, 30), df=st.floats(0.5, 1e6) | st.just(np.inf))
def test_probabilities_are_those_of_students_t(t, df):
    n = 2
    moments = np.zeros((3, n, n))
    moments[0] = 0.5 * np.eye(n)  # a difference with an error of 1
    compared = Comparison(np.array([t, 0.0]), JointErrors.of_moments(moments, (df, np.inf)))
    expected = 2 * (stats.norm if np.isinf(df) else stats.t(df)).sf(t)
    assert compared.p[0, 1] == pytest.approx(expected, rel=1e-4 if expected > 1e-7 else 5e-4, abs=1e-15)


# -- Holm


def test_holm_by_hand():
    # Sorted .005 .01 .03 .04, times 4 3 2 1: .02 .03 .06 .04, none below the one before.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    rows = holm([[0.01, np.nan, 0.04], [0.9, 0.8, 0.7], [np.nan] * 3])
    np.testing.assert_allclose(rows, [[0.02, np.nan, 0.04], [1, 1, 1], [np.nan] * 3])


@settings(max_examples=50)
@given(p=st.lists(st.floats(0, 1), min_size=1, max_size=12), level=st.floats(0.01, 0.5))
def test_holm_rejects_what_the_sequence_of_tests_rejects(p, level):
    rejected = set()
    for step, place in enumerate(np.argsort(p, kind="stable")):
        if p[place] * (len(p) - step) > level:
            break
        rejected.add(int(place))
    assert set(np.flatnonzero(holm(p) <= level).tolist()) == rejected
    compared = independent(np.arange(len(p) + 2.0), np.ones(len(p) + 2))
    assert (compared.differs == (compared.p_holm <= 0.05)).all()
    intervals = compared.rank_intervals()
    told = holm(compared.p) <= 0.05
    assert intervals[:, 0].tolist() == (1 + (told & (compared.differences < 0)).sum(axis=1)).tolist()


# -- ranks


def test_rank_intervals_by_hand():
    compared = independent([0.9, 0.5, 0.48, 0.1, np.nan], [0.02] * 5)
    expected = [[1, 1], [2, 3], [2, 3], [4, 4], [np.nan, np.nan]]
    np.testing.assert_array_equal(compared.rank_intervals(), expected)
    np.testing.assert_array_equal(compared.rank_intervals(all_at_once=True), expected)


def test_a_model_without_error_may_have_any_rank():
    ranks = independent([0.9, 0.5, 0.1], [0.02, np.nan, 0.02]).rank_intervals()
    assert ranks.tolist() == [[1, 2], [1, 3], [2, 3]]


def test_intervals_for_all_ranks_at_once_hold_those_for_one():
    rng = np.random.default_rng(0)
    for _ in range(20):
        compared = with_common_error(rng.standard_normal(12), 0.5)
        one, all_ = compared.rank_intervals(), compared.rank_intervals(all_at_once=True)
        assert (all_[:, 0] <= one[:, 0]).all()
        assert (one[:, 1] <= all_[:, 1]).all()


# -- groups


symmetric = st.integers(2, 9).flatmap(
    lambda n: st.lists(st.booleans(), min_size=n * n, max_size=n * n).map(lambda cells: np.array(cells).reshape(n, n))
)


@settings(max_examples=200)
@given(cells=symmetric, seed=st.integers(0, 100))
def test_models_share_a_letter_if_and_only_if_they_do_not_differ(cells, seed):
    differs = np.triu(cells, 1) | np.triu(cells, 1).T
    n = len(differs)
    scores = np.random.default_rng(seed).integers(0, 4, n).astype(float)
    found = letters(tie_groups(differs, scores))
    for a, b in itertools.combinations(range(n), 2):
        assert bool(set(found[a]) & set(found[b])) != differs[a, b]
    assert all(found)
    groups = tie_groups(differs, scores)
    for a, b in itertools.permutations(range(len(groups)), 2):
        assert not (groups[a] <= groups[b]).all()
    runs = tie_groups(differs, scores, exact=False)
    assert not any(differs[np.ix_(run, run)].any() for run in runs)
    assert runs.any(axis=0).all()
    assert len(runs) <= n


def test_groups_start_with_the_best_and_leave_out_what_has_no_score():
    compared = independent([0.1, 0.9, np.nan, 0.88, 0.5], [0.02] * 5)
    assert letters(compared.groups()) == ["c", "a", "", "a", "b"]


def test_letters_of_a_long_run_are_told_by_its_ends():
    groups = np.array([[True, True, False], [True, False, False], [True, False, False], [True, False, False]])
    assert letters(groups, most=3) == ["a-d", "a", ""]
    assert letters(groups, most=4) == ["abcd", "a", ""]


def test_there_are_letters_for_many_groups():
    found = letters(np.eye(30, dtype=bool))
    assert found[:2] == ["a", "b"]
    assert found[25:28] == ["z", "aa", "ab"]
    many = letters(np.ones((28, 1), dtype=bool))[0].split(",")
    assert len(many) == 28


# -- reliability


def test_reliability_is_the_part_of_the_variance_that_is_no_error():
    scores = np.array([0.0, 1.0, 2.0, 3.0, 4.0])  # variance 2.5
    found = with_common_error(scores, 0.5).reliability()  # of differences: .25, half of it is of each score
    assert found.value == pytest.approx(1 - 0.125 / 2.5)
    assert 0 < found.low < found.value < found.high < 1
    assert not found.is_bound
    assert with_common_error(scores, 50.0).reliability().value == 0
    certain = with_common_error(scores, 0.0).reliability()
    assert independent([0.0, 0.0, 1.0], [0.0, 2e-13, 0.0]).reliability().low == 1  # no overflow
    assert (certain.value, certain.low, certain.high) == (1, 1, 1)
    assert with_common_error(np.ones(4), 0.0).reliability().value == 0


def test_reliability_without_matched_errors_is_a_bound_and_needs_three_models():
    assert independent([0.1, 0.2, 0.9], [0.05] * 3).reliability().is_bound
    assert "it takes three" in independent([0.1, 0.2, 0.9], [0.05, 0.05, np.nan]).reliability().reason


def test_the_interval_of_reliability_is_that_of_a_non_central_f():
    """Errors alike in all directions: the ratio is exactly F, with a non-centrality of the true sum of squares."""
    scores = np.linspace(0, 4, 6)
    found = with_common_error(scores, 0.8, df=20.0).reliability()
    centred = scores - scores.mean()
    k, worth, ratio = 5, 20.0, centred @ centred / 5 / (0.8**2 / 2)
    for end, tail in ((found.low, 0.975), (found.high, 0.025)):
        assert stats.ncf.cdf(ratio, k, worth, k * end / (1 - end)) == pytest.approx(tail, abs=0.01)


# -- new experiments


def new_experiment(rng, truth, n=40, q=6):
    """Return answers to new stimuli of new subjects, who find the same stimuli hard; models differ in their noise."""
    n_models = len(truth)
    common = rng.standard_normal((n, 1)) + 0.5 * rng.standard_normal(q) + rng.standard_normal((n, q))
    own = 0.4 * rng.standard_normal((n_models, n, 1)) + 0.2 * rng.standard_normal((n_models, 1, q))
    spread = np.linspace(0.5, 1.5, n_models)[:, None, None]
    tables = np.asarray(truth)[:, None, None] + common + spread * (own + rng.standard_normal((n_models, n, q)))
    return Comparison(tables.mean(axis=(1, 2)), JointErrors.of_tables(tables))


@pytest.mark.slow
def test_intervals_tests_ranks_and_reliability_hold_as_often_as_they_say():
    """In 1,000 experiments shares of .95 lie within .015; perf/comparison.py measures more kinds of experiments."""
    rng = np.random.default_rng(0)
    truth = np.array([0.0, 0.0, 0.1, 0.3, 0.6])
    gaps = truth[:, None] - truth
    ranks = 1 + (truth[:, None] < truth).sum(axis=1)
    last = np.array([np.sum(truth >= each) for each in truth])  # of models that are equal
    held = {"interval": [], "own rank": [], "all ranks": [], "no false": [], "reliability": []}
    covariance = np.cov([new_experiment(rng, truth).scores for _ in range(4000)], rowvar=False)
    centre = np.eye(5) - 0.2
    noise, true = np.trace(centre @ covariance @ centre), ((truth - truth.mean()) ** 2).sum()
    for _ in range(1000):
        compared = new_experiment(rng, truth)
        upper = np.triu_indices(5, 1)
        held["interval"].append((np.abs(compared.differences - gaps) <= compared.margins)[upper].mean())
        held["no false"].append(not (compared.differs & ((gaps == 0) | (gaps * compared.differences < 0))).any())
        for name, all_at_once in (("own rank", False), ("all ranks", True)):
            low, high = compared.rank_intervals(all_at_once=all_at_once).T
            inside = (low <= ranks) & (last <= high)
            held[name].append(inside.all() if all_at_once else inside.mean())
        found = compared.reliability()
        held["reliability"].append(found.low <= true / (true + noise) <= found.high)
    shares = {name: float(np.mean(each)) for name, each in held.items()}
    assert 0.94 < shares["interval"] < 0.975, shares
    assert min(shares["own rank"], shares["all ranks"], shares["no false"]) > 0.94, shares
    assert 0.93 < shares["reliability"] < 0.985, shares
