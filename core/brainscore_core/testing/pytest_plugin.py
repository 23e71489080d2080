"""Extend pytest for plugin tests: markers, the contract of each kind of plugin, reasons for skips.

By default it only declares markers and collects classes derived from `Contract`. The setting ``brainscore_markers =
true`` of a repository applies the markers; the option ``--brainscore-plugin``, passed by ``test_plugin``, enables
`plugin_session`.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Generator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from brainscore_core.config import settings
from brainscore_core.testing.machine import (
    Conditions,
    available_memory_gb,
    has_gpu,
    has_network,
    reason_of_absence,
    reason_of_requirements,
    skip_reason,
)

if TYPE_CHECKING:
    from brainscore_core.testing.contracts import Contract

__all__ = ["MARKERS", "pytest_addoption", "pytest_configure"]


# -- markers -----------------------------------------------------------------------------------------------------------
#
# Run a marked test where its requirements are met; skip it with the reason elsewhere.
#
# Required data and weights (`private_access`, `network`) are taken from the caller's homes, or downloaded if allowed.


MARKERS = {
    "private_access": "needs measurements or weights that are not public: in the data home, or credentials for them",
    "slow": "takes more than a minute, or downloads more than 100 MB",
    "memory_intense": "needs more than 3 GB of memory",
    "network": "needs downloadable files, such as public measurements or weights: in the data home, or from a network",
    "gpu": "needs a GPU",
    "travis_slow": "name of 'slow' in plugins written for the published system",
    "requires_gpu": "name of 'gpu' in plugins written for the published system",
    "contract": "checks the contract of every plugin of a kind",
}

_OF_DATA = ("private_access", "network")
_NAMED = "brainscore_named"  # passed to workers of pytest-xdist
_UNNAMED = "a run that names no tests downloads nothing (name the file, or pass -m network or -m private_access)"


def needs_data(item: pytest.Item) -> bool:
    """Whether a test's markers require data or weights from outside the plugin."""
    return any(item.get_closest_marker(name) is not None for name in _OF_DATA)


class MarkedTests:
    """Applies the markers of all tests of a run; one that names tests, or data with ``-m``, may download."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._wanted = frozenset(re.findall(r"\w+", config.getoption("markexpr", "") or ""))
        named = config.args_source is not pytest.Config.ArgsSource.TESTPATHS or bool(self._wanted & set(_OF_DATA))
        self._named: bool = getattr(config, "workerinput", {}).get(_NAMED, named)
        self._may_download = self._named
        self._is_own_environment = config.getoption("--brainscore-plugin", None) is not None

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Pass the command line to a worker of pytest-xdist."""
        node.workerinput[_NAMED] = self._named

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Skip tests that cannot run here; markers requested with ``-m`` run anyway."""
        for item in items:
            markers = {marker.name for marker in item.iter_markers()}
            if markers & MARKERS.keys() - {"contract"}:
                reason = skip_reason(markers, self._conditions, wanted=self._wanted)
                if reason is not None:
                    item.add_marker(pytest.mark.skip(reason=reason), append=False)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Look for a network once, before tests change their environment."""
        if self._may_download and any(map(needs_data, session.items)):
            self._may_download = not settings().offline and has_network()

    @pytest.fixture(autouse=True)
    def _brainscore_offline(self, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
        """Keep a test that needs data off a missing or forbidden network."""
        if not self._may_download and needs_data(request.node):
            monkeypatch.setenv("BRAINSCORE_OFFLINE", "1")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Report a test as skipped, with the remedy, if its data or its plugin's requirements are unavailable."""
        report = yield
        if call.excinfo is None or not report.failed:
            return report
        reason = self._requirements(call.excinfo.value, item.path)
        if reason is None and needs_data(item):
            why = {} if self._named else {"why": _UNNAMED}
            private = item.get_closest_marker("private_access") is not None
            reason = reason_of_absence(call.excinfo.value, private=private, **why)
        if reason is not None:
            path, line = item.reportinfo()[:2]
            _skip(report, path, line or 0, reason)
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Report a plugin's tests as skipped if they cannot be imported without its requirements."""
        report = yield
        call: pytest.CallInfo[Any] | None = getattr(report, "call", None)
        if report.failed and call is not None and call.excinfo is not None:
            reason = self._requirements(call.excinfo.value, collector.path)
            if reason is not None:
                _skip(report, collector.path, 0, reason)
        return report

    def _requirements(self, error: BaseException, file: Path) -> str | None:
        return None if self._is_own_environment else reason_of_requirements(error, file.parent)

    @cached_property
    def _conditions(self) -> Conditions:
        return Conditions(
            private=not self._config.getoption("--brainscore-no-private"),
            slow=self._config.getoption("--brainscore-slow"),
            gpu=has_gpu(),
            memory_gb=available_memory_gb(),
        )


def _skip(report: pytest.TestReport | pytest.CollectReport, path: str | os.PathLike[str], line: int, why: str) -> None:
    report.outcome = "skipped"
    report.longrepr = (os.fspath(Path(path)), line + 1, f"Skipped: {why}")


# -- the plugin --------------------------------------------------------------------------------------------------------


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options that ``test_plugin`` passes."""
    group = parser.getgroup("brainscore", "tests of Brain-Score plugins (nox -s test_plugin)")
    group.addoption(
        "--brainscore-plugin", metavar="PACKAGE=FOLDER", help="the plugin, such as mylibrary.models=/x/mymodel2024"
    )
    group.addoption("--brainscore-no-private", action="store_true", help="skip all tests marked private_access")
    group.addoption("--brainscore-slow", action="store_true", help="run tests marked slow")
    group.addoption("--brainscore-outcomes", metavar="FILE", help="write the outcomes of the tests as JSON")
    parser.addini(
        "brainscore_markers",
        "skip tests with markers for resources that this machine lacks, giving the reason",
        type="bool",
        default=False,
    )


def pytest_configure(config: pytest.Config) -> None:
    """Declare the markers and register the plugins that the options ask for."""
    for name, meaning in MARKERS.items():
        config.addinivalue_line("markers", f"{name}: {meaning}")
    named = config.getoption("--brainscore-plugin", None)
    outcomes = config.getoption("--brainscore-outcomes", None)
    if named:  # loads the library, which other test runs do without
        from brainscore_core.testing.plugin_session import PluginSession

        session = PluginSession.of(named, Path(outcomes) if outcomes else None)
        config.pluginmanager.register(session, "brainscore-plugin")
    if named or config.getini("brainscore_markers"):
        config.pluginmanager.register(MarkedTests(config), "brainscore-markers")
    if outcomes and not hasattr(config, "workerinput"):  # not in the workers of pytest-xdist
        from brainscore_core.testing.plugin_session import Recorder

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
    tests: pytest.Collector = pytest.Class.from_parent(collector, name=name)
    tests.add_marker("contract")
    tests.add_marker(pytest.mark.xdist_group(f"{contract.kind}:{contract.identifier}"))  # one worker loads it
    return tests
