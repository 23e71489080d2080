"""Tasks and outcomes are sent unchanged, and anything else is rejected."""

import json
import subprocess
import sys

import pytest

from brainscore_core.errors import CorruptFileError
from brainscore_core.records.record import ScoreRecord
from brainscore_core.scoring.batches import Batch
from brainscore_core.scoring.cluster.running import Task, outcome_of, outcome_text
from brainscore_core.scoring.pairs import Limits, Outcome


@pytest.fixture
def task(pair):
    batch = Batch((pair("m", "b0", 3), pair("m", "b/1@e", 0.5, 2.5, gpus=2)))
    return Task.of("7", "topic", batch, "lively", Limits(time=2.0), "box", float("inf"))


def test_task_is_read_as_sent(task):
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
def test_rejects_malformed_tasks(task, change):
    content = {**json.loads(task.to_json()), **change}
    with pytest.raises(CorruptFileError):
        Task.from_json(json.dumps(content))


def test_task_scores_its_pairs(batches, library):
    (batch,) = batches(["a"], 2)
    task = Task.of("1", "topic", batch, library.name, Limits(), "auto", 5.0)
    assert [outcome.record.benchmark for outcome in task.outcomes()] == ["b0", "b1"]
    assert library.begun_pairs() == [("a", "b0"), ("a", "b1")]


def test_outcome_is_read_as_sent():
    record = ScoreRecord.without_score("failed:X", "no layer \udcff", model="m", benchmark="b")
    outcome = Outcome(record, "said", b"\x00values\xff", "numpy==2.4.2\n", "numpy==2.3\n")
    assert outcome_of(outcome_text(outcome)) == outcome


def test_oversized_values_are_not_sent():
    """The record still holds their digest, which is removed when the record is stored."""
    record = ScoreRecord.without_score("failed:X", model="m", benchmark="b")
    most = 8 * 2**20
    assert len(outcome_of(outcome_text(Outcome(record, values=b"v" * most))).values) == most
    assert outcome_of(outcome_text(Outcome(record, values=b"v" * (most + 1)))).values == b""


def test_long_output_keeps_its_tail():
    record = ScoreRecord.without_score("failed:X", model="m", benchmark="b")
    assert outcome_of(outcome_text(Outcome(record, "x" * 100_000 + "end"))).output.endswith("xend")


def test_rejects_values_that_are_not_base64():
    record = ScoreRecord.without_score("failed:X", model="m", benchmark="b")
    content = {**json.loads(outcome_text(Outcome(record))), "values": "no!"}
    with pytest.raises(CorruptFileError, match="base64"):
        outcome_of(json.dumps(content))


@pytest.mark.parametrize("data", [b"\x80\x04.", None, {}, "", "{}", '{"record": "{}", "output": ""}', "x" * 2**25])
def test_rejects_malformed_outcomes(data):
    with pytest.raises(CorruptFileError):
        outcome_of(data)


def test_dask_is_imported_only_when_used():
    """The package must work, and import fast, for users who have not installed or do not use the extra `cluster`."""
    code = (
        "import brainscore_core.scoring.cluster, sys; print([m for m in ('dask', 'distributed') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
