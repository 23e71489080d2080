"""Test reading what pytest writes, from real runs and from hostile files."""

import os
import subprocess
import sys

import pytest

from brainscore_ci.planning.areas import PluginName
from brainscore_ci.reporting.junit import MOST_TESTS, from_junit
from brainscore_ci.reporting.results import MOST_FAILURES, MOST_SKIPS, Results, SkippedTest
from brainscore_ci.reporting.schema import MOST_BYTES
from brainscore_core.errors import CorruptFileError

PLUGIN = PluginName("models", "network")
TESTS = """
import pytest

def test_compares():
    assert [1, 2] == [1, 3], "lists <b>&"

def test_passes():
    __import__("time").sleep(0.05)  # so that it takes some time at the precision that pytest writes

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
    raise KeyError("x")
"""


def run(folder, source, *options):
    file = folder / "vision/models/network/test.py"
    file.parent.mkdir(parents=True)
    file.write_text(source)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junit-xml={folder}/out.xml"]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    subprocess.run([*command, *options, file], cwd=folder, capture_output=True, env=environment)
    return from_junit((folder / "out.xml").read_bytes(), PLUGIN, reproduce="nox -s test_plugin -- network")


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    return run(tmp_path_factory.mktemp("plugin"), TESTS, "-o", "junit_family=xunit1")


def test_counts(result):
    assert (result.n_passed, result.n_failed, result.n_errors, result.n_skipped) == (1, 3, 1, 1)
    assert result.status == "error"
    assert 0 < result.duration_s < 60
    assert result.reproduce == "nox -s test_plugin -- network"


def test_failures_say_where_and_what_to_do(result):
    found = {failure.test: failure for failure in result.failures}
    file = "vision/models/network/test.py"
    assert {name: (failure.file, failure.line) for name, failure in found.items()} == {
        "test_compares": (file, 5),
        "test_without_fixture": (file, 14),
        "test_imports": (file, 18),
        "test_in_a_helper": (file, 24),
    }
    assert "lists <b>&" in found["test_compares"].message
    assert found["test_compares"].fix == ""
    assert found["test_imports"].fix.startswith("add 'no_such_module_anywhere' to requirements.txt")
    assert "'nothing_like_it'" in found["test_without_fixture"].fix


def test_skipped_tests_say_why(result):
    assert result.skipped == (SkippedTest(test="test_on_gpu", reason="needs a gpu", kind="gpu"),)


def test_results_can_be_handed_over(result):
    assert Results.from_json(Results((result,)).to_json()) == Results((result,))


def test_a_file_that_cannot_be_imported_is_an_error(tmp_path):
    result = run(tmp_path, "import no_such_module_anywhere\n")
    assert result.status == "error"
    assert "no_such_module_anywhere" in result.failures[0].fix


def test_nothing_to_run_is_skipped(tmp_path):
    result = run(tmp_path, "x = 1\n")
    assert (result.status, result.n_passed, result.failures) == ("skipped", 0, ())


def xml(*cases):
    return f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>".encode()


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("private_access", "private"), ("needs private data", "private"), ("marked slow", "slow"), ("no CUDA", "gpu"),
        ("BRAINSCORE_OFFLINE is set", "network"), ("memory_intense", "memory"), ("", "other"), ("later", "other"),
    ],
)  # fmt: skip
def test_kinds_of_skipping(reason, kind):
    result = from_junit(xml(f'<testcase name="t"><skipped message="{reason}"/></testcase>'), PLUGIN)
    assert [skip.kind for skip in result.skipped] == [kind]
    assert result.status == "skipped"


def test_deselected_tests_are_counted():
    left_out = SkippedTest(test="t", reason="private_access", kind="private")
    result = from_junit(xml('<testcase name="u" time="1.5"/>'), PLUGIN, skipped=[left_out], duration_s=9)
    assert (result.n_passed, result.n_skipped, result.duration_s) == (1, 1, 9)
    assert result.skipped == (left_out,)


@pytest.mark.parametrize("time", ["nan", "inf", "-1", "x", "1e400"])
def test_odd_times_do_no_harm(time):
    result = from_junit(xml(f'<testcase name="t" time="{time}"/>'), PLUGIN)
    assert Results.from_json(Results((result,)).to_json()).plugins == (result,)


def test_frames_outside_the_repository_are_no_place_to_look():
    text = "vision/models/network/test.py:7: \n/usr/lib/python3/x.py:9: Error\n../../y.py:3: Error"
    (failure,) = from_junit(
        xml(f'<testcase name="t"><failure message="m">{text}</failure></testcase>'), PLUGIN
    ).failures
    assert (failure.file, failure.line) == ("vision/models/network/test.py", 7)


def test_long_files_are_cut_but_counted():
    failure = f'<testcase name="{"n" * 5000}"><failure message="{"m" * 9000}">{"t" * 70000}</failure></testcase>'
    skip = f'<testcase name="t"><skipped message="{"r" * 9000}"/></testcase>'
    result = from_junit(xml(*[failure] * 120, *[skip] * 600), PLUGIN)
    assert (result.n_failed, len(result.failures)) == (120, MOST_FAILURES)
    assert (result.n_skipped, len(result.skipped)) == (600, MOST_SKIPS)
    assert Results.from_json(Results((result,)).to_json()).plugins[0].n_failed == 120


BILLION_LAUGHS = b"""<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>
<testsuite><testcase name="&b;"/></testsuite>"""


@pytest.mark.parametrize(
    "data",
    [
        BILLION_LAUGHS,
        b'<!DOCTYPE x SYSTEM "file:///etc/passwd"><testsuite/>',
        b'<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><testsuite>&e;</testsuite>',
        b"",
        b"<testsuite>",
        b"no xml",
        b"<testsuite>&unknown;</testsuite>",
        b'<?xml version="1.0" encoding="odd"?><testsuite/>',
        b"\xff\xfe\x00",
        b" " * (MOST_BYTES + 1),
        b"<testsuite>" + b"<testcase/>" * (MOST_TESTS + 1) + b"</testsuite>",
    ],
    ids=lambda data: str(data[:20]),
)
def test_hostile_files_are_refused(data):
    with pytest.raises(CorruptFileError, match="The JUnit file"):
        from_junit(data, PLUGIN)


def test_only_what_stands_in_a_test_is_of_it():
    test = "<testcase name='t'><system-out>x.py:1: Error</system-out></testcase>"
    result = from_junit(xml("<failure message='before'/>", test, "<failure message='after'/>"), PLUGIN)
    assert (result.status, result.n_passed, result.failures) == ("passed", 1, ())
