import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from brainscore_vision.metric_helpers.arrays import cohens_kappa, error_consistency, pairwise_error_consistency


def test_kappa_by_hand():
    # Right on 3 of 4 and 2 of 4, agreeing on 3: e = .75 * .5 + .25 * .5 = .5, kappa = (.75 - .5) / .5
    assert error_consistency([1, 1, 1, 0], [1, 1, 0, 0]) == pytest.approx(0.5)


@settings(max_examples=100, deadline=None)
@given(pairs=st.lists(st.tuples(st.booleans(), st.booleans()), min_size=2, max_size=40))
def test_equals_scikit_learn(pairs):
    one, two = (np.array(side) for side in zip(*pairs, strict=True))
    kappa = error_consistency(one, two)
    if one.all() == two.all() and len({*one.tolist(), *two.tolist()}) == 1:
        assert np.isnan(kappa)
    else:
        assert kappa == pytest.approx(cohen_kappa_score(one, two), abs=1e-12)
        assert kappa <= 1
    np.testing.assert_array_equal(kappa, error_consistency(two, one))


def test_identical_observers_are_fully_consistent_and_opposite_ones_inconsistent():
    one = np.array([True, False, True, False])
    assert error_consistency(one, one) == 1
    assert error_consistency(one, ~one) == -1


def test_pairs_are_ordered_and_equal_single_calls():
    correct = np.random.default_rng(0).random((4, 30)) < 0.6
    expected = [error_consistency(correct[i], correct[j]) for i in range(4) for j in range(i + 1, 4)]
    np.testing.assert_array_equal(pairwise_error_consistency(correct), expected)


def test_chance_agreement_of_one_leaves_kappa_undefined():
    assert np.isnan(cohens_kappa(1.0, 1.0))
    assert cohens_kappa(0.7, 0.5) == pytest.approx(0.4)


def test_independent_errors_give_zero():
    rng = np.random.default_rng(0)
    one, two = rng.random((2000, 400)) < 0.8, rng.random((2000, 400)) < 0.55
    assert error_consistency(one, two).mean() == pytest.approx(0, abs=5e-3)
