"""The first difference listed between two records is the earliest cause."""

import dataclasses

import pytest

from brainscore_core.records.recompute import differences, not_comparable
from brainscore_core.records.record import ScoreRecord

RECORD = dataclasses.replace(
    ScoreRecord.without_score("scored", model="m", benchmark="b"),
    score=0.5,
    raw=0.4,
    data={"data:X": "1", "stimulus_set:X": "2"},
    plugins={"metrics/pls": "3"},
    weights="4",
    library="5",
    environment="6",
    model_revision="folder-7",
    benchmark_revision="folder-8",
)


def test_time_and_machine_are_not_differences():
    again = dataclasses.replace(RECORD, created="later", duration_s=9.0, machine="other", peak_memory_bytes=1)
    assert list(differences(RECORD, again)) == []
    assert not_comparable(RECORD, again) == []


ORDER = [
    ({"data": {"data:X": "other", "stimulus_set:X": "2"}}, "data[data:X]"),
    ({"weights": "other"}, "weights"),
    ({"model_revision": "folder-other"}, "model_revision"),
    ({"benchmark_revision": "folder-other"}, "benchmark_revision"),
    ({"plugins": {"metrics/pls": "other"}}, "plugins[metrics/pls]"),
    ({"library": "other"}, "library"),
    ({"environment": "other"}, "environment"),
    ({"candidate_environment": "other"}, "candidate_environment"),
    ({"raw": 0.4000000001}, "raw"),
    ({"score": 0.6}, "score"),
    ({"values": "other"}, "values"),
]


@pytest.mark.parametrize("place", range(len(ORDER)))
def test_causes_are_listed_before_their_effects(place):
    changes = {name: value for change, _ in ORDER[place:] for name, value in change.items()}
    found = list(differences(RECORD, dataclasses.replace(RECORD, **changes)))
    assert [each.field for each in found] == [field for _, field in ORDER[place:]]


def test_newly_loaded_data_are_a_difference():
    again = dataclasses.replace(RECORD, data={**RECORD.data, "data:Y": "3"})
    assert [(each.field, each.before, each.after) for each in differences(RECORD, again)] == [
        ("data[data:Y]", None, "3")
    ]


def test_absent_field_is_incomparable_not_a_difference():
    old = dataclasses.replace(RECORD, data={}, library=None, model_revision="of planning")
    assert not_comparable(old, RECORD) == ["data", "model_revision", "library"]
    assert list(differences(old, RECORD)) == []
