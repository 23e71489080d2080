"""Errors of differences between models agree with formulas, with resampling and with simulated experiments."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brainscore_core.errors import ContractError
from brainscore_core.statistics.averages import Estimate, combined
from brainscore_core.statistics.influence import Influence
from brainscore_core.statistics.joint_errors import RESOLUTION, JointErrors
from brainscore_core.statistics.model_scores import MeanOfScores, ModelScores
from brainscore_core.statistics.sketch import InfluenceSketch
from brainscore_core.statistics.tests import Comparison


def tables_of(rng, n_models=3, n=60, q=6, *, shared=1.0, own=0.5, noise=1.0):
    """Return tables, shape (models, stimuli, units): effects shared by all models, effects of each model, and noise."""
    common = shared * (rng.standard_normal((n, 1)) + rng.standard_normal(q) + rng.standard_normal((n, q)))
    own_part = own * (rng.standard_normal((n_models, n, 1)) + rng.standard_normal((n_models, 1, q)))
    return common + own_part + noise * rng.standard_normal((n_models, n, q))


def influences_of(tables):
    n, q = tables.shape[1:]
    return [Influence.of_mean(table, np.arange(n), np.arange(q)) for table in tables]


@settings(max_examples=20)
@given(seed=st.integers(0, 10_000), q=st.integers(2, 12), are_medians=st.booleans())
def test_pair_errors_equal_the_errors_of_influence_differences(seed, q, are_medians):
    rng = np.random.default_rng(seed)
    influences = influences_of(tables_of(rng, q=q))
    if are_medians:  # as for a median: only some cells are stored, and whole units have influence
        kept = np.unique(rng.integers(0, q, 3))
        influences = [
            dataclasses.replace(
                each, cells=each.cells[:, kept], columns=kept, of_units=0.1 * rng.standard_normal(q), freedom=q / 2
            )
            for each in influences
        ]
    found = JointErrors.of_influences(influences)
    assert found.errors == pytest.approx([each.error for each in influences])
    for a, b in ((0, 1), (0, 2), (1, 2)):
        exact = influences[a] - influences[b]
        assert found.pair_errors[a, b] == pytest.approx(exact.error)
        assert found.pair_freedom[a, b] == pytest.approx(exact.degrees_of_freedom)
    assert found.is_matched.all()


def test_influences_are_matched_by_name_not_position():
    first, second = influences_of(tables_of(np.random.default_rng(0), n_models=2))
    order = np.random.default_rng(1).permutation(60)
    mixed = dataclasses.replace(second, cells=second.cells[order], stimuli=second.stimuli[order])
    found = JointErrors.of_influences([first, mixed]).pair_errors
    np.testing.assert_allclose(found, JointErrors.of_influences([first, second]).pair_errors)


def test_sketches_approximate_the_exact_pair_errors():
    influences = influences_of(tables_of(np.random.default_rng(0), n=300, q=20))
    exact = JointErrors.of_influences(influences)
    estimates = [
        Estimate(0.5, each.error, df=each.degrees_of_freedom, influence=InfluenceSketch.of(each, stimuli="", units=""))
        for each in influences
    ]
    found = JointErrors.of_estimates(estimates)
    np.testing.assert_allclose(found.pair_errors, exact.pair_errors, rtol=0.15)
    np.testing.assert_allclose(found.pair_freedom, exact.pair_freedom, rtol=0.3)
    for a, b in ((0, 1), (0, 2), (1, 2)):
        paired = combined({"a": estimates[a], "b": estimates[b]}, {"a": 1.0, "b": -1.0})
        assert paired.error == pytest.approx(found.pair_errors[a, b])
        assert paired.df == pytest.approx(found.pair_freedom[a, b])


def test_sketches_without_freedom_use_the_freedom_of_the_scores():
    sketches = [
        dataclasses.replace(InfluenceSketch.of(each, stimuli="", units=""), freedom=(np.inf, np.inf))
        for each in influences_of(tables_of(np.random.default_rng(0)))
    ]
    estimates = [
        Estimate(0.5, each.error, df=df, influence=each) for each, df in zip(sketches, (7.0, 9.0, 8.0), strict=True)
    ]
    assert JointErrors.of_estimates(estimates).pair_freedom[[0, 0, 1], [1, 2, 2]] == pytest.approx([7, 7, 8])


def test_errors_of_many_models_match_each_pair():
    """Rows are computed in blocks, which must not change the result."""
    factors = np.random.default_rng(0).normal(size=(3, 75, 20)) * np.array([1.0, 0.5, 0.3])[:, None, None]
    moments = factors @ factors.transpose(0, 2, 1)
    joint = JointErrors.of_moments(moments, (30.0, 8.0))
    for pair in ([0, 1], [3, 40], [33, 70], [71, 74]):
        alone = JointErrors.of_moments(moments[np.ix_(range(3), pair, pair)], (30.0, 8.0))
        assert joint.pair_errors[tuple(pair)] == pytest.approx(alone.pair_errors[0, 1])
        assert joint.pair_freedom[tuple(pair)] == pytest.approx(alone.pair_freedom[0, 1])


# -- equal models


def sketch_texts(influences):
    return [InfluenceSketch.of(influence, stimuli="", units="").to_text() for influence in influences]


def compare_means(tables, *, are_sketched):
    """Compare the means of tables, as 32-bit numbers, by their influences or by the sketches that records store."""
    influences, means = influences_of(tables), np.float32(tables).mean(axis=(1, 2)).astype(float)
    if not are_sketched:
        return Comparison(means, JointErrors.of_influences(influences))
    errors, freedom = np.array([(each.error, each.degrees_of_freedom) for each in influences]).T
    return ModelScores.of_scores(means, errors, freedom, sketch_texts(influences)).comparison()


@pytest.mark.parametrize("are_sketched", [False, True])
@pytest.mark.parametrize("noise", [0.0, 1e-7, 1e-5, 1e-3, 0.1])
def test_equal_models_rarely_differ(noise, are_sketched):
    """Copies of a model differ only by noise; `perf/comparison.py` does the same with `ridge` and `cka`."""
    rng, n_different = np.random.default_rng(0), 0
    for _ in range(200):
        table = 0.5 + tables_of(rng, 1, n=40)
        copies = table * (1 + noise * rng.standard_normal((2, 40, 6)))
        n_different += compare_means(copies, are_sketched=are_sketched).p[0, 1] < 0.05
    assert n_different <= 0.06 * 200


@pytest.mark.parametrize("are_sketched", [False, True])
def test_copies_of_a_network_share_ranks_and_a_letter(are_sketched):
    table, other = 9 + tables_of(np.random.default_rng(0), 2, n=40)
    names = np.array([table, table * (1 - 1e-6), table * (1 + 1e-6), other - 9])
    comparison = compare_means(names, are_sketched=are_sketched)
    assert comparison.rank_intervals().tolist() == [[1, 3], [1, 3], [1, 3], [4, 4]]
    assert comparison.letters() == ["a", "a", "a", "b"]


@pytest.mark.parametrize("are_sketched", [False, True])
def test_minimum_error_has_the_degrees_of_freedom_of_the_scores(are_sketched):
    tables = tables_of(np.random.default_rng(0), 1, n=40)[[0, 0]]
    joint, influence = compare_means(tables, are_sketched=are_sketched).joint, influences_of(tables)[0]
    assert joint.pair_errors[0, 1] == pytest.approx(RESOLUTION * np.sqrt(2) * influence.error)
    assert joint.pair_freedom[0, 1] == pytest.approx(influence.degrees_of_freedom, rel=0.3 if are_sketched else 1e-9)


def test_averages_of_two_copies_of_a_network_tie():
    mean = MeanOfScores(2)
    for seed in range(2):
        table = tables_of(np.random.default_rng(seed), 1, n=40)
        influences = influences_of(table * np.array([1, 1 + 1e-6])[:, None, None])
        errors = np.array([each.error for each in influences])
        scores = ModelScores.of_scores(0.5 + errors, errors, np.full(2, 5.0), sketch_texts(influences))
        mean.add(np.arange(2), scores)
    assert mean.result().comparison().p[0, 1] > 0.9


def test_difference_far_below_the_errors_of_scores_is_detected():
    """The minimum error is a hundredth of the scores' errors, so power is lost only for nearly equal models."""
    table, rng = tables_of(np.random.default_rng(0), 1, n=40)[0], np.random.default_rng(1)
    tables = table + np.array([0.0, 0.2])[:, None, None] + 0.2 * rng.standard_normal((2, 40, 6))
    for are_sketched in (False, True):
        comparison = compare_means(tables, are_sketched=are_sketched)
        assert comparison.joint.errors[0] > 0.4  # twice the difference
        assert comparison.p[0, 1] < 1e-4
        exact = influences_of(tables)
        assert comparison.joint.pair_errors[0, 1] == pytest.approx((exact[0] - exact[1]).error, rel=0.2)


def test_exact_scores_differ_beyond_rounding():
    joint = JointErrors.of_estimates([Estimate(1.0, 0.0), Estimate(1.0, 0.0), Estimate(0.5, 0.0)])
    comparison = Comparison(np.array([1.0, 1 - 1e-8, 0.5]), joint)
    assert comparison.differs.tolist() == [[False, False, True], [False, False, True], [True, True, False]]


# -- stimuli and units


def test_pair_error_matches_a_multiplier_bootstrap():
    """Stimuli and units get random weights; both variances are added, and the variance of the product is subtracted."""
    rng = np.random.default_rng(0)
    first, second = influences_of(tables_of(rng, n_models=2))
    gap = (first - second).cells
    of_stimuli, of_units = (rng.standard_normal((20_000, size)) for size in gap.shape)
    both = np.einsum("ds,su,du->d", of_stimuli, gap, of_units)
    drawn = [(of_stimuli @ gap.sum(axis=1)).var(), (of_units @ gap.sum(axis=0)).var(), both.var()]
    expected = np.sqrt(drawn[0] + drawn[1] - drawn[2])
    assert JointErrors.of_influences([first, second]).pair_errors[0, 1] == pytest.approx(expected, rel=0.03)


def test_single_unit_has_no_error():
    single = [Influence.of_mean(np.ones((3, 1)), np.arange(3), np.arange(1))] * 2
    assert np.isnan(JointErrors.of_influences(single).errors).all()


def test_rejects_influences_mixed_with_sketches():
    first, second = influences_of(tables_of(np.random.default_rng(0), n_models=2))
    sketched = InfluenceSketch.of(second, stimuli="", units="")
    with pytest.raises(ContractError, match="cannot be matched"):
        JointErrors.of_estimates([Estimate(0.5, 0.1, influence=first), Estimate(0.5, 0.1, influence=sketched)])


# -- scores of records


def test_scores_without_influences_are_unmatched_and_independent():
    influences = influences_of(tables_of(np.random.default_rng(0), n_models=2))
    known = [Estimate(0.5, each.error, influence=each) for each in influences]
    found = JointErrors.of_estimates(
        [*known, Estimate(0.4, 0.3, df=6.0), Estimate(0.4, 0.4), Estimate(0.4), Estimate(np.nan)]
    )
    assert found.is_matched.tolist()[0] == [True, True, False, False, False, False]
    assert found.pair_errors[0, 1] == pytest.approx((influences[0] - influences[1]).error)
    assert found.pair_errors[0, 2] == pytest.approx(np.hypot(influences[0].error, 0.3))
    assert found.pair_errors[2, 3] == pytest.approx(0.5)
    assert found.pair_freedom[2, 3] == pytest.approx(6 * (0.25 / 0.09) ** 2)
    assert np.isnan(found.pair_errors[:4, 4:]).all()
    assert found.errors[:4] == pytest.approx([*(each.error for each in influences), 0.3, 0.4])


def test_averages_use_the_matched_part_of_partly_matched_scores():
    influences = influences_of(tables_of(np.random.default_rng(0), n_models=2))
    weights = {"matched": 0.5, "not": 0.5}
    averages = [
        combined({"matched": Estimate(0.5, each.error, influence=each), "not": Estimate(0.3, 0.001)}, weights)
        for each in influences
    ]
    assert averages[0].error == pytest.approx((influences[0].error + 0.001) / 2)  # the upper bound
    found = JointErrors.of_estimates(averages)
    paired = (influences[0] - influences[1]).error / 2
    assert found.pair_errors[0, 1] == pytest.approx(np.sqrt(paired**2 + 2 * 0.0005**2))
    assert not found.is_matched[0, 1]
