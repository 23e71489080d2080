import numpy as np
import pytest

from brainscore_core.errors import AssemblyError
from brainscore_core.supported_data_standards.brainio.assemblies import PropertyAssembly
from brainscore_vision import load_metric

BINS = np.linspace(0, 1, 11)


def assembly(values, *, bins=BINS, names=("bandwidth", "circular_variance")):
    columns = np.column_stack([values, 1 - np.asarray(values)])
    result = PropertyAssembly(
        columns,
        coords={
            "neuroid_id": ("neuroid", np.arange(len(columns))),
            "region": ("neuroid", ["V1"] * len(columns)),
            "neuronal_property": list(names),
        },
        dims=["neuroid", "neuronal_property"],
    )
    if bins is not None:
        result.attrs.update({f"{name}_bins": bins for name in names})
    return result


def drawn(seed, n, undefined=0.0):
    rng = np.random.default_rng(seed)
    values = rng.beta(2, 3, size=n)
    values[rng.random(n) < undefined] = np.nan
    return values


def metric(**kwargs):
    return load_metric("ks_similarity", property_name="bandwidth", **kwargs)


def one_by_one(model, data, ns):
    """Draw model units one at a time, as published: an independent oracle, itself with sampling error."""
    rng = np.random.default_rng(99)
    q = np.histogram(np.clip(data[~np.isnan(data)], 0, 1), bins=BINS)[0]
    q = np.cumsum(q / q.sum())
    values = []
    for _ in range(ns):
        sample = rng.choice(model, len(data))
        p = np.histogram(np.clip(sample[~np.isnan(sample)], 0, 1), bins=BINS)[0]
        distance = np.abs(np.cumsum(p / p.sum()) - q).max()
        values.append(1 - distance / max((1 - q).max(), q[:-1].max()))
    return np.mean(values), np.std(values)


@pytest.mark.parametrize("undefined", [0.0, 0.3])
def test_score_agrees_with_single_draws(undefined):
    model, data = drawn(0, 500, undefined) ** 2, drawn(1, 80, undefined)
    score = metric(ns=4000)(assembly(model, bins=None), assembly(data))
    mean, spread = one_by_one(model, data, 4000)
    assert float(score) == pytest.approx(mean, abs=5 * spread / np.sqrt(4000))
    assert score.attrs["error"] == pytest.approx(spread, rel=0.1)


def test_draws_are_seeded_and_attributes_count_neuroids():
    model, data = assembly(drawn(0, 500)), assembly(drawn(1, 80, 0.2))
    one, two, other = (metric(**kwargs)(model, data) for kwargs in ({}, {}, {"seed": 1}))
    np.testing.assert_array_equal(one.attrs["raw"].values, two.attrs["raw"].values)
    assert float(one) != float(other)
    assert float(one) == pytest.approx(float(other), abs=0.01)
    assert one.attrs["raw"].sizes == {"draw": 1000}
    undefined = int(np.isnan(data.values[:, 0]).sum())
    assert (one.attrs["n_neuroids"], one.attrs["n_undefined"], one.attrs["quantity"]) == (80, undefined, "share")
    assert sum(one.attrs["data_histogram"]) == pytest.approx(1)


def test_distant_distributions_score_zero():
    assert float(metric()(assembly(np.full(50, 2.0)), assembly(np.full(30, 0.05)))) == pytest.approx(0)


def test_order_and_changes_within_a_bin_do_not_matter():
    model, data = drawn(0, 200), drawn(1, 80)
    score = metric()(assembly(model), assembly(data))
    moved = (np.floor(model * 10) + 0.5) / 10
    assert float(metric()(assembly(moved[::-1]), assembly(data[::-1]))) == float(score)


@pytest.mark.parametrize("model", [np.full(20, np.nan), np.empty(0)])
def test_a_model_without_the_property_scores_zero(model):
    score = metric()(assembly(model), assembly(drawn(0, 30)))
    assert float(score) == 0
    assert score.attrs["n_undefined_draws"] == 1000


def test_a_custom_similarity_can_be_used():
    score = metric(similarity_func=lambda p, q: 1 - np.abs(p - q).sum() / 2, ns=50)(
        assembly(drawn(0, 50)), assembly(drawn(1, 50))
    )
    assert 0 < float(score) < 1


def test_rejects_unusable_properties_and_bins():
    data = assembly(drawn(0, 30))
    with pytest.raises(AssemblyError, match="Did you mean 'bandwidth'"):
        load_metric("ks_similarity", property_name="bandwith")(data, data)
    with pytest.raises(AssemblyError, match="'bandwidth_bins'"):
        metric()(data, assembly(drawn(0, 30), bins=None))
    with pytest.raises(AssemblyError, match="increasing edges"):
        metric()(data, assembly(drawn(0, 30), bins=[0, 1]))
    with pytest.raises(AssemblyError, match="all 5 recorded"):
        metric()(data, assembly(np.full(5, np.nan)))
    with pytest.raises(TypeError, match="either"):
        load_metric("property_ceiling")


def test_ceiling_accepts_a_metric_or_a_property_name():
    data = assembly(drawn(0, 100))
    by_metric = load_metric("property_ceiling", similarity_metric=metric())(data)
    by_name = load_metric("property_ceiling", property_name="bandwidth")(data)
    assert float(by_metric) == float(by_name)
    assert by_metric.attrs["quantity"] == "share"
    published = load_metric("property_ceiling", similarity_metric=metric(), compat=True)(data)
    assert float(published) == float(metric()(data, data))
    assert float(published) > float(by_metric)


@pytest.mark.slow
@pytest.mark.parametrize("n", [30, 150])
def test_the_true_distribution_normalises_to_one(n):
    """The model's units have exactly the distribution that the neurons were drawn from; the published ceiling is too
    high."""
    similarity = metric(ns=200)
    ratios = {False: [], True: []}
    for seed in range(60):
        data = assembly(drawn(seed, n))
        score = float(similarity(assembly(drawn(10_000 + seed, 5000)), data))
        for compat, found in ratios.items():
            found.append(
                score / float(load_metric("property_ceiling", similarity_metric=similarity, compat=compat)(data))
            )
    assert np.mean(ratios[False]) == pytest.approx(1, abs=3.5 * np.std(ratios[False]) / np.sqrt(60))
    assert np.mean(ratios[True]) < 1 - 3.5 * np.std(ratios[True]) / np.sqrt(60)
