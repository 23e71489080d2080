"""Test reading plans, which may come from anybody."""

import json
from dataclasses import fields

import pytest

from brainscore_ci.planning.areas import PluginName
from brainscore_ci.planning.plan import NoPlanError, PairGroup, Plan, Refusal, Skip, TestTask
from brainscore_core.errors import ConfigurationError, CorruptFileError
from brainscore_core.scoring.pairs import Pair

MODEL = PluginName("models", "network")
PLAN = Plan(
    base="b" * 40,
    head=None,
    event="pull_request",
    changed=("a\nb", "\udcff"),  # git's names need not be UTF-8
    tests=(TestTask(plugin=MODEL, reasons=("changed",), minutes=2.0, memory_gb=4, private_tests=1, with_private=True),),
    pairs=(Pair(model="network", benchmark="B", reasons=("x", "y"), minutes=1, memory_gb=1, private=True),),
    previews=(Pair(model="network", benchmark="C", reasons=(), minutes=1, memory_gb=1),),
    skipped=(Skip("what", "why"),),
    refused=(Refusal("path", "why"),),
    notes=("note",),
)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"tests": [{"plugin": "models/$(x)"}]}'])
def test_what_is_no_plan(text):
    with pytest.raises(ConfigurationError, match="no plan"):
        Plan.from_json(text)


def test_a_file_that_cannot_be_read(tmp_path):
    with pytest.raises(NoPlanError, match=r"absent\.json cannot be read: .*Make it with nox -s plan"):
        Plan.read(tmp_path / "absent.json")
    (tmp_path / "plan.json").write_text(PLAN.to_json())
    assert Plan.read(tmp_path / "plan.json") == PLAN


def test_every_field_of_a_plan_can_be_read():
    """A field that is added to a plan has to be added to what is checked."""
    content = json.loads(PLAN.to_json())
    for kind, entry in ((Plan, content), (TestTask, content["tests"][0]), (PairGroup, content["pairs"][0])):
        assert {field.name for field in fields(kind)} == set(entry)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("tests", [{"plugin": "models/x"}]), ("event", "release"), ("changed", "ab"), ("changed", [1]), ("notes", None),
        ("base", 1), ("pairs", [{**json.loads(PLAN.to_json())["pairs"][0], "minutes": "1"}]),
        ("refused", [{"path": "x"}]), ("head", "x" * 999),
    ],
)  # fmt: skip
def test_wrong_plans_are_refused(key, value):
    with pytest.raises(CorruptFileError, match=f"plan.{key}"):
        Plan.from_json(json.dumps({**json.loads(PLAN.to_json()), key: value}))


def test_few_bytes_that_mean_many_pairs_are_refused():
    content = json.loads(PLAN.to_json())
    content["pairs"][0] |= {"models": ["m"] * 1000, "benchmarks": ["b"] * 1000}
    with pytest.raises(CorruptFileError, match="at most 300000 pairs"):
        Plan.from_json(json.dumps(content))
