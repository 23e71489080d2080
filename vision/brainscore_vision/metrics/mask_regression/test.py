import numpy as np
import pytest
from scipy.stats import pearsonr
from sklearn.model_selection import ShuffleSplit

from brainscore_core.errors import AssemblyError
from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
from brainscore_vision import load_metric
from brainscore_vision.metric_helpers.regression.metrics import CrossRegressedCorrelation
from brainscore_vision.metrics.mask_regression.metric import MaskSettings, mask_fit

SHAPE = (4, 5, 3)  # channels and two axes of space
QUICK = {"n_epochs": 3}


def data(n=60, q=5, noise=0.5, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, *SHAPE))
    y = np.einsum("nchw,khw,kc->nk", x, rng.normal(size=(q, *SHAPE[1:])) ** 4, rng.normal(size=(q, SHAPE[0])))
    return x, y / y.std(axis=0) + noise * rng.normal(size=(n, q))


def assemblies(x, y):
    pictures = {
        "stimulus_id": ("presentation", [f"s{i:03d}" for i in range(len(x))]),
        "object_name": ("presentation", [f"o{i % 3}" for i in range(len(x))]),
    }
    places = np.indices(SHAPE).reshape(3, -1)
    features = {
        "neuroid_id": ("neuroid", np.arange(places.shape[1])),
        **{name: ("neuroid", place) for name, place in zip(["channel", "channel_x", "channel_y"], places, strict=True)},
    }
    neuroids = {
        "neuroid_id": ("neuroid", [f"n{i}" for i in range(y.shape[1])]),
        "region": ("neuroid", ["V1"] * y.shape[1]),
    }
    dims = ["presentation", "neuroid"]
    source = NeuroidAssembly(x.reshape(len(x), -1), coords={**pictures, **features}, dims=dims)
    return source, NeuroidAssembly(y, coords={**pictures, **neuroids}, dims=dims)


def test_score_equals_separate_fits_of_each_split():
    x, y = data()
    kwargs = {"splits": 3, "train_size": 0.8, "stratification_coord": None}
    metric = load_metric("mask_regression", crossvalidation_kwargs=kwargs, regression_kwargs={"seed": 4, **QUICK})
    assert isinstance(metric, CrossRegressedCorrelation)
    score = metric(*assemblies(x, y))
    raw = []
    for index, (train, test) in enumerate(ShuffleSplit(3, train_size=0.8, random_state=1).split(x)):
        prediction = mask_fit(x[train], y[train], MaskSettings(seed=4, **QUICK), draw=index).predict(x[test])
        raw.append([pearsonr(prediction[:, i], y[test, i])[0] for i in range(5)])
    np.testing.assert_allclose(score.attrs["raw"].values, raw, atol=1e-9)
    medians = np.median(raw, axis=1)
    assert float(score) == pytest.approx(medians.mean())
    assert score.attrs["split_error"] == pytest.approx(medians.std(ddof=1) / np.sqrt(3))
    expected = {"n_stimuli": 60, "n_neuroids": 5, "regression_seed": 4, "seed": 1, "quantity": "correlation"}
    assert {name: score.attrs[name] for name in expected} == expected


def test_default_training_recovers_the_data_unlike_the_published():
    parts = assemblies(*data(n=120, noise=0.3))
    kwargs = {"splits": 3, "train_size": 0.8}
    assert float(load_metric("mask_regression", crossvalidation_kwargs=kwargs)(*parts)) > 0.9
    brief = load_metric("mask_regression", crossvalidation_kwargs=kwargs, compat=True)
    assert brief.regression.estimator.settings.epochs(96) == (40, 25)
    assert float(brief(*parts)) < 0.7


def test_regression_uses_the_positions_of_features():
    source, target = assemblies(*data())
    metric = load_metric("mask_regression", regression_kwargs=QUICK)
    prediction = []
    for assembly in (source, source.isel(neuroid=np.random.default_rng(0).permutation(60))):
        metric.regression.fit(assembly, target)
        prediction.append(metric.regression.predict(assembly.isel(presentation=[4, 2])))
    np.testing.assert_allclose(prediction[0].values, prediction[1].values, atol=1e-12)
    alone = mask_fit(source.values.reshape(60, *SHAPE), target.values, MaskSettings(**QUICK))
    np.testing.assert_allclose(prediction[0].values, alone.predict(source.values.reshape(60, *SHAPE)[[4, 2]]))
    assert prediction[0]["region"].values.tolist() == ["V1"] * 5
    with pytest.raises(RuntimeError, match="fitted"):
        load_metric("mask_regression").regression.predict(source)


def test_rejects_incomplete_positions_and_other_stimuli():
    source, target = assemblies(*data())
    metric = load_metric("mask_regression", regression_kwargs=QUICK)
    with pytest.raises(AssemblyError, match="channel_x"):
        metric(target, target)
    with pytest.raises(AssemblyError, match="each place exactly once"):
        metric(source.isel(neuroid=slice(59)), target)
    with pytest.raises(AssemblyError, match="s059"):
        metric(source.isel(presentation=slice(59)), target)
    flat = source.reset_index("neuroid")
    flat = flat.assign_coords(channel_x=("neuroid", np.full(60, np.nan)))
    with pytest.raises(AssemblyError, match="fully"):
        metric(flat, target)


def test_held_out_predictions_are_the_scored_ones():
    parts = assemblies(*data())
    metric = load_metric("mask_regression", regression_kwargs=QUICK)
    for row, held in zip(metric(*parts).attrs["raw"].values, metric.held_out(*parts), strict=True):
        r = [pearsonr(held.prediction[:, i], held.measurement[:, i])[0] for i in range(5)]
        np.testing.assert_allclose(row, r, atol=1e-9)
