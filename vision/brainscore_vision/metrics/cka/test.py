import numpy as np
import pytest
from sklearn.model_selection import ShuffleSplit

from brainscore_core.errors import AssemblyError
from brainscore_core.testing.synthetic import assembly_of
from brainscore_vision import load_metric
from brainscore_vision.metric_helpers.arrays.geometry.cka import cka

# The published system's scores for `published_pair`.
PUBLISHED = {"cka": -0.09236439592410484, "cka_biased": 0.4186299411806685, "small": -9.396556830431387e-06}


def published_pair():
    i, j = np.meshgrid(np.arange(12), np.arange(5), indexing="ij")
    return np.sin(i * (j + 1.0)), np.cos(i * (j + 0.5)) + 0.1 * i


def assembly(values, ids=None):
    ids = [f"s{i:03d}" for i in range(len(values))] if ids is None else ids
    return assembly_of(values, stimulus_id=ids, object_name=[f"o{i % 3}" for i in range(len(values))])


@pytest.fixture
def pair():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30, 6))
    return x, x @ rng.normal(size=(6, 40)) + 2 * rng.normal(size=(30, 40))


@pytest.mark.parametrize(("name", "unbiased"), [("cka", True), ("cka_biased", False)])
def test_score_equals_the_kernel_in_any_order(pair, name, unbiased):
    x, y = pair
    order = np.random.default_rng(1).permutation(30)
    score = load_metric(name)(assembly(x).isel(presentation=order), assembly(y).transpose("neuroid", "presentation"))
    assert float(score) == pytest.approx(cka(x, y, unbiased=unbiased), abs=1e-12)
    attrs = dict(score.attrs)
    assert 0 < attrs.pop("stimulus_error") <= attrs.pop("error") < 0.2
    low, high = attrs.pop("interval")
    assert low < float(score) < high
    assert attrs.pop("influence").units.tolist() == assembly(y)["neuroid_id"].values.tolist()
    expected = {"n_stimuli": 30, "n_neuroids": 40, "quantity": "share", "error_over": ["stimulus", "neuroid"]}
    expected["interval_scale"] = "fisher"
    assert attrs == expected


def test_score_does_not_depend_on_scale_unless_compat():
    x, y = published_pair()
    small = load_metric("cka", compat=True)(assembly(x * 1e-4), assembly(y * 1e-4))
    assert float(small) == pytest.approx(PUBLISHED["small"], rel=1e-6)
    right = load_metric("cka")(assembly(x * 1e-4), assembly(y * 1e-4))
    assert float(right) == pytest.approx(PUBLISHED["cka"], abs=1e-9)


def test_compat_gives_zero_instead_of_nan(pair):
    flat = assembly(np.ones((30, 2)))
    assert np.isnan(float(load_metric("cka")(flat, assembly(pair[1]))))
    assert float(load_metric("cka", compat=True)(flat, assembly(pair[1]))) == 0


def test_cross_validated_score_averages_test_parts(pair):
    x, y = pair
    order = np.random.default_rng(1).permutation(30)
    kwargs = {"stratification_coord": None}
    score = load_metric("cka_cv", crossvalidation_kwargs=kwargs)(assembly(x).isel(presentation=order), assembly(y))
    parts = [test for _, test in ShuffleSplit(10, test_size=0.9, random_state=1).split(x)]
    expected = [cka(x[part], y[part]) for part in parts]
    np.testing.assert_allclose(score.attrs["raw"].values, expected, atol=1e-10)
    assert score.attrs["raw"].dims == ("split",)
    assert float(score) == pytest.approx(np.mean(expected))
    assert score.attrs["split_error"] == pytest.approx(np.std(expected, ddof=1) / np.sqrt(10))
    whole = load_metric("cka")(assembly(x), assembly(y))
    assert score.attrs["error"] == pytest.approx(whole.attrs["error"])
    low, high = score.attrs["interval"]
    assert low < float(score) < high
    assert score.attrs["quantity"] == "share"


def test_a_single_neuroid_has_only_an_error_over_stimuli(pair):
    score = load_metric("cka")(assembly(pair[0]), assembly(pair[1][:, :1]))
    assert np.isnan(score.attrs["error"])
    assert "single neuroid" in score.attrs["error_nan_reason"]
    assert score.attrs["stimulus_error"] > 0


def test_biased_cross_validated_score_is_higher(pair):
    x, y = (assembly(values) for values in pair)
    assert float(load_metric("cka_cv", unbiased=False)(x, y)) > float(load_metric("cka_cv")(x, y))


@pytest.mark.parametrize("n", [1, 2, 3])
def test_unbiased_score_needs_four_stimuli(n):
    values = assembly(np.random.default_rng(0).normal(size=(n, 3)))
    with pytest.raises(AssemblyError, match="at least 4 stimuli"):
        load_metric("cka")(values, values)
    if n > 1:
        assert float(load_metric("cka_biased")(values, values)) == pytest.approx(1)
