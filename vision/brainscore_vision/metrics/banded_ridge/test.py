import numpy as np
import pytest
from sklearn.metrics import r2_score

from brainscore_core.errors import AssemblyError
from brainscore_core.testing.synthetic import assembly_of
from brainscore_vision import load_metric
from brainscore_vision.metric_helpers.arrays.regression.banded import banded_predict_splits
from brainscore_vision.testing import MetricContract

LAYERS = ("conv1", "conv2")


def with_bands(values, bands, name="layer"):
    n, p = values.shape
    coords = {"neuroid_id": ("neuroid", [f"n{p - i:03d}" for i in range(p)]), "region": None, name: ("neuroid", bands)}
    ids, objects = [f"s{i:03d}" for i in range(n)], [f"o{i % 5}" for i in range(n)]
    return assembly_of(values, stimulus_id=ids, object_name=objects, **coords)


def sides(n=100, sizes=(40, 10), q=6, noise=0.3, seed=0):
    """Return two layers and neuroids: the first half follows one layer, the second half the other."""
    rng = np.random.default_rng(seed)
    x = [rng.normal(size=(n, size)) for size in sizes]
    y = np.concatenate([part[:, :4] @ rng.normal(size=(4, q // 2)) for part in x], axis=1)
    source = with_bands(np.concatenate(x, axis=1), np.repeat(LAYERS, sizes))
    return source, with_bands(y + noise * rng.normal(size=y.shape), ["IT"] * q, name="region")


class TestContract(MetricContract):
    identifier = "banded_ridge"

    def inputs(self):
        return [sides()]


def test_score_equals_separate_predictions_of_each_split():
    source, target = sides()
    metric = load_metric("banded_ridge")
    score = metric(source, target)
    splits = metric.splits(target)
    found = banded_predict_splits(source.values, np.repeat([0, 1], [40, 10]), target.values, splits)
    raw, variance = [], []
    for prediction, (_, test) in zip(found, splits, strict=True):
        y = target.values[test]
        raw.append([np.corrcoef(y[:, j], prediction.total[:, j])[0, 1] for j in range(6)])
        total, y = (values - values.mean(axis=0) for values in (prediction.total, y))
        variance.append(r2_score(y, total, multioutput="raw_values"))
    order = np.argsort(target["neuroid_id"].values)
    np.testing.assert_allclose(score.attrs["raw"].values, np.array(raw)[:, order], atol=1e-9)
    assert float(score) == pytest.approx(np.median(raw, axis=1).mean())
    shares = score.attrs["variance_by_band"]
    assert shares.sizes == {"band": 2, "split": 10, "neuroid": 6}
    assert shares["band"].values.tolist() == list(LAYERS)
    np.testing.assert_allclose(shares.sum("band").values, np.array(variance)[:, order], atol=1e-9)
    assert {name: score.attrs[name] for name in ("bands", "band_coord", "band_seed")} == {
        "bands": list(LAYERS),
        "band_coord": "layer",
        "band_seed": 0,
    }


def test_each_layer_explains_its_own_neuroids():
    source, target = sides()
    names = target["neuroid_id"].values
    shares = load_metric("banded_ridge")(source, target).attrs["variance_by_band"].mean("split")
    for layer, other, neuroids in ((*LAYERS, names[:3]), (*LAYERS[::-1], names[3:])):
        chosen = np.isin(shares["neuroid_id"].values, neuroids)
        assert (shares.sel(band=layer).values[chosen] > 0.7).all()
        assert (np.abs(shares.sel(band=other).values[chosen]) < 0.1).all()


def test_a_large_band_of_noise_harms_only_without_bands():
    rng = np.random.default_rng(0)
    source, target = sides(sizes=(10, 10))
    values = np.concatenate([source.values, rng.normal(size=(100, 1000))], axis=1)
    both = with_bands(values, [*source["layer"].values, *["noise"] * 1000])
    banded, single = (float(load_metric(name)(both, target)) for name in ("banded_ridge", "ridgecv"))
    assert banded > single + 0.2
    assert banded > float(load_metric("banded_ridge")(source, target)) - 0.05


def test_held_out_predictions_are_the_scored_ones():
    source, target = sides()
    metric = load_metric("banded_ridge", crossvalidation_kwargs={"splits": 2}, n_draws=2)
    raw = metric(source, target).attrs["raw"].values
    order = np.argsort(target["neuroid_id"].values)
    for row, held in zip(raw, metric.held_out(source, target), strict=True):
        r = [np.corrcoef(held.prediction[:, j], held.measurement[:, j])[0, 1] for j in order]
        np.testing.assert_allclose(row, r, atol=1e-9)


def test_constant_neuroids_are_excluded_everywhere():
    source, target = sides()
    values = target.values.copy()
    values[:, 1] = 4.0
    score = load_metric("banded_ridge", n_draws=2)(source, target.copy(data=values))
    assert score.attrs["neuroids_left_out"] == ["n005"]
    for name in ("raw", "variance_by_band"):
        missing = np.isnan(score.attrs[name].values).reshape(-1, 6).all(axis=0)
        assert score.attrs[name]["neuroid_id"].values[missing].tolist() == ["n005"]


def test_score_depends_on_more_than_inner_products():
    assert not load_metric("banded_ridge").of_inner_products
    assert load_metric("pls_per_neuron").of_inner_products


def test_rejects_features_without_bands():
    source, target = sides()
    with pytest.raises(AssemblyError, match="layr"):
        load_metric("banded_ridge", band_coord="layr")(source, target)
