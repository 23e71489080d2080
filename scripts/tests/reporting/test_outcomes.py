"""Test converting test outcomes to results, from real runs and from hostile files."""

import os
import subprocess
import sys

import pytest

from brainscore_ci.jobs.run_tests import from_outcomes
from brainscore_ci.planning.areas import PluginName
from brainscore_ci.reporting.results import MOST_FAILURES, MOST_SKIPS, Results, SkippedTest
from brainscore_core.testing.outcomes import TestOutcome, read_outcomes, write_outcomes

PLUGIN = PluginName("models", "network")
TESTS = """
import pytest
print("x.py:1: Error")

def test_compares():
    assert [1, 2] == [1, 3], "lists <b>&"

def test_passes():
    print("models/network/x.py:1: Error")
    __import__("time").sleep(0.05)  # so that it takes some time

@pytest.mark.skip(reason="needs a gpu")
def test_on_gpu():
    pass

def test_without_fixture(nothing_like_it):
    pass

def test_imports():
    import no_such_module_anywhere

def test_in_a_helper():
    helper()

def helper():
    print("vision/models/network/x.py:1: Error")  # what a test prints is no place to look
    raise KeyError("x")
"""


def run(folder, source):
    file = folder / "vision/models/network/test.py"
    file.parent.mkdir(parents=True)
    file.write_text(source)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "brainscore_core.testing.pytest_plugin"]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    subprocess.run(
        [*command, f"--brainscore-outcomes={folder}/out.json", file], cwd=folder, capture_output=True, env=environment
    )
    outcomes = read_outcomes(folder / "out.json")
    seconds = sum(outcome.seconds for outcome in outcomes)
    return from_outcomes(outcomes, PLUGIN, reproduce="nox -s test_plugin -- network", duration_s=seconds)


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    return run(tmp_path_factory.mktemp("plugin"), TESTS)


def test_counts_outcomes_and_duration(result):
    assert (result.n_passed, result.n_failed, result.n_errors, result.n_skipped) == (1, 3, 1, 1)
    assert result.status == "error"
    assert 0 < result.duration_s < 60
    assert result.reproduce == "nox -s test_plugin -- network"


def test_failures_have_a_place_and_a_fix(result):
    found = {failure.test: failure for failure in result.failures}
    file = "vision/models/network/test.py"
    assert {name: (failure.file, failure.line) for name, failure in found.items()} == {
        "test_compares": (file, 6),
        "test_without_fixture": (file, 16),
        "test_imports": (file, 20),
        "test_in_a_helper": (file, 27),
    }
    assert "lists <b>&" in found["test_compares"].message
    assert found["test_compares"].fix == ""
    assert found["test_imports"].fix.startswith("add what provides 'no_such_module_anywhere' to requirements.txt")
    assert "'nothing_like_it'" in found["test_without_fixture"].fix


def test_skipped_tests_have_reasons(result):
    assert result.skipped == (SkippedTest(test="test_on_gpu", reason="needs a gpu", kind="gpu"),)


def test_unimportable_file_is_an_error(tmp_path):
    result = run(tmp_path, "import no_such_module_anywhere\n")
    assert result.status == "error"
    assert "no_such_module_anywhere" in result.failures[0].fix


def test_file_without_tests_is_skipped(tmp_path):
    result = run(tmp_path, "x = 1\n")
    assert (result.status, result.n_passed, result.failures) == ("skipped", 0, ())


def outcome(outcome="passed", **fields):
    return TestOutcome(**{"test": "t", "part": "test.py", "outcome": outcome, **fields})


def result_of(*outcomes):
    return from_outcomes(outcomes, PLUGIN, duration_s=9)


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("private_access", "private"), ("needs private data", "private"), ("marked slow", "slow"), ("no CUDA", "gpu"),
        ("BRAINSCORE_OFFLINE is set", "network"), ("memory_intense", "memory"), ("", "other"), ("later", "other"),
    ],
)  # fmt: skip
def test_skip_kind_follows_the_reason(reason, kind):
    result = result_of(outcome("skipped", reason=reason))
    assert [skip.kind for skip in result.skipped] == [kind]
    assert result.status == "skipped"


def test_deselected_tests_are_counted():
    left_out = SkippedTest(test="t", reason="private_access", kind="private")
    result = result_of(outcome("deselected", reason="private_access"), outcome(test="u", seconds=1.5))
    assert (result.n_passed, result.n_skipped, result.duration_s) == (1, 1, 9)
    assert result.skipped == (left_out,)


def test_place_is_within_the_repository():
    text = "vision/models/network/test.py:7: \n/usr/lib/python3/x.py:9: Error\n../../y.py:3: Error"
    (failure,) = result_of(outcome("failed", reason="m", traceback=text)).failures
    assert (failure.file, failure.line) == ("vision/models/network/test.py", 7)


def test_long_outcomes_are_truncated_but_counted(tmp_path):
    failure = outcome("failed", test="n" * 5000, reason="m" * 9000, traceback="t" * 70000)
    skip = outcome("skipped", reason="r" * 9000)
    write_outcomes(tmp_path / "out.json", [failure] * 120 + [skip] * 600)
    result = result_of(*read_outcomes(tmp_path / "out.json"))
    assert (result.n_failed, len(result.failures)) == (120, MOST_FAILURES)
    assert (result.n_skipped, len(result.skipped)) == (600, MOST_SKIPS)
    assert Results.from_json(Results((result,)).to_json()).plugins[0].n_failed == 120
