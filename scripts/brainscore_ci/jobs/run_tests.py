"""Run the tests of one job of a plan and write each plugin's results."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from brainscore_ci.jobs.fetch_data import data_home_of_tests
from brainscore_ci.jobs.plugin_tests import PluginRun, TestOptions, environment_of_job, files_with_tests, run_plugin
from brainscore_ci.jobs.publishable import public_result, written_tests
from brainscore_ci.planning.areas import PluginName
from brainscore_ci.planning.plan import Plan, TestTask
from brainscore_ci.planning.policy import read_policy
from brainscore_ci.planning.shards import test_shards
from brainscore_ci.reporting.results import (
    MOST_FAILURES,
    MOST_SKIPS,
    Failure,
    PluginResult,
    Results,
    SkippedTest,
    Status,
)
from brainscore_ci.reporting.step import annotate, for_log
from brainscore_ci.reporting.verdict import judge
from brainscore_core.command_line import FAILED
from brainscore_core.config import settings
from brainscore_core.errors import BrainScoreError, ConfigurationError, RequirementsError
from brainscore_core.files import LOCKS, atomic_path
from brainscore_core.plugin_management.index import Plugin, PluginIndex, library_roots
from brainscore_core.plugin_management.registry import FOLDERS
from brainscore_core.scoring.isolation.box import Box, interpreter_paths, why_no_box
from brainscore_core.testing.machine import SkipKind, has_network, kind_of_reason
from brainscore_core.untrusted import MOST_LINE, MOST_MESSAGE

if TYPE_CHECKING:
    from brainscore_core.testing.outcomes import TestOutcome

# -- Derive a plugin's result from its test outcomes: what failed, where, why, and how to fix it -----------------------

_LOCATION = re.compile(r"^(?P<file>[^\s:<>][^:\n]{0,400}\.py):(?P<line>\d{1,7}):", re.MULTILINE)
_SKIP_KINDS: tuple[tuple[str, SkipKind], ...] = (
    (r"private", "private"),
    (r"memory", "memory"),
    (r"slow", "slow"),
    (r"gpu|cuda", "gpu"),
    (r"network|offline|internet|download", "network"),
)
_FIXES = (
    (
        r"No module named '(?P<name>[\w.]{1,80})'",
        "add what provides {name!r} to requirements.txt of the plugin, or correct the import",
    ),
    (r"PrivateDataError", "mark the test with @pytest.mark.private_access, or use public data"),
    (
        r"DownloadError|ConnectionError|TimeoutError|URLError|gaierror",
        "mark the test with @pytest.mark.network, or test with data that are generated",
    ),
    (
        r"UnknownIdentifierError",
        "name an identifier that a plugin registers; nox -s plan shows what this change registers",
    ),
    (r"fixture '(?P<name>\w{1,80})' not found", "define the fixture {name!r} in test.py or in conftest.py beside it"),
    (r"SyntaxError|IndentationError", "correct the syntax; python -m compileall shows where"),
    (r"MemoryError|signal 9|Killed", "mark the test with @pytest.mark.memory_intense, or use less data"),
)


def from_outcomes(
    outcomes: Sequence[TestOutcome], plugin: PluginName, *, duration_s: float, reproduce: str = ""
) -> PluginResult:
    """Return a plugin's result; the first 100 failures and 500 skipped tests are kept in full."""
    failures = [outcome for outcome in outcomes if outcome.outcome in {"failed", "error"}]
    skipped = [outcome for outcome in outcomes if outcome.outcome in {"skipped", "deselected"}]
    n_errors = sum(outcome.outcome == "error" for outcome in failures)
    n_failed, n_passed = len(failures) - n_errors, len(outcomes) - len(failures) - len(skipped)
    status: Status = "error" if n_errors else "failed" if n_failed else "passed" if n_passed else "skipped"
    return PluginResult(
        plugin=plugin,
        status=status,
        n_passed=n_passed,
        n_failed=n_failed,
        n_errors=n_errors,
        n_skipped=len(skipped),
        duration_s=duration_s,
        failures=tuple(_failure(outcome, plugin) for outcome in failures[:MOST_FAILURES]),
        skipped=tuple(
            SkippedTest(test=outcome.test, reason=reason[:MOST_LINE], kind=_kind(reason))
            for outcome in skipped[:MOST_SKIPS]
            for reason in [outcome.reason.removeprefix("Skipped: ")]
        ),
        reproduce=reproduce[:MOST_LINE],
    )


def _failure(outcome: TestOutcome, plugin: PluginName) -> Failure:
    """Locate a failure: the last frame inside the plugin, or if there is none, the last one in the repository."""
    places: list[tuple[str | None, int | None]]
    places = [(match["file"].replace("\\", "/"), int(match["line"])) for match in _LOCATION.finditer(outcome.traceback)]
    places = [place for place in places if not str(place[0]).startswith(("/", "../"))]
    own = [place for place in places if f"/{plugin}/" in f"/{place[0]}"]
    file, line = (own or places or [(outcome.file, outcome.line)])[-1]
    fix = _fix_of_text(f"{outcome.reason}\n{outcome.traceback}")
    return Failure(test=outcome.test, message=outcome.reason, file=file, line=line, fix=fix)


def _fix_of_text(text: str) -> str:
    for pattern, hint in _FIXES:
        match = re.search(pattern, text)
        if match:
            return hint.format(**match.groupdict())
    return ""


def _kind(reason: str) -> SkipKind:
    """Return the kind that a reason states, or guess it from the words."""
    kind = kind_of_reason(reason)
    if kind != "other" or reason.startswith("other: "):
        return kind
    return next((kind for pattern, kind in _SKIP_KINDS if re.search(pattern, reason, re.IGNORECASE)), "other")


# -- Define the box for a plugin's tests in a job: the checkout, their requirements, and a home of their own -----------


def box_of_tests(
    plugin: Plugin,
    *,
    repository: Path,
    python: Path,
    own: Path,
    data: Path,
    environment: Mapping[str, str],
    network: bool,
) -> Box:
    """Return the box for a plugin's tests, which share no writable folder with other plugins.

    Parameters
    ----------
    repository
        Top folder of the checkout, read-only.
    own
        Temporary folder for their home, files and outcomes.
    data
        Public data, or a copy of the private data they need. They see links to these files in their own folder,
        where they may add others.
    network
        Whether they have network; never with private data.
    """
    own, data = own.resolve(), data.resolve()
    home = own / "home"
    home.mkdir(parents=True, exist_ok=True)
    (data / LOCKS).mkdir(parents=True, exist_ok=True)  # or it would be in sight when it is made later
    own_data = own / "data"
    if not own_data.exists():
        shutil.copytree(data, own_data, symlinks=True, copy_function=os.symlink, ignore=shutil.ignore_patterns(LOCKS))
    # Somebody could replace shared byte code; installed packages have theirs next to them.
    variables = {name: value for name, value in environment.items() if name != "PYTHONPYCACHEPREFIX"}
    homes = {"HOME": home, "BRAINSCORE_HOME": home, "TMPDIR": own, "BRAINIO_HOME": own_data}
    here = (repository, plugin.root.path, plugin.directory)
    return Box(
        readable=(data, *(path.resolve() for path in here), *interpreter_paths(python)),
        writable=(own,),
        network=network,
        environment={**variables, **{name: str(path) for name, path in homes.items()}},
        folder=repository.resolve(),
    )


# -- the tests of one job ----------------------------------------------------------------------------------------------

_LEAST_MINUTES, _FACTOR = 15.0, 4.0  # the planned minutes are a guess


@dataclass(frozen=True, kw_only=True)
class ShardRequest:
    """One job of a plan to test.

    `results` is the folder for one JSON file per plugin, see `Results`.
    """

    plan: Path
    shard: int
    results: Path


def run_shard(
    library: str, request: ShardRequest, options: TestOptions, *, repository: Path, say: Callable[[str], object] = print
) -> int:
    """Test all plugins of one job of a plan in sequence; none stops the others.

    The plan overrides `options.private`. Return 0 if all plugins passed, otherwise 1. Raises `ConfigurationError` if
    the plan or job does not exist, or the plan refuses a file.
    """
    plan, tasks = _tasks(request, repository)
    index = PluginIndex(library_roots(library))
    plugins = {
        PluginName(folder, plugin.name): plugin
        for folder in FOLDERS
        for plugin in index.plugins(folder)
        if plugin.root.rank == 0
    }
    network = has_network()
    if why := why_no_box():
        say(f"Plugins are not isolated from each other. {why}")
    results = []
    for task in tasks:
        say(f"== {task.plugin}: about {task.minutes:.0f} min; {' <- '.join(map(for_log, task.reasons))}")
        result = _test(task, plugins.get(task.plugin), options, repository, network=network, say=say)
        results.append(result)
        with atomic_path(request.results / f"{task.plugin.folder}--{task.plugin.name}.json") as temporary:
            temporary.write_text(Results(plugins=(result,)).to_json(), encoding="utf-8")
        counts = f"{result.n_passed} passed, {result.n_failed + result.n_errors} failed, {result.n_skipped} skipped"
        say(f"== {task.plugin}: {result.status}: {counts} in {result.duration_s:.0f} s")
    gathered = Results(plugins=tuple(results))
    part = replace(plan, tests=tasks, pairs=(), previews=(), refused=())
    verdict = judge(part, gathered)
    for line in annotate(part, gathered, verdict):
        say(line)
    return 0 if verdict.passed else FAILED


def _tasks(request: ShardRequest, repository: Path) -> tuple[Plan, tuple[TestTask, ...]]:
    plan = Plan.read(request.plan)
    if plan.refused:
        raise ConfigurationError(f"The plan refuses {plan.refused[0].path!a}: nothing may be run.")
    shards = test_shards(plan, read_policy(repository))
    if request.shard >= len(shards):
        raise ConfigurationError(
            f"There is no job {request.shard} in {request.plan}: it has {len(shards)}, counted from 0. The policy in "
            "pyproject.toml has to be the one the plan was made with."
        )
    return plan, shards[request.shard].tasks


def timeout_of(task: TestTask) -> float:
    """Return the time limit for a plugin's tests, in seconds."""
    return 60 * max(_LEAST_MINUTES, _FACTOR * task.minutes)


def _test(
    task: TestTask,
    plugin: Plugin | None,
    options: TestOptions,
    repository: Path,
    *,
    network: bool,
    say: Callable[[str], object],
) -> PluginResult:
    if plugin is None:
        return _error(task, "plugin", "The plan names this plugin, but it does not exist.", "make the plan again")
    if not task.with_private:
        return _run(task, plugin, options, repository, network=network, say=say)
    if why := why_no_box():
        return _error(task, "box", f"Tests with private data run in a box alone. {why}", "")
    result = _run(task, plugin, options, repository, network=False, say=None)
    return public_result(result, written_tests(files_with_tests(plugin), repository))


def _run(
    task: TestTask,
    plugin: Plugin,
    options: TestOptions,
    repository: Path,
    *,
    network: bool,
    say: Callable[[str], object] | None,
) -> PluginResult:
    """Run a plugin's tests, in a box if possible; discard their output if `say` is None."""
    options = replace(options, private=task.with_private)
    environment = environment_of_job(network=network)
    data = data_home_of_tests(task.plugin) if task.with_private else settings().data_home

    def box_of(python: Path, own: Path) -> Box:
        paths = {"repository": repository, "python": python, "own": own, "data": data}
        return box_of_tests(plugin, **paths, environment=environment, network=not task.with_private)

    try:
        run = run_plugin(
            plugin,
            options,
            folder=repository,
            environment=environment,
            timeout_s=timeout_of(task),
            show=lambda line: say(for_log(line)) if say else None,
            box_of=None if why_no_box() else box_of,
        )
    except RequirementsError as error:
        file = plugin.directory / "requirements.txt"
        path = file.relative_to(repository).as_posix() if file.is_relative_to(repository) else None
        return _error(task, "requirements", str(error), "correct requirements.txt", file=path)
    except (BrainScoreError, OSError) as error:
        return _error(task, "test_plugin", f"{type(error).__name__}: {error}", "")
    return result_of(task, run)


def result_of(task: TestTask, run: PluginRun) -> PluginResult:
    """Return the test results of a plugin.

    A process is trusted only if it ended well: a stranger's tests run in it.
    """
    result = from_outcomes(run.outcomes or (), task.plugin, reproduce=_reproduce(task), duration_s=run.seconds)
    problem = run.problem
    if problem is None and run.ended.status != 0 and result.is_fine:
        problem = f"pytest ended with status {run.ended.status} although no test failed"
    if problem is None:
        return result
    failure = Failure(test="pytest", message=problem[:MOST_MESSAGE], fix=_fix_of_run(run))
    failures = (failure, *result.failures[: MOST_FAILURES - 1])
    return replace(result, status="error", n_errors=result.n_errors + 1, failures=failures)


def _fix_of_run(run: PluginRun) -> str:
    if run.ended.stopped is not None:
        return "make the tests shorter, mark long ones with @pytest.mark.slow, or say minutes in metadata.yml"
    if run.ended.status < 0:
        return "run it with python -X faulthandler; mark what needs much memory with @pytest.mark.memory_intense"
    return ""


def _error(task: TestTask, test: str, message: str, fix: str, *, file: str | None = None) -> PluginResult:
    failure = Failure(test=test, message=message[:MOST_MESSAGE], file=file, fix=fix)
    return PluginResult(plugin=task.plugin, status="error", n_errors=1, failures=(failure,), reproduce=_reproduce(task))


def _reproduce(task: TestTask) -> str:
    return f"nox -s test_plugin -- {'' if task.with_private else '--ci '}{task.plugin}"[:MOST_LINE]
