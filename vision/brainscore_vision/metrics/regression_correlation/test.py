import warnings

import numpy as np
import pytest
from scipy.stats import pearsonr
from sklearn.cross_decomposition import PLSRegression
from sklearn.linear_model import LinearRegression, Ridge, RidgeCV
from sklearn.model_selection import StratifiedShuffleSplit

from brainscore_core.testing.synthetic import assembly_of
from brainscore_vision import load_metric
from brainscore_vision.metric_helpers.arrays import column_blocks
from brainscore_vision.metric_helpers.regression import sides
from brainscore_vision.metrics.regression_correlation import metric as plugin
from brainscore_vision.metrics.regression_correlation.metric import (
    ALPHA_LIST,
    CrossRegressedCorrelation,
    DualRidgeCVRegression,
    ScaledCrossRegressedCorrelation,
    dual_ridge_cv_regression,
    dual_ridge_regression,
    linear_regression,
    pearsonr_correlation,
    pls_regression,
    ridge_cv_regression,
    ridge_regression,
    single_regression,
)


def assembly(values, *, ids=None):
    n, m = values.shape
    return assembly_of(
        values,
        stimulus_id=[f"s{i:03d}" for i in range(n)] if ids is None else ids,
        object_name=[f"o{i % 5}" for i in range(n)],
        trial=np.arange(n),
        neuroid_id=("neuroid", [f"n{m - i:03d}" for i in range(m)]),
    )


def data(n=100, p=40, q=6, noise=1.0, seed=0):
    rng = np.random.default_rng(seed)
    latent = rng.normal(size=(n, 8))
    x = latent @ rng.normal(size=(8, p)) + rng.normal(size=(n, p))
    return x, latent @ rng.normal(size=(8, q)) + noise * rng.normal(size=(n, q))


def by_hand(x, y, regression, objects=5, n_splits=10):
    splits = StratifiedShuffleSplit(n_splits, train_size=0.9, random_state=1).split(
        x, [f"o{i % objects}" for i in range(len(x))]
    )
    raw = []
    for train, test in splits:
        prediction = regression.fit(x[train], y[train]).predict(x[test])
        raw.append([pearsonr(prediction[:, i], y[test, i])[0] for i in range(y.shape[1])])
    return np.array(raw)


class BestOfAllPairs:
    def fit(self, x, y):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            self.chosen = np.nanargmax(np.corrcoef(x, y, rowvar=False)[: x.shape[1], x.shape[1] :], axis=0)
        return self

    def predict(self, x):
        return x[:, self.chosen]


REFERENCES = {
    "pls": PLSRegression(25, scale=False),
    "ridge": Ridge(1.0),
    "ridgecv": RidgeCV(ALPHA_LIST, alpha_per_target=True),
    "linear_predictivity": LinearRegression(),
    "neuron_to_neuron": BestOfAllPairs(),
}
PUBLISHED = [
    *("pls", "ridge", "linear_predictivity", "neuron_to_neuron", "reverse_pls"),
    *("pls_cv", "ridge_cv", "linear_predictivity_cv", "neuron_to_neuron_cv", "reverse_pls_cv"),
    *("pls_split", "ridge_split", "linear_predictivity_split", "neuron_to_neuron_split", "reverse_pls_split"),
    *("ridgecv_split", "dual_ridge_split", "dual_ridgecv_split", "spantime_pls", "spantime_ridge"),
]
OWN = ["ridgecv", "pls_pertime", "ridge_pertime"]


@pytest.mark.parametrize("identifier", REFERENCES)
@pytest.mark.parametrize("p", [40, 150])
def test_scores_equal_scikit_learn_split_by_split(identifier, p):
    x, y = data(p=p)
    score = load_metric(identifier)(assembly(x), assembly(y))
    raw = by_hand(x, y, REFERENCES[identifier])
    medians = np.median(raw, axis=1)
    assert float(score) == pytest.approx(medians.mean(), abs=1e-8)
    assert score.attrs["split_error"] == pytest.approx(medians.std(ddof=1) / np.sqrt(10), abs=1e-8)
    assert score.attrs["raw"].dims == ("split", "neuroid")
    assert score.attrs["raw"]["neuroid_id"].values.tolist() == [f"n{i:03d}" for i in range(1, 7)]
    np.testing.assert_allclose(score.attrs["raw"].values, raw[:, ::-1], atol=1e-8)  # sorted by neuroid_id
    expected = {"n_stimuli": 100, "n_neuroids": 6, "seed": 1, "stratified_by": "object_name", "quantity": "correlation"}
    assert {name: score.attrs[name] for name in expected} == expected


POOLED = ["pls", "ridge", "ridgecv", "linear_predictivity"]


@pytest.mark.parametrize("identifier", POOLED)
@pytest.mark.parametrize("n", [60, pytest.param(90, marks=pytest.mark.slow)])
def test_small_test_sets_are_pooled_and_equal_scikit_learn(identifier, n):
    x, y = data(n=n)
    splits = StratifiedShuffleSplit(10, train_size=0.9, random_state=1).split(x, [f"o{i % 5}" for i in range(n)])
    predicted, measured = [], []
    for train, test in splits:
        fitted = REFERENCES[identifier].fit(x[train], y[train])
        both = fitted.predict(x[[*test, *train]]).reshape(n, -1)
        predicted.append((both[: len(test)] - both.mean(axis=0)) / both.std(axis=0))
        measured.append(y[test])
    pair = np.concatenate(predicted), np.concatenate(measured)
    expected = [pearsonr(pair[0][:, i], pair[1][:, i])[0] for i in range(6)]
    metric = load_metric(identifier)
    score = metric(assembly(x), assembly(y))
    np.testing.assert_allclose(score.attrs["raw"].values[0, ::-1], expected, atol=1e-8)
    assert float(score) == pytest.approx(np.median(expected), abs=1e-8)
    assert score.attrs["raw"].sizes["split"] == 1
    assert np.isnan(score.attrs["split_error"])
    assert 0 < score.attrs["error"] < 0.3
    assert f"has {n // 10} stimuli" in score.attrs["small_test_sets"]
    assert "correlated together" in score.attrs["small_test_sets"]
    (part,) = metric.held_out(assembly(x), assembly(y))
    np.testing.assert_allclose(part.prediction, pair[0], atol=1e-8)
    np.testing.assert_allclose(part.measurement, pair[1])
    with pytest.MonkeyPatch.context() as patch:  # the same computation, block by block
        patch.setattr(sides, "WIDE_BYTES", 8 * n * 2)
        patch.setattr(column_blocks, "BLOCK_BYTES", 8 * n * 2)
        blocks = metric(assembly(x), assembly(y))
    np.testing.assert_allclose(blocks.attrs["raw"].values, score.attrs["raw"].values, atol=1e-8)


def test_large_test_sets_and_published_splits_are_not_pooled():
    for n, kwargs in (
        (100, {}),
        (60, {"compat": True}),
        (60, {"crossvalidation_kwargs": {"train_size": 50, "test_size": 10}}),
    ):
        x, y = data(n=n)
        score = load_metric("ridge", **kwargs)(assembly(x), assembly(y))
        assert score.attrs["raw"].sizes["split"] == 10
        assert "small_test_sets" not in score.attrs
    x, y = data(n=40)
    repeated = [
        assembly(np.concatenate([values, values]), ids=[f"s{i % 40:03d}" for i in range(80)]) for values in (x, y)
    ]
    assert "has 4 stimuli" in load_metric("ridge")(*repeated).attrs["small_test_sets"]  # stimuli, not presentations


@pytest.mark.slow
@pytest.mark.parametrize("identifier", POOLED)
def test_pooled_predictions_of_noise_do_not_covary_on_average(identifier):
    """Separate test sets of two stimuli score 1 or -1, and the means of training responses add no negative bias."""
    covariances, alone = [], []
    for seed in range(40):
        rng = np.random.default_rng([8, seed])
        pair = assembly(rng.normal(size=(12, 5))), assembly(rng.normal(size=(12, 1)))
        kwargs = {"regression_kwargs": {"n_components": 1}} if identifier == "pls" else {}
        (part,) = load_metric(identifier, **kwargs).held_out(*pair)
        covariances.append(np.mean(part.prediction * (part.measurement - part.measurement.mean())))
        apart = load_metric(identifier, crossvalidation_kwargs={"compat": True}, **kwargs)
        raw = apart(*pair).attrs["raw"].values
        alone.append(np.abs(raw[np.isfinite(raw)]))
    assert abs(np.mean(covariances)) < 3 * np.std(covariances, ddof=1) / np.sqrt(40)
    np.testing.assert_allclose(np.concatenate(alone), 1, atol=1e-6)


def test_scores_that_cannot_be_pooled_note_small_test_sets():
    class Own(CrossRegressedCorrelation):
        def apply(self, *parts):
            return super().apply(*parts)

    x, y = data(n=60)
    own = Own(ridge_regression(), pearsonr_correlation())
    for metric in (load_metric("neuron_to_neuron"), own):
        score = metric(assembly(x), assembly(y))
        assert score.attrs["raw"].sizes["split"] == 10
        assert "too few" in score.attrs["small_test_sets"]


def test_other_options_fall_back_to_scikit_learn():
    scaled = pls_regression({"scale": True, "n_components": 3})
    assert isinstance(scaled.estimator, PLSRegression)
    assert isinstance(ridge_regression({"alpha": [1.0, 2.0]}).estimator, Ridge)
    x, y = data()
    score = CrossRegressedCorrelation(scaled, pearsonr_correlation())(assembly(x), assembly(y))
    expected = np.median(by_hand(x, y, PLSRegression(3, scale=True)), axis=1).mean()
    assert float(score) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("identifier", [*PUBLISHED, *OWN])
def test_rejects_unknown_keywords_and_lists_the_known_ones(identifier):
    with pytest.raises(
        TypeError, match=rf"'{identifier.removesuffix('_cv')}' got .* 'alphs'; it accepts .*alphas|accepts"
    ):
        load_metric(identifier, alphs=[1.0])


def test_error_for_an_unknown_keyword_suggests_the_nearest():
    with pytest.raises(TypeError, match=r"accepts regression_kwargs, .*alphas.* Did you mean 'alphas'\?"):
        load_metric("ridgecv_split", alphs=[1.0])


@pytest.mark.parametrize("identifier", [name for name in PUBLISHED if name.endswith("_split")])
def test_all_fixed_split_metrics_accept_alphas(identifier):
    load_metric(identifier, alphas=[1.0, 2.0])


def test_every_way_of_passing_penalties_is_equivalent():
    x, y = data()
    score = {
        "kwargs": load_metric("ridge", regression_kwargs={"alpha": 50.0})(assembly(x), assembly(y)),
        "alpha": load_metric("ridge", alpha=50.0)(assembly(x), assembly(y)),
        "one": load_metric("ridgecv", alphas=[50.0])(assembly(x), assembly(y)),
        "list": load_metric("ridgecv", regression_kwargs={"alphas": [50.0]})(assembly(x), assembly(y)),
    }
    assert [float(value) for value in score.values()] == pytest.approx([float(score["alpha"])] * 4, abs=1e-9)
    parts = [assembly(v).isel(presentation=rows) for v in (x, y) for rows in (np.arange(50), np.arange(50, 60))]
    for identifier in ("ridgecv_split", "dual_ridgecv_split"):
        assert load_metric(identifier, alphas=[3.0, 50.0])(*parts).attrs["alpha"] in (3.0, 50.0)
    per_target = load_metric("ridgecv_split", alphas=[3.0, 50.0], alpha_per_target=True)(*parts)
    assert len(per_target.attrs["alpha"]) == 6
    assert load_metric("ridge_split", alpha=50.0)(*parts) == pytest.approx(
        float(load_metric("ridgecv_split", alphas=[50.0])(*parts)), abs=1e-9
    )


def test_a_penalty_per_neuroid_helps_if_noise_differs():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(150, 60))
    y = x @ rng.normal(size=(60, 20)) + np.geomspace(0.1, 300, 20) * rng.normal(size=(150, 20))
    each, one = (load_metric("ridgecv", alpha_per_target=value)(assembly(x), assembly(y)) for value in (True, False))
    assert each.attrs["raw"].mean() > one.attrs["raw"].mean() + 0.01


@pytest.mark.parametrize("identifier", ["ridge", "linear_predictivity"])
@pytest.mark.parametrize("p", [30, 150])
def test_compat_computes_in_the_precision_of_the_features(identifier, p):
    x, y = data(p=p)
    x = x.astype(np.float32)
    exact = by_hand(x.astype(np.float64), y, REFERENCES[identifier])
    default = load_metric(identifier)(assembly(x), assembly(y))
    np.testing.assert_allclose(default.attrs["raw"].values[:, ::-1], exact, atol=1e-8)
    # With more features than stimuli, the published least squares keep a singular value as small as rounding errors.
    high = 0.02 if (identifier, p) == ("linear_predictivity", 150) else 1e-8
    for features, least, most in ((x, 1e-8, 0.02), (x.astype(np.float64), 0, high)):
        compat = load_metric(identifier, compat=True)(assembly(features), assembly(y))
        assert least <= np.abs(compat.attrs["raw"].values[:, ::-1] - exact).max() < most


def test_scaled_metric_does_not_depend_on_units_of_neuroids():
    x, y = data()
    metric = ScaledCrossRegressedCorrelation(pls_regression({"n_components": 3}), pearsonr_correlation())
    units = np.geomspace(1e-3, 1e3, 6)
    base, other = (metric(assembly(x), assembly(values)) for values in (y, y * units))
    assert float(other) == pytest.approx(float(base), abs=1e-9)
    plain = CrossRegressedCorrelation(pls_regression({"n_components": 3}), pearsonr_correlation())
    assert abs(float(plain(assembly(x), assembly(y * units))) - float(base)) > 1e-4
    y[:, 2] = 4.0
    assert metric(assembly(x), assembly(y)).attrs["neuroids_left_out"] == ["n004"]


def test_names_imported_by_published_plugins_exist():
    for name in (
        *("ALPHA_LIST", "CrossRegressedCorrelation", "ReverseCrossRegressedCorrelation", "TrainTestSplitCorrelation"),
        *("ReverseTrainTestSplitCorrelation", "ScaledCrossRegressedCorrelation", "SpanTimeCrossRegressedCorrelation"),
        *("SingleRegression", "DualRidgeRegression", "DualRidgeCVRegression", "pls_regression", "linear_regression"),
        *("ridge_regression", "ridge_cv_regression", "dual_ridge_regression", "dual_ridge_cv_regression"),
        *("single_regression", "pearsonr_correlation", "pearsonr"),
    ):
        assert hasattr(plugin, name)


def test_metrics_can_be_composed_from_their_parts():
    x, y = data()
    for make in (
        dual_ridge_cv_regression,
        dual_ridge_regression,
        ridge_cv_regression,
        linear_regression,
        single_regression,
    ):
        metric = CrossRegressedCorrelation(make(), pearsonr_correlation(), {"splits": 3})
        assert 0 < float(metric(assembly(x), assembly(y))) < 1
    metric = CrossRegressedCorrelation(dual_ridge_cv_regression(), pearsonr_correlation())
    regression = metric.regression._regression  # noqa: SLF001 -- a published test does this
    assert isinstance(regression, DualRidgeCVRegression)
    assert regression.alphas is ALPHA_LIST
    assert regression.alpha_ is None
    assert dual_ridge_cv_regression({"alpha": 1.0, "alphas": [2.0]}).estimator.alphas == [2.0]
    fitted = DualRidgeCVRegression(chunk_size=2).fit(x, y)
    assert fitted.alpha_ == RidgeCV(ALPHA_LIST).fit(x, y).alpha_
    np.testing.assert_allclose(plugin.pearsonr(x, y[:, :1]), [pearsonr(x[:, i], y[:, 0])[0] for i in range(40)])


def test_options_of_scikit_learn_are_passed_on():
    assert isinstance(linear_regression(regression_kwargs={"positive": True}).estimator, LinearRegression)
    assert isinstance(ridge_cv_regression({"scoring": "r2"}).estimator, RidgeCV)
    x, y = data(60, 5, 2)
    kwargs = {"crossvalidation_kwargs": {"splits": 2}, "regression_kwargs": {"scoring": "r2"}}
    score = load_metric("ridgecv", alphas=[1.0, 10.0], **kwargs)(assembly(x), assembly(y))
    expected = by_hand(x, y, RidgeCV([1.0, 10.0], scoring="r2", alpha_per_target=True), n_splits=2)
    assert float(score) == pytest.approx(np.median(expected, axis=1).mean(), abs=1e-9)


@pytest.mark.parametrize("identifier", ["ridge", "ridgecv", "linear_predictivity"])
def test_torch_equals_numpy(identifier):
    x, y = data(p=150)
    metrics = [load_metric(identifier, backend=name) for name in ("numpy", "torch")]
    numpy, torch = (float(metric(assembly(x), assembly(y))) for metric in metrics)
    assert torch == pytest.approx(numpy, abs=1e-8)
