import numpy as np
import pytest

from brainscore_vision.metric_helpers.arrays.correlation import pearson_columns
from brainscore_vision.metric_helpers.arrays.reliability import held_out
from brainscore_vision.metric_helpers.arrays.reliability.split_half import distinct_halves
from brainscore_vision.metric_helpers.regression.estimators import LeastSquares

N, Q = 60, 3


def folds_of(n, k, seed=0):
    return np.array_split(np.random.default_rng(seed).permutation(n), k)


def made(seed=0):
    rng = np.random.default_rng(seed)
    signal = rng.normal(size=(N, Q))
    return signal, signal + 0.5 * rng.normal(size=(N, Q)), folds_of(N, 6)


def test_pooled_correlation_of_one_fold_equals_pearson():
    f, y, _ = made()
    r, _ = held_out.pooled_correlation(f, y, [np.arange(N)])
    np.testing.assert_allclose(r, pearson_columns(f, y), atol=1e-14)


def test_pooled_correlation_is_partial_given_the_folds():
    f, y, folds = made()
    dummies = np.zeros((N, len(folds)))
    for number, fold in enumerate(folds):
        dummies[fold, number] = 1
    left = [values - dummies @ np.linalg.lstsq(dummies, values, rcond=None)[0] for values in (f, y)]
    np.testing.assert_allclose(held_out.within_folds(f, folds), left[0], atol=1e-13)
    np.testing.assert_allclose(held_out.pooled_correlation(f, y, folds)[0], pearson_columns(*left), atol=1e-13)


@pytest.mark.slow
def test_only_products_within_folds_are_unbiased():
    """The mean over the training stimuli falls when the mean over the test stimuli rises."""
    plain, within, products = [], [], []
    folds = np.array_split(np.arange(40), 10)
    for seed in range(200):
        rng = np.random.default_rng(seed)
        x, y = rng.normal(size=(40, 2)), rng.normal(size=(40, 1))
        predicted = np.empty_like(y)
        splits = [(np.setdiff1d(np.arange(40), fold), fold) for fold in folds]
        for fold, part in zip(folds, LeastSquares().predict_splits(x, y, splits), strict=True):
            predicted[fold] = part
        plain.append(pearson_columns(predicted, y)[0])
        within.append(held_out.pooled_correlation(predicted, y, folds)[0][0])
        products.append((held_out.within_folds(predicted, folds) * y).sum())
    assert abs(np.mean(products)) < 2 * np.std(products) / np.sqrt(200)
    assert np.mean(plain) < np.mean(within) - 0.05
    assert np.mean(within) < -0.05  # positive products tend to be smaller, so their ratio is not unbiased


@pytest.mark.parametrize("of", ["correlation", "r2_er"])
def test_influence_is_the_derivative_by_weight_of_a_stimulus(of):
    """With one fold, a larger weight means counting a stimulus more often."""
    rng = np.random.default_rng(0)
    f, y = rng.normal(size=(2, 400, 1))
    y = y + f
    noise = rng.random(size=(400, 1))
    whole = [np.arange(400)]

    def value(chosen):
        one = [np.arange(len(chosen))]
        if of == "correlation":
            return held_out.pooled_correlation(f[chosen], y[chosen], one)[0][0]
        total, _ = held_out.r2_er(f[chosen], y[chosen], noise[chosen], one)
        return total.explained[0] / total.signal[0]

    if of == "correlation":
        influence = held_out.pooled_correlation(f, y, whole)[1][:, 0]
    else:
        total, parts = held_out.r2_er(f, y, noise, whole)
        share = total.explained[0] / total.signal[0]
        influence = (parts.explained - share * parts.signal)[:, 0] / total.signal[0]
    moved = [value(np.append(np.arange(400), again)) - value(np.arange(400)) for again in range(50)]
    np.testing.assert_allclose(influence[:50], moved, atol=2e-4)


def test_constant_predictions_have_no_correlation():
    _, y, folds = made()
    constant = np.full((N, Q), 0.1)
    assert np.isnan(held_out.pooled_correlation(constant, y, folds)[0]).all()
    assert np.isnan(held_out.r2_er(constant, y, np.zeros((N, Q)), folds)[0].explained).all()


def published_r2_er(predicted, trials):
    """The formula of Pospisil & Bair (2021) as printed, for one neuron; trials (n_trials, n_stimuli)."""
    n, m = trials.shape
    variance = trials.var(axis=0, ddof=1).mean()
    x, y = predicted - predicted.mean(), trials.mean(axis=0) - trials.mean()
    numerator = (x @ y) ** 2 - variance / n * (x @ x)
    return numerator / ((x @ x) * (y @ y) - (x @ x) * (m - 1) * variance / n)


def test_r2_er_equals_the_published_formula_for_equal_noise():
    rng = np.random.default_rng(0)
    trials = rng.normal(size=(4, N, Q)) + (signal := rng.normal(size=(N, Q)))
    noise = np.broadcast_to(trials.var(axis=0, ddof=1).mean(axis=0) / 4, (N, Q))
    total, _ = held_out.r2_er(signal, trials.mean(axis=0), noise, [np.arange(N)])
    expected = [published_r2_er(signal[:, j], trials[:, :, j]) for j in range(Q)]
    np.testing.assert_allclose(total.explained / total.signal, expected, rtol=1e-12)


@pytest.mark.slow
def test_r2_er_is_unbiased_unlike_the_squared_correlation():
    rng = np.random.default_rng(0)
    signal, other = rng.normal(size=(2, 50, 1))
    folds = folds_of(50, 5)
    true = held_out.pooled_correlation(signal + other, signal, folds)[0][0] ** 2
    found, plain = [], []
    for _ in range(400):
        spread = 0.5 + rng.random(size=(50, 1))
        means = signal + spread * rng.normal(size=(50, 1))
        total, _ = held_out.r2_er(signal + other, means, spread**2, folds)
        found.append([total.explained[0], total.signal[0]])
        plain.append(held_out.pooled_correlation(signal + other, means, folds)[0][0] ** 2)
    explained, whole = np.mean(found, axis=0)
    assert explained / whole == pytest.approx(true, abs=0.03)
    assert np.mean(plain) < true - 0.1


@pytest.mark.slow
def test_signal_products_are_not_biased_by_noise():
    """Compare with the expected values stated in the docstring, for both noisy fits and noisy measurements."""
    rng = np.random.default_rng(0)
    signal = rng.normal(size=(N, 1))
    systematic = 0.5 * signal + 0.3 * rng.normal(size=(N, 1))  # the mean prediction
    folds = folds_of(N, 6)
    sums = []
    for _ in range(3000):
        predictions, responses = (
            [mean + 2 * rng.normal(size=(N, 1)) for _ in range(2)] for mean in (systematic, signal)
        )
        sums.append([part.sum() for part in held_out.signal_products(tuple(predictions), tuple(responses), folds)])
    s, g = held_out.within_folds(signal, folds), held_out.within_folds(systematic, folds)
    expected = [(s**2).sum() - ((s - g) ** 2).sum(), (s**2).sum()]
    np.testing.assert_allclose(np.mean(sums, axis=0), expected, atol=3.5 * np.std(sums, axis=0).max() / np.sqrt(3000))


@pytest.mark.parametrize(("n", "number"), [(2, 1), (3, 3), (4, 3), (5, 10), (6, 10)])
def test_distinct_halves_lists_every_division_once(n, number):
    halves = distinct_halves(np.random.default_rng(0), 1000, n)
    assert len(halves) == number
    assert (halves.sum(axis=1) == n // 2).all()
    pairs = {frozenset((half.tobytes(), (~half).tobytes())) for half in halves}
    assert len(pairs) == number
    assert len(distinct_halves(np.random.default_rng(0), 2, n)) == min(2, number)
