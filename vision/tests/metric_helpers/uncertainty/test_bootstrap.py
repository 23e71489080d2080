import numpy as np
import pytest

from brainscore_core.metrics import Score
from brainscore_vision.metric_helpers.uncertainty.errors import declare_no_error
from brainscore_vision.metric_helpers.uncertainty.intervals import attach_error, bootstrap_error

PUBLISHED = (
    0.003665310115296775,
    0.26813127332069653,
    0.42872732893117943,
)  # the published system's results for these values


@pytest.fixture
def values():
    numbers = np.round(np.sin(np.arange(24.0)).reshape(4, 6), 3)
    return Score(numbers, coords={"subject": list("abcd"), "stimulus": range(6)}, dims=["subject", "stimulus"])


def test_errors_equal_the_published_numbers(values):
    def median(drawn):
        return float(np.median(drawn.values))

    assert bootstrap_error(values, ["subject"]) == pytest.approx(PUBLISHED[0], rel=1e-12)
    assert bootstrap_error(values, ["subject", "stimulus"]) == pytest.approx(PUBLISHED[1], rel=1e-12)
    found = bootstrap_error(values, ["stimulus", "subject"], aggregate=median, n_bootstrap=300, seed=4)
    assert found == pytest.approx(PUBLISHED[2], rel=1e-12)


def test_error_of_a_mean_equals_the_textbook_formula():
    numbers = Score(np.random.default_rng(0).normal(size=400), dims=["x"])
    assert bootstrap_error(numbers, ["x"]) == pytest.approx(float(numbers.std()) / 20, rel=0.1)


def test_nan_is_ignored_and_no_values_give_nan():
    assert np.isfinite(bootstrap_error(Score([1.0, np.nan, 3.0], dims=["x"]), ["x"]))
    assert np.isnan(bootstrap_error(Score([np.nan, np.nan], dims=["x"]), ["x"]))


@pytest.mark.parametrize("over", [["split"], []])
def test_rejects_unknown_or_no_dimensions(values, over):
    with pytest.raises(ValueError, match="subject"):
        bootstrap_error(values, over)


def test_attach_error_keeps_an_existing_raw_score(values):
    score = Score(float(values.mean()))
    assert attach_error(score, values, over=["subject"], n_bootstrap=50) is score
    assert score.attrs["error_over"] == ["subject"]
    assert score.attrs["n_bootstrap"] == 50
    assert score.attrs["raw"] is values
    kept = Score(0.5)
    kept.attrs["raw"] = Score(0.4)
    assert float(attach_error(kept, values, over=["subject"], n_bootstrap=5).attrs["raw"]) == 0.4


def test_declare_no_error_needs_a_reason():
    score = declare_no_error(Score(0.5), reason="one subject")
    assert np.isnan(score.attrs["error"])
    assert score.attrs["error_nan_reason"] == "one subject"
    with pytest.raises(ValueError, match="reason"):
        declare_no_error(Score(0.5), reason="")
