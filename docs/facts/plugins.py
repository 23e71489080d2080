"""Read what pages show of the library's plugins from their source; nothing is imported."""

import ast
from importlib.util import find_spec

from brainscore_core.plugin_management.source import read_plugin
from brainscore_vision.catalogue.entries import plugin_index


def own_plugins(folder):
    """Return the plugins of one folder of the library: those from elsewhere are on no page of ours."""
    return [
        plugin for plugin in plugin_index().plugins(folder) if plugin.root.rank == 0
    ]


def description_of(plugin) -> str:
    """Return the first line of the docstring of its `__init__.py`, without what would end a cell of a table."""
    tree = read_plugin(plugin.directory, plugin.module).files["__init__.py"].tree
    text = ast.get_docstring(tree) if tree else None
    line = (text or "").partition("\n")[0].rstrip(".:")
    line = line.removeprefix("Register ").replace("|", r"\|")
    return line[:1].upper() + line[1:]


def unavailable_imports(plugin) -> list[str]:
    """Return the packages that its files import and that are not installed, sorted."""
    files = read_plugin(plugin.directory, plugin.module).imported.values()
    nodes = [node for file in files if file.tree for node in ast.walk(file.tree)]
    names = {
        alias.name
        for node in nodes
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    names |= {
        node.module
        for node in nodes
        if isinstance(node, ast.ImportFrom) and not node.level
    }
    packages = {name.partition(".")[0] for name in names}
    return sorted(name for name in packages if find_spec(name) is None)
