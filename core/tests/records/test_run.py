"""The summary of a run: times, counts and missing pairs."""

import dataclasses
import json

import pytest

from brainscore_core.errors import CorruptFileError
from brainscore_core.records.record import ScoreRecord
from brainscore_core.records.store import Run

PAIRS = tuple(("m", f"b{number}") for number in range(1_200))


def record(**changes):
    made = ScoreRecord.without_score("not_applicable", model="m", benchmark="b")
    return dataclasses.replace(made, **{"created": "2026-01-02T03:04:05+00:00", "duration_s": 5.0, **changes})


def run(*records, missing=()):
    return Run.of(records, missing, commit="a" * 40, event="push", n_planned=3)


def test_run_is_read_as_written():
    made = run(record(), missing=PAIRS)
    assert Run.from_json(made.to_json()) == made
    assert (made.n_missing, len(made.missing)) == (1_200, 1_000)


def test_times_come_from_the_records_in_utc():
    made = run(record(), record(created="2026-01-02T05:00:00+02:00", duration_s=3600.0))
    assert (made.started, made.finished) == ("2026-01-02T02:00:00+00:00", "2026-01-02T03:04:05+00:00")
    assert made.duration_s == 3605.0


@pytest.mark.parametrize("created", ["now", "9999-12-31T23:59:59-20:00", "0001-01-01T00:00:00+20:00", "1700-01-01"])
def test_record_without_a_valid_time_gives_no_times(created):
    made = run(record(created=created, duration_s=None))
    assert (made.started, made.finished, made.n_records) == (None, None, 1)
    assert Run.from_json(made.to_json()) == made


def test_impossible_duration_is_clipped():
    assert run(record(duration_s=-5.0)).started == "2026-01-02T03:04:05+00:00"
    assert Run.from_json(run(record(duration_s=1e14)).to_json()).duration_s == 1e9


@pytest.mark.parametrize(
    "changes",
    [
        {"started": "<b>"},
        {"commit": "main"},
        {"n_planned": -1},
        {"duration_s": "1"},
        {"missing": [["m"]]},
        {"missing": [["m", "b"]] * 1_001},
        {"more": 1},
    ],
)
def test_rejects_invalid_runs(changes):
    with pytest.raises(CorruptFileError, match="run"):
        Run.from_json(json.dumps({**json.loads(run(record()).to_json()), **changes}))
