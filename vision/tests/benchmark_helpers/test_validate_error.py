import warnings

import pytest

from brainscore_core.metrics import Score
from brainscore_vision.benchmark_helpers.validate_error import assert_valid_uncertainty, validate_score_uncertainty


def score(**attrs):
    result = Score(0.5)
    result.attrs.update(attrs)
    return result


def test_valid_uncertainties_pass_without_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_valid_uncertainty(score(error=0.1, error_over=["subject"], raw=Score([0.4, 0.6])))
        assert_valid_uncertainty(score(error=float("nan"), error_nan_reason="one subject"), require_raw=False)


@pytest.mark.parametrize(
    ("attrs", "match"),
    [
        ({}, "no attribute 'error'"),
        ({"error": "large"}, "expected a number"),
        ({"error": float("nan")}, "is NaN"),
        ({"error": -0.1}, "finite number from 0"),
        ({"error": float("inf")}, "finite number from 0"),
        ({"error": 0.1, "error_over": ["x"], "raw": None}, ""),
    ],
)
def test_each_problem_is_reported(attrs, match):
    if not match:
        assert validate_score_uncertainty(score(**attrs)).ok
        return
    with pytest.raises(AssertionError, match=match):
        assert_valid_uncertainty(score(raw=Score(0.5), **attrs))


def test_all_problems_are_reported_at_once():
    result = validate_score_uncertainty(score(error=-1.0))
    assert len(result.problems) == 2
    assert not result.ok
    reasoned = score(error=float("nan"), error_nan_reason="one", raw=Score(0.5))
    assert not validate_score_uncertainty(reasoned, allow_nan_with_reason=False).ok


def test_doubtful_uncertainties_warn():
    with pytest.warns(UserWarning, match="one scale"):
        assert_valid_uncertainty(score(error=3.0, error_over=["subject"], raw=Score(0.5)))
    with pytest.warns(UserWarning, match="error_over"):
        assert_valid_uncertainty(score(error=0.1, raw=Score(0.5)))
