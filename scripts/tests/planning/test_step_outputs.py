"""Test passing a plan to the jobs of a workflow."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brainscore_ci.planning.areas import PluginName
from brainscore_ci.planning.plan import Plan, Refusal, TestTask
from brainscore_ci.planning.policy import Policy
from brainscore_ci.planning.shards import outputs_of, pair_shards
from brainscore_ci.reporting.step import write_outputs
from brainscore_core.scoring.pairs import Pair

NOTHING = {"base": None, "head": None, "event": "push", "changed": ()}


def task(name, minutes=2.0):
    return TestTask(plugin=PluginName("models", name), reasons=("x",), minutes=minutes, memory_gb=4)


def pair(model, benchmark="b", minutes=5.0, *, private=False):
    return Pair(model=model, benchmark=benchmark, reasons=("x",), minutes=minutes, memory_gb=4, private=private)


def test_nightly_plan_has_half_the_jobs():
    tests = tuple(task(f"m{number}", 30.0) for number in range(300))
    rows = {
        event: len(json.loads(outputs_of(Plan(**{**NOTHING, "event": event}, tests=tests), Policy())["test_shards"]))
        for event in ("schedule", "push")
    }
    assert rows == {"schedule": 100, "push": 200}


def test_counts_and_shards():
    plan = Plan(**NOTHING, tests=(task("a"), task("b", 100.0)), pairs=(pair("m"), pair("n", private=True)))
    outputs = outputs_of(plan, Policy())
    assert [outputs[key] for key in ("tests", "pairs", "previews", "refused")] == ["2", "2", "0", "0"]
    assert {row["name"] for row in json.loads(outputs["test_shards"])} == {"models/a", "models/b"}
    assert json.loads(outputs["pair_shards"]) == [
        {"index": 0, "name": "1 of 2", "private": False},
        {"index": 1, "name": "2 of 2", "private": True},
    ]
    assert (outputs["public_shards"], outputs["public_pairs"]) == (outputs["pair_shards"], "2")
    assert (outputs["private_shards"], outputs["private_pairs"]) == ("[]", "0")
    assert outputs["preview_shards"] == "[]"


def test_private_pairs_are_separate_with_credentials():
    plan = Plan(**NOTHING, pairs=(pair("m"), pair("n", private=True), pair("o", private=True)))
    outputs = outputs_of(plan, Policy(), with_private=True)
    assert {shard["private"] for shard in json.loads(outputs["public_shards"])} == {False}
    assert {shard["private"] for shard in json.loads(outputs["private_shards"])} == {True}
    assert (outputs["public_pairs"], outputs["private_pairs"]) == ("1", "2")


def test_refused_plan_outputs_no_work():
    plan = Plan(**NOTHING, tests=(task("a"),), pairs=(pair("m"),), refused=(Refusal("x", "y"),))
    outputs = outputs_of(plan, Policy())
    assert (outputs["tests"], outputs["pairs"], outputs["test_shards"], outputs["refused"]) == ("0", "0", "[]", "1")


MODELS = st.text(min_size=1, max_size=3)


@given(
    pairs=st.lists(st.builds(pair, MODELS, MODELS, st.floats(0.1, 400), private=st.booleans()), max_size=60),
    most=st.integers(2, 10),
)
def test_jobs_never_mix_private_and_public_pairs(pairs, most):
    policy = Policy(most_shards=most)
    shards = pair_shards(pairs, policy)
    placed = [each for shard in shards for each in shard.tasks]
    assert sorted(map(repr, placed)) == sorted(map(repr, pairs))
    assert len(shards) <= most
    assert all(len({each.private for each in shard.tasks}) == 1 for shard in shards)


@given(names=st.lists(st.text(max_size=20), min_size=1, max_size=5))
def test_each_output_is_one_line(names, tmp_path_factory):
    file = tmp_path_factory.mktemp("out") / "outputs"
    pairs = tuple(pair(name, name) for name in dict.fromkeys(names))
    outputs = outputs_of(Plan(**NOTHING, pairs=pairs, previews=pairs), Policy())
    write_outputs(outputs, file)
    lines = file.read_text(encoding="utf-8").splitlines()
    assert dict(line.split("=", 1) for line in lines) == outputs


@pytest.mark.parametrize(("name", "value"), [("tests", "1\nx=2"), ("tests", "1\rx"), ("te\nsts", "1"), ("a=b", "1")])
def test_rejects_outputs_that_would_inject_another(tmp_path, name, value):
    with pytest.raises(ValueError, match="output"):
        write_outputs({"fine": "1", name: value}, tmp_path / "outputs")
    assert not (tmp_path / "outputs").exists()


def test_largest_plan_stays_below_the_output_limit():
    pairs = tuple(pair(f"model{number}", f"benchmark{number}", 30.0) for number in range(5000))
    tests = tuple(task("x" * 90 + str(number), 30.0) for number in range(2000))
    outputs = outputs_of(Plan(**NOTHING, tests=tests, pairs=pairs), Policy())
    assert sum(map(len, outputs.values())) < 2**20
    assert len(json.loads(outputs["pair_shards"])) <= 200


@pytest.mark.parametrize(
    ("changed", "files"),
    [
        (("web/a.js", "vision/hierarchy.py", "core/web/x.py"), "2"),
        (("webs/a.js", "vision/hierarchy.pyc", "vision"), "0"),
        ((), "0"),
    ],
)
def test_counts_files_that_change_the_leaderboard(changed, files):
    policy = Policy(leaderboard=("web", "vision/hierarchy.py"))
    plan = Plan(**{**NOTHING, "changed": changed})
    assert outputs_of(plan, policy)["leaderboard"] == files
    refused = Plan(**{**NOTHING, "changed": changed}, refused=(Refusal("x", "y"),))
    assert outputs_of(refused, policy)["leaderboard"] == "0"


def test_output_says_whether_records_exist():
    assert [outputs_of(Plan(**NOTHING), Policy(), with_records=there)["records"] for there in (False, True)] == [
        "0",
        "1",
    ]
