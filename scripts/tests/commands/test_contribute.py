"""Test which runs the command line of test-plugin requests; no plugin is tested."""

from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brainscore_ci.__main__ import main
from brainscore_ci.jobs.plugin_tests import TestOptions
from brainscore_ci.jobs.run_tests import ShardRequest

NAMES = st.lists(st.from_regex(r"[a-z][a-z0-9_./-]{0,8}", fullmatch=True), min_size=1, max_size=4)
FURTHER = st.sampled_from([[], ["-k", "a b"], ["-x"], ["--maxfail=2", "-vv"], ["-m", "slow", "-kwith"]])


def arguments_of_call(function, *arguments):
    """Return the arguments that the command passes to a function."""
    with mock.patch(f"brainscore_ci.jobs.{function}", return_value=0) as called:
        assert main(["test_plugin", "--library", "brainscore_vision", *arguments]) == 0
    return called.call_args.args


@settings(max_examples=30)  # the first one also waits for imports
@given(NAMES, FURTHER, st.sets(st.sampled_from(["--ci", "--slow"])), st.integers(0, 9))
def test_names_options_and_pytest_arguments_in_any_order(names, further, flags, seed):
    words = [*names, *further]
    for flag in sorted(flags):
        # Not between an option of pytest and its value: pytest would take it as the value.
        place = (0, len(names), len(words))[seed % 3]
        words.insert(place, flag)
        seed //= 2
    options = TestOptions(private="--ci" not in flags, slow="--slow" in flags, pytest_arguments=tuple(further))
    assert arguments_of_call("plugin_tests.run_plugin_tests", *words) == ("brainscore_vision", names, options)


@pytest.mark.parametrize("style", ["--plan=p.json --shard=3 --results=out", "--plan p.json --shard 3 --results out"])
def test_shard_of_a_plan(style, monkeypatch):
    monkeypatch.setattr("brainscore_ci.jobs.credentials.start_again_without_credentials", lambda: None)
    expected = ShardRequest(plan=Path("p.json"), shard=3, results=Path("out"))
    assert arguments_of_call("run_tests.run_shard", "--ci", *style.split())[1] == expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("", "Name at least one plugin"),
        ("-k ceiling", "Name at least one plugin"),
        ("--ci --plan p.json", "missing: --shard, --results"),
        ("--ci --plan p --shard -1 --results r", "Invalid value for '--shard'"),
        ("--ci --plan p --shard 1 --results r pixels", "no names of plugins"),
        ("--plan p --shard 1 --results r", "need --ci"),
        ("pixels --plan", "'--plan' requires an argument"),
    ],
)
def test_incompatible_arguments_are_reported(arguments, message, capsys):
    assert main(["test_plugin", "--library", "brainscore_vision", *arguments.split()]) == 2
    assert message in capsys.readouterr().err
