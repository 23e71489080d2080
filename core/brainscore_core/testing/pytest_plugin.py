"""Extend pytest for plugin tests: markers, the contract of each kind of plugin, reasons for skips.

Registered under the entry point ``pytest11``, so it works wherever the library is installed, also for a plugin folder
outside the repository. By default it only declares markers and collects classes derived from `Contract` under any
name. The setting ``brainscore_markers = true`` of a repository applies the markers, see `markers`; the option
``--brainscore-plugin``, passed by ``test_plugin``, enables the rest.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Container, Generator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from brainscore_core.testing.markers import MARKERS, MarkedTests

if TYPE_CHECKING:
    from brainscore_core.plugin_management.index import Plugin
    from brainscore_core.testing.contracts import Contract
    from brainscore_core.testing.outcomes import Outcome, Part, TestOutcome

__all__ = ["MARKERS", "pytest_addoption", "pytest_configure"]

_MOST_REASON, _MOST_SAID = 4_000, 300  # characters

CONTRACT_FILE = "__init__.py"
"""The file of a plugin that its contract tests stand under: what it registers is tested."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options that ``test_plugin`` passes."""
    group = parser.getgroup("brainscore", "tests of Brain-Score plugins (nox -s test_plugin)")
    group.addoption(
        "--brainscore-plugin", metavar="PACKAGE=FOLDER", help="the plugin, such as mylibrary.models=/x/mymodel2024"
    )
    group.addoption("--brainscore-no-private", action="store_true", help="skip all tests marked private_access")
    group.addoption("--brainscore-slow", action="store_true", help="run tests marked slow")
    group.addoption("--brainscore-outcomes", metavar="FILE", help="write what the tests gave, as JSON")
    parser.addini(
        "brainscore_markers",
        "skip tests whose markers ask for what this machine lacks, with the reason",
        type="bool",
        default=False,
    )


def pytest_configure(config: pytest.Config) -> None:
    """Declare the markers, so that ``--strict-markers`` accepts them and ``pytest --markers`` explains them."""
    for name, meaning in MARKERS.items():
        config.addinivalue_line("markers", f"{name}: {meaning}")
    named = config.getoption("--brainscore-plugin", None)
    outcomes = config.getoption("--brainscore-outcomes", None)
    if named:
        session = PluginSession(_plugin_named(named), Path(outcomes) if outcomes else None)
        config.pluginmanager.register(session, "brainscore-plugin")
    if named or config.getini("brainscore_markers"):
        config.pluginmanager.register(MarkedTests(config), "brainscore-markers")
    if outcomes and not hasattr(config, "workerinput"):  # not in the workers of pytest-xdist
        config.pluginmanager.register(Recorder(Path(outcomes)), "brainscore-outcomes")


def pytest_pycollect_makeitem(
    collector: pytest.Module | pytest.Class, name: str, obj: object
) -> pytest.Collector | None:
    """Collect classes that derive from a contract and name an identifier, under any name."""
    contracts = sys.modules.get("brainscore_core.testing.contracts")
    if contracts is None or not (isinstance(obj, type) and issubclass(obj, contracts.Contract)):
        return None
    contract: type[Contract] = obj
    if not contract.identifier:
        return None  # a base class; one named Test... is collected and reports the missing identifier
    made: pytest.Collector = pytest.Class.from_parent(collector, name=name)
    made.add_marker("contract")
    made.add_marker(pytest.mark.xdist_group(f"{contract.kind}:{contract.identifier}"))  # one worker loads it
    return made


def _plugin_named(text: str) -> Plugin:
    from brainscore_core.plugin_management.named import make_importable, plugin_at

    package, _, folder = text.partition("=")
    plugin = plugin_at(Path(folder), package.rpartition(".")[0])
    make_importable(plugin)
    return plugin


class PluginSession:
    """Tests one plugin: imports it as the library does, and adds its contract.

    Parameters
    ----------
    notes : Path, optional
        Folder of files that tell other workers which test met an error of the plugin first.
    """

    def __init__(self, plugin: Plugin, notes: Path | None = None) -> None:
        self._plugin = plugin
        self._notes = notes
        self._failed: dict[tuple[str, str, str], str] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_collect_directory(self, path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """Treat the plugin's folder as a plain folder, so that pytest does not import it under another name."""
        if path != self._plugin.directory:
            return None
        made: pytest.Collector = pytest.Dir.from_parent(parent, path=path)
        return made

    @pytest.hookimpl(tryfirst=True)
    def pytest_pycollect_makemodule(self, module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
        """Import tests under the plugin's own package name, and create its contract."""
        if module_path.parent != self._plugin.directory:
            return None
        kind = ContractModule if module_path.name == CONTRACT_FILE else PluginTestModule
        made: pytest.Module = kind.from_parent(parent, path=module_path)
        made.plugin = self._plugin  # type: ignore[attr-defined] # both kinds have it
        return made

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Let an error in the plugin's code fail the first test that meets it; later ones refer to that test."""
        report = yield
        error = None if call.excinfo is None or not report.failed else _error_of_code(call.excinfo.value)
        if error is not None and (first := self._first(error, item.nodeid)) != item.nodeid:
            said = f"{error[0]}: {error[1]}"[:_MOST_SAID]
            path, line = item.reportinfo()[:2]
            report.outcome = "skipped"
            report.longrepr = (str(path), (line or 0) + 1, f"Skipped: other: the same error as in {first}: {said}")
        return report

    def _first(self, error: tuple[str, str, str], nodeid: str) -> str:
        """Return the test that met an error first, also in another worker of pytest-xdist."""
        if self._notes is None:
            return self._failed.setdefault(error, nodeid)
        digest = hashlib.sha256("\0".join(error).encode(errors="replace")).hexdigest()[:16]
        note = self._notes.with_name(f"{self._notes.name}-{digest}")
        mine = note.with_name(f"{note.name}-{os.getpid()}")
        mine.write_text(nodeid, encoding="utf-8")
        try:
            os.link(mine, note)  # appears with its content: a note opened for writing is empty for a moment
        except FileExistsError:
            return note.read_text(encoding="utf-8")
        finally:
            mine.unlink()
        return nodeid


class PluginTestModule(pytest.Module):
    """The tests of a plugin, imported as part of it."""

    plugin: Plugin

    def _getobj(self) -> Any:
        import importlib

        from brainscore_core.plugin_management.import_plugin import load_plugin

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
        from types import SimpleNamespace

        classes = contract_classes(self.plugin, self.config.rootpath)
        return SimpleNamespace(__name__=self.plugin.module, __doc__=None, **classes)


def contract_classes(plugin: Plugin, repository: Path) -> dict[str, type]:
    """Return a contract class for each registered identifier that the plugin's own tests do not name.

    Parameters
    ----------
    repository : Path
        Root for relative paths in messages.

    Returns
    -------
    dict of str to type
        Identifier -> class derived from those in ``CONTRACTS`` of the domain's module ``testing``; identifier and kind
        for kinds that share a folder.
    """
    import importlib
    import importlib.util

    from brainscore_core.plugin_management.registry import KINDS

    library = plugin.root.package.rpartition(".")[0]
    if importlib.util.find_spec(f"{library}.testing") is None:
        return {}
    contracts = importlib.import_module(f"{library}.testing").CONTRACTS
    file = plugin.init_file
    shown = file.relative_to(repository) if file.is_relative_to(repository) else file
    classes: dict[str, type] = {}
    for kind in KINDS.values():
        base = contracts.get(kind.name)
        if base is None or kind.folder != plugin.root.folder:
            continue
        covered = {each.identifier for each in _derived(base) if each.__module__.startswith(f"{plugin.module}.")}
        for found in plugin.registrations:
            if found.registry == kind.registry and not found.conditional and found.identifier not in covered:
                name = found.identifier if kind.name == kind.folder.rstrip("s") else f"{found.identifier}:{kind.name}"
                attributes = {
                    "identifier": found.identifier,
                    "registered_at": f"{shown.as_posix()}:{found.line}",
                    "__module__": base.__module__,
                }
                classes[name] = type(name, (base,), attributes)
    return classes


def _derived(base: type) -> Iterator[Any]:
    derived: Any
    for derived in base.__subclasses__():
        yield derived
        yield from _derived(derived)


def _error_of_code(error: BaseException) -> tuple[str, str, str] | None:
    """Return kind, message and place of an error in a plugin's code; None for a test's own error."""
    from brainscore_core.errors import BrainScoreError, PluginError
    from brainscore_core.own_code import place_in_plugin

    place = place_in_plugin(error)
    if isinstance(error, PluginError):
        return type(error).__name__, str(error), ""
    if place is None or place.file.name.startswith("test"):
        return None
    if isinstance(error, AssertionError) and not isinstance(error, BrainScoreError):
        return None  # an assertion of a test that used the plugin
    return type(error).__name__, str(error), f"{place.file}:{place.line}"


def _explain(error: BaseException, plugin: Plugin, repository: Path) -> str:
    """Return the text of an error with its places inside the plugin."""
    import traceback

    from brainscore_core.errors import BrainScoreError

    prefix = f"{repository}{os.sep}"
    if isinstance(error, BrainScoreError):
        return str(error).replace(prefix, "")
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).is_relative_to(plugin.directory)]
    lines = [f"{frame.filename.removeprefix(prefix)}:{frame.lineno}: in {frame.name}: {frame.line}" for frame in own]
    return "\n".join([*lines, "".join(traceback.format_exception_only(error)).rstrip()])


class Recorder:
    """Writes the results of the tests when pytest ends.

    Parameters
    ----------
    file : Path
        Output file; absent if pytest does not end by itself.
    """

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
        """Record deselected tests; with pytest-xdist only its workers know them."""
        self._others += [_outcome(item.nodeid, "deselected") for item in items]

    def pytest_sessionfinish(self) -> None:
        """Write the file."""
        from brainscore_core.testing.outcomes import write_outcomes

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
    """Return the outcome of a test that did not pass, with reason and place."""
    file, line, _ = report.location or (None, None, "")
    return replace(
        _outcome(report.nodeid, outcome, seconds, getattr(report, "keywords", ())),
        reason=_reason(report),
        file=file,
        line=None if line is None else line + 1,  # pytest counts from 0 here
        traceback=report.longreprtext if outcome != "skipped" else "",
    )


def _outcome(nodeid: str, outcome: Outcome, seconds: float = 0.0, keywords: Container[str] = ()) -> TestOutcome:
    from brainscore_core.testing.outcomes import TestOutcome

    file, _, test = nodeid.partition("::")
    part: Part = "contract" if file.endswith(CONTRACT_FILE) or "contract" in keywords else "test.py"
    return TestOutcome(test=test or file, part=part, outcome=outcome, seconds=seconds)


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    """Return the reason of a skip or the text of an error; for collection errors the end of the text."""
    if hasattr(report, "wasxfail"):
        return f"other: expected to fail: {report.wasxfail}"
    longrepr = report.longrepr
    if isinstance(longrepr, tuple):
        return str(longrepr[2])
    crash = getattr(longrepr, "reprcrash", None)
    return str(crash.message) if crash is not None else str(longrepr or "").strip()[-_MOST_REASON:]
