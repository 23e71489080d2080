import math
from functools import partial
from itertools import product
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brainscore_core.benchmarks import (
    LazyCeiling,
    as_ceiling,
    ceil_score,
    ceiled_ratio,
    explained_variance,
    explained_variance_ratio,
    validate_pair,
)
from brainscore_core.errors import CeilingError, ContractError
from brainscore_core.metrics import Quantity, Score
from brainscore_core.metrics.errors import attach_influence
from brainscore_core.statistics.influence import Influence

positive = st.floats(0.01, 1)
correlations = st.floats(-1, 1)


def test_explained_variance_matches_the_published_example():
    # The tutorial's worked example: .65 squared over .82.
    score = explained_variance(Score(0.65), Score(0.82))
    assert score == pytest.approx(0.515, abs=5e-4)


@given(correlations, positive)
def test_explained_variance_has_the_published_size_and_the_raw_sign(raw, ceiling):
    value = float(explained_variance(Score(raw), Score(ceiling)))
    assert abs(value) == pytest.approx(raw**2 / ceiling)
    assert math.copysign(1, value) == math.copysign(1, raw)


@given(correlations, correlations, positive)
def test_explained_variance_keeps_the_order_of_models(first, second, ceiling):
    low, high = sorted([first, second])
    assert explained_variance_ratio(low, ceiling) <= explained_variance_ratio(high, ceiling)


@given(correlations, positive)
def test_error_is_the_slope_of_the_formula_times_the_raw_error(raw, ceiling):
    for normalize, formula in ((ceil_score, ceiled_ratio), (explained_variance, explained_variance_ratio)):
        score = Score(raw)
        score.attrs["error"] = 0.01
        step = 1e-6
        slope = (formula(raw + step, ceiling) - formula(raw - step, ceiling)) / (2 * step)
        assert normalize(score, Score(ceiling)).attrs["error"] == pytest.approx(0.01 * abs(slope), abs=1e-6)


@pytest.mark.parametrize("normalize", [ceil_score, explained_variance])
def test_normalisation_keeps_the_attributes(normalize):
    raw = Score(0.4)
    raw.attrs.update(error=Score(0.02), n_stimuli=7, layers={"V1": "conv1"}, interval=(0.3, 0.5), raw=Score([0.3, 0.5]))
    ceiling = Score(0.8)
    score = normalize(raw, ceiling)
    assert score.attrs["raw"] is raw
    assert score.attrs["ceiling"] is ceiling
    assert isinstance(score.attrs["error"], float)
    assert score.attrs["n_stimuli"] == 7
    assert score.attrs["layers"] == {"V1": "conv1"}
    ends = np.array([0.3, 0.5])  # the ceiling counts as exact
    expected = ends / 0.8 if normalize is ceil_score else ends**2 / 0.8
    np.testing.assert_allclose(score.attrs["interval"], expected)
    assert raw.attrs["raw"].size == 2
    assert float(raw) == 0.4


def test_split_error_is_scaled_like_the_score():
    raw = Score(0.6)
    raw.attrs["split_error"] = 0.01
    assert explained_variance(raw, 0.8).attrs["split_error"] == pytest.approx(2 * 0.6 / 0.8 * 0.01)
    assert ceil_score(raw, 0.8).attrs["split_error"] == pytest.approx(0.01 / 0.8)
    bins = Score([0.5, 0.6], dims=["time_bin"])
    bins.attrs["split_error"] = Score([0.01, 0.02], dims=["time_bin"])
    np.testing.assert_allclose(ceil_score(bins, 0.5).attrs["split_error"], [0.02, 0.04])


def test_accepts_plain_numbers_and_invents_no_error():
    assert float(ceil_score(0.3, 0.6)) == 0.5
    assert float(explained_variance(0.3, 1)) == pytest.approx(0.09)
    assert "error" not in ceil_score(Score(0.4), Score(0.8)).attrs


@pytest.mark.parametrize("normalize", [ceil_score, explained_variance])
def test_error_keeps_its_reason_and_its_factors(normalize):
    raw = Score(0.4)
    raw.attrs.update(error=math.nan, error_nan_reason="there is one subject", error_over=["subject"])
    score = normalize(raw, Score(0.8))
    assert math.isnan(score.attrs["error"])
    assert score.attrs["error_nan_reason"] == "there is one subject"
    assert score.attrs["error_over"] == ["subject"]


def test_each_entry_is_divided_by_its_own_ceiling():
    raw = Score([0.4, 0.6], coords={"subject": ["a", "b"]}, dims=["subject"])
    ceiling = Score([0.5, 0.9], coords={"subject": ["b", "a"]}, dims=["subject"])
    ceiled = ceil_score(raw, ceiling.sortby("subject"))
    np.testing.assert_allclose(ceiled.values, [0.4 / 0.9, 0.6 / 0.5])
    np.testing.assert_allclose(explained_variance(raw, Score(0.5)).values, [0.32, 0.72])


@pytest.mark.parametrize("ceiling", [0, -0.1, float("nan"), float("inf"), None, "high", Score(float("nan")), Score(0)])
@pytest.mark.parametrize("normalize", [ceil_score, explained_variance])
def test_rejects_an_unusable_ceiling(normalize, ceiling):
    with pytest.raises(CeilingError, match="expected a"):
        normalize(Score(0.5), ceiling)


def test_error_counts_unusable_entries_and_names_the_owner():
    with pytest.raises(CeilingError, match="2 of 3"):
        ceil_score(Score([0.1, 0.2, 0.3], dims=["x"]), Score([0.5, float("nan"), 0.0], dims=["x"]))
    with pytest.raises(CeilingError, match="benchmark 'B'"):
        as_ceiling(None, of="benchmark 'B'")
    ceiling = Score(0.5)
    assert as_ceiling(ceiling) is ceiling
    assert isinstance(as_ceiling(1), Score)


@pytest.mark.parametrize("normalize", [ceil_score, explained_variance])
@pytest.mark.parametrize(
    ("raw", "found"), [(None, "None"), ("good", "the text 'good'"), (Score, "the class Score"), (Score("a"), "a Score")]
)
def test_rejects_raw_scores_that_are_not_numbers(normalize, raw, found):
    with pytest.raises(ContractError, match=f"The raw score is {found}.*expected a Score"):
        normalize(raw, 1)


KINDS = get_args(Quantity)
LAWFUL = {
    ceil_score: {(kind, kind) for kind in KINDS},
    explained_variance: {("correlation", "reliability"), ("dissimilarity_correlation", "dissimilarity_reliability")},
}


def declared(value, kind):
    score = Score(value)
    if kind is not None:
        score.attrs["quantity"] = kind
    return score


@pytest.mark.parametrize("normalize", LAWFUL)
def test_only_lawful_quantities_are_combined(normalize):
    for kind, ceiling_kind in product(KINDS, KINDS):
        score, ceiling = declared(0.4, kind), declared(0.8, ceiling_kind)
        if (kind, ceiling_kind) in LAWFUL[normalize]:
            assert "quantity" not in normalize(score, ceiling).attrs
            continue
        with pytest.raises(CeilingError, match="use ") as error:
            normalize(score, ceiling)
        assert normalize.__name__ in str(error.value)
        # The advice is a function that takes this pair, if there is one.
        for other, lawful in LAWFUL.items():
            if (kind, ceiling_kind) in lawful:
                assert f"use {other.__name__}(" in str(error.value)


@pytest.mark.parametrize("normalize", LAWFUL)
@pytest.mark.parametrize("kind", [None, *KINDS, "something of a plugin"])
def test_nothing_is_rejected_unless_both_sides_declare_a_quantity(normalize, kind):
    normalize(declared(0.4, kind), declared(0.8, None))
    normalize(declared(0.4, None), declared(0.8, kind))
    normalize(declared(0.4, kind), 0.8)
    normalize(declared(0.4, "unknown"), declared(0.8, kind))


class Declared:
    """A metric or a ceiling that declares a quantity."""

    def __init__(self, quantity):
        self.quantity = quantity

    def __call__(self, *_):
        raise AssertionError("nothing is computed")


@pytest.mark.parametrize("normalize", LAWFUL)
@pytest.mark.parametrize(
    "ceiling",
    [
        Declared,
        lambda kind: partial(Declared(kind), 1),
        lambda kind: LazyCeiling(Declared(kind), lambda: 1),
        lambda kind: LazyCeiling(partial(Declared(kind), 1), lambda: 1),
        lambda kind: declared(0.8, kind),
    ],
    ids=["ceiling", "partial", "lazy", "lazy partial", "score"],
)
def test_unlawful_pairs_are_rejected_before_any_computation(normalize, ceiling):
    for kind, ceiling_kind in product(KINDS, KINDS):
        metric = partial(Declared(kind), seed=1)
        if (kind, ceiling_kind) in LAWFUL[normalize]:
            validate_pair(metric, ceiling(ceiling_kind), normalize, of="Benchmark 'B'")
            continue
        with pytest.raises(CeilingError, match=r"^Benchmark 'B' combines .* use "):
            validate_pair(metric, ceiling(ceiling_kind), normalize, of="Benchmark 'B'")


@pytest.mark.parametrize("kind", KINDS)
def test_undeclared_ceiling_counts_as_reliability(kind):
    for ceiling in (lambda: 1, 0.8, LazyCeiling(lambda _: 1, lambda: 1)):
        validate_pair(Declared(kind), ceiling, ceil_score, of="B")
        validate_pair(Declared(None), ceiling, explained_variance, of="B")
        validate_pair(Declared(kind), ceiling, lambda score, _: score, of="B")
        if kind == "correlation":
            validate_pair(Declared(kind), ceiling, explained_variance, of="B")
        else:
            with pytest.raises(CeilingError):
                validate_pair(Declared(kind), ceiling, explained_variance, of="B")


def test_lazy_ceiling_loads_when_called():
    loaded = []
    ceiling = LazyCeiling(lambda measurement: Score(measurement), lambda: loaded.append(1) or 0.5)
    assert (loaded, ceiling.quantity) == ([], None)
    assert float(ceiling()) == 0.5
    assert loaded == [1]


def test_chance_is_subtracted_from_score_and_ceiling():
    raw = declared(0.7, "accuracy")
    raw.attrs.update(error=0.02, interval=(0.6, 0.8))
    score = ceil_score(raw, declared(0.9, "accuracy"), chance=0.5)
    assert float(score) == pytest.approx(0.5)
    assert score.attrs["error"] == pytest.approx(0.02 / 0.4)
    assert score.attrs["interval"] == pytest.approx((0.1 / 0.4, 0.3 / 0.4))
    assert score.attrs["chance"] == 0.5
    assert float(ceil_score(declared(0.5, "accuracy"), 1, chance=0.5)) == 0
    assert float(ceil_score(Score([0.5, 0.25], dims=["n"]), 1, chance=0.25)[0]) == pytest.approx(1 / 3)
    assert "chance" not in ceil_score(raw, 0.9).attrs


def test_influence_with_chance_covers_score_and_ceiling():
    """The influence equals the derivative of (raw - chance) / (ceiling - chance), written out."""
    raw, ceiling = declared(0.7, "accuracy"), declared(0.9, "accuracy")
    rng = np.random.default_rng(0)
    tables = [rng.normal(scale=0.1, size=(30, 20)) for _ in range(2)]
    for score, table in zip((raw, ceiling), tables, strict=True):
        attach_influence(score, Influence.of_mean(table, np.arange(30), np.arange(20)))
    together = ceil_score(raw, ceiling, chance=0.5).attrs["influence"].cells
    cells = [each.attrs["influence"].cells for each in (raw, ceiling)]
    np.testing.assert_allclose(together, cells[0] / 0.4 - 0.2 / 0.4**2 * cells[1], atol=1e-15)


def test_rejects_an_impossible_chance():
    with pytest.raises(ValueError, match="divide by 100"):
        ceil_score(Score(0.5), 1, chance=50)
    with pytest.raises(ValueError, match="a kappa, which is 0 at chance"):
        ceil_score(declared(0.5, "kappa"), 1, chance=0.5)
    with pytest.raises(CeilingError, match=r"0\.4 is not above chance, 0\.5"):
        ceil_score(Score(0.5), 0.4, chance=0.5)
