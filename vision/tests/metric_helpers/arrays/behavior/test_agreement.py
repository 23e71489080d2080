import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from brainscore_vision.metric_helpers.arrays.behavior import agreement


def test_kappa_matches_a_hand_computed_value():
    # Correct on 3 of 4 and 2 of 4, agreeing on 3: e = .75 * .5 + .25 * .5 = .5, kappa = (.75 - .5) / .5
    assert agreement.error_consistency([1, 1, 1, 0], [1, 1, 0, 0]) == pytest.approx(0.5)


@settings(max_examples=100)
@given(pairs=st.lists(st.tuples(st.booleans(), st.booleans()), min_size=2, max_size=40))
def test_kappa_equals_scikit_learn(pairs):
    one, two = (np.array(side) for side in zip(*pairs, strict=True))
    kappa = agreement.error_consistency(one, two)
    if one.all() == two.all() and len({*one.tolist(), *two.tolist()}) == 1:
        assert np.isnan(kappa)
    else:
        assert kappa == pytest.approx(cohen_kappa_score(one, two), abs=1e-12)
        assert kappa <= 1
    np.testing.assert_array_equal(kappa, agreement.error_consistency(two, one))


def test_kappa_is_one_for_equal_and_minus_one_for_opposite_errors():
    one = np.array([True, False, True, False])
    assert agreement.error_consistency(one, one) == 1
    assert agreement.error_consistency(one, ~one) == -1


def test_pairwise_kappas_are_in_order_and_equal_single_calls():
    correct = np.random.default_rng(0).random((4, 30)) < 0.6
    expected = [agreement.error_consistency(correct[i], correct[j]) for i in range(4) for j in range(i + 1, 4)]
    np.testing.assert_array_equal(agreement.pairwise_error_consistency(correct), expected)


def test_chance_agreement_of_one_leaves_kappa_undefined():
    assert np.isnan(agreement.cohens_kappa(1.0, 1.0))
    assert agreement.cohens_kappa(0.7, 0.5) == pytest.approx(0.4)


def test_kappa_of_independent_errors_is_zero():
    rng = np.random.default_rng(0)
    one, two = rng.random((2000, 400)) < 0.8, rng.random((2000, 400)) < 0.55
    assert agreement.error_consistency(one, two).mean() == pytest.approx(0, abs=5e-3)


def test_kappa_uses_only_the_counted_stimuli():
    rng = np.random.default_rng(1)
    one, two, counted = (rng.random((3, 40)) < 0.6 for _ in range(3))
    expected = [agreement.error_consistency(a[c], b[c]) for a, b, c in zip(one, two, counted, strict=True)]
    np.testing.assert_allclose(agreement.error_consistency(one, two, counted), expected, rtol=1e-13)
    assert np.isnan(agreement.error_consistency([True], [False], [False]))


def test_pairwise_kappa_uses_only_stimuli_that_both_judged():
    rng = np.random.default_rng(2)
    correct, judged = rng.random((5, 30)) < 0.6, rng.random((5, 30)) < 0.7
    expected = []
    for i in range(5):
        for j in range(i + 1, 5):
            both = judged[i] & judged[j]
            expected.append(cohen_kappa_score(correct[i, both], correct[j, both]))
    np.testing.assert_allclose(agreement.pairwise_error_consistency(correct, judged), expected, atol=1e-12)


def test_observers_without_common_stimuli_have_no_kappa():
    judged = np.array([[True, False], [False, True]])
    assert np.isnan(agreement.pairwise_error_consistency([[True, False], [False, True]], judged)).all()


def test_pairwise_accuracies_match_hand_computed_values():
    right = [[2, 0, 1], [1, 1, 0]]
    judged = [[2, 1, 1], [1, 2, 0]]
    # The first observer, weighted by the second's judgements: stimulus 0 once (correct), stimulus 1 twice (wrong).
    np.testing.assert_allclose(
        agreement.pairwise_accuracies(right, judged), [[3 / 4, 1 / 3], [(2 * 1 + 1 / 2) / 3, 2 / 3]]
    )
    assert np.isnan(agreement.pairwise_accuracies([[1, 0], [0, 1]], [[1, 0], [0, 1]])[0, 1])


@given(
    source=st.floats(0, 1, allow_nan=False, allow_subnormal=False),
    target=st.floats(0, 1, allow_nan=False, allow_subnormal=False),
)
def test_accuracy_closeness_is_bounded_and_symmetric(source, target):
    closeness = agreement.accuracy_closeness(source, target)
    assert -1e-12 <= closeness <= 1
    assert closeness == pytest.approx(agreement.accuracy_closeness(1 - source, 1 - target), abs=1e-9)
    assert agreement.accuracy_closeness(target, target) == 1
    assert agreement.accuracy_closeness(0.0 if target > 0.5 else 1.0, target) == pytest.approx(0, abs=1e-12)


def test_relative_closeness_matches_hand_computed_values():
    np.testing.assert_allclose(agreement.relative_closeness([12.0, 8.0, 20.0, 25.0], 10.0), [0.8, 0.8, 0, 0])
    assert np.isnan(agreement.relative_closeness(1.0, 0.0))
    assert agreement.relative_closeness(-12.0, -10.0) == pytest.approx(0.8)
    assert agreement.relative_closeness(10.0, -10.0) == 0
