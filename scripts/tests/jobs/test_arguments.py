from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brainscore_ci.__main__ import main
from brainscore_ci.jobs.arguments import ShardRequest, TestOptions, read_request
from brainscore_core.errors import ConfigurationError

NAMES = st.lists(st.from_regex(r"[a-z][a-z0-9_./-]{0,8}", fullmatch=True), min_size=1, max_size=4)
FURTHER = st.sampled_from([[], ["-k", "ceiling"], ["-x"], ["--maxfail=2", "-vv"], ["-m", "slow", "--pdb"]])


def parsed(*arguments):
    """Return what the command line of the program asks for; nothing is tested."""
    with mock.patch("brainscore_ci.jobs.run_tests.run_request", return_value=0) as asked:
        assert main(["test_plugin", "--library", "brainscore_vision", *arguments]) == 0
    return asked.call_args.args[1]


@settings(deadline=None)  # the first one also waits for imports
@given(NAMES, FURTHER, st.sets(st.sampled_from(["--ci", "--slow"])), st.integers(0, 9))
def test_names_options_and_pytest_arguments_in_any_place(names, further, flags, seed):
    words = [*names, *further]
    for flag in sorted(flags):
        # Not between an option of pytest and its value: that would be somebody else's value.
        place = (0, len(names), len(words))[seed % 3]
        words.insert(place, flag)
        seed //= 2
    for request in (read_request(words), parsed(*words)):
        assert request.names == tuple(names)
        assert request.options == TestOptions(
            private="--ci" not in flags, slow="--slow" in flags, pytest_arguments=tuple(further)
        )
        assert request.shard is None


def test_options_give_the_command_line_again():
    request = read_request(["pixels", "--ci", "--slow", "-k", "a b"])
    assert read_request([*request.names, *request.options.command_line]) == request


@pytest.mark.parametrize("style", ["--plan=p.json --shard=3 --results=out", "--plan p.json --shard 3 --results out"])
def test_a_part_of_a_plan(style):
    expected = ShardRequest(plan=Path("p.json"), shard=3, results=Path("out"))
    assert parsed("--ci", *style.split()).shard == read_request(["--ci", *style.split()]).shard == expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("", "Name at least one plugin"),
        ("-k ceiling", "Name at least one plugin"),
        ("--ci --plan p.json", "missing: --shard, --results"),
        ("--ci --plan p --shard -1 --results r", "--shard is '-1'"),
        ("--ci --plan p --shard 1 --results r pixels", "without names"),
        ("--plan p --shard 1 --results r", "go with --ci"),
        ("pixels --plan", "--plan needs a value"),
    ],
)
def test_what_does_not_go_together_is_said(arguments, message):
    with pytest.raises(ConfigurationError, match=message):
        read_request(arguments.split())
