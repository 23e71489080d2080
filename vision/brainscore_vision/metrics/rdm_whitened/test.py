import numpy as np
import pytest

from brainscore_core.errors import AssemblyError
from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly
from brainscore_core.testing.synthetic import trials_of
from brainscore_vision import load_metric
from brainscore_vision.metric_helpers.arrays.geometry.rdm import squared_distances
from brainscore_vision.metric_helpers.arrays.geometry.whitened import unbiased_distances, whitened_similarity

COMPARISONS = ["correlation", "cosine"]


def square(distances):
    ids = [f"s{number:02d}" for number in range(len(distances))]
    coords = {"stimulus_id": ("presentation", ids)}
    return DataAssembly(distances, coords=coords, dims=["presentation", "presentation_other"])


def simulated(seed=0, noise=1.0, n=20, q=15, n_repetitions=4):
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(n, 3)) @ rng.normal(size=(3, q))
    rotation = np.linalg.qr(rng.normal(size=(q, q)))[0]
    return truth[None] @ rotation, truth + noise * rng.normal(size=(n_repetitions, n, q))


@pytest.mark.parametrize("comparison", COMPARISONS)
def test_distances_are_unbiased_if_there_are_repetitions(comparison):
    source, target = simulated()
    metric, model = load_metric("rdm_whitened", comparison=comparison), squared_distances(source[0])
    centred = comparison == "correlation"
    repeated, averaged = (metric(trials_of(source), trials_of(y)) for y in (target, target.mean(0, keepdims=True)))
    expected = whitened_similarity(model, unbiased_distances(target), centred=centred)
    assert float(repeated) == pytest.approx(expected, abs=1e-12)
    assert repeated.attrs["unbiased"] == [False, True]
    expected = whitened_similarity(model, squared_distances(target.mean(0)), centred=centred)
    assert float(averaged) == pytest.approx(expected, abs=1e-12)
    assert averaged.attrs["unbiased"] == [False, False]
    assert metric(trials_of(target), trials_of(target[:1])).attrs["unbiased"] == [True, False]


@pytest.mark.parametrize("comparison", COMPARISONS)
def test_accepts_precomputed_distances(comparison):
    source, target = simulated()
    metric = load_metric("rdm_whitened", comparison=comparison)
    expected = metric(trials_of(source), trials_of(target))
    distances = unbiased_distances(target)
    order = np.random.default_rng(0).permutation(20)
    shuffled = square(distances).isel(presentation=order, presentation_other=order)
    found = metric(trials_of(source), shuffled)
    assert float(found) == pytest.approx(float(expected), abs=1e-12)
    assert np.isnan(found.attrs["error"])
    assert "ready-made" in found.attrs["error_nan_reason"]
    assert found.attrs["stimulus_error"] == pytest.approx(expected.attrs["stimulus_error"])
    assert float(metric(square(squared_distances(source[0])), shuffled)) == pytest.approx(float(expected), abs=1e-12)
    distances[3] = distances[:, 3] = np.nan
    undefined = metric(trials_of(source), square(distances))
    assert np.isnan(float(undefined))
    assert undefined.attrs["undefined_stimuli"] == ["s03"]


def test_only_the_correlation_ignores_a_constant_in_all_distances():
    source, target = simulated()
    moved = square(squared_distances(target.mean(0)) + 2 * (1 - np.eye(20)))
    scores = {
        comparison: [
            float(load_metric("rdm_whitened", comparison=comparison)(trials_of(source), other))
            for other in (trials_of(target.mean(0, keepdims=True)), moved)
        ]
        for comparison in COMPARISONS
    }
    assert scores["correlation"][0] == pytest.approx(scores["correlation"][1], abs=1e-12)
    assert scores["cosine"][0] > scores["cosine"][1] + 0.001


@pytest.mark.slow
def test_whitening_identifies_the_true_model_more_often():
    """Compared with the unweighted correlation, it more often prefers the true model to one with different weights."""
    right = {"whitened": 0, "plain": 0}
    for seed in range(150):
        rng = np.random.default_rng(seed)
        factors = rng.normal(size=(20, 4))
        target = factors @ rng.normal(size=(4, 30)) + 6 * rng.normal(size=(4, 20, 30))
        models = [squared_distances(factors), squared_distances(factors * [1.6, 1, 1, 0.6])]
        measured = unbiased_distances(target)
        pairs = np.triu_indices(20, 1)
        whitened = [whitened_similarity(model, measured, centred=True) for model in models]
        plain = [np.corrcoef(model[pairs], measured[pairs])[0, 1] for model in models]
        right["whitened"] += whitened[0] > whitened[1]
        right["plain"] += plain[0] > plain[1]
    assert right["whitened"] > right["plain"]


def test_rejects_different_repeated_or_too_few_stimuli():
    source, target = simulated()
    one, two = trials_of(source), trials_of(target)
    metric = load_metric("rdm_whitened")
    with pytest.raises(AssemblyError, match="'s19'"):
        metric(one.isel(presentation=range(19)), two)
    with pytest.raises(AssemblyError, match="1 further presentation of a stimulus"):
        metric(one, two.isel(presentation=[0, *range(80)]))
    with pytest.raises(AssemblyError, match=r"pairs of stimuli of the target have too few repetitions"):
        metric(one, two.isel(presentation=[i for i in range(80) if i % 20 != 4 or i < 20]))
    with pytest.raises(AssemblyError, match="2 stimuli"):
        metric(trials_of(source[:, :2]), trials_of(target[:, :2]))
    with pytest.raises(ValueError, match="correlation, cosine"):
        load_metric("rdm_whitened", comparison="pearson")
