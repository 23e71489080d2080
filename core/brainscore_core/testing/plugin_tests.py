"""Run the tests of one plugin, found by the name of its folder or by an identifier it registers."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

from brainscore_core.config import settings
from brainscore_core.errors import PluginError, UnknownIdentifierError, nearest
from brainscore_core.plugin_management.discovery import Plugin, PluginIndex, library_roots
from brainscore_core.plugin_management.registry import KINDS
from brainscore_core.plugin_management.requirements import install_requirements

__all__ = ["plugins_named", "run_plugin_tests"]

_NO_TESTS_COLLECTED = 5  # pytest's exit status


def plugins_named(index: PluginIndex, name: str) -> list[Plugin]:
    """Return the plugins that a name means.

    Parameters
    ----------
    index : PluginIndex
        Where to look.
    name : str
        The name of a plugin folder, of any kind (data and benchmark of one name: both), or an identifier.

    Returns
    -------
    list of Plugin
        At least one.

    Raises
    ------
    UnknownIdentifierError
        If nothing has that name; names the nearest ones.
    """
    folders = dict.fromkeys(kind.folder for kind in KINDS.values())
    plugins = [plugin for folder in folders for plugin in index.plugins(folder)]
    found = [plugin for plugin in plugins if plugin.name == name or _registers(plugin, name)]
    if found:
        return found
    known = {plugin.name for plugin in plugins}
    known.update(registration.identifier for plugin in plugins for registration in plugin.registrations)
    close = nearest(name, sorted(known))
    hint = f" Did you mean {' or '.join(map(repr, close))}?" if close else ""
    raise UnknownIdentifierError(
        f"No plugin folder or identifier is called {name!r} ({len(plugins)} plugins known).{hint} "
        f"Plugins live in {', '.join(str(root.path) for root in index.roots)}."
    )


def _registers(plugin: Plugin, identifier: str) -> bool:
    return any(registration.identifier == identifier for registration in plugin.registrations)


def run_plugin_tests(library: str, name: str, arguments: Sequence[str] = ()) -> int:
    """Install what a plugin requires and run its ``test.py`` with pytest.

    Parameters
    ----------
    library : str
        Package whose plugins are meant, such as ``'brainscore_vision'``.
    name : str
        See `plugins_named`.
    arguments : sequence of str
        More arguments for pytest, such as ``['-k', 'ceiling']``. Tests marked ``slow`` are left out unless there is
        another ``-m`` here.

    Returns
    -------
    int
        pytest's exit status: 0 if all tests passed.

    Raises
    ------
    UnknownIdentifierError
        If nothing has that name.
    PluginError
        If a plugin has no ``test.py``.
    """
    plugins = plugins_named(PluginIndex(library_roots(library)), name)
    files = [plugin.directory / "test.py" for plugin in plugins]
    missing = [str(file) for file in files if not file.is_file()]
    if missing:
        raise PluginError(f"Every plugin has its tests in a file test.py; missing: {', '.join(missing)}.")
    if settings().install_dependencies != "no":
        for plugin in plugins:
            install_requirements(plugin.name, plugin.directory)
    # On a person's machine the tests with private data run too; a later `-m` among the arguments overrules this one.
    options = ["--import-mode=importlib", "-ra", "-m", "not slow"]
    command = [sys.executable, "-m", "pytest", *options, *map(str, files), *arguments]
    status = subprocess.run(command, check=False).returncode  # noqa: S603 - our interpreter, files found above
    return 1 if status == _NO_TESTS_COLLECTED else status
