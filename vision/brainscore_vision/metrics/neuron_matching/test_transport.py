import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment, linprog
from sklearn.model_selection import ShuffleSplit

from brainscore_vision.metric_helpers.arrays.column_blocks import ColumnBlocks
from brainscore_vision.metrics.neuron_matching import metric as transport
from brainscore_vision.metrics.neuron_matching.metric import soft_matching_splits as matched_splits
from brainscore_vision.metrics.neuron_matching.metric import transport_plan


def data(n, p, q, seed=0):
    rng = np.random.default_rng(seed)
    latent = rng.normal(size=(n, 4))
    x = latent @ rng.normal(size=(4, p)) + rng.normal(size=(n, p)) + 3
    return x, latent @ rng.normal(size=(4, q)) + rng.normal(size=(n, q)) - 5


def soft_matching_splits(x, y, splits):
    """Return only the scores."""
    return [matched.scores for matched in matched_splits(x, y, splits)]


def table(plan, q, p):
    result = np.zeros((q, p))
    np.add.at(result, (plan.target, plan.source), plan.mass)
    return result


def whole_programme(r):
    """Solve the linear programme over all pairs with SciPy and return the largest sum."""
    q, p = r.shape
    rows = np.kron(np.eye(q), np.ones(p)), np.kron(np.ones(q), np.eye(p))
    solved = linprog(-r.ravel(), A_eq=np.vstack(rows), b_eq=[*[1 / q] * q, *[1 / p] * p], method="highs-ipm")
    return -solved.fun


@settings(max_examples=25)
@given(seed=st.integers(0, 10**6), q=st.integers(1, 9), p=st.integers(1, 25), digits=st.sampled_from([1, 16]))
def test_plan_equals_the_full_linear_programme(seed, q, p, digits):
    r = np.random.default_rng(seed).uniform(-1, 1, size=(q, p)).round(digits)  # one digit gives ties
    plan = transport_plan(r)
    full = table(plan, q, p)
    np.testing.assert_allclose(full.sum(axis=0), 1 / p, atol=1e-9)
    np.testing.assert_allclose(full.sum(axis=1), 1 / q, atol=1e-9)
    assert (plan.mass > 0).all()
    assert len(plan.mass) <= p + q - 1
    assert (full * r).sum() == pytest.approx(whole_programme(r), abs=1e-8)


def test_wrong_starting_prices_are_corrected(monkeypatch):
    rng = np.random.default_rng(0)
    r = rng.uniform(-1, 1, size=(10, 47))
    monkeypatch.setattr(transport, "_entropic_prices", lambda gain: rng.normal(size=gain.shape[1]))
    monkeypatch.setattr(transport, "UNSURE", 0.0)
    plan = transport_plan(r)
    assert (table(plan, 10, 47) * r).sum() == pytest.approx(whole_programme(r), abs=1e-8)


def test_pairs_omitted_from_the_first_programme_are_added(monkeypatch):
    # All source neuroids prefer the same few target neuroids, so most are matched with a less preferred one.
    rng = np.random.default_rng(0)
    r = rng.uniform(0, 0.1, size=(15, 80)) - np.linspace(0, 0.9, 15)[:, None]
    monkeypatch.setattr(transport, "CANDIDATES", 1)
    plan = transport_plan(r)
    assert (table(plan, 15, 80) * r).sum() == pytest.approx(whole_programme(r), abs=1e-8)


def test_a_multiple_equals_an_assignment_to_copies():
    r = np.random.default_rng(0).uniform(-1, 1, size=(10, 30))
    rows, columns = linear_sum_assignment(np.repeat(r, 3, axis=0), maximize=True)
    plan = transport_plan(r)
    assert (plan.mass * r[plan.target, plan.source]).sum() == pytest.approx(
        np.repeat(r, 3, axis=0)[rows, columns].mean()
    )


@pytest.mark.parametrize(("p", "q"), [(20, 6), (6, 20), (8, 8)])
def test_scores_are_held_out_correlations_weighted_by_the_plan(p, q):
    x, y = data(60, p, q)
    splits = list(ShuffleSplit(3, train_size=0.8, random_state=1).split(x))
    for scores, (train, test) in zip(soft_matching_splits(x, y, splits), splits, strict=True):
        training, held_out = (np.corrcoef(x[rows].T, y[rows].T)[p:, :p] for rows in (train, test))
        plan = table(transport_plan(training), q, p)
        np.testing.assert_allclose(scores, q * (plan * held_out).sum(axis=1), atol=1e-10)
        assert scores.mean() == pytest.approx((plan * held_out).sum())


def test_scores_are_symmetric():
    x, y = data(60, 17, 5)
    splits = list(ShuffleSplit(3, train_size=0.8, random_state=1).split(x))
    for one, other in zip(soft_matching_splits(x, y, splits), soft_matching_splits(y, x, splits), strict=True):
        assert one.mean() == pytest.approx(other.mean(), abs=1e-9)


def test_scores_do_not_depend_on_copies_of_a_side_or_units():
    x, y = data(60, 7, 5)
    split = list(ShuffleSplit(2, train_size=0.8, random_state=1).split(x))
    base = np.mean(soft_matching_splits(x, y, split))
    assert np.mean(soft_matching_splits(np.tile(x, 3), y, split)) == pytest.approx(base, abs=1e-9)
    assert np.mean(soft_matching_splits(x * [1, 2, 3, 4, 5, 6, 7] + 1, 9 * y, split)) == pytest.approx(base, abs=1e-9)


def test_blocks_give_equal_scores():
    x, y = data(40, 30, 7)
    splits = list(ShuffleSplit(2, train_size=0.9, random_state=1).split(x))
    blocks = ColumnBlocks(lambda: (x[:, i : i + 7] for i in range(0, 30, 7)), x.shape)
    np.testing.assert_array_equal(soft_matching_splits(blocks, y, splits), soft_matching_splits(x, y, splits))


def test_constant_neuroids_are_not_matched():
    x, y = data(40, 9, 4)
    dull = np.column_stack([x[:, :5], np.full(40, 2.0), x[:, 5:]])
    split = [(np.arange(30), np.arange(30, 40))]
    np.testing.assert_allclose(soft_matching_splits(dull, y, split), soft_matching_splits(x, y, split), atol=1e-10)
    still = y.copy()
    still[:30, 1] = 1.0
    (scores,) = soft_matching_splits(x, still, split)
    assert np.isnan(scores).tolist() == [False, True, False, False]
    np.testing.assert_allclose(scores[[0, 2, 3]], soft_matching_splits(x, y[:, [0, 2, 3]], split)[0], atol=1e-10)
    still = y.copy()
    still[30:, 1] = 1.0
    assert np.isnan(soft_matching_splits(x, still, split)[0]).tolist() == [False, True, False, False]
    assert np.isnan(soft_matching_splits(np.ones_like(x), y, split)).all()


def test_influence_is_the_derivative_by_weight_of_a_test_stimulus():
    x, y = data(200, 15, 6)
    train, test = np.arange(100), np.arange(100, 200)
    (matched,) = matched_splits(x, y, [(train, test)])
    assert np.abs(matched.influence.sum(axis=0)).max() < 1e-10
    more = 20  # with many copies of the test set, one more copy of a stimulus is a small increase in weight
    for row in (0, 7, 99):
        copies = np.concatenate([np.tile(test, more), test[[row]]])
        (moved,) = matched_splits(x, y, [(train, copies)])
        step = (moved.scores.mean() - matched.scores.mean()) * len(copies)
        assert matched.influence[row].sum() * np.sqrt(100 * 98) == pytest.approx(step, rel=0.02, abs=0.02)


def test_two_test_stimuli_have_no_influence():
    x, y = data(30, 5, 4)
    (matched,) = matched_splits(x, y, [(np.arange(28), np.array([28, 29]))])
    assert np.isfinite(matched.scores).all()
    assert np.isnan(matched.influence).all()
    x[10:, 2] = 3.0  # constant over the test stimuli: no influence, and a correlation of 0
    (matched,) = matched_splits(x, y, [(np.arange(20), np.arange(20, 30))])
    assert np.isfinite(matched.influence).all()
    assert np.isfinite(matched.scores).all()
