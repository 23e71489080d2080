"""Compare with what the published system answers to the same arrays; `fixtures/peer_cases.py` is the recipe."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

from brainscore_core.supported_data_standards.brainio.assemblies import BehavioralAssembly, NeuroidAssembly
from brainscore_vision import load_metric

FIXTURES = Path(__file__).parent / "fixtures"


def recipe():
    specification = importlib.util.spec_from_file_location("peer_cases", FIXTURES / "peer_cases.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


CASES = recipe()
ANSWERS = json.loads((FIXTURES / "peer_scores.json").read_text())

# The published ceiling applies 2 r / (1 + r) to halves of unequal size; the published accuracy gives a standard
# deviation as its error. Both are there on request, and wrong as they stand.
COMPAT = {"internal_consistency-5", "accuracy"}


def score_case(name, **kwargs):
    return CASES.run(
        name, lambda metric, **more: load_metric(metric, **more, **kwargs), NeuroidAssembly, BehavioralAssembly
    )


def test_every_case_has_an_answer():
    assert ANSWERS.keys() == CASES.CASES.keys()


@pytest.mark.parametrize("name", CASES.CASES)
def test_agrees(name):
    score = score_case(name, **({"compat": True} if name in COMPAT else {}))
    expected = ANSWERS[name]
    assert float(score) == pytest.approx(expected["score"], abs=1e-10)
    if expected["error"] is not None:
        assert score.attrs["error"] == pytest.approx(expected["error"], abs=1e-10)
    if expected["raw"] is not None:
        raw = np.asarray(score.attrs["raw"].values, dtype=float).ravel()
        np.testing.assert_allclose(raw, np.array(expected["raw"], dtype=float), atol=1e-9)


def test_halves_of_unequal_size_are_stepped_up_exactly_by_default():
    assert float(score_case("internal_consistency-5")) > ANSWERS["internal_consistency-5"]["score"]


def test_error_of_the_accuracy_is_a_standard_error_by_default():
    n = CASES.CASES["accuracy"]["n"]
    assert score_case("accuracy").attrs["error"] == pytest.approx(ANSWERS["accuracy"]["error"] / n**0.5)
