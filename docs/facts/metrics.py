"""Describe every metric and ceiling: a section for each plugin, with what its module says about its formula."""

from brainscore_core.plugin_management.registry import KINDS
from facts.plugins import description_of, own_plugins, unavailable_imports

MODULES = ("metric", "ceiling")  # of a plugin, the one whose docstring has the formula


def table() -> str:
    """Return a section of the second level for each plugin of the library."""
    return "\n\n".join(section(plugin) for plugin in own_plugins("metrics"))


def section(plugin) -> str:
    """Return a plugin's heading, which lists its identifiers, and the docstring of its module.

    Without the docstring, which autodoc imports, if that needs a package that is not installed here.
    """
    names = ", ".join(f"`{name}`" for name in plugin.identifiers(KINDS["metric"]))
    heading = f"## {names or f'`{plugin.name}`'}"
    missing = unavailable_imports(plugin)
    if plugin.problem or missing:
        reason = f"needs {', '.join(missing)}" if missing else "cannot be read"
        return f"{heading}\n\n{description_of(plugin)}\n\n*Its plugin `{plugin.name}` {reason}.*"
    there = (
        name for name in MODULES if plugin.directory.joinpath(f"{name}.py").is_file()
    )
    module = ".".join([plugin.module, *list(there)[:1]])
    return f"{heading}\n\n```{{eval-rst}}\n.. automodule:: {module}\n```"
