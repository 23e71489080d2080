import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import pearsonr
from sklearn.cross_decomposition import PLSRegression
from sklearn.linear_model import Ridge
from sklearn.model_selection import StratifiedShuffleSplit

from brainscore_core.errors import AssemblyError
from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
from brainscore_vision import load_metric
from brainscore_vision.metrics.regression_correlation.metric import (
    ALPHA_LIST,
    CrossRegressedCorrelation,
    pearsonr_correlation,
    pls_regression,
    ridge_regression,
)


def assembly(values, *, objects=5, time_bin=False, order=None, ids=None):
    n, m = values.shape
    coords = {
        "stimulus_id": ("presentation", [f"s{i:03d}" for i in range(n)] if ids is None else ids),
        "trial": ("presentation", np.arange(n)),
        "neuroid_id": ("neuroid", [f"n{m - i:03d}" for i in range(m)]),
        "region": ("neuroid", ["IT"] * m),
    }
    if objects:
        coords["object_name"] = ("presentation", [f"o{i % objects}" for i in range(n)])
    dims = ["presentation", "neuroid"]
    if time_bin:
        values, dims = values[:, :, None], [*dims, "time_bin"]
        coords |= {"time_bin_start": ("time_bin", [70]), "time_bin_end": ("time_bin", [170])}
    result = NeuroidAssembly(values, coords=coords, dims=dims)
    return result if order is None else result.isel(presentation=order)


def data(n=60, p=40, q=6, noise=1.0, seed=0):
    rng = np.random.default_rng(seed)
    latent = rng.normal(size=(n, 8))
    x = latent @ rng.normal(size=(8, p)) + rng.normal(size=(n, p))
    return x, latent @ rng.normal(size=(8, q)) + noise * rng.normal(size=(n, q))


def by_hand(x, y, regression, objects=5):
    splits = StratifiedShuffleSplit(10, train_size=0.9, random_state=1).split(
        x, [f"o{i % objects}" for i in range(len(x))]
    )
    raw = []
    for train, test in splits:
        prediction = regression.fit(x[train], y[train]).predict(x[test])
        raw.append([pearsonr(prediction[:, i], y[test, i])[0] for i in range(y.shape[1])])
    return np.array(raw)


REFERENCES = {"pls": PLSRegression(25, scale=False), "ridge": Ridge(1.0)}


@pytest.mark.parametrize("identifier", ["pls", "ridge"])
@pytest.mark.parametrize("suffix", ["", "_cv"])
def test_equals_scikit_learn_split_by_split(identifier, suffix):
    x, y = data()
    score = load_metric(identifier + suffix)(assembly(x), assembly(y))
    raw = by_hand(x, y, REFERENCES[identifier])
    medians = np.median(raw, axis=1)
    assert float(score) == pytest.approx(medians.mean(), abs=1e-8)
    assert score.attrs["error"] == pytest.approx(medians.std() / np.sqrt(10), abs=1e-8)
    assert score.attrs["raw"].dims == ("split", "neuroid")
    assert score.attrs["raw"]["neuroid_id"].values.tolist() == [f"n{i:03d}" for i in range(1, 7)]
    np.testing.assert_allclose(score.attrs["raw"].values, raw[:, ::-1], atol=1e-8)  # sorted by neuroid_id
    expected = {"n_stimuli": 60, "n_neuroids": 6, "seed": 1, "stratified_by": "object_name"}
    assert {name: score.attrs[name] for name in expected} == expected


@pytest.mark.parametrize("identifier", ["pls", "ridge"])
def test_fast_and_general_path_agree(identifier):
    class Plain(CrossRegressedCorrelation):
        def apply(self, *parts):
            return super().apply(*parts)

    x, y = data(80, 200, 5)
    y[:, 1] = 2.0
    source, target = assembly(x), assembly(y, order=np.random.default_rng(0).permutation(80))
    regression = {"pls": pls_regression, "ridge": ridge_regression}[identifier]()
    target = target.isel(presentation=np.argsort(target["stimulus_id"].values))  # the same splits for both
    fast = load_metric(identifier)(source, target)
    slow = Plain(regression, pearsonr_correlation())(source, target)
    assert float(fast) == pytest.approx(float(slow), abs=1e-9)
    assert fast.attrs["error"] == pytest.approx(slow.attrs["error"], abs=1e-9)
    used = ~np.isnan(fast.attrs["raw"].values[0])
    np.testing.assert_allclose(fast.attrs["raw"].values[:, used], slow.attrs["raw"].values, atol=1e-8)
    for name in ("n_stimuli", "n_neuroids", "neuroids_left_out", "seed", "stratified_by"):
        assert fast.attrs[name] == slow.attrs[name]


@pytest.mark.parametrize("identifier", ["pls", "ridge"])
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 1000))
def test_order_of_source_time_bins_and_shifts_do_not_matter(identifier, seed):
    x, y = data(seed=seed)
    metric = load_metric(identifier)
    base = metric(assembly(x), assembly(y))
    order = np.random.default_rng(seed).permutation(60)
    other = metric(assembly(x + 3, order=order, time_bin=True), assembly(2 * y - 1, time_bin=True))
    assert float(other) == pytest.approx(float(base), abs=1e-6)


def test_identical_source_and_target_score_one():
    _, y = data(q=25)
    assert float(load_metric("pls")(assembly(y), assembly(y))) == pytest.approx(1, abs=1e-9)


def test_unrelated_source_scores_about_zero():
    _, y = data(200, q=20)
    source = np.random.default_rng(9).normal(size=(200, 50))
    assert abs(float(load_metric("ridge")(assembly(source), assembly(y)))) < 0.15


def test_constant_and_empty_neuroids_are_left_out_and_named():
    x, y = data()
    y[:, 0], y[:, 4] = 3.0, np.nan
    score = load_metric("pls")(assembly(x), assembly(y))
    alone = load_metric("pls")(assembly(x), assembly(y).isel(neuroid=[1, 2, 3, 5]))
    assert float(score) == pytest.approx(float(alone), abs=1e-12)
    assert score.attrs["neuroids_left_out"] == ["n006", "n002"]
    assert (score.attrs["n_neuroids"], score.attrs["n_neuroids_left_out"]) == (4, 2)
    assert score.attrs["raw"].sizes["neuroid"] == 6


def test_missing_values_raise():
    x, y = data()
    y[3, 2] = np.nan
    with pytest.raises(AssemblyError, match="'n004'"):
        load_metric("ridge")(assembly(x), assembly(y))
    x, y = data()
    x[0, 0] = np.inf
    with pytest.raises(AssemblyError, match=r"1 NaN or infinite .* 1 of 40 neuroids"):
        load_metric("ridge")(assembly(x), assembly(y))


def test_other_stimuli_raise_and_are_named():
    x, y = data()
    ids = [f"s{i:03d}" for i in range(59)] + ["other"]
    with pytest.raises(AssemblyError, match=r"'s059'.*'other'"):
        load_metric("pls")(assembly(x, ids=ids), assembly(y))


@pytest.mark.parametrize(("objects", "reason"), [(0, "no coordinate"), (60, "does not allow")])
def test_without_feasible_strata_it_shuffles_plainly_and_says_so(objects, reason):
    x, y = data()
    score = load_metric("ridge")(assembly(x, objects=objects), assembly(y, objects=objects))
    assert score.attrs["stratified_by"] is None
    assert reason in score.attrs["stratification"]


def test_too_few_features_for_pls_are_refused_with_a_remedy():
    x, y = data(p=10)
    with pytest.raises(ValueError, match="n_components"):
        load_metric("pls")(assembly(x), assembly(y))
    assert float(load_metric("pls", regression_kwargs={"n_components": 8})(assembly(x), assembly(y))) > 0.3


def test_arguments_reach_split_and_regression():
    x, y = data()
    metric = load_metric("ridge", crossvalidation_kwargs={"splits": 3}, regression_kwargs={"alpha": 1e9})
    score = metric(assembly(x), assembly(y))
    assert score.attrs["raw"].sizes["split"] == 3
    assert score.attrs["raw"].shape == (3, 6)


def test_other_options_are_computed_by_scikit_learn():
    scaled = pls_regression({"scale": True, "n_components": 3})
    assert isinstance(scaled.estimator, PLSRegression)
    per_neuroid = ridge_regression({"alpha": [1.0, 2.0]})
    assert isinstance(per_neuroid.estimator, Ridge)
    x, y = data()
    score = CrossRegressedCorrelation(scaled, pearsonr_correlation())(assembly(x), assembly(y))
    expected = np.median(by_hand(x, y, PLSRegression(3, scale=True)), axis=1).mean()
    assert float(score) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("identifier", ["pls", "ridge"])
def test_fixed_split(identifier):
    x, y = data(70)
    y[:, 2] = 1.0
    source, target = assembly(x), assembly(y)
    train, test = np.arange(50), np.arange(50, 70)[::-1]
    parts = [part.isel(presentation=index) for part in (source, target) for index in (train, test)]
    score = load_metric(f"{identifier}_split")(*parts)
    prediction = REFERENCES[identifier].fit(x[train], y[train]).predict(x[test])
    r = [pearsonr(prediction[:, i], y[test, i])[0] for i in (0, 1, 3, 4, 5)]
    assert float(score) == pytest.approx(np.median(r), abs=1e-8)
    assert score.attrs["raw"].dims == ("neuroid",)
    assert (score.attrs["n_stimuli"], score.attrs["n_train_stimuli"], score.attrs["n_neuroids"]) == (20, 50, 5)
    named = dict(zip(["source_train", "source_test", "target_train", "target_test"], parts, strict=True))
    assert float(load_metric(f"{identifier}_split")(**named)) == float(score)


def test_alpha_list():
    assert len(ALPHA_LIST) == 99
    assert sorted(set(ALPHA_LIST)) == ALPHA_LIST
    assert (ALPHA_LIST[0], ALPHA_LIST[-1]) == (0.01, 1e7)


def test_arguments_stay_unchanged():
    x, y = data()
    source, target = assembly(x.copy()), assembly(y.copy())
    load_metric("pls")(source, target)
    np.testing.assert_array_equal(source.values, x)
    np.testing.assert_array_equal(target.values, y)
