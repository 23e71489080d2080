"""Run jobs of plans on a small library whose plugins pass, fail, crash, hang and more."""

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from brainscore_ci.jobs import plugin_tests, run_tests
from brainscore_ci.jobs.fetch_data import data_home_of_tests
from brainscore_ci.jobs.plugin_tests import PluginRun, TestOptions
from brainscore_ci.jobs.run_tests import ShardRequest, result_of, run_shard, timeout_of
from brainscore_ci.planning.areas import PluginName
from brainscore_ci.planning.plan import Plan, Refusal, TestTask
from brainscore_ci.reporting.results import Results, read_folder
from brainscore_core.config import settings
from brainscore_core.errors import ConfigurationError
from brainscore_core.plugin_management.index import Plugin, PluginRoot, plugin_at
from brainscore_core.processes import Ended
from brainscore_core.scoring.isolation.box import why_no_box
from brainscore_core.testing.outcomes import TestOutcome, write_outcomes

boxed = pytest.mark.skipif(bool(why_no_box()), reason=f"other: {why_no_box()}")

LIBRARY = "smalllibrary"
PASSES = "def test_good():\n    assert 1 + 1 == 2\n"


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """Make a repository with a library whose folder `models` holds plugins."""
    library = tmp_path / LIBRARY
    (library / "models").mkdir(parents=True)
    (library / "__init__.py").write_text("model_registry = {}\n")
    (library / "models" / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("BRAINSCORE_OFFLINE", "1")
    monkeypatch.setenv("BRAINIO_HOME", str(tmp_path / "brainio"))
    yield tmp_path
    for name in [name for name in sys.modules if name.partition(".")[0] == LIBRARY]:
        del sys.modules[name]


@pytest.fixture
def environment():
    before = dict(os.environ)
    yield
    os.environ.update(before)


def add(repository, name, test, **files):
    folder = repository / LIBRARY / "models" / name
    folder.mkdir()
    (folder / "__init__.py").write_text(f"from {LIBRARY} import model_registry\nmodel_registry[{name!r}] = object\n")
    for file, content in {"test__py": test, **files}.items():
        (folder / file.replace("__", ".")).write_text(content)


def task(name, **kwargs):
    given = {"minutes": 1.0, "memory_gb": 1.0, "reasons": ("changed: test.py",), **kwargs}
    return TestTask(plugin=PluginName("models", name), **given)


def run(repository, *tasks, shard=0, **kwargs):
    plan = Plan(base="a" * 40, head="b" * 40, event="pull_request", changed=("x",), tests=tasks, **kwargs)
    (repository / "plan.json").write_text(plan.to_json())
    request = ShardRequest(plan=repository / "plan.json", shard=shard, results=repository / "results")
    lines = []
    status = run_shard(LIBRARY, request, TestOptions(private=False), repository=repository, say=lines.append)
    results, problems = read_folder(repository / "results")
    assert problems == ()
    return status, {result.plugin.name: result for result in results.plugins}, "\n".join(lines)


@pytest.mark.slow
def test_each_plugin_gets_a_result_whatever_others_do(repository, monkeypatch, environment):
    add(repository, "a_passes", PASSES)
    add(repository, "b_fails", PASSES + "def test_bad():\n    value = 3\n    assert value == 4\n")
    add(repository, "c_crashes", "import os, signal\ndef test_crash(): os.kill(os.getpid(), signal.SIGSEGV)\n")
    add(repository, "d_empty", "")
    add(repository, "e_broken", "import nothing_such\n")
    add(repository, "f_lies", PASSES + "import atexit, os\natexit.register(os._exit, 7)\n")
    add(repository, "g_hangs", "import time\ndef test_hang(): time.sleep(60)\n")
    add(repository, "h_passes", PASSES)
    monkeypatch.setattr(run_tests, "timeout_of", lambda task: 4 if task.plugin.name == "g_hangs" else 60)
    names = ["a_passes", "b_fails", "c_crashes", "d_empty", "e_broken", "f_lies", "g_hangs", "h_passes", "i_absent"]
    status, results, log = run(repository, *map(task, names))
    assert status == 1
    assert sorted(path.name for path in (repository / "results").iterdir()) == [f"models--{n}.json" for n in names]
    statuses = ["passed", "failed", *["error"] * 5, "passed", "error"]
    assert {name: result.status for name, result in results.items()} == dict(zip(names, statuses, strict=True))
    messages = {
        "c_crashes": "signal 11 (SIGSEGV)",
        "d_empty": "no test was collected",
        "e_broken": "ModuleNotFoundError: No module named 'nothing_such'",
        "f_lies": "status 7 although no test failed",
        "g_hangs": "did not end within 0.1 minutes",
        "i_absent": "does not exist",
    }
    for name, message in messages.items():
        assert message in results[name].failures[0].message
    for name, line in (("b_fails", 5), ("e_broken", 1)):
        (failure,) = results[name].failures
        assert (failure.file, failure.line) == (f"{LIBRARY}/models/{name}/test.py", line)
    assert results["b_fails"].reproduce == "nox -s test_plugin -- --ci models/b_fails"
    assert f"::error file={LIBRARY}/models/b_fails/test.py,line=5," in log
    assert log.count("::error") >= 7


@pytest.mark.slow
@boxed
def test_tests_find_no_credential(repository, monkeypatch, environment):
    """A test searches the variables of its process and of all parent processes, and the files of the runner."""
    secrets = {"AWS_SECRET_ACCESS_KEY": "value-of-the-secret", "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "another-secret"}
    file = repository / "github_env"
    file.write_text("")
    for name, value in {**secrets, "GITHUB_ENV": str(file)}.items():
        monkeypatch.setenv(name, value)
    test = f"""
import glob, os, pathlib, pytest
def found():
    texts = list(os.environ.values())
    for path in glob.glob("/proc/[0-9]*/environ"):
        try:
            texts.append(pathlib.Path(path).read_text())
        except OSError:
            pass
    return [text for text in texts if "-secret" in text or "github_env" in text]
@pytest.mark.private_access
def test_private():
    assert not found()
@pytest.mark.private_access
@pytest.mark.slow
def test_slow(): pass
@pytest.mark.network
def test_network():
    from brainscore_core.errors import DownloadError
    raise DownloadError("it is far away")
def test_all():
    print("secrets:", *found())
    assert not found()
def test_files():
    with pytest.raises(OSError):
        open({str(file)!r}, "a").write("PATH=/mine")
"""
    # The job restarts without them, but its parent processes still have them, like this process.
    outside = subprocess.Popen(["sleep", "60"], env=dict(os.environ))
    try:
        for name in ("a", "b"):
            add(repository, name, test)
        _, results, log = run(repository, task("a", with_private=True), task("b"))
    finally:
        outside.kill()
    (a, b) = results.values()
    assert (a.n_passed, a.n_failed, a.n_skipped) == (3, 0, 2), log
    assert (b.n_passed, b.n_failed, b.n_skipped) == (2, 0, 3), log
    assert [(skip.test, skip.kind) for skip in b.skipped] == [
        ("test_private", "private"),
        ("test_slow", "private"),
        ("test_network", "network"),
    ]
    assert a.reproduce == "nox -s test_plugin -- models/a"
    assert "-secret" not in log


def test_unboxed_test_finds_credentials(repository, monkeypatch, environment):
    """This shows that the test above can fail; tests with private data do not run without a box."""
    monkeypatch.setattr(run_tests, "why_no_box", lambda: "No bubblewrap.")
    test = """
import glob, pathlib
def test_all():
    texts = []
    for path in glob.glob("/proc/[0-9]*/environ"):
        try:
            texts.append(pathlib.Path(path).read_text())
        except OSError:
            pass
    assert not [text for text in texts if "KEY=value-of-" in text]
"""
    for name in ("a", "b"):
        add(repository, name, test)
    outside = subprocess.Popen(["sleep", "60"], env={**os.environ, "KEY": "value-of-the-secret"})
    try:
        _, results, log = run(repository, task("a", with_private=True), task("b"))
    finally:
        outside.kill()
    assert results["b"].n_failed == 1
    assert "Plugins are not isolated from each other. No bubblewrap." in log
    (failure,) = results["a"].failures
    assert failure.message == "Tests with private data run in a box alone. No bubblewrap."


@pytest.mark.slow
@boxed
def test_plugin_cannot_leave_files_or_processes_for_others(repository, environment):
    """The first one edits the tests of the second, leaves files in its home and in /tmp, and a process."""
    leaves = """
import os, pathlib, subprocess, sys
here = pathlib.Path(__file__).parent
def test_leaves():
    for path in (here.parent / "z" / "test.py", here / "__init__.py", pathlib.Path(sys.prefix) / "x.pth"):
        try:
            path.write_text("def test_good(): pass")
        except OSError:
            continue
        raise AssertionError(path)
    for folder in (pathlib.Path.home(), pathlib.Path("/tmp"), pathlib.Path(os.environ["BRAINSCORE_HOME"])):
        (folder / "left").write_text("x")
    subprocess.Popen(["sleep", "1000"], start_new_session=True)
"""
    finds = """
import os, pathlib
def test_finds():
    folders = (pathlib.Path.home(), pathlib.Path("/tmp"), pathlib.Path(os.environ["BRAINSCORE_HOME"]))
    assert not [folder for folder in folders if (folder / "left").exists()]
    commands = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            commands.append(path.read_text())
        except OSError:
            pass
    assert not [each for each in commands if "sleep" in each]
"""
    add(repository, "a", leaves)
    add(repository, "z", finds)
    _, results, log = run(repository, task("a"), task("z"))
    assert [each.status for each in results.values()] == ["passed", "passed"], log


@pytest.mark.slow
@boxed
def test_texts_of_private_tests_are_not_published(repository, environment):
    """A test reads a private value and reports it in every way available to a test."""
    homes = {"a": data_home_of_tests(PluginName("models", "a")), "b": settings().data_home}
    for home in homes.values():
        home.mkdir(parents=True, exist_ok=True)
        (home / "value.txt").write_text("v8371")
    test = """
import os, pathlib, pytest
value = pathlib.Path(os.environ["BRAINIO_HOME"], "value.txt").read_text()
print("module", value)
class_of_value = type(f"Read_{value}", (Exception,), {})
@pytest.mark.parametrize("parameter", [value, value[::-1]])
def test_parameter(parameter):
    print(parameter)
    assert parameter == value.encode().hex()
def test_class(): raise class_of_value(value)
def test_skip(): pytest.skip(value)
def test_good(): pass
globals()[f"test_{value}"] = lambda: 1 / 0
"""
    add(repository, "a", test)
    add(repository, "b", test)
    forms = ("v8371", "1738v", b"v8371".hex())
    _, _, log = run(repository, task("b"))
    assert all(form in log for form in forms)  # a public job publishes them
    for file in (repository / "results").iterdir():
        file.unlink()
    _, results, log = run(repository, task("a", with_private=True))
    written = "".join(file.read_text() for file in (repository / "results").iterdir())
    assert not [form for form in forms if form in log + written]
    result = results["a"]
    assert (result.n_passed, result.n_failed, result.n_skipped) == (1, 4, 1)
    assert {(each.test, each.message.partition(";")[0]) for each in result.failures} == {
        ("test_parameter", "AssertionError"),
        ("test_class", "OtherError"),
        ("a test", "ZeroDivisionError"),
    }


@pytest.mark.slow
def test_test_output_cannot_issue_log_commands(repository, environment):
    add(repository, "a", "print('::set-env name=PATH::/x')\nprint('##[group]x')\n" + PASSES + "    assert 0\n")
    _, _, log = run(repository, task("a", reasons=("::stop-commands::x",)))
    assert not re.search(r"^\s*::set-env|##\[group|^::stop", log, re.MULTILINE)


@pytest.mark.slow
def test_uninstallable_requirements_are_a_failure(repository, monkeypatch, environment):
    monkeypatch.setenv("BS_INSTALL_DEPENDENCIES", "yes")
    monkeypatch.setenv("PATH", os.defpath)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    add(repository, "needy", PASSES, requirements__txt="bs_absent\n")
    status, results, _ = run(repository, task("needy"))
    assert status == 1
    (failure,) = results["needy"].failures
    assert (failure.file, failure.fix) == (f"{LIBRARY}/models/needy/requirements.txt", "correct requirements.txt")
    assert "bs_absent" in failure.message


@pytest.mark.slow
def test_runs_only_the_tasks_of_the_job(repository, environment):
    (repository / "pyproject.toml").write_text("[tool.brainscore.ci]\nshard-minutes = 10\n")
    for name in "ab":
        add(repository, name, PASSES)
    tasks = [task(name, minutes=10) for name in "ab"]
    found = []
    for shard in range(2):
        run(repository, *tasks, shard=shard)
        found.append({path.stem for path in (repository / "results").iterdir()})
    assert [len(each) for each in found] == [1, 2]
    with pytest.raises(ConfigurationError, match=r"no job 2 .* it has 2"):
        run(repository, *tasks, shard=2)


def test_unreadable_or_refused_plan_is_an_error(repository):
    request = ShardRequest(plan=repository / "plan.json", shard=0, results=repository / "results")
    with pytest.raises(ConfigurationError, match="cannot be read"):
        run_shard(LIBRARY, request, TestOptions(), repository=repository)
    (repository / "plan.json").write_text("{}")
    with pytest.raises(ConfigurationError, match="no plan"):
        run_shard(LIBRARY, request, TestOptions(), repository=repository)
    with pytest.raises(ConfigurationError, match="refuses"):
        run(repository, task("a"), refused=(Refusal("models/$(x)", "name"),))


def test_time_limit_has_a_margin():
    assert timeout_of(task("a", minutes=0.1)) == 15 * 60
    assert timeout_of(task("a", minutes=30)) == 120 * 60


def said(outcome, reason=""):
    return (TestOutcome(test="t", part="test.py", outcome=outcome, seconds=1.0, reason=reason),)


@pytest.mark.parametrize(
    ("status", "outcomes", "expected"),
    [
        (0, said("passed"), "passed"),
        (1, said("failed", "m"), "failed"),
        (1, said("passed"), "error"),
        (2, said("passed"), "error"),
        (0, None, "error"),
        (0, b"<a", "error"),
        (-9, said("passed"), "error"),
        (0, said("skipped", "network: offline with private words"), "skipped"),
    ],
)
def test_status_and_outcomes_must_agree(repository, monkeypatch, status, outcomes, expected):
    """The process ends with a status and leaves some bytes where the outcomes should be."""
    add(repository, "x", "")

    def ends(command, *_, **__):
        (option,) = [each for each in command if each.startswith("--brainscore-outcomes=")]
        file = Path(option.partition("=")[2])
        if isinstance(outcomes, tuple):
            write_outcomes(file, outcomes)
        elif outcomes is not None:
            file.write_bytes(outcomes)
        return Ended(status=status)

    monkeypatch.setattr(plugin_tests, "run_attached", ends)
    plugin = plugin_at(repository / LIBRARY / "models/x", LIBRARY)
    ended = plugin_tests.run_plugin(plugin, TestOptions(private=False), folder=repository, environment={})
    result = result_of(task("x"), replace(ended, seconds=2.0))
    assert (result.status, result.duration_s) == (expected, 2.0)
    assert Results.from_json(Results(plugins=(result,)).to_json()).plugins == (result,)
    assert [skip.kind for skip in result.skipped] == ["network"] * (expected == "skipped")


@pytest.mark.parametrize(
    ("ended", "said"),
    [
        (Ended(status=-9, stopped="Timeout", seconds=0.5), "the tests did not end within 0.0 minutes and were stopped"),
        (Ended(status=-11), "the interpreter crashed: signal 11 (SIGSEGV)"),
        (Ended(status=-9), "(SIGKILL), often for lack of memory"),
    ],
)
def test_abnormal_end_is_explained(tmp_path, ended, said):
    plugin = Plugin(name="x", root=PluginRoot(folder="models", path=tmp_path, package="l.models"))
    run = PluginRun(plugin=plugin, ended=ended, outcomes=(), seconds=2.0, python=Path(sys.executable))
    assert run.problem.endswith(said)
