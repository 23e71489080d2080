import numpy as np
import pytest
import xarray as xr

from brainscore_core.errors import ContractError
from brainscore_core.metrics import Score, described, single_score


@pytest.mark.parametrize(
    ("returned", "found", "remedy"),
    [
        (0.5, "a float, 0.5", "Return Score(value)"),
        (None, "None", "Does it end with return?"),
        ("good", "the text 'good'", "Return Score(value)"),
        ((Score(0.5), Score(1)), "a tuple", "Return Score(value)"),
        (Score, "the class Score", "Return Score(value)"),
        (np.array([0.1, 0.2]), "an ndarray of shape (2,) and type float64", "Return Score(value)"),
        (
            Score([0.1, 0.2, 0.3], dims=["split"]),
            "a Score of sizes {'split': 3}",
            "over 'split', for example with mean()",
        ),
        (Score("good"), "a Score, 'good'", "Return the number itself"),
        (Score(np.inf), "a Score, inf", "division by 0"),
        (Score(-np.inf), "a Score, -inf", "division by 0"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_error_describes_a_value_that_is_not_one_score(returned, found, remedy):
    with pytest.raises(ContractError) as caught:
        single_score(returned, by="metric 'mine'")
    message = str(caught.value)
    assert message.startswith(f"The metric 'mine' returned {found}; expected a")
    assert remedy in message


def test_error_can_be_caught_as_type_or_value_error():
    for error in (TypeError, ValueError):
        with pytest.raises(error):
            single_score(None, by="metric")


@pytest.mark.parametrize("value", [0.5, -0.2, 1, True, np.nan])
def test_single_score_is_returned_unchanged(value):
    score = Score(value)
    assert single_score(score, by="metric") is score


def test_data_array_becomes_a_score_with_its_attributes():
    score = single_score(xr.DataArray(0.5, attrs={"raw": 1}), by="metric")
    assert type(score) is Score
    assert (float(score), score.attrs) == (0.5, {"raw": 1})


def test_long_texts_are_shortened():
    assert len(described("x" * 1000)) < 80
