"""The label readout, compared with scikit-learn on all features and with the conditions of a minimum."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from brainscore_core.testing.synthetic import assembly_of
from brainscore_vision.model_helpers.brain_transformation.choices import ProbabilitiesClassifier

N_STIMULI = 30


def assembly(features):
    layer = ("neuroid", ["pixels"] * features.shape[1])
    return assembly_of(features, region=["IT"] * len(features), layer=layer)


def draw(n_features, n_labels, dtype=np.float64):
    rng = np.random.default_rng(n_features)
    labels = np.arange(N_STIMULI) % n_labels
    features = 3 * rng.normal(size=(n_labels, n_features))[labels] + rng.normal(size=(N_STIMULI, n_features)) + 5
    return (
        features.astype(dtype),
        [f"label{label}" for label in labels],
        rng.normal(size=(10, n_features)).astype(dtype),
    )


@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize("n_features", [4, N_STIMULI, N_STIMULI + 1, 500, 10_000])
def test_agrees_with_scikit_learn_on_all_features(n_features, n_labels):
    features, labels, others = draw(n_features, n_labels)
    mean, sd = features.mean(axis=0), features.std(axis=0)
    # Two labels get one weight vector each, as with more labels; that halves the penalty of a shared vector.
    penalty = 1e-3 * (2 if n_labels == 2 else 1)
    oracle = LogisticRegression(solver="newton-cg", C=penalty, tol=1e-8, max_iter=1000)
    oracle.fit((features - mean) / sd, labels)
    found = ProbabilitiesClassifier().fit(features, labels).predict_proba(assembly(others))
    # With no more features than stimuli the fit stops at scikit-learn's own tolerance.
    tolerance = 1e-6 if n_features > N_STIMULI else 2e-3
    np.testing.assert_allclose(found.values, oracle.predict_proba((others - mean) / sd), atol=tolerance)


def test_published_fit_stops_slightly_before_the_minimum():
    features, labels, others = draw(10_000, 5)
    mean, sd = features.mean(axis=0), features.std(axis=0)
    published = LogisticRegression(solver="newton-cg", C=1e-3).fit((features - mean) / sd, labels)
    found = ProbabilitiesClassifier().fit(features, labels).predict_proba(assembly(others)).values
    assert 1e-6 < np.abs(found - published.predict_proba((others - mean) / sd)).max() < 3e-3


@pytest.mark.parametrize("n_labels", [2, 5])
def test_reaches_the_minimum_with_many_features(n_labels):
    """At the minimum of C * cross entropy + |W|^2 / 2, the weights are C * (truth - probability).T @ features."""
    features, labels, _ = draw(2_000, n_labels)
    classifier = ProbabilitiesClassifier().fit(features, labels)
    probabilities = classifier.predict_proba(assembly(features)).values
    truth = np.asarray(labels)[:, None] == list(dict.fromkeys(labels))
    standardised = (features - features.mean(axis=0)) / features.std(axis=0)
    gradient = 1e-3 * (truth - probabilities).T @ standardised
    weights = np.asarray(classifier._weights)
    weights = weights - weights.mean(axis=0)  # two labels are stored as 0 and w, which mean -w/2 and w/2
    np.testing.assert_allclose(weights, gradient, atol=1e-8 + 1e-5 * np.abs(gradient).max())


def test_single_precision_keeps_six_digits():
    features, labels, others = draw(10_000, 3, dtype=np.float32)
    found = ProbabilitiesClassifier().fit(features, labels).predict_proba(assembly(others)).values
    exact = ProbabilitiesClassifier().fit(features.astype(float), labels).predict_proba(assembly(others.astype(float)))
    np.testing.assert_allclose(found, exact.values, atol=1e-5)


def test_duplicates_and_constant_features_are_harmless():
    features, labels, others = draw(500, 3)
    features[:, ::2] = 7
    features[3], labels[3] = features[0], labels[0]
    found = ProbabilitiesClassifier().fit(features, labels).predict_proba(assembly(others)).values
    some = ProbabilitiesClassifier().fit(features[:, 1::2], labels).predict_proba(assembly(others[:, 1::2])).values
    np.testing.assert_allclose(found, some, atol=1e-8)


def test_constant_features_give_equal_probabilities():
    labels = [f"label{row % 3}" for row in range(N_STIMULI)]
    found = ProbabilitiesClassifier().fit(np.ones((N_STIMULI, 50)), labels).predict_proba(assembly(np.ones((2, 50))))
    np.testing.assert_allclose(found.values, 1 / 3, atol=1e-6)


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_rejects_features_that_are_not_finite(wrong):
    features, labels, _ = draw(500, 3)
    features[2, 3] = wrong
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        ProbabilitiesClassifier().fit(features, labels)
