"""Test plugins: their contract and their own tests, in an environment with their requirements."""

from __future__ import annotations

import ast
import hashlib
import math
import os
import re
import shlex
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import get_args

from brainscore_ci.jobs.credentials import without_credentials
from brainscore_core import command_line
from brainscore_core.config import settings
from brainscore_core.credentials import environment_of
from brainscore_core.errors import BrainScoreError, CorruptFileError
from brainscore_core.plugin_management.environment import python_for
from brainscore_core.plugin_management.index import Plugin, find_plugins, label_of
from brainscore_core.processes import Ended, run_attached, run_bounded
from brainscore_core.scoring.isolation.box import Box, run_boxed
from brainscore_core.scoring.isolation.environments import boxed_python_for
from brainscore_core.testing.machine import has_network, lend_weights
from brainscore_core.testing.outcomes import Part, TestOutcome, read_outcomes

# -- Choose the number of processes for a plugin's tests: starting one costs as much as many small tests ---------------

_START_S = 10.0  # least work for a process, which has to import everything
_MANY_TESTS = 24  # if their duration is unknown
_MOST = 8  # each holds the library, and maybe a model, in memory


def choose_workers(n_tests: int, cores: int, last_seconds: float | None = None) -> int:
    """Return the number of worker processes; 0 for none besides the main one.

    Examples
    --------
    >>> choose_workers(8, cores=4), choose_workers(200, cores=4), choose_workers(200, cores=4, last_seconds=5)
    (0, 4, 0)
    """
    enough = n_tests / (_MANY_TESTS / 2) if last_seconds is None else last_seconds / _START_S
    workers = min(cores, n_tests, math.floor(enough), _MOST)
    return workers if workers > 1 else 0


def usable_cores() -> int:
    """Return the number of processor cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def count_tests(file: Path) -> int:
    """Return the approximate number of tests in a file, with literal parametrisations; 0 if it cannot be read."""
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return 0
    return sum(
        math.prod((_times(decorator) for decorator in node.decorator_list), start=1)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test")
    )


def _times(decorator: ast.expr) -> int:
    is_call = isinstance(decorator, ast.Call) and isinstance(decorator.func, ast.Attribute)
    if is_call and decorator.func.attr == "parametrize" and len(decorator.args) > 1:  # type: ignore[attr-defined] # a call of an attribute
        values = decorator.args[1]  # type: ignore[attr-defined] # see above
        return len(values.elts) if isinstance(values, (ast.List, ast.Tuple)) else 1
    return 1


# -- Format the results of plugin tests as a table ---------------------------------------------------------------------

_MOST_NAMES, _MOST_REASONS, _N_SLOWEST, _NOTABLE_S = 3, 8, 3, 1.0


def is_untested(outcomes: Sequence[TestOutcome]) -> bool:
    """Whether tests were skipped and none ran."""
    return {outcome.outcome for outcome in outcomes} in ({"skipped"}, {"skipped", "deselected"})


def format_table(results: Mapping[str, Sequence[TestOutcome]]) -> str:
    """Return a row for each plugin and part, the reasons of skipped tests, and the slowest tests."""
    rows = [("plugin", "part", "passed", "failed", "skipped", "time")]
    for plugin, outcomes in results.items():
        for part in get_args(Part):
            group = [outcome for outcome in outcomes if outcome.part == part]
            if group:
                rows.append((plugin, part, *_numbers(group)))
    lines = _aligned(rows)
    for plugin, outcomes in results.items():
        lines += [f"{plugin}: {line}" for line in _skips(outcomes)]
        slow = sorted((test for test in outcomes if test.seconds >= _NOTABLE_S), key=lambda test: -test.seconds)
        if slow:
            slowest = ", ".join(f"{outcome.test} {outcome.seconds:.1f} s" for outcome in slow[:_N_SLOWEST])
            lines.append(f"{plugin}: slowest: {slowest}")
    return "\n".join(lines)


def _numbers(outcomes: Sequence[TestOutcome]) -> tuple[str, str, str, str]:
    counts = Counter(outcome.outcome for outcome in outcomes)
    failed, skipped = counts["failed"] + counts["error"], counts["skipped"] + counts["deselected"]
    seconds = sum(outcome.seconds for outcome in outcomes)
    return str(counts["passed"]), str(failed), str(skipped), f"{seconds:.1f} s"


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(
            cell.ljust(width) if column < 2 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _skips(outcomes: Sequence[TestOutcome]) -> list[str]:
    reasons: dict[str, list[str]] = {}
    for outcome in sorted(outcomes, key=lambda outcome: outcome.test):  # as they ended, in parallel
        if outcome.outcome in ("skipped", "deselected"):
            reason = " ".join(outcome.reason.removeprefix("Skipped: ").split()).removeprefix("other: ")
            reason = "deselected by -k or -m" if outcome.outcome == "deselected" else reason
            reasons.setdefault(reason, []).append(outcome.test)
    groups = sorted(reasons.items(), key=lambda entry: -len(entry[1]))
    n_skipped = sum(outcome.outcome == "skipped" for outcome in outcomes)
    skipped = f"all {n_skipped} tests were" if n_skipped > 1 else "its one test was"
    lines = [f"nothing was tested: {skipped} skipped"] if is_untested(outcomes) else []
    for reason, tests in groups[:_MOST_REASONS]:
        names = ", ".join([*tests[:_MOST_NAMES], *(["..."] if len(tests) > _MOST_NAMES else [])])
        lines.append(f"skipped {len(tests)}, {reason} ({names})")
    if rest := groups[_MOST_REASONS:]:
        n_tests, plural = sum(len(tests) for _, tests in rest), "s" if len(rest) > 1 else ""
        lines.append(f"skipped {n_tests}, for {len(rest)} more reason{plural}")
    return lines


_TESTS_PER_IDENTIFIER = 5
_PYTEST_OK, _NO_TESTS_COLLECTED = 0, 5  # exit statuses of pytest


@dataclass(frozen=True, kw_only=True)
class TestOptions:
    """How to test."""

    __test__ = False  # pytest would collect it for its name

    private: bool = True  # whether to run tests with private data; if not, no test gets credentials
    slow: bool = False
    pytest_arguments: tuple[str, ...] = ()  # further arguments for pytest, such as ``('-k', 'ceiling')``


def files_with_tests(plugin: Plugin) -> list[Path]:
    """Return a plugin's test files: ``test.py``, and ``test_*.py`` next to it."""
    files = (plugin.directory / "test.py", *sorted(plugin.directory.glob("test_*.py")))
    return [file for file in files if file.is_file()]


# -- one plugin --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class PluginRun:
    """Result of testing a plugin.

    `outcomes` cover all tests; None if the process ended too early.
    """

    plugin: Plugin
    ended: Ended
    outcomes: tuple[TestOutcome, ...] | None
    seconds: float
    python: Path

    @property
    def problem(self) -> str | None:
        """Problem other than failed tests; None if there is none."""
        if self.ended.stopped is not None:
            return f"the tests did not end within {self.ended.seconds / 60:.1f} minutes and were stopped"
        if self.ended.signal is not None:
            hint = ", often for lack of memory" if self.ended.signal == "SIGKILL" else ""
            return f"the interpreter crashed: signal {-self.ended.status} ({self.ended.signal}){hint}"
        if self.ended.status == _NO_TESTS_COLLECTED:
            return "no test was collected: write tests into test.py, or correct -k and -m"
        if self.outcomes is None:
            return f"pytest ended with status {self.ended.status} before it could write the outcomes"
        if not files_with_tests(self.plugin):
            return "test.py is missing: every plugin keeps its tests there"
        if self.plugin.taken and not self.plugin.registrations:
            names = ", ".join(entry.identifier for entry in self.plugin.taken)
            return f"the library, or a plugin named before, registers {names} too, so nothing of this one can be loaded"
        if not self.plugin.registrations and not self.plugin.computed and self.plugin.problem is None:
            return "__init__.py registers nothing, so nothing of this plugin can be loaded"
        return None

    @property
    def is_fine(self) -> bool:
        """Whether all tests that ran passed."""
        return self.ended.status == _PYTEST_OK and self.problem is None


def run_plugin(
    plugin: Plugin,
    options: TestOptions,
    *,
    folder: Path,
    environment: Mapping[str, str],
    timeout_s: float | None = None,
    show: Callable[[str], object] | None = None,
    box_of: Callable[[Path, Path], Box] | None = None,
) -> PluginRun:
    """Test one plugin in its own process.

    Raises `RequirementsError` or `IsolationError` if the plugin's requirements cannot be installed, or the box cannot
    be made.

    Parameters
    ----------
    folder
        Working folder of the process; paths are printed relative to it.
    environment
        All its environment variables, see `environment_of_tests`.
    show
        Takes each line of output; None: inherit this process's output.
    box_of
        ``box_of(python, own)`` returns the box to run in, which can write into `own`; None: no box.
    """
    started = time.monotonic()
    installs = settings().install_dependencies != "no"
    make = boxed_python_for if box_of else python_for
    python = make([plugin.directory]) if installs else Path(sys.executable)
    cache = settings().cache_home / "plugin-tests" / _key(plugin)
    with tempfile.TemporaryDirectory(prefix="brainscore-tests-") as temporary:
        file = Path(temporary, "outcomes.json")
        workers = _workers(plugin, options, cache / file.name)
        command = [
            *(str(python), "-m", "pytest", "-c", str(Path(__file__).with_suffix(".ini"))),
            *(f"--rootdir={folder}", f"--confcutdir={plugin.directory}"),
            *("-o", f"cache_dir={Path(temporary) if box_of else cache}/pytest"),
            f"--basetemp={Path(temporary, 'tmp')}",  # pytest clears its default folder, shared by all users
            f"--brainscore-outcomes={file}",
            *_pytest_arguments(plugin, options, workers),
        ]
        threads = {"OMP_NUM_THREADS": str(max(1, usable_cores() // workers))} if workers else {}
        variables = {**threads, **environment}
        if box_of is not None:
            ended = run_boxed(command, box_of(python, Path(temporary)), timeout_s=timeout_s, show=show)
        elif show is None:
            ended = run_attached(command, environment=variables, folder=folder)
        else:
            ended = run_bounded(command, environment=variables, folder=folder, timeout_s=timeout_s, show=show)
        outcomes = None
        with suppress(CorruptFileError):
            outcomes = read_outcomes(file)
        if outcomes is not None and not options.pytest_arguments:
            cache.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, cache / file.name)  # only used to choose the number of workers
    return PluginRun(plugin=plugin, ended=ended, outcomes=outcomes, seconds=time.monotonic() - started, python=python)


def _pytest_arguments(plugin: Plugin, options: TestOptions, workers: int) -> list[str]:
    return [
        f"--brainscore-plugin={plugin.root.package}={plugin.directory}",
        *([] if options.private else ["--brainscore-no-private"]),
        *(["--brainscore-slow"] if options.slow else []),
        *(["-n", str(workers), "--dist", "loadgroup"] if workers else []),
        *options.pytest_arguments,
        *map(str, [*files_with_tests(plugin), plugin.init_file]),
    ]


def environment_of_tests(options: TestOptions, *, network: bool = True) -> dict[str, str]:
    """Return the environment variables for tests.

    Their home is a folder below the cache; they share data and weights with the caller. Without network, they are
    offline.
    """
    return _for_pytest(dict(os.environ) if options.private else without_credentials(os.environ), network=network)


def environment_of_job(*, network: bool = True) -> dict[str, str]:
    """Return the environment variables for tests in a job: those of `environment_of_tests` known to be harmless."""
    return _for_pytest(environment_of(os.environ), network=network)


def _for_pytest(environment: dict[str, str], *, network: bool) -> dict[str, str]:
    environment.pop("PYTEST_DISABLE_PLUGIN_AUTOLOAD", None)  # it would disable the library's own plugin
    home = settings().cache_home / "plugin-tests" / "home"
    lend_weights(settings(), home)
    environment["BRAINSCORE_HOME"] = str(home)
    if not network:
        environment["BRAINSCORE_OFFLINE"] = "1"
    return environment


def _key(plugin: Plugin) -> str:
    digest = hashlib.sha256(str(plugin.directory).encode(errors="surrogateescape")).hexdigest()[:12]
    return f"{plugin.root.folder}-{plugin.name}-{digest}"


def _workers(plugin: Plugin, options: TestOptions, last: Path) -> int:
    """Return the number of processes to start; 0 if an argument already decides it."""
    own = re.compile(r"-n\d*|-n=.*|--numprocesses.*|--dist.*|--pdb|--trace|-s|--capture=no|--collect-only|--co|-p")
    if any(own.fullmatch(argument) for argument in options.pytest_arguments) or find_spec("xdist") is None:
        return 0
    seconds = None
    with suppress(CorruptFileError):
        seconds = sum(outcome.seconds for outcome in read_outcomes(last))
    n_tests = sum(count_tests(file) for file in files_with_tests(plugin)) + _TESTS_PER_IDENTIFIER * len(
        plugin.registrations
    )
    return choose_workers(n_tests, usable_cores(), seconds)


# -- several plugins, for a person -------------------------------------------------------------------------------------


def run_plugin_tests(library: str, names: Sequence[str], options: TestOptions | None = None) -> int:
    """Test plugins and print the results; return the exit code.

    It is 0 if all tests that ran passed, `NOT_AVAILABLE` if all tests of a plugin were skipped, else `FAILED`.

    Raises `UnknownIdentifierError` if a name matches nothing.

    Parameters
    ----------
    library
        Package with the plugins, such as ``'mylibrary'``.
    names
        See `plugins_named`; or paths of plugin folders, possibly outside the library.
    options
        None: all tests except slow ones.
    """
    options = options or TestOptions()
    with ThreadPoolExecutor(1) as executor:
        network = executor.submit(lambda: not settings().offline and has_network())
        plugins = find_plugins(library, names)
        environment = environment_of_tests(options, network=network.result())
    runs: list[PluginRun] = []
    problems: dict[str, str] = {}
    for plugin in plugins:
        folder = Path.cwd() if plugin.directory.is_relative_to(Path.cwd()) else plugin.root.path.parent
        try:
            run = run_plugin(plugin, options, folder=folder, environment=environment)
        except BrainScoreError as error:
            if len(plugins) == 1:
                raise
            problems[label_of(plugin)] = str(error)
            continue
        runs.append(run)
        if run.problem is not None:
            problems[label_of(plugin)] = run.problem
    command_line.show(_report(runs, problems, names, options))
    if problems or not all(run.is_fine for run in runs):
        return command_line.FAILED
    return command_line.NOT_AVAILABLE if any(is_untested(run.outcomes or ()) for run in runs) else 0


def _report(runs: Sequence[PluginRun], problems: Mapping[str, str], names: Sequence[str], options: TestOptions) -> str:
    lines = ["", format_table({label_of(run.plugin): run.outcomes or () for run in runs})] if runs else []
    lines += [f"{label}: {problem}" for label, problem in problems.items()]
    for run in runs:
        if run.python != Path(sys.executable):
            lines.append(f"{label_of(run.plugin)}: in the environment {run.python.parents[1]}")
    flags = [*([] if options.private else ["--ci"]), *(["--slow"] if options.slow else [])]
    is_outside = any(run.plugin.root.rank > 0 for run in runs)  # where there is no noxfile.py
    program = ["brainscore", "test-plugin"] if is_outside else ["nox", "-s", "test_plugin", "--"]
    command = [*program, *names, *flags, *options.pytest_arguments]
    return "\n".join([*lines, f"reproduce: {shlex.join(command)}"])
