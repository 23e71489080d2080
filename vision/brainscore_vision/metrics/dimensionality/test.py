import numpy as np
import pytest

from brainscore_core.errors import AssemblyError
from brainscore_core.testing.synthetic import assembly_of
from brainscore_vision import load_metric

FACTORS = list("aabbbcca")
# The published system's scores for `pairs()`.
PUBLISHED = {"a": 0.125, "b": 0.295, "c": 0.19, "residual": 0.39}


def assembly(values, factors):
    return assembly_of(values, factor=list(factors))


def pairs():
    i, j = np.meshgrid(np.arange(8), np.arange(5), indexing="ij")
    first, second = np.sin(i * (j + 1.0)), np.cos(i * (j + 0.5))
    return [assembly(np.tile(values, (1, 40)), FACTORS) for values in (first, second)]


@pytest.mark.parametrize("factor", PUBLISHED)
def test_scores_equal_the_published_ones(factor):
    score = load_metric("factor_dimensionality", factor=factor)(*pairs())
    assert float(score) == pytest.approx(PUBLISHED[factor])
    assert score.attrs["shares"] == pytest.approx(PUBLISHED)
    assert sum(score.attrs["dimensions"].values()) == score.attrs["n_neuroids"] == 200
    assert score.attrs["raw"]["factor"].values.tolist() == ["a", "b", "c"]
    assert (score.attrs["n_pairs"], score.attrs["quantity"]) == (8, "share")


def test_shape_units_have_a_high_share_of_shape():
    rng = np.random.default_rng(0)
    shape = rng.normal(size=(400, 50))
    first, second = shape.copy(), shape.copy()
    second[200:] = rng.normal(size=(200, 50))  # pairs that agree in texture only
    given = [assembly(values, ["shape"] * 200 + ["texture"] * 200) for values in (first, second)]
    shares = load_metric("factor_dimensionality", factor="shape")(*given).attrs["shares"]
    assert shares["shape"] > 2 * shares["texture"]


def test_error_for_an_unknown_factor_suggests_the_nearest():
    with pytest.raises(AssemblyError, match="Did you mean 'residual'"):
        load_metric("factor_dimensionality", factor="residul")(*pairs())


def test_rejects_pairs_that_do_not_match():
    first, second = pairs()
    with pytest.raises(AssemblyError, match="same order"):
        load_metric("factor_dimensionality", factor="a")(first, second.isel(presentation=range(7, -1, -1)))
    with pytest.raises(AssemblyError, match="factor"):
        load_metric("factor_dimensionality", factor="a")(first.drop_vars("factor"), second)
    given = assembly(np.eye(3), ["residual", "a", "a"])
    with pytest.raises(AssemblyError, match="rename"):
        load_metric("factor_dimensionality", factor="a")(given, given)


def test_constant_responses_are_undefined():
    given = assembly(np.ones((3, 2)), ["a"] * 3)
    assert np.isnan(float(load_metric("factor_dimensionality", factor="a")(given, given)))
