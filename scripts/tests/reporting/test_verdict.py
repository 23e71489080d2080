"""Test deciding whether a change may be merged."""

import json

import pytest

from brainscore_ci.reporting.verdict import read_needs, verdict
from brainscore_core.errors import ConfigurationError

ALL = {"plan": "success", "test": "success"}


def test_all_green():
    assert verdict(ALL, required=["plan", "test"]).passed


@pytest.mark.parametrize("result", ["failure", "cancelled", "skipped"])
def test_anything_else_closes_the_gate(result):
    decided = verdict({**ALL, "test": result}, required=["plan", "test"])
    assert not decided.passed
    assert "'test'" in decided.problems[0]


def test_work_may_be_skipped_only_where_there_is_none():
    assert verdict({**ALL, "test": "skipped"}, required=["plan", "test"], may_skip={"test": True}).passed
    assert not verdict({**ALL, "test": "skipped"}, required=["plan", "test"], may_skip={"test": False}).passed
    assert not verdict({**ALL, "test": "failure"}, required=["plan", "test"], may_skip={"test": True}).passed


def test_a_job_that_is_not_waited_for_is_a_problem():
    assert not verdict({"plan": "success"}, required=["plan", "test"]).passed


def test_reading():
    text = json.dumps({"plan": {"result": "success", "outputs": {"count": "0"}}})
    assert read_needs(text) == {"plan": "success"}


@pytest.mark.parametrize("text", ["", "[]", "{}", "null", '{"plan": "success"}', '{"plan": {"result": "great"}}'])
def test_what_cannot_be_read_does_not_open_the_gate(text):
    with pytest.raises(ConfigurationError):
        read_needs(text)
