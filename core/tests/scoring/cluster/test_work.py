"""Test that what travels arrives as it was, and that nothing else is taken for it."""

import json
import subprocess
import sys

import pytest

from brainscore_core.errors import CorruptFileError
from brainscore_core.records.record import ScoreRecord
from brainscore_core.scoring.batches import Batch
from brainscore_core.scoring.cluster.work import Task, outcome_of, outcome_text
from brainscore_core.scoring.pairs import Limits, Outcome


@pytest.fixture
def task(pair):
    batch = Batch((pair("m", "b0", 3), pair("m", "b/1@e", 0.5, 2.5, gpus=2)))
    return Task.of("7", "topic", batch, "lively", Limits(time=2.0), "box", float("inf"))


def test_a_task_arrives_as_it_was(task):
    read = Task.from_json(task.to_json())
    assert read == task
    assert read.minutes is None
    assert [(pair.benchmark, pair.gpus) for pair in read.pairs] == [("b0", 0), ("b/1@e", 2)]


@pytest.mark.parametrize(
    "change",
    [
        {"isolation": "perhaps"},
        {"minutes": "3"},
        {"command": "rm"},
        {"pairs": [{"model": "m"}]},
        {"pairs": [{"model": 3, "benchmark": "b", "minutes": 1, "memory_gb": 1, "private": False, "gpus": 0}]},
        {"pairs": [{"model": "m", "benchmark": "b", "minutes": 1, "memory_gb": 1, "private": False, "gpus": -1}]},
        {"minutes": -1},
    ],
)
def test_what_is_no_task_is_refused(task, change):
    content = {**json.loads(task.to_json()), **change}
    with pytest.raises(CorruptFileError):
        Task.from_json(json.dumps(content))


def test_the_pairs_of_a_task_are_scored_here(batches, library):
    (batch,) = batches(["a"], 2)
    task = Task.of("1", "topic", batch, library.name, Limits(), "auto", 5.0)
    assert [outcome.record.benchmark for outcome in task.outcomes()] == ["b0", "b1"]
    assert library.begun_pairs() == [("a", "b0"), ("a", "b1")]


def test_an_outcome_arrives_as_it_was():
    record = ScoreRecord.without_score("failed:X", "no layer \udcff", model="m", benchmark="b")
    outcome = Outcome(record, "said", b"\x00values\xff", "numpy==2.4.2\n", "numpy==2.3\n")
    assert outcome_of(outcome_text(outcome)) == outcome


def test_values_that_are_too_many_do_not_travel():
    """The record says which there were; whoever keeps it takes that out."""
    record = ScoreRecord.without_score("failed:X", model="m", benchmark="b")
    most = 8 * 2**20
    assert len(outcome_of(outcome_text(Outcome(record, values=b"v" * most))).values) == most
    assert outcome_of(outcome_text(Outcome(record, values=b"v" * (most + 1)))).values == b""


def test_of_a_long_output_the_end_arrives():
    record = ScoreRecord.without_score("failed:X", model="m", benchmark="b")
    assert outcome_of(outcome_text(Outcome(record, "x" * 100_000 + "end"))).output.endswith("xend")


def test_values_that_are_no_base64_are_refused():
    record = ScoreRecord.without_score("failed:X", model="m", benchmark="b")
    content = {**json.loads(outcome_text(Outcome(record))), "values": "no!"}
    with pytest.raises(CorruptFileError, match="base64"):
        outcome_of(json.dumps(content))


@pytest.mark.parametrize("data", [b"\x80\x04.", None, {}, "", "{}", '{"record": "{}", "output": ""}', "x" * 2**25])
def test_what_is_no_outcome_is_refused(data):
    with pytest.raises(CorruptFileError):
        outcome_of(data)


def test_dask_is_imported_where_it_is_used_only():
    """Whoever has not installed the extra `cluster`, and whoever does not use it, must not notice it."""
    code = (
        "import brainscore_core.scoring.cluster, sys; print([m for m in ('dask', 'distributed') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
