"""Test scoring of a pair with small plugins that are registered at run time."""

import numpy as np
import pytest

from brainscore_core.benchmarks import BenchmarkBase
from brainscore_core.errors import UnknownIdentifierError
from brainscore_core.metrics import Score
from brainscore_core.scoring.records import ScoreRecord
from brainscore_vision import _run_score, benchmark_registry, model_registry, score
from brainscore_vision.scoring import format_record, score_and_record


class HalfBenchmark(BenchmarkBase):
    """Give every model the score .5."""

    def __init__(self):
        super().__init__(identifier="Half-test", version=3, ceiling_func=lambda: Score(0.8), parent="IT", bibtex="")

    def __call__(self, candidate):
        result = Score(0.5)
        result.attrs.update(raw=Score(0.4), ceiling=self.ceiling, error=0.01, n_stimuli=7, layers={"IT": "last"})
        return result


class SomeModel:
    """Be a model that nothing is asked of."""

    identifier = "some"


@pytest.fixture(autouse=True)
def pair(monkeypatch):
    monkeypatch.setitem(benchmark_registry, "Half-test", HalfBenchmark)
    monkeypatch.setitem(model_registry, "some", SomeModel)


def test_score_returns_the_value_names_the_pair_and_writes_the_record():
    result = score("some", "Half-test")
    assert float(result) == 0.5
    assert result.attrs["model_identifier"] == "some"
    assert result.attrs["benchmark_identifier"] == "Half-test"
    record = ScoreRecord.read(result.attrs["record_path"])
    assert (record.score, record.raw, record.ceiling, record.error) == (0.5, 0.4, 0.8, 0.01)
    assert record.benchmark_version == 3


def test_score_accepts_the_keywords_of_the_published_system():
    assert float(score(model_identifier="some", benchmark_identifier="Half-test", conda_active=True)) == 0.5


def test_score_reports_on_standard_error_only(capsys):
    score("some", "Half-test")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "0.5000 ± 0.0100" in captured.err
    score("some", "Half-test", report=False)
    assert capsys.readouterr().err == ""


def test_run_score_keeps_no_record(own_homes):
    assert float(_run_score("some", "Half-test")) == 0.5
    assert not (own_homes / "brain-score" / "scores").exists()


def test_unknown_benchmark_is_found_before_the_model_is_loaded(monkeypatch):
    monkeypatch.setitem(model_registry, "some", lambda: pytest.fail("the model was loaded"))
    with pytest.raises(UnknownIdentifierError, match="Half-tset"):
        score("some", "Half-tset")


def test_summary_says_everything(tmp_path):
    _, record, path = score_and_record("some", "Half-test", tmp_path / "here.json")
    text = format_record(record, path)
    for part in (
        "some on Half-test",
        "0.5000",
        "0.4000",
        "0.8000",
        "7 stimuli",
        "IT: last",
        "version 3",
        np.__version__,
    ):
        assert part in text
    assert str(tmp_path / "here.json") in text
    assert "SIMULATED" not in text


def test_model_that_cannot_be_scored_has_no_number(monkeypatch, tmp_path):
    monkeypatch.setattr(HalfBenchmark, "__call__", lambda self, candidate: Score(np.nan))
    result, record, path = score_and_record("some", "Half-test", tmp_path / "here.json")
    assert np.isnan(float(result))
    assert record.score is None
    assert "score     not available" in format_record(record, path)
