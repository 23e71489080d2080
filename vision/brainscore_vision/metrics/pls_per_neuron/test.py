import numpy as np
import pytest

from brainscore_core.testing.synthetic import make_neuroid_assembly
from brainscore_vision import load_metric
from brainscore_vision.metric_helpers.regression.sides import StreamedFeatures


@pytest.fixture(scope="module")
def sides():
    return make_neuroid_assembly(100, 30, seed=1), make_neuroid_assembly(100, 6, noise=1.0, seed=1)


def test_score_does_not_depend_on_row_order_or_streaming(sides):
    source, target = sides
    rng = np.random.default_rng(0)
    metric = load_metric("pls_per_neuron", crossvalidation_kwargs={"splits": 3})
    base = float(metric(source, target))
    shuffled = (each.isel(presentation=rng.permutation(100)) for each in sides)
    assert float(metric(*shuffled)) == pytest.approx(base, abs=1e-9)
    ordered = source.transpose("presentation", "neuroid")
    stream = StreamedFeatures(ordered["stimulus_id"].values, ordered.values)
    assert float(metric(stream, target)) == pytest.approx(base, abs=1e-9)


def test_accepts_fewer_features_than_components():
    source, target = make_neuroid_assembly(40, 3, seed=1), make_neuroid_assembly(40, 4, noise=0.1, seed=1)
    assert np.isfinite(float(load_metric("pls_per_neuron")(source, target)))
    with pytest.raises(ValueError, match="25 components"):
        load_metric("pls")(source, target)


def test_noisy_neuroids_are_predicted_better_than_with_25_components():
    rng = np.random.default_rng(1)
    latent = rng.normal(size=(200, 40)) * np.arange(1, 41) ** -0.8
    responses = latent @ rng.normal(size=(40, 30))
    responses += rng.uniform(1, 5, size=30) * responses.std(axis=0) * rng.normal(size=(200, 30))
    features = latent @ rng.normal(size=(40, 300)) + 0.05 * rng.normal(size=(200, 300))
    source, target = (make_neuroid_assembly(200, v.shape[1], seed=1).copy(data=v) for v in (features, responses))
    own, fixed = (float(load_metric(name)(source, target)) for name in ("pls_per_neuron", "pls"))
    assert own > fixed + 0.03


def test_regression_fits_and_predicts_assemblies(sides):
    source, target = sides
    regression = load_metric("pls_per_neuron").regression
    regression.fit(source, target)
    assert regression.predict(source).sizes == {"presentation": 100, "neuroid": 6}
    assert regression.estimator.n_components_.shape == (6,)
