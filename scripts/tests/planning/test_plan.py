"""Test reading plans, which may come from untrusted sources."""

import json
from dataclasses import fields

import pytest

from brainscore_ci.planning.plan import NoPlanError, PairGroup, Plan, TestTask
from brainscore_core.errors import ConfigurationError, CorruptFileError


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"tests": [{"plugin": "models/$(x)"}]}'])
def test_rejects_malformed_plans(text):
    with pytest.raises(ConfigurationError, match="no plan"):
        Plan.from_json(text)


def test_unreadable_file_error_names_the_plan_command(tmp_path, full_plan):
    with pytest.raises(NoPlanError, match=r"absent\.json cannot be read: .*Make it with nox -s plan"):
        Plan.read(tmp_path / "absent.json")
    (tmp_path / "plan.json").write_text(full_plan.to_json())
    assert Plan.read(tmp_path / "plan.json") == full_plan


def test_every_field_of_a_plan_is_validated(full_plan):
    """A field added to a plan must also be added to its validation."""
    content = json.loads(full_plan.to_json())
    for kind, entry in ((Plan, content), (TestTask, content["tests"][0]), (PairGroup, content["pairs"][0])):
        assert {field.name for field in fields(kind)} == set(entry)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("tests", [{"plugin": "models/x"}]), ("event", "release"), ("changed", "ab"), ("changed", [1]), ("notes", None),
        ("base", 1), ("pairs", {"minutes": "1"}),
        ("refused", [{"path": "x"}]), ("head", "x" * 999),
    ],
)  # fmt: skip
def test_wrong_values_in_a_plan_are_rejected(full_plan, key, value):
    content = json.loads(full_plan.to_json())
    content[key] = [content[key][0] | value] if isinstance(value, dict) else value
    with pytest.raises(CorruptFileError, match=f"plan.{key}"):
        Plan.from_json(json.dumps(content))


@pytest.mark.parametrize("name", ["n\u0435t", "ne\uff54", "ne\u200bt", "net "], ids=ascii)
@pytest.mark.parametrize("part", ["models", "benchmarks"])
def test_plan_with_a_lookalike_name_is_rejected(full_plan, part, name):
    content = json.loads(full_plan.to_json())
    content["pairs"][0][part][0] = name
    with pytest.raises(NoPlanError, match="which may be invisible or look like another one"):
        Plan.from_json(json.dumps(content))


def test_plan_that_expands_to_many_pairs_is_rejected(full_plan):
    content = json.loads(full_plan.to_json())
    content["pairs"][0] |= {"models": ["m"] * 1000, "benchmarks": ["b"] * 1000}
    with pytest.raises(CorruptFileError, match="at most 300000 pairs"):
        Plan.from_json(json.dumps(content))
