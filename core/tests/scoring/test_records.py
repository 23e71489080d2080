"""Test that a score's record holds plain numbers, survives the disk and refuses what is no record."""

import dataclasses
import json
import string
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brainscore_core.errors import CorruptFileError
from brainscore_core.metrics import Score
from brainscore_core.scoring.records import SCHEMA_VERSION, ScoreRecord, record_path


def make_score():
    score = Score(0.5)
    score.attrs.update(
        raw=Score(0.6),
        ceiling=Score(0.72),
        error=np.float32(0.25),
        interval=(0.4, 0.6),
        n_stimuli=np.int64(40),
        n_neuroids=30,
        layers={"IT": "_blocks.15"},
        simulated=True,
        seed=1,
    )
    return score


def make_record(**changes):
    record = ScoreRecord.of_score(make_score(), model="m", benchmark="b", benchmark_version=2, duration_s=1.5)
    return dataclasses.replace(record, **changes)


def test_record_takes_plain_numbers_from_the_score():
    record = make_record()
    assert (record.score, record.raw, record.ceiling, record.error) == (0.5, 0.6, 0.72, 0.25)
    assert (record.n_stimuli, record.n_neuroids, record.n_trials) == (40, 30, None)
    assert record.interval == (0.4, 0.6)
    assert record.layers == {"IT": "_blocks.15"}
    assert record.simulated is True
    assert record.benchmark_version == 2
    assert record.versions["numpy"] == np.__version__


def test_nan_and_arrays_become_none():
    score = Score(np.nan)
    score.attrs["raw"] = Score(np.arange(3.0), dims=["neuroid"])
    record = ScoreRecord.of_score(score, model="m", benchmark="b", benchmark_version="1.2")
    assert (record.score, record.raw, record.ceiling, record.benchmark_version) == (None, None, None, None)
    assert json.loads(record.to_json())["score"] is None


def test_round_trip(tmp_path):
    record = make_record()
    path = record.write(tmp_path / "new" / "record.json")
    assert ScoreRecord.read(path) == record
    assert [file.name for file in path.parent.iterdir()] == ["record.json"]  # no temporary file is left


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "no score record"),
        ("[1, 2]", "no score record"),
        ('{"model": "m"}', "no score record"),
        (make_record(schema_version=99).to_json(), f"schema version 99, expected {SCHEMA_VERSION}"),
    ],
)
def test_what_is_no_record_is_refused(tmp_path, text, problem):
    path = tmp_path / "record.json"
    path.write_text(text)
    with pytest.raises(CorruptFileError, match=problem) as caught:
        ScoreRecord.read(path)
    assert str(path) in str(caught.value)


@given(st.text(min_size=1), st.text(min_size=1))
def test_record_path_stays_in_its_folder(model, benchmark):
    path = record_path(Path("/scores"), model, benchmark)
    assert path.parent.parent == Path("/scores")
    assert path.resolve() == path


@given(st.lists(st.text(string.printable, min_size=1), min_size=2, max_size=2, unique=True))
def test_different_models_have_different_paths(models):
    first, second = (record_path(Path("/scores"), model, "b") for model in models)
    assert first != second


def test_record_without_a_score():
    record = ScoreRecord.without_score("failed:ValueError", "x" * 5000 + "\ud800", model="m", benchmark="b")
    assert (record.score, record.is_scored, len(record.message)) == (None, False, 1000)
    assert make_record().is_scored
    assert ScoreRecord.from_json(record.to_json()) == record


def test_records_of_the_first_version_are_read():
    """They had no status; every one was of a score."""
    content = json.loads(make_record().to_json())
    for name in ("status", "message", "model_revision", "benchmark_revision", "version_class"):
        del content[name]
    content["versions"]["brainscore"] = "2.7.1"
    old = ScoreRecord.from_json(json.dumps({**content, "schema_version": 1}))
    assert old == make_record(created=content["created"], versions={**old.versions}, version_class="2.7")
    assert old.is_scored
    assert old.schema_version == SCHEMA_VERSION


@pytest.mark.parametrize(
    "wrong",
    [
        {"score": "0.5"},
        {"score": True},
        {"score": [0.5]},
        {"raw": 1e300},
        {"interval": [0.1]},
        {"interval": [0.1, None]},
        {"interval": ["a", "b"]},
        {"n_stimuli": 1.5},
        {"layers": ["IT"]},
        {"layers": {"IT": "x" * 200_000}},
        {"versions": {"numpy": 2}},
        {"simulated": 1},
        {"status": "failed:"},
        {"status": "failed:<b>"},
        {"status": "skipped:a\nb"},
        {"status": "SCORED"},
        {"message": "x" * 1001},
        {"message": None},
        {"model": ""},
        {"model": "a\nb"},
        {"model": "x" * 500},
        {"model_revision": 5},
        {"unknown": 1},
        {"schema_version": "2"},
    ],
    ids=str,
)
def test_records_of_wrong_types_are_refused(wrong):
    content = json.loads(make_record().to_json())
    with pytest.raises(CorruptFileError):
        ScoreRecord.from_json(json.dumps({**content, **wrong}))


@pytest.mark.parametrize("depth", [20, 300, 900, 100_000])
def test_deep_layers_are_refused(depth):
    with pytest.raises(CorruptFileError):
        ScoreRecord.from_json(make_record().to_json().replace('"_blocks.15"', "[" * depth + "]" * depth))


def test_not_a_number_is_refused():
    with pytest.raises(CorruptFileError):
        ScoreRecord.from_json(make_record().to_json().replace('"score": 0.5', '"score": NaN'))
