"""Representations of scores, assemblies and benchmarks, at the prompt and in failing assertions."""

import re

import numpy as np
import pytest

from brainscore_core.benchmarks import BenchmarkBase
from brainscore_core.metrics import Score
from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly

pytest_plugins = ["pytester"]


@pytest.fixture
def score():
    made = Score(0.53212345)
    made.attrs.update(raw=Score([0.4, 0.5], dims=["split"]), ceiling=Score(0.8), error=0.0123)
    return made


def test_score_is_shown_with_error_and_ceiling(score):
    assert repr(score) == "<Score 0.53212345 ± 0.012 (ceiling 0.8)>"
    assert repr(score.raw) == "<Score (split: 2) float64 [0.4, 0.5]>"
    assert repr(Score(np.nan)) == "<Score nan>"
    assert repr(score > 0) == "<Score () bool True>"


def test_print_shows_the_attributes_of_a_score(score):
    assert "Attributes:" in str(score)
    assert "error" in str(score)


def test_assembly_is_shown_in_one_line():
    values = np.arange(12.0).reshape(3, 4)
    coords = {
        "stimulus_id": ("presentation", ["a", "b", "c"]),
        "object_name": ("presentation", ["x", "y", "z"]),
        "neuroid_id": ("neuroid", range(4)),
        "sampling_rate": 500,
    }
    assembly = NeuroidAssembly(
        values, dims=["presentation", "neuroid"], coords=coords, attrs={"identifier": "Mine2026"}
    )
    assert repr(assembly) == (
        "<NeuroidAssembly 'Mine2026' (presentation: 3, neuroid: 4) float64; sampling_rate; "
        "presentation: stimulus_id, object_name; neuroid: neuroid_id>"
    )
    assert "MultiIndex" in str(assembly)


def test_benchmark_is_shown_without_computing_its_ceiling():
    benchmark = BenchmarkBase("Mine2026.IT-pls", ceiling_func=pytest.fail, version=2, parent="IT")
    assert repr(benchmark) == str(benchmark) == "<BenchmarkBase 'Mine2026.IT-pls', version 2, parent 'IT'>"
    assert repr(object.__new__(BenchmarkBase)) == "<BenchmarkBase, without identifier or version>"


def test_failing_pinned_score_shows_both_numbers(pytester):
    pytester.makepyfile("""
        import pytest
        from brainscore_core.metrics import Score

        def test_pinned():
            score = Score(0.53212345)
            score.attrs.update(raw=Score([0.1] * 50, dims=["split"]), error=0.01, ceiling=Score(0.8))
            assert score == pytest.approx(0.5, abs=0.001)
    """)
    said = pytester.runpytest_inprocess("-p", "no:cacheprovider").stdout.str()
    assert "assert <Score 0.5321" in said
    assert "Obtained: <Score 0.53212345 ± 0.01 (ceiling 0.8)>" in said
    assert re.search(r"Expected: 0\.5 ± (0\.001|1\.0e-03)", said)  # as newer and as older releases of pytest write it
