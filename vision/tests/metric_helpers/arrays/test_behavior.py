import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm, pearsonr
from sklearn.metrics import cohen_kappa_score, confusion_matrix

from brainscore_vision.metric_helpers.arrays import behavior
from brainscore_vision.metric_helpers.arrays.behavior import (
    center_by_task,
    choice_rates,
    confusion_matrices,
    image_dprimes,
    masked_correlations,
    object_dprimes,
    object_means,
    off_diagonal,
    two_way_rates,
)


def test_kappa_matches_a_hand_computed_value():
    # Correct on 3 of 4 and 2 of 4, agreeing on 3: e = .75 * .5 + .25 * .5 = .5, kappa = (.75 - .5) / .5
    assert behavior.error_consistency([1, 1, 1, 0], [1, 1, 0, 0]) == pytest.approx(0.5)


@settings(max_examples=100)
@given(pairs=st.lists(st.tuples(st.booleans(), st.booleans()), min_size=2, max_size=40))
def test_kappa_equals_scikit_learn(pairs):
    one, two = (np.array(side) for side in zip(*pairs, strict=True))
    kappa = behavior.error_consistency(one, two)
    if one.all() == two.all() and len({*one.tolist(), *two.tolist()}) == 1:
        assert np.isnan(kappa)
    else:
        assert kappa == pytest.approx(cohen_kappa_score(one, two), abs=1e-12)
        assert kappa <= 1
    np.testing.assert_array_equal(kappa, behavior.error_consistency(two, one))


def test_kappa_is_one_for_equal_and_minus_one_for_opposite_errors():
    one = np.array([True, False, True, False])
    assert behavior.error_consistency(one, one) == 1
    assert behavior.error_consistency(one, ~one) == -1


def test_pairwise_kappas_are_in_order_and_equal_single_calls():
    correct = np.random.default_rng(0).random((4, 30)) < 0.6
    expected = [behavior.error_consistency(correct[i], correct[j]) for i in range(4) for j in range(i + 1, 4)]
    np.testing.assert_array_equal(behavior.pairwise_error_consistency(correct), expected)


def test_chance_agreement_of_one_leaves_kappa_undefined():
    assert np.isnan(behavior.cohens_kappa(1.0, 1.0))
    assert behavior.cohens_kappa(0.7, 0.5) == pytest.approx(0.4)


def test_kappa_of_independent_errors_is_zero():
    rng = np.random.default_rng(0)
    one, two = rng.random((2000, 400)) < 0.8, rng.random((2000, 400)) < 0.55
    assert behavior.error_consistency(one, two).mean() == pytest.approx(0, abs=5e-3)


def test_kappa_uses_only_the_counted_stimuli():
    rng = np.random.default_rng(1)
    one, two, counted = (rng.random((3, 40)) < 0.6 for _ in range(3))
    expected = [behavior.error_consistency(a[c], b[c]) for a, b, c in zip(one, two, counted, strict=True)]
    np.testing.assert_allclose(behavior.error_consistency(one, two, counted), expected, rtol=1e-13)
    assert np.isnan(behavior.error_consistency([True], [False], [False]))


def test_pairwise_kappa_uses_only_stimuli_that_both_judged():
    rng = np.random.default_rng(2)
    correct, judged = rng.random((5, 30)) < 0.6, rng.random((5, 30)) < 0.7
    expected = []
    for i in range(5):
        for j in range(i + 1, 5):
            both = judged[i] & judged[j]
            expected.append(cohen_kappa_score(correct[i, both], correct[j, both]))
    np.testing.assert_allclose(behavior.pairwise_error_consistency(correct, judged), expected, atol=1e-12)


def test_observers_without_common_stimuli_have_no_kappa():
    judged = np.array([[True, False], [False, True]])
    assert np.isnan(behavior.pairwise_error_consistency([[True, False], [False, True]], judged)).all()


def test_pairwise_accuracies_match_hand_computed_values():
    right = [[2, 0, 1], [1, 1, 0]]
    judged = [[2, 1, 1], [1, 2, 0]]
    # The first observer, weighted by the second's judgements: stimulus 0 once (correct), stimulus 1 twice (wrong).
    np.testing.assert_allclose(
        behavior.pairwise_accuracies(right, judged), [[3 / 4, 1 / 3], [(2 * 1 + 1 / 2) / 3, 2 / 3]]
    )
    assert np.isnan(behavior.pairwise_accuracies([[1, 0], [0, 1]], [[1, 0], [0, 1]])[0, 1])


@given(
    source=st.floats(0, 1, allow_nan=False, allow_subnormal=False),
    target=st.floats(0, 1, allow_nan=False, allow_subnormal=False),
)
def test_accuracy_closeness_is_bounded_and_symmetric(source, target):
    closeness = behavior.accuracy_closeness(source, target)
    assert -1e-12 <= closeness <= 1
    assert closeness == pytest.approx(behavior.accuracy_closeness(1 - source, 1 - target), abs=1e-9)
    assert behavior.accuracy_closeness(target, target) == 1
    assert behavior.accuracy_closeness(0.0 if target > 0.5 else 1.0, target) == pytest.approx(0, abs=1e-12)


def test_relative_closeness_matches_hand_computed_values():
    np.testing.assert_allclose(behavior.relative_closeness([12.0, 8.0, 20.0, 25.0], 10.0), [0.8, 0.8, 0, 0])
    assert np.isnan(behavior.relative_closeness(1.0, 0.0))
    assert behavior.relative_closeness(-12.0, -10.0) == pytest.approx(0.8)
    assert behavior.relative_closeness(10.0, -10.0) == 0


# -- object patterns ---------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:A single label was found")
@settings(max_examples=50)
@given(seed=st.integers(0, 10_000), n=st.integers(0, 60), k=st.integers(1, 6))
def test_confusions_equal_scikit_learn(seed, n, k):
    rng = np.random.default_rng(seed)
    truth, answer, group = rng.integers(k, size=n), rng.integers(-1, k, size=n), rng.integers(3, size=n)
    found = confusion_matrices(truth, answer, k, group, 3)
    assert found.shape == (3, k, k)
    for who in range(3):
        own = (group == who) & (answer >= 0)
        expected = confusion_matrix(truth[own], answer[own], labels=range(k)) if own.any() else np.zeros((k, k))
        np.testing.assert_array_equal(found[who], expected)
    np.testing.assert_array_equal(confusion_matrices(truth, answer, k)[0], found.sum(axis=0))


def test_off_diagonal_is_row_by_row():
    matrices = np.arange(18).reshape(2, 3, 3)
    np.testing.assert_array_equal(off_diagonal(matrices), [[1, 2, 3, 5, 6, 7], [10, 11, 12, 14, 15, 16]])


def test_two_way_rates_match_hand_computed_values():
    rates = two_way_rates([[0.5, 0.5, 0.0], [0.0, 0.2, 0.6], [0.0, 0.0, 1.0]], [0, 1, 0])
    np.testing.assert_allclose(rates, [[np.nan, 0.5, 0.0], [0.0, np.nan, 0.75], [np.nan, np.nan, 1.0]])


def trials(seed=0, n_images=12, k=4, n=900):
    rng = np.random.default_rng(seed)
    truth = np.arange(n_images) % k
    image = rng.integers(n_images, size=n)
    distractor = (truth[image] + rng.integers(1, k, size=n)) % k
    return truth, image, np.where(rng.random(n) < 0.7, truth[image], distractor), distractor


def test_choice_rates_are_shares_of_trials():
    truth, image, chosen, distractor = trials()
    half = np.random.default_rng(1).integers(2, size=(3, len(image)))
    rates = choice_rates(image, chosen, (truth[image], distractor), truth, 4, half, 2)
    assert rates.shape == (3, 2, 12, 4)
    for division, part, i, c in [(0, 0, 5, 2), (1, 1, 3, 0), (2, 0, 11, 1)]:
        own = (half[division] == part) & (image == i) & (distractor == c)
        assert rates[division, part, i, c] == pytest.approx((chosen[own] == c).mean())
    assert np.isnan(rates[..., np.arange(12), truth]).all()
    assert choice_rates(image, chosen, (truth[image], distractor), truth, 4).shape == (1, 12, 4)


def test_rates_are_nan_for_objects_that_were_never_offered():
    rates = choice_rates([0, 0, 1], [1, 0, 1], ([0, 0, 1], [1, 1, 0]), [0, 1], 3)
    np.testing.assert_allclose(rates[0], [[np.nan, 0.5, np.nan], [0.0, np.nan, np.nan]])


def test_dprimes_match_hand_computed_values():
    # Two images of object 0, one of object 1: the false alarms for (image 0, object 1) are those of image 2.
    rates = np.array([[np.nan, 0.2], [np.nan, 0.4], [0.1, np.nan]])
    truth = [0, 0, 1]
    z = norm.ppf
    expected = [[np.nan, z(0.8) - z(0.1)], [np.nan, z(0.6) - z(0.1)], [z(0.9) - z(0.3), np.nan]]
    np.testing.assert_allclose(image_dprimes(rates, truth), expected)
    np.testing.assert_allclose(object_means(rates, truth), [[np.nan, 0.3], [0.1, np.nan]])
    # O2[a, b]: how often b is recognised (not confused with a), against how often a is taken for b.
    np.testing.assert_allclose(
        object_dprimes(rates, truth), [[np.nan, z(0.9) - z(0.3)], [z(0.7) - z(0.1), np.nan]], equal_nan=True
    )
    centered = center_by_task(expected, truth)
    half = (z(0.8) - z(0.6)) / 2
    np.testing.assert_allclose(centered, [[np.nan, half], [np.nan, -half], [0, np.nan]], atol=1e-12)


def test_dprimes_are_clipped_and_undefined_for_opposite_infinities():
    rates = np.array([[np.nan, 0.0], [1.0, np.nan]])
    np.testing.assert_array_equal(
        image_dprimes(np.array([[np.nan, 0.0], [0.0, np.nan]]), [0, 1]), [[np.nan, 5], [5, np.nan]]
    )
    assert np.isnan(image_dprimes(rates, [0, 1])).all()  # always correct, but the other object is always taken for it


@settings(max_examples=30)
@given(seed=st.integers(0, 10_000))
def test_patterns_are_equivariant_to_order(seed):
    rng = np.random.default_rng(seed)
    truth, image, chosen, distractor = trials(seed)
    rates = choice_rates(image, chosen, (truth[image], distractor), truth, 4)[0]
    images, objects = rng.permutation(12), rng.permutation(4)
    moved = np.argsort(objects)[truth[images]]
    patterns = image_dprimes(rates, truth)
    np.testing.assert_allclose(image_dprimes(rates[images][:, objects], moved), patterns[images][:, objects])


def test_masked_correlations_equal_scipy():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(5, 3)), rng.normal(size=(2, 5, 3)) + 100
    counted = rng.random((2, 5, 3)) < 0.7
    y[~counted] = np.nan
    r, left_out = masked_correlations(x, y, counted)
    for part in range(2):
        keep = counted[part]
        assert r[part] == pytest.approx(pearsonr(x[keep], y[part][keep])[0], abs=1e-12)
        for row in range(5):
            rest = keep & (np.arange(5) != row)[:, None]
            assert left_out[part, row] == pytest.approx(pearsonr(x[rest], y[part][rest])[0], abs=1e-11)


def test_constant_values_have_no_correlation():
    x = np.full((4, 3), 0.1)
    r, _ = masked_correlations(x, np.random.default_rng(0).normal(size=(4, 3)), np.ones((4, 3), dtype=bool))
    assert np.isnan(r)
    assert np.isnan(masked_correlations(x, x, np.zeros((4, 3), dtype=bool))[0])
