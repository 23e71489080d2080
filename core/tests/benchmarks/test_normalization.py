import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brainscore_core.benchmarks import (
    as_ceiling,
    ceil_score,
    ceiled_ratio,
    explained_variance,
    explained_variance_ratio,
)
from brainscore_core.errors import CeilingError
from brainscore_core.metrics import Score

positive = st.floats(0.01, 1)
correlations = st.floats(-1, 1)


def test_published_example():
    # The tutorial's worked example: .65 squared over .82.
    score = explained_variance(Score(0.65), Score(0.82))
    assert score == pytest.approx(0.515, abs=5e-4)


@given(correlations, positive)
def test_explained_variance_is_the_published_one_where_the_score_is_not_negative(raw, ceiling):
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
def test_attributes(normalize):
    raw = Score(0.4)
    raw.attrs.update(error=Score(0.02), n_stimuli=7, layers={"V1": "conv1"}, interval=(0.3, 0.5), raw=Score([0.3, 0.5]))
    ceiling = Score(0.8)
    score = normalize(raw, ceiling)
    assert score.attrs["raw"] is raw
    assert score.attrs["ceiling"] is ceiling
    assert isinstance(score.attrs["error"], float)
    assert score.attrs["n_stimuli"] == 7
    assert score.attrs["layers"] == {"V1": "conv1"}
    assert "interval" not in score.attrs  # that one was of the raw score
    assert raw.attrs["raw"].size == 2
    assert float(raw) == 0.4


def test_no_error_is_made_up():
    assert "error" not in ceil_score(Score(0.4), Score(0.8)).attrs


@pytest.mark.parametrize("normalize", [ceil_score, explained_variance])
def test_what_is_said_about_the_error_goes_with_it(normalize):
    raw = Score(0.4)
    raw.attrs.update(error=math.nan, error_nan_reason="there is one subject", error_over=["subject"])
    score = normalize(raw, Score(0.8))
    assert math.isnan(score.attrs["error"])
    assert score.attrs["error_nan_reason"] == "there is one subject"
    assert score.attrs["error_over"] == ["subject"]


def test_scores_with_dimensions_are_divided_by_the_ceiling_of_the_same_entry():
    raw = Score([0.4, 0.6], coords={"subject": ["a", "b"]}, dims=["subject"])
    ceiling = Score([0.5, 0.9], coords={"subject": ["b", "a"]}, dims=["subject"])
    ceiled = ceil_score(raw, ceiling.sortby("subject"))
    np.testing.assert_allclose(ceiled.values, [0.4 / 0.9, 0.6 / 0.5])
    np.testing.assert_allclose(explained_variance(raw, Score(0.5)).values, [0.32, 0.72])


def test_plain_numbers_do():
    assert float(ceil_score(0.3, 0.6)) == 0.5
    assert float(explained_variance(0.3, 1)) == pytest.approx(0.09)


@pytest.mark.parametrize("ceiling", [0, -0.1, float("nan"), float("inf"), None, "high", Score(float("nan")), Score(0)])
@pytest.mark.parametrize("normalize", [ceil_score, explained_variance])
def test_unusable_ceiling(normalize, ceiling):
    with pytest.raises(CeilingError, match="expected a"):
        normalize(Score(0.5), ceiling)


def test_unusable_entry_of_a_ceiling_is_counted():
    with pytest.raises(CeilingError, match="2 of 3"):
        ceil_score(Score([0.1, 0.2, 0.3], dims=["x"]), Score([0.5, float("nan"), 0.0], dims=["x"]))


def test_as_ceiling_names_whose_it_is():
    with pytest.raises(CeilingError, match="benchmark 'B'"):
        as_ceiling(None, of="benchmark 'B'")
    ceiling = Score(0.5)
    assert as_ceiling(ceiling) is ceiling
    assert isinstance(as_ceiling(1), Score)


KINDS = ("correlation", "reliability", "share")
LAWFUL = {
    ceil_score: {(kind, kind) for kind in KINDS},
    explained_variance: {("correlation", "reliability")},
}


def declared(value, kind):
    score = Score(value)
    if kind is not None:
        score.attrs["quantity"] = kind
    return score


@pytest.mark.parametrize("normalize", LAWFUL)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ceiling_kind", KINDS)
def test_lawful_and_unlawful_combinations(normalize, kind, ceiling_kind):
    score, ceiling = declared(0.4, kind), declared(0.8, ceiling_kind)
    if (kind, ceiling_kind) in LAWFUL[normalize]:
        assert "quantity" not in normalize(score, ceiling).attrs
        return
    with pytest.raises(CeilingError, match="use ") as error:
        normalize(score, ceiling)
    assert normalize.__name__ in str(error.value)
    # The advice is a function that takes this pair, if there is one.
    for other, lawful in LAWFUL.items():
        if (kind, ceiling_kind) in lawful:
            assert f"use {other.__name__}(" in str(error.value)


@pytest.mark.parametrize("normalize", LAWFUL)
@pytest.mark.parametrize("kind", [None, *KINDS, "something of a plugin"])
def test_nothing_is_refused_unless_both_sides_say_what_they_are(normalize, kind):
    normalize(declared(0.4, kind), declared(0.8, None))
    normalize(declared(0.4, None), declared(0.8, kind))
    normalize(declared(0.4, kind), 0.8)
    normalize(declared(0.4, "unknown"), declared(0.8, kind))
