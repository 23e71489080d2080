import numpy as np
import pytest
from sklearn.linear_model import Ridge

from brainscore_core.errors import AssemblyError
from brainscore_core.testing.synthetic import trials_of
from brainscore_vision import load_ceiling, load_metric
from brainscore_vision.metric_helpers.arrays.reliability.held_out import pooled_correlation, within_folds

REGRESSIONS = ["ridge", "ridgecv", "pls"]
ESTIMATES = ["kfold", "signal", "r2er"]


def simulated(seed, reliability, n=60, q=6, p=5, n_repetitions=4):
    """Return features of a model that contains the whole signal, and repetitions with noise."""
    rng = np.random.default_rng(seed)
    features, weights = rng.normal(size=(n, p)), rng.normal(size=(p, q))
    signal = features @ (weights / np.linalg.norm(weights, axis=0))
    noise = np.sqrt(n_repetitions * (1 - reliability) / reliability)
    return features[None], signal + noise * rng.normal(size=(n_repetitions, n, q))


def metric_of(regression, estimate, **kwargs):
    fewer = {"regression_kwargs": {"n_components": 3}} if regression == "pls" else {}
    return load_metric(f"{regression}_{estimate}", **fewer, **kwargs)


def test_correlation_equals_that_of_scikit_learns_predictions():
    source, target = simulated(0, 0.5)
    metric = load_metric("ridge_kfold")
    score = metric(trials_of(source), trials_of(target))
    x, y = source[0], target.mean(axis=0)
    expected = []
    for folds in metric.divisions(trials_of(target)):
        predicted = np.empty_like(y)
        for test in folds:
            train = np.setdiff1d(np.arange(60), test)
            both = Ridge(1.0).fit(x[train], y[train]).predict(x)
            predicted[test] = (both / both.std(axis=0))[test]
        expected.append(pooled_correlation(predicted, y, folds)[0])
    assert len(expected) == 3
    np.testing.assert_allclose(score.raw.values, np.mean(expected, axis=0), atol=1e-12)
    assert float(score) == pytest.approx(np.median(score.raw.values), abs=1e-15)


def test_constant_training_responses_add_no_rounding_errors():
    """The neuroids vary only in the first fold, and features of decreasing size amplify rounding errors."""
    source, target = simulated(0, 0.8, p=200)
    metric = load_metric("ridge_kfold", repeats=1)
    ((first, *_),) = metric.divisions(trials_of(target))
    others = np.setdiff1d(np.arange(60), first)
    target[:, others, 1], target[:, others, 2] = 7e4 / 3, 1 / 3e4
    score = metric(trials_of(source * np.logspace(5, -2, 200)), trials_of(target))
    np.testing.assert_allclose(score.raw.values[1:3], 0, atol=1e-6)


@pytest.mark.slow
def test_interval_for_a_noise_model_contains_its_negative_mean():
    """Predictions that explain nothing add their squares to the error; the page about ceilings shows the amount."""
    scores = []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        source, signal = rng.normal(size=(1, 40, 40)), rng.normal(size=(40, 20))
        noise = np.sqrt(4 * 0.4 / 0.6) * rng.normal(size=(4, 40, 20))
        scores.append(load_metric("ridgecv_signal")(trials_of(source), trials_of(signal + noise)))
    mean = np.mean(scores)
    assert -0.05 < mean < -0.01
    assert np.mean([low <= mean <= high for low, high in (score.attrs["interval"] for score in scores)]) >= 0.9


def drifting(lost, seed, n=60):
    """Return features that explain the whole signal, and responses without and with drift as large as the noise."""
    source, target = simulated(seed, 0.8, n=n, q=30, n_repetitions=6)
    rng = np.random.default_rng(seed)
    drifted = target + np.sqrt(1.5) * rng.standard_normal((6, 1, 30))
    kept = np.sort(rng.permutation(6 * n)[round(lost * 6 * n) :])
    features, *trials = trials_of(source), *(trials_of(each).isel(presentation=kept) for each in (target, drifted))
    names, counts = np.unique(trials[0]["stimulus_id"].values, return_counts=True)
    twice = names[counts > 1]
    return [each.isel(presentation=np.isin(each["stimulus_id"].values, twice)) for each in (features, *trials)]


def check_lost_presentations(lost, n_seeds, n=60):
    metric, gains = load_metric("ridge_r2er"), []
    for seed in range(n_seeds):
        source, steady, moving = drifting(lost, seed, n)
        expected, score = metric(source, steady), metric(source, moving)
        assert score.attrs["design"] == "incomplete"
        gains.append([float(score) - float(expected), float(score) - 1])
    from_steady, from_truth = np.abs(np.mean(gains, axis=0))
    assert from_steady < 0.02
    assert from_truth < 0.04  # noise in training responses


def test_drift_adds_nothing_to_r2er_if_one_presentation_is_lost():
    check_lost_presentations(1 / 360, 1)


@pytest.mark.slow
@pytest.mark.parametrize("lost", [0.01, 0.03, 0.1, 0.2, 0.3])
def test_drift_adds_nothing_to_r2er_if_presentations_are_lost(lost):
    check_lost_presentations(lost, 5, n=150)


def test_explained_signal_equals_that_of_scikit_learns_predictions():
    source, target = simulated(0, 0.5, n_repetitions=2)  # only one division into halves
    metric = load_metric("ridge_signal", repeats=2)
    score = metric(trials_of(source), trials_of(target))
    explained, signal = 0.0, 0.0
    for folds in metric.divisions(trials_of(target)):
        halves = []
        for half in target:
            predicted = np.empty_like(half)
            for test in folds:
                train = np.setdiff1d(np.arange(60), test)
                predicted[test] = Ridge(1.0).fit(source[0][train], half[train]).predict(source[0][test])
            halves.append((within_folds(predicted, folds), within_folds(half, folds)))
        (f_a, y_a), (f_b, y_b) = halves
        explained, signal = explained + f_a * y_b + f_b * y_a - f_a * f_b, signal + y_a * y_b
    np.testing.assert_allclose(score.raw.values, explained.sum(axis=0) / signal.sum(axis=0), atol=1e-12)

    def share(stimuli):
        weights = 1 / target.mean(axis=0)[stimuli].var(axis=0)
        return (weights * explained[stimuli].sum(axis=0)).sum() / (weights * signal[stimuli].sum(axis=0)).sum()

    left_out = [share(np.delete(np.arange(60), stimulus)) for stimulus in range(60)]
    assert float(score) == pytest.approx(60 * share(np.arange(60)) - 59 * np.mean(left_out), abs=1e-10)


@pytest.mark.parametrize("regression", REGRESSIONS)
@pytest.mark.parametrize("estimate", ESTIMATES)
def test_score_ignores_units_of_neuroids_and_empty_features(regression, estimate):
    source, target = simulated(1, 0.5)
    metric = metric_of(regression, estimate)
    one, two = trials_of(source), trials_of(target)
    score = metric(one, two)
    rng = np.random.default_rng(0)
    units = np.full(6, 3.0) if regression == "pls" else rng.random(6) + 0.1
    assert float(metric(one, trials_of(target * units + 7))) == pytest.approx(float(score), abs=1e-6)
    wide = trials_of(np.concatenate([source, np.zeros((1, 60, 100))], axis=2))  # more features than stimuli
    assert float(metric(wide, two)) == pytest.approx(float(score), abs=1e-8)


@pytest.mark.slow
def test_a_model_with_the_signal_explains_all_of_it():
    """A correlation divided by its ceiling is too low here, since the regression learned noise too."""
    scores = []
    for seed in range(40):
        source, target = (trials_of(values) for values in simulated(seed, 0.5))
        r, rho = (
            float(made) for made in (load_metric("ridge_kfold")(source, target), load_ceiling("noise_ceiling")(target))
        )
        scores.append([float(load_metric("ridge_signal")(source, target)), r * abs(r) / rho])
    means, errors = np.mean(scores, axis=0), np.std(scores, axis=0) / np.sqrt(40)
    assert means[0] == pytest.approx(1, abs=3 * errors[0])
    assert means[1] < 0.96


@pytest.mark.slow
@pytest.mark.parametrize("estimate", ["signal", "r2er"])
def test_a_model_of_noise_explains_nothing(estimate):
    scores = []
    for seed in range(40):
        _, target = simulated(seed, 0.6)
        noise = np.random.default_rng(seed + 1000).normal(size=(1, 60, 2))
        scores.append(float(load_metric(f"ridge_{estimate}")(trials_of(noise), trials_of(target))))
    assert np.mean(scores) < 0.03


@pytest.mark.parametrize("estimate", ["signal", "r2er"])
@pytest.mark.parametrize("regression", REGRESSIONS)
def test_pure_noise_is_not_estimable_with_a_reason(regression, estimate):
    source, _ = simulated(0, 0.5)
    noise = np.random.default_rng(2).normal(size=(4, 60, 6))
    score = metric_of(regression, estimate)(trials_of(source), trials_of(noise))
    assert np.isnan(float(score))
    assert np.isnan(score.attrs["error"])
    assert "Not estimable" in score.attrs["not_applicable"]
    assert score.attrs["not_estimable"]
    assert score.attrs["error_nan_reason"] == score.attrs["not_applicable"]
    assert float(score.attrs["reliability"].mean()) < 0.2


def test_neurons_are_weighted_by_their_reliability():
    rng = np.random.default_rng(0)
    source, target = simulated(0, 0.9, q=8)
    lost = rng.normal(size=(4, 60, 8)) * 100  # neurons that respond to nothing, in large units
    both = trials_of(np.concatenate([target, lost], axis=2))
    alone = float(load_metric("ridge_signal")(trials_of(source), trials_of(target)))
    score = load_metric("ridge_signal")(trials_of(source), both)
    assert float(score) == pytest.approx(alone, abs=0.1)
    known = np.isfinite(score.raw.values)
    assert 8 <= known.sum() < 16  # the ratio is undefined if the estimated signal of a neuron is negative
    reliability = score.attrs["reliability"].values
    weighted = score.raw.values[known] @ reliability[known] / reliability[known].sum()
    assert float(score) == pytest.approx(weighted, abs=0.1)
    r2er = load_metric("ridge_r2er")(trials_of(source), both)
    assert 4 <= r2er.attrs["n_undefined"] <= 8  # those below the minimum reliability


def test_a_constant_source_has_no_score():
    target = simulated(0, 0.5)[1]
    flat = trials_of(np.full((1, 60, 7), 0.1))
    for estimate in ESTIMATES:
        score = load_metric(f"ridge_{estimate}")(flat, trials_of(target))
        assert np.isnan(float(score))
        assert not score.attrs.get("not_estimable")


@pytest.mark.parametrize("estimate", ["signal", "r2er"])
def test_noise_is_the_reason_even_for_a_constant_source(estimate):
    flat, noise = np.full((1, 60, 7), 0.1), np.random.default_rng(2).normal(size=(4, 60, 6))
    score = load_metric(f"ridge_{estimate}")(trials_of(flat), trials_of(noise))
    assert "Not estimable" in score.attrs["not_applicable"]


def test_missing_repetitions_are_allowed():
    source, target = simulated(0, 0.8)
    some = trials_of(target).isel(presentation=[i for i in range(240) if i not in {3, 70, 71, 200}])
    for estimate, tolerance in (("signal", 0.05), ("r2er", 0.05), ("kfold", 0.05)):
        metric = load_metric(f"ridge_{estimate}")
        whole = float(metric(trials_of(source), trials_of(target)))
        assert float(metric(trials_of(source), some)) == pytest.approx(whole, abs=tolerance)


def test_few_stimuli_give_fewer_folds():
    source, target = simulated(0, 0.8, n=22)
    assert load_metric("ridge_kfold")(trials_of(source), trials_of(target)).attrs["n_folds"] == 5
    source, target = simulated(0, 0.8, n=7)
    with pytest.raises(AssemblyError, match="7 stimuli cannot be divided into folds of at least 4"):
        load_metric("ridge_kfold")(trials_of(source), trials_of(target))


@pytest.mark.parametrize("estimate", ["signal", "r2er"])
def test_rejects_stimuli_shown_once(estimate):
    source, target = simulated(0, 0.5)
    metric = load_metric(f"ridge_{estimate}")
    with pytest.raises(AssemblyError, match=r"60 of 60 stimuli were shown once.*single repetitions"):
        metric(trials_of(source), trials_of(target[:1]))
    same = trials_of(target)
    with pytest.raises(AssemblyError, match="of a stimulus with the same value"):
        metric(trials_of(source), same.assign_coords(repetition=("presentation", np.zeros(240, dtype=int))))


@pytest.mark.slow
def test_pooled_folds_vary_less_than_random_test_sets():
    """The same data are divided with different seeds."""
    source, target = (trials_of(values) for values in simulated(0, 0.5))
    mean = trials_of(simulated(0, 0.5)[1].mean(axis=0, keepdims=True))
    pooled = [float(load_metric("ridge_kfold", seed=seed)(source, target)) for seed in range(15)]
    tested = [
        float(load_metric("ridge", crossvalidation_kwargs={"random_state": seed})(source, mean)) for seed in range(15)
    ]
    assert np.std(pooled) < 0.6 * np.std(tested)


def test_folds_repeats_and_seed_can_be_set():
    with pytest.raises(ValueError, match="at least 2 folds"):
        load_metric("ridge_kfold", folds=1)
    with pytest.raises(TypeError, match="computed by scikit-learn"):
        load_metric("pls_kfold", regression_kwargs={"scale": True})
    source, target = (trials_of(values) for values in simulated(0, 0.5))
    one, other = (float(load_metric("ridge_kfold", seed=seed)(source, target)) for seed in (1, 2))
    assert one != other
    score = load_metric("ridge_kfold", folds=4, repeats=2)(source, target)
    assert (score.attrs["n_folds"], score.attrs["n_repeats"], score.attrs["seed"]) == (4, 2, 1)


@pytest.mark.slow
@pytest.mark.parametrize("estimate", ESTIMATES)
def test_error_matches_the_spread_over_stimuli_and_neuroids(estimate):
    scores = []
    for seed in range(60):
        source, target = (trials_of(values) for values in simulated(seed, 0.7, q=12, n=80))
        score = load_metric(f"ridge_{estimate}", repeats=1)(source, target)
        low, high = score.attrs["interval"]
        scores.append([float(score), score.attrs["error"] ** 2, low, high])
    values, squares, low, high = np.array(scores).T
    assert np.sqrt(squares.mean()) == pytest.approx(values.std(), rel=0.35)
    assert np.mean((low <= values.mean()) & (values.mean() <= high)) > 0.85
    assert score.attrs["error_over"] == ["stimulus", "neuroid"]


@pytest.mark.parametrize("estimate", ESTIMATES)
def test_one_neuroid_has_only_an_error_over_stimuli(estimate):
    source, target = (trials_of(values) for values in simulated(0, 0.9, q=1))
    score = load_metric(f"ridge_{estimate}")(source, target)
    assert np.isfinite(float(score))
    assert np.isnan(score.attrs["error"])
    assert "a single neuroid" in score.attrs["error_nan_reason"]
    assert 0 < score.attrs["stimulus_error"] < 0.3
