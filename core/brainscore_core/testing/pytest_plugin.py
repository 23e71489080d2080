"""Give pytest what tests of plugins need: the markers, the contract of each kind of plugin, reasons for skipped tests.

Registered under the entry point ``pytest11``, so that it is there wherever the library is installed, also for a plugin
folder outside of the repository. By itself it only declares markers and collects classes derived from `Contract` by
whatever name. The setting ``brainscore_markers = true`` of a repository makes markers count, see `markers`; the rest
answers to ``--brainscore-plugin``, which ``test_plugin`` passes.
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
    """Collect classes that derive from a contract and name an identifier, whatever they are called."""
    contracts = sys.modules.get("brainscore_core.testing.contracts")
    if contracts is None or not (isinstance(obj, type) and issubclass(obj, contracts.Contract)):
        return None
    contract: type[Contract] = obj
    if not contract.identifier:
        return None  # a base class; one that is called Test... is collected, and says what is missing
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
    """Test one plugin: import it as the library does, and add its contract.

    Parameters
    ----------
    notes : Path, optional
        Beside it, files say to other workers which test met an error of the plugin first.
    """

    def __init__(self, plugin: Plugin, notes: Path | None = None) -> None:
        self._plugin = plugin
        self._notes = notes
        self._failed: dict[tuple[str, str, str], str] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_collect_directory(self, path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """Take the folder of the plugin as a plain folder, so that pytest does not import it by another name."""
        if path != self._plugin.directory:
            return None
        made: pytest.Collector = pytest.Dir.from_parent(parent, path=path)
        return made

    @pytest.hookimpl(tryfirst=True)
    def pytest_pycollect_makemodule(self, module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
        """Import tests under the name that the library gives the plugin, and make its contract."""
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
        """Let an error in the code of the plugin fail the first test that meets it; others say which one that is."""
        report = yield
        error = None if call.excinfo is None or not report.failed else _error_of_code(call.excinfo.value)
        if error is not None and (first := self._first(error, item.nodeid)) != item.nodeid:
            said = f"{error[0]}: {error[1]}"[:_MOST_SAID]
            path, line = item.reportinfo()[:2]
            report.outcome = "skipped"
            report.longrepr = (str(path), (line or 0) + 1, f"Skipped: other: the same error as in {first}: {said}")
        return report

    def _first(self, error: tuple[str, str, str], nodeid: str) -> str:
        """Return which test met an error first, also in another worker of pytest-xdist."""
        if self._notes is None:
            return self._failed.setdefault(error, nodeid)
        digest = hashlib.sha256("\0".join(error).encode(errors="replace")).hexdigest()[:16]
        note = self._notes.with_name(f"{self._notes.name}-{digest}")
        mine = note.with_name(f"{note.name}-{os.getpid()}")
        mine.write_text(nodeid, encoding="utf-8")
        try:
            os.link(mine, note)  # appears with its content: a note opened to be written is empty for a moment
        except FileExistsError:
            return note.read_text(encoding="utf-8")
        finally:
            mine.unlink()
        return nodeid


class PluginTestModule(pytest.Module):
    """The tests of a plugin, imported as a part of it."""

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
    """A contract class for everything that a plugin registers and that its own tests do not cover."""

    plugin: Plugin

    def _getobj(self) -> Any:
        from types import SimpleNamespace

        classes = contract_classes(self.plugin, self.config.rootpath)
        return SimpleNamespace(__name__=self.plugin.module, __doc__=None, **classes)


def contract_classes(plugin: Plugin, repository: Path) -> dict[str, type]:
    """Return a contract class for each identifier that a plugin registers and that its own tests do not name.

    Parameters
    ----------
    repository : Path
        Paths in messages are relative to it where they can be.

    Returns
    -------
    dict of str to type
        Derived from the classes in ``CONTRACTS`` of the domain's module ``testing``. By identifier; for kinds that
        share their folder with another kind, identifier and kind.
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
    """Return what an error of a plugin is known by, None if it is one of a test: kind, message and place."""
    from brainscore_core.errors import BrainScoreError, PluginError
    from brainscore_core.own_code import place_in_plugin

    place = place_in_plugin(error)
    if isinstance(error, PluginError):
        return type(error).__name__, str(error), ""
    if place is None or place.file.name.startswith("test"):
        return None
    if isinstance(error, AssertionError) and not isinstance(error, BrainScoreError):
        return None  # something a test asserts with the help of the plugin
    return type(error).__name__, str(error), f"{place.file}:{place.line}"


def _explain(error: BaseException, plugin: Plugin, repository: Path) -> str:
    """Return what an error says, with its places inside the plugin."""
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
    """Write what the tests gave, at the end.

    Parameters
    ----------
    file : Path
        Where to. It is not there if pytest does not end by itself.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._phases: dict[str, list[pytest.TestReport]] = {}
        self._others: list[TestOutcome] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember a phase of a test: set-up, call, tear-down."""
        self._phases.setdefault(report.nodeid, []).append(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Remember what cannot be collected."""
        if report.outcome != "passed":
            self._others.append(_of_report(report, "skipped" if report.skipped else "error"))

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        """Remember what ``-k`` and ``-m`` leave out; with pytest-xdist only its workers know."""
        self._others += [_outcome(item.nodeid, "deselected") for item in items]

    def pytest_sessionfinish(self) -> None:
        """Write."""
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
    """Return the outcome of what did not pass: why, and where."""
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
    """Return why something was skipped, or what the error said; of what cannot be collected, how the text ends."""
    if hasattr(report, "wasxfail"):
        return f"other: expected to fail: {report.wasxfail}"
    longrepr = report.longrepr
    if isinstance(longrepr, tuple):
        return str(longrepr[2])
    crash = getattr(longrepr, "reprcrash", None)
    return str(crash.message) if crash is not None else str(longrepr or "").strip()[-_MOST_REASON:]
