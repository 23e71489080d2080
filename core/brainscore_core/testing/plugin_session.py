"""Collect the tests of one plugin, with its contract, report errors of its code once, and record results."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import traceback
from collections.abc import Container, Generator, Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from brainscore_core.errors import BrainScoreError, PluginError
from brainscore_core.own_code import place_in_plugin
from brainscore_core.plugin_management.import_plugin import load_plugin
from brainscore_core.plugin_management.index import make_importable, plugin_at
from brainscore_core.plugin_management.registrations import table_of
from brainscore_core.plugin_management.registry import KINDS
from brainscore_core.testing.outcomes import Outcome, Part, TestOutcome, write_outcomes

if TYPE_CHECKING:
    from brainscore_core.plugin_management.index import Plugin


_MOST_SAID = 300  # characters

CONTRACT_FILE = "__init__.py"
"""The file of a plugin that its contract tests are reported under."""


class PluginSession:
    """Tests one plugin and its contract; workers share in ``notes`` which test met an error of the plugin first."""

    def __init__(self, plugin: Plugin, notes: Path | None = None) -> None:
        self._plugin = plugin
        self._notes = notes
        self._failed: dict[tuple[str, str, str], str] = {}

    @classmethod
    def of(cls, option: str, notes: Path | None) -> PluginSession:
        """Return the session of the option ``--brainscore-plugin``, with the plugin made importable."""
        package, _, folder = option.partition("=")
        plugin = plugin_at(Path(folder), package.rpartition(".")[0])
        make_importable(plugin)
        return cls(plugin, notes)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collect_directory(self, path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """Treat the plugin's folder as plain: pytest must not import it under another name."""
        if path != self._plugin.directory:
            return None
        folder: pytest.Collector = pytest.Dir.from_parent(parent, path=path)
        return folder

    @pytest.hookimpl(tryfirst=True)
    def pytest_pycollect_makemodule(self, module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
        """Import tests under the plugin's own package name, and create its contract."""
        if module_path.parent != self._plugin.directory:
            return None
        kind = ContractModule if module_path.name == CONTRACT_FILE else PluginTestModule
        module: pytest.Module = kind.from_parent(parent, path=module_path)
        module.plugin = self._plugin  # type: ignore[attr-defined] # both kinds have it
        return module

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Report an error of the plugin in the first test that meets it; later ones refer to that test."""
        report = yield
        error = None if call.excinfo is None or not report.failed else _error_of_code(call.excinfo.value)
        if error is not None and (first := self._first(error, item.nodeid)) != item.nodeid:
            said = f"{error[0]}: {error[1]}"[:_MOST_SAID]
            path, line = item.reportinfo()[:2]
            report.outcome = "skipped"
            report.longrepr = (str(path), (line or 0) + 1, f"Skipped: other: the same error as in {first}: {said}")
        return report

    def _first(self, error: tuple[str, str, str], nodeid: str) -> str:
        if self._notes is None:
            return self._failed.setdefault(error, nodeid)
        digest = hashlib.sha256("\0".join(error).encode(errors="replace")).hexdigest()[:16]
        note = self._notes.with_name(f"{self._notes.name}-{digest}")
        mine = note.with_name(f"{note.name}-{os.getpid()}")
        mine.write_text(nodeid, encoding="utf-8")
        try:
            os.link(mine, note)  # appears with its content
        except FileExistsError:
            return note.read_text(encoding="utf-8")
        finally:
            mine.unlink()
        return nodeid


class PluginTestModule(pytest.Module):
    """A plugin's tests, imported as part of it."""

    plugin: Plugin

    def _getobj(self) -> Any:
        library = self.plugin.root.package.rpartition(".")[0]
        try:
            load_plugin(library, self.plugin)
            return importlib.import_module(f"{self.plugin.module}.{self.path.stem}")
        except pytest.skip.Exception as error:
            if error.allow_module_level:
                raise
            raise self.CollectError("pytest.skip(...) at the top needs allow_module_level=True.") from error
        except Exception as error:
            raise self.CollectError(_explain(error, self.plugin, self.config.rootpath)) from error


class ContractModule(pytest.Module):
    """Contract classes for everything a plugin registers that its own tests do not cover."""

    plugin: Plugin

    def _getobj(self) -> Any:
        classes = contract_classes(self.plugin, self.config.rootpath)
        module = ModuleType(self.plugin.module)
        vars(module).update(classes)
        return module


def contract_classes(plugin: Plugin, repository: Path) -> dict[str, type]:
    """Return a contract class for each registered identifier that the plugin's own tests do not name, except in tables.

    They derive from ``CONTRACTS`` of the domain's module ``testing`` and are named by the identifier, with the kind for
    kinds that share a folder. Paths in messages are relative to ``repository``.
    """
    library = plugin.root.package.rpartition(".")[0]
    if importlib.util.find_spec(f"{library}.testing") is None or table_of(plugin.directory).is_file():
        return {}
    contracts = importlib.import_module(f"{library}.testing").CONTRACTS
    path = plugin.init_file
    path = path.relative_to(repository) if path.is_relative_to(repository) else path
    classes: dict[str, type] = {}
    for kind in KINDS.values():
        base = contracts.get(kind.name)
        if base is None or kind.folder != plugin.root.folder:
            continue
        covered = {test.identifier for test in _derived(base) if test.__module__.startswith(f"{plugin.module}.")}
        for entry in plugin.registrations:
            is_one = entry.registry == kind.registry and not (entry.conditional or entry.is_scheme)
            if is_one and entry.identifier not in covered:
                name = entry.identifier if kind.name == kind.folder.rstrip("s") else f"{entry.identifier}:{kind.name}"
                registered_at = f"{path.as_posix()}:{entry.line}"
                attributes = {"identifier": entry.identifier, "registered_at": registered_at}
                classes[name] = type(name, (base,), {**attributes, "__module__": base.__module__})
    return classes


def _derived(base: type) -> Iterator[Any]:
    derived: Any
    for derived in base.__subclasses__():
        yield derived
        yield from _derived(derived)


def _error_of_code(error: BaseException) -> tuple[str, str, str] | None:
    """Return kind, message and place; None for a test's own error."""
    place = place_in_plugin(error)
    if isinstance(error, PluginError):
        return type(error).__name__, str(error), ""
    if place is None or place.file.name.startswith("test"):
        return None
    if isinstance(error, AssertionError) and not isinstance(error, BrainScoreError):
        return None  # an assertion of a test that used the plugin
    return type(error).__name__, str(error), f"{place.file}:{place.line}"


def _explain(error: BaseException, plugin: Plugin, repository: Path) -> str:
    prefix = f"{repository}{os.sep}"
    if isinstance(error, BrainScoreError):
        return str(error).replace(prefix, "")
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).is_relative_to(plugin.directory)]
    lines = [f"{frame.filename.removeprefix(prefix)}:{frame.lineno}: in {frame.name}: {frame.line}" for frame in own]
    return "\n".join([*lines, "".join(traceback.format_exception_only(error)).rstrip()])


# -- recording results -------------------------------------------------------------------------------------------------
#
# Record the results of tests while pytest runs.


_MOST_REASON = 4_000  # characters


class Recorder:
    """Writes the results of the tests to a file when pytest ends by itself."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._phases: dict[str, list[pytest.TestReport]] = {}
        self._others: list[TestOutcome] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record a phase of a test: set-up, call, tear-down."""
        self._phases.setdefault(report.nodeid, []).append(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Record what cannot be collected."""
        if report.outcome != "passed":
            self._others.append(_of_report(report, "skipped" if report.skipped else "error"))

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        """Record deselected tests, which pytest-xdist does not report."""
        self._others += [_outcome(item.nodeid, "deselected") for item in items]

    def pytest_sessionfinish(self) -> None:
        """Write the file."""
        write_outcomes(self._file, [*self._others, *(_of_phases(phases) for phases in self._phases.values())])


def _of_phases(phases: list[pytest.TestReport]) -> TestOutcome:
    bad = [phase for phase in phases if phase.failed]
    skipped = [phase for phase in phases if phase.skipped]
    seconds = max(0.0, sum(phase.duration for phase in phases))
    if bad:
        return _of_report(bad[0], "failed" if any(phase.when == "call" for phase in bad) else "error", seconds)
    if skipped:
        return _of_report(skipped[0], "skipped", seconds)
    return _outcome(phases[0].nodeid, "passed", seconds, phases[0].keywords)


def _of_report(report: pytest.TestReport | pytest.CollectReport, outcome: Outcome, seconds: float = 0.0) -> TestOutcome:
    file, line, _ = report.location or (None, None, "")
    return replace(
        _outcome(report.nodeid, outcome, seconds, getattr(report, "keywords", ())),
        reason=_reason(report),
        file=file,
        line=None if line is None else line + 1,  # pytest counts from 0 here
        traceback=report.longreprtext if outcome != "skipped" else "",
    )


def _outcome(nodeid: str, outcome: Outcome, seconds: float = 0.0, keywords: Container[str] = ()) -> TestOutcome:
    file, _, test = nodeid.partition("::")
    part: Part = "contract" if file.endswith(CONTRACT_FILE) or "contract" in keywords else "test.py"
    return TestOutcome(test=test or file, part=part, outcome=outcome, seconds=seconds)


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    if hasattr(report, "wasxfail"):
        return f"other: expected to fail: {report.wasxfail}"
    longrepr = report.longrepr
    if isinstance(longrepr, tuple):
        return str(longrepr[2])
    crash = getattr(longrepr, "reprcrash", None)
    return str(crash.message) if crash is not None else str(longrepr or "").strip()[-_MOST_REASON:]
