import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.interpolate import interp1d
from scipy.optimize import brentq
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from brainscore_vision.metrics.ost import metric as decoding


def data(bins=3, n=40, m=15, p=6, classes=3, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.arange(n) % classes)
    means = 2 * rng.normal(size=(bins, classes, p))
    train = means[:, labels] + rng.normal(size=(bins, n, p)) + 5
    return train, labels, means[:, rng.integers(classes, size=m)] + rng.normal(size=(bins, m, p)) + 5


def by_scikit_learn(train, labels, test, penalty):
    """Multinomial logistic regression whose intercept is the weight of an additional feature of ones."""
    result = []
    for x, z in zip(train, test, strict=True):
        scaler = StandardScaler().fit(x)
        parts = [np.column_stack([scaler.transform(part), np.ones(len(part))]) for part in (x, z)]
        classifier = LogisticRegression(C=1 / (penalty * len(x)), fit_intercept=False, tol=1e-10, max_iter=10_000)
        result.append(classifier.fit(parts[0], labels).predict_proba(parts[1]))
    return np.array(result)


@pytest.mark.parametrize("penalty", [decoding.PENALTY, 0.01])
@pytest.mark.parametrize(("p", "classes"), [(6, 3), (1, 4), (200, 5)])
def test_decoded_probabilities_equal_scikit_learn(p, classes, penalty):
    train, labels, test = data(p=p, classes=classes)
    decoded = decoding.decoded_probabilities(train, labels, test, classes, penalty)
    np.testing.assert_allclose(decoded, by_scikit_learn(train, labels, test, penalty), atol=2e-6)
    np.testing.assert_allclose(decoded.sum(axis=2), 1)


def test_time_bins_are_decoded_independently():
    train, labels, test = data(bins=4)
    for decode in (decoding.decoded_probabilities, decoding.briefly_decoded_probabilities):
        together = decode(train, labels, test, 3)
        alone = np.concatenate([decode(train[[i]], labels, test[[i]], 3) for i in range(4)])
        np.testing.assert_allclose(together, alone, atol=1e-6)


@settings(max_examples=15)
@given(seed=st.integers(0, 1000))
def test_decoding_ignores_shift_scale_and_stimulus_order(seed):
    train, labels, test = data(seed=seed)
    base = decoding.decoded_probabilities(train, labels, test, 3)
    rng = np.random.default_rng(seed)
    scale, shift, order = rng.uniform(0.1, 9, size=6), rng.normal(size=6), rng.permutation(40)
    moved = decoding.decoded_probabilities((train * scale + shift)[:, order], labels[order], test * scale + shift, 3)
    np.testing.assert_allclose(moved, base, atol=1e-6)


def test_constant_neuroids_and_absent_classes_are_harmless():
    train, labels, test = data()
    constant = [np.concatenate([part, np.full((*part.shape[:2], 1), 0.1)], axis=2) for part in (train, test)]
    for decode in (decoding.decoded_probabilities, decoding.briefly_decoded_probabilities):
        assert np.isfinite(decode(constant[0], labels, constant[1], 3)).all()
    same = decoding.decoded_probabilities(constant[0], labels, constant[1], 3)
    np.testing.assert_allclose(same, decoding.decoded_probabilities(train, labels, test, 3), atol=1e-6)
    absent = decoding.decoded_probabilities(train, labels, test, 4)
    assert absent.shape == (3, 15, 4)
    assert (absent[..., 3] < absent.max(axis=2)).all()


def test_the_dual_solution_handles_equal_stimuli():
    train, labels, test = data(p=300, n=20)
    train[:, 10:] = train[:, :10]
    labels[10:] = labels[:10]
    decoded = decoding.decoded_probabilities(train, labels, test, 3)
    np.testing.assert_allclose(decoded, by_scikit_learn(train, labels, test, decoding.PENALTY), atol=1e-5)


def test_brief_training_nears_the_minimum_and_is_reproducible():
    train, labels, test = data(p=400, n=60)
    minimum = decoding.decoded_probabilities(train, labels, test, 3)
    brief = decoding.briefly_decoded_probabilities(train, labels, test, 3)
    assert np.mean(brief.argmax(axis=2) == minimum.argmax(axis=2)) > 0.8
    assert brief.tobytes() == decoding.briefly_decoded_probabilities(train, labels, test, 3).tobytes()
    assert not np.allclose(brief, decoding.briefly_decoded_probabilities(train, labels, test, 3, seed=1))


def test_brief_training_stops_at_a_negligible_loss():
    rng = np.random.default_rng(0)
    labels = np.arange(64) % 2
    easy = (2.0 * labels[:, None] - 1) * np.ones((64, 40_000)) + 0.01 * rng.normal(size=(64, 40_000))
    decoded = decoding.briefly_decoded_probabilities(easy[None], labels, easy[None, :4], 2)
    # Training stops at a cross-entropy below 1e-4; otherwise the penalty would have reduced the weights again by then.
    assert -np.log(decoded[0, np.arange(4), labels[:4]]).mean() < 1e-4


def test_solution_times_match_hand_computed_values():
    accuracy = [[0.0, 3.0, 0.0, 0.9, np.nan, 0.2], [0.5, 0.0, 0.4, 0.3, 1.0, 0.2], [1.5, 0.0, 0.9, 1.1, 2.0, 1.2]]
    # b: reached at once; c: never; d: between the third bin and the best one before it, the first; e: NaN counts as
    # below and is not used to interpolate; f: of two equal bins before, the earlier one is used.
    expected = [85.0, 70.0, np.nan, 80.0, 80.0, 86.0]
    np.testing.assert_allclose(decoding.solution_times(accuracy, [70, 80, 90], [1.0] * 6), expected)
    assert np.isnan(decoding.solution_times([[1.0]], [70], [np.nan])).all()


@settings(max_examples=30)
@given(seed=st.integers(0, 10_000), bins=st.integers(1, 6))
def test_solution_times_equal_root_finding(seed, bins):
    rng = np.random.default_rng(seed)
    times = np.cumsum(rng.uniform(5, 20, size=bins))
    accuracy, threshold = rng.normal(size=(bins, 7)), rng.normal(size=7)
    for column, (values, goal, found) in enumerate(
        zip(accuracy.T, threshold, decoding.solution_times(accuracy, times, threshold), strict=True)
    ):
        hits = np.flatnonzero(values >= goal)
        if not len(hits):
            assert np.isnan(found), column
        elif hits[0] == 0:
            assert found == times[0]
        else:
            best = int(np.argmax(values[: hits[0]]))
            line = interp1d(times[[best, hits[0]]], values[[best, hits[0]]])
            expected = brentq(lambda t, line=line, goal=goal: line(t) - goal, times[best], times[hits[0]])
            assert found == pytest.approx(expected, abs=1e-6)
