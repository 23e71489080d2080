"""Compare with the published system's answers for the same arrays; `fixtures/peer_cases.py` says how to get them."""

import json
import re
import runpy
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import pearsonr
from sklearn.linear_model import Ridge

from brainscore_core.supported_data_standards.brainio import assemblies
from brainscore_vision import load_metric
from brainscore_vision.metric_helpers.transformations import CrossValidation

FIXTURES = Path(__file__).parent / "fixtures"
RELATIVE = 1e-8  # tolerance of scores, errors and raw values


CASES = SimpleNamespace(**runpy.run_path(str(FIXTURES / "peer_cases.py")))
ANSWERS = json.loads((FIXTURES / "peer_scores.json").read_text())
PAGE = Path(__file__).parents[3] / "docs" / "explanation" / "published_differences.md"
FAILS_THERE = sorted(name for name, answer in ANSWERS.items() if "raises" in answer)
# There a stimulus is both trained and tested on, so the answer estimates nothing and `compat` does not reproduce it.
LEAKS = "ridge-repeated"
ANSWERED = sorted(ANSWERS.keys() - {LEAKS, *FAILS_THERE})

# Metrics that reproduce the published answer only on request; `docs/explanation/published_differences` gives the
# reasons. Without `compat`, at least one number of these cases differs.
COMPAT_METRICS = {
    *("accuracy", "accuracy_distance", "error_consistency", "kato_accuracy_distance", "kato_error_consistency"),
    *("baker_accuracy_delta", "i1", "i2n", "threshold", "threshold_elevation"),
    *("property_ceiling", "rsa_ceiling"),
}
SAME_ANYWAY = {"baker_accuracy_delta-ceiling"}
COMPAT = {name for name in ANSWERED if CASES.CASES[name]["metric"] in COMPAT_METRICS} - SAME_ANYWAY
COMPAT |= {"internal_consistency-5", "predictor_consistency-5", "predictor_consistency-missing"}
# The error of a mean over splits divides by n - 1 here and by n there, so it is larger here. (The splits of i1 and i2n
# are halves of the trials, and their error is not a standard error.)
OVER_SPLITS = {
    name
    for name in ANSWERED
    if ANSWERS[name]["error"] is not None
    and "split" in (ANSWERS[name].get("raw_dims") or ())
    and CASES.CASES[name]["metric"] not in {"i1", "i2n"}
}
# The published system splits positions, we split sorted stimuli: the splits are equal if rows are sorted.
BY_POSITION = {name for name in OVER_SPLITS if not re.search("consistency|^ost", CASES.CASES[name]["metric"])}
UNSORTED = {name for name in BY_POSITION if CASES.CASES[name].get("shuffle")} - {"reverse_pls-shuffled"}
REFUSED_HERE_TOO = {"pls-fewer-features-than-components"}


def score_case(name, **kwargs):
    return CASES.run(name, load_metric, assemblies, **kwargs)


def numbers(score, like):
    """Return the raw values of a score in the other system's order of dimensions."""
    raw = score.attrs["raw"]
    if like["raw_dims"] is not None and set(getattr(raw, "dims", ())) == set(like["raw_dims"]):
        raw = raw.transpose(*like["raw_dims"])
    return np.asarray(getattr(raw, "values", raw), dtype=float)


def expected_error(name):
    """Return the published error, with n - 1 instead of n if it is the error of a mean over splits."""
    answer = ANSWERS[name]
    error = np.array(answer["error"], dtype=float)
    if name not in OVER_SPLITS:
        return error
    n = answer["raw_shape"][answer["raw_dims"].index("split")]
    return error * np.sqrt(n / (n - 1))


def disagreements(name, score):
    """List the differences between a score and the published system's answer for the same case."""
    expected, case = ANSWERS[name], CASES.CASES[name]
    tolerance, relative = case.get("tolerance", 0.0), case.get("relative", RELATIVE)
    close = {"rtol": relative, "atol": max(tolerance, 1e-10), "equal_nan": True}
    found = []
    if not np.allclose(np.asarray(score, dtype=float), np.array(expected["score"], dtype=float), **close):
        found.append(f"score {np.asarray(score)}, published {expected['score']}")
    if expected["error"] is not None:
        stated = score.attrs.get("error", "missing")
        error = np.asarray(score.attrs.get("split_error", stated) if name in OVER_SPLITS else stated)
        if error.dtype.kind == "U" or not np.allclose(error, expected_error(name), **close):
            found.append(f"error {error}, published {expected['error']}, expected {expected_error(name)}")
    if "raw_shape" in expected and not tolerance:
        raw = numbers(score, expected)
        if list(raw.shape) != expected["raw_shape"]:
            found.append(f"raw has shape {raw.shape}, published {expected['raw_shape']}")
        elif expected["raw"] is None:
            if not np.allclose(CASES.digest(raw), expected["raw_digest"], rtol=10 * relative, atol=1e-7):
                found.append(f"digest of raw {CASES.digest(raw)}, published {expected['raw_digest']}")
        elif not np.allclose(
            raw.ravel(), np.array(expected["raw"], dtype=float), rtol=10 * relative, atol=1e-8, equal_nan=True
        ):
            found.append(f"raw {raw.ravel()}, published {expected['raw']}")
    return found


def test_every_case_has_an_answer():
    assert ANSWERS.keys() == CASES.CASES.keys()
    assert len(ANSWERED) > 60


@pytest.mark.parametrize("name", ANSWERED)
def test_scores_agree_with_the_published_system(name):
    score = score_case(name, **({"compat": True} if name in COMPAT | BY_POSITION else {}))
    assert disagreements(name, score) == []


@pytest.mark.parametrize("name", sorted(COMPAT | UNSORTED))
def test_the_default_differs_if_the_published_number_is_wrong(name):
    assert disagreements(name, score_case(name)) != []


def test_repeated_stimuli_are_not_in_both_training_and_test():
    source, target = (CASES.makers().assemble(table, assemblies) for table in CASES.build(LEAKS))
    fitted = Ridge().fit(source.values, target.values)
    features, responses = CASES.build(LEAKS, maker="never_shown")
    predicted = fitted.predict(features)
    truth = np.median([pearsonr(*pair).statistic for pair in zip(predicted.T, responses.T, strict=True)])
    score, published = float(score_case(LEAKS)), ANSWERS[LEAKS]["score"]
    assert score == pytest.approx(truth, abs=0.05)
    assert published > truth + 0.3
    assert f"{number(truth)} the correlation for stimuli that were never shown" in PAGE.read_text()
    assert f"`ridge-repeated`: {number(score)} / {number(published)}" in PAGE.read_text()
    for train, test in CrossValidation().plan(target).presentations(target):
        assert not set(target["stimulus_id"].values[train]) & set(target["stimulus_id"].values[test])


def number(value, digits=2):
    return f"{value:.{digits}f}".removeprefix("0")


def test_the_page_shows_how_row_order_affects_published_splits():
    score, published = (number(value, 3) for value in (float(score_case("pls-wide")), ANSWERS["pls-wide"]["score"]))
    assert f"`pls-wide`: {score} / {published}" in PAGE.read_text()


def test_compat_splits_suffice_for_the_published_score():
    kwargs = {"crossvalidation_kwargs": {"compat": True}}
    assert disagreements("pls-wide", score_case("pls-wide", **kwargs)) == []


@pytest.mark.parametrize("name", FAILS_THERE)
def test_scores_are_finite_where_the_published_system_fails(name):
    if name in REFUSED_HERE_TOO:
        with pytest.raises(ValueError, match="10 features"):
            score_case(name)
        return
    assert np.isfinite(np.asarray(score_case(name), dtype=float)).all()


@pytest.mark.parametrize("name", sorted({CASES.CASES[name]["metric"] for name in COMPAT | OVER_SPLITS}))
def test_the_page_lists_every_metric_that_differs(name):
    assert f"`{name}`" in PAGE.read_text()
