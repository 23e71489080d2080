"""Extend pytest for plugin tests: markers, the contract of each kind of plugin, reasons for skips.

By default it only declares markers and collects classes derived from `Contract`. The setting ``brainscore_markers =
true`` of a repository applies the markers; the option ``--brainscore-plugin``, passed by ``test_plugin``, enables
`plugin_session`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from brainscore_core.testing.markers import MARKERS, MarkedTests

if TYPE_CHECKING:
    from brainscore_core.testing.contracts import Contract

__all__ = ["MARKERS", "pytest_addoption", "pytest_configure"]


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
        from brainscore_core.testing.recorder import Recorder

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
