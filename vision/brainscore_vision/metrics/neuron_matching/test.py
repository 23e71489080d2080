import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from sklearn.model_selection import StratifiedShuffleSplit

from brainscore_core.testing.synthetic import make_neuroid_assembly
from brainscore_vision import load_metric
from brainscore_vision.metric_helpers.regression.sides import StreamedFeatures

BOTH = ["one_to_one", "soft_matching"]


@pytest.fixture(scope="module")
def sides():
    return make_neuroid_assembly(60, 20, seed=1), make_neuroid_assembly(60, 8, noise=0.5, seed=1)


def by_identifier(assembly):
    return assembly.isel(presentation=np.argsort(assembly["stimulus_id"].values)).transpose("presentation", "neuroid")


def splits(assembly):
    return StratifiedShuffleSplit(10, train_size=0.9, random_state=1).split(
        assembly.values, assembly["object_name"].values
    )


def test_one_to_one_equals_scipy_for_each_split(sides):
    source, target = map(by_identifier, sides)
    x, y = source.values, target.values
    raw = []
    for train, test in splits(target):
        _, partner = linear_sum_assignment(-np.corrcoef(x[train].T, y[train].T)[20:, :20])
        raw.append([np.corrcoef(x[test, i], y[test, j])[0, 1] for j, i in enumerate(partner)])
    score = load_metric("one_to_one")(source, target)
    np.testing.assert_allclose(np.sort(score.attrs["raw"].values), np.sort(raw), atol=1e-10)
    assert float(score) == pytest.approx(np.median(raw, axis=1).mean())


@pytest.mark.parametrize("identifier", BOTH)
def test_a_permutation_of_the_recording_scores_one(identifier, sides):
    _, target = sides
    other = target.isel(neuroid=np.random.default_rng(0).permutation(8))
    assert float(load_metric(identifier)(3 * other + 1, target)) == pytest.approx(1)


@pytest.mark.parametrize("identifier", BOTH)
def test_rotated_responses_score_below_one(identifier):
    target = make_neuroid_assembly(200, 12, noise=0.1, seed=1)
    rotation, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(12, 12)))
    rotated = target.copy(data=target.values @ rotation)
    assert float(load_metric(identifier)(rotated, target)) < 0.9
    assert float(load_metric("ridge")(rotated, target)) > 0.99


def test_one_shared_unit_suffices_only_for_neuron_to_neuron():
    rng = np.random.default_rng(0)
    target = make_neuroid_assembly(200, 10, seed=1)
    shared = rng.normal(size=(200, 1))
    target = target.copy(data=shared + 0.3 * rng.normal(size=(200, 10)))
    source = make_neuroid_assembly(200, 10, seed=1)
    source = source.copy(data=np.concatenate([shared, rng.normal(size=(200, 9))], axis=1))
    scores = {name: float(load_metric(name)(source, target)) for name in ("neuron_to_neuron", *BOTH)}
    assert scores["neuron_to_neuron"] > 0.9
    assert abs(scores["one_to_one"]) < 0.15
    assert abs(scores["soft_matching"]) < 0.2


def test_additional_units_lower_only_soft_matching(sides):
    _, target = sides
    noise = np.random.default_rng(0).normal(size=(60, 24))
    source = make_neuroid_assembly(60, 32, seed=1)
    source = source.copy(data=np.concatenate([target.values, noise], axis=1))
    assert float(load_metric("one_to_one")(source, target)) > 0.99
    assert 0.1 < float(load_metric("soft_matching")(source, target)) < 0.6


def test_only_soft_matching_allows_more_neuroids_than_units():
    source, target = make_neuroid_assembly(60, 5, seed=1), make_neuroid_assembly(60, 8, seed=1)
    with pytest.raises(ValueError, match="soft_matching"):
        load_metric("one_to_one")(source, target)
    one, other = load_metric("soft_matching")(source, target), load_metric("soft_matching")(target, source)
    assert float(one) == pytest.approx(float(other), abs=1e-9)


@pytest.mark.parametrize("identifier", BOTH)
def test_accepts_streams_and_cross_validation_arguments(identifier, sides):
    source, target = map(by_identifier, sides)
    metric = load_metric(identifier, crossvalidation_kwargs={"splits": 3, "stratification_coord": None})
    score = metric(StreamedFeatures(source["stimulus_id"].values, source.values), target)
    assert float(score) == pytest.approx(float(metric(source, target)), abs=1e-10)
    assert score.attrs["raw"].sizes == {"split": 3, "neuroid": 8}
    assert score.attrs["stratified_by"] is None


@pytest.mark.parametrize("identifier", BOTH)
def test_constant_models_have_no_score(identifier, sides):
    source, target = sides
    assert np.isnan(float(load_metric(identifier)(source.copy(data=np.full(source.shape, 0.3)), target)))


def test_error_is_over_stimuli_and_neuroids(sides):
    score = load_metric("soft_matching")(*sides)
    assert score.attrs["error_over"] == ["stimulus", "neuroid"]
    assert score.attrs["influence"].cells.shape == (60, 8)
    assert score.attrs["interval"][0] < float(score) < score.attrs["interval"][1]
    assert score.attrs["split_error"] != score.attrs["error"]
    few = load_metric("soft_matching")(*(side.isel(presentation=slice(15)) for side in sides))
    assert np.isnan(few.attrs["error"])
    assert few.attrs["error_nan_reason"]
