"""Check that modules and names are current, not those of predecessors; `fix` renames them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from brainscore_ci.checks.findings import Finding
    from brainscore_ci.checks.plugin import CheckedPlugin, Surroundings

# Longest first. {library} is the plugin's library.
_MODULES = {
    "brainscore.metrics.image_level_behavior": "{library}.metrics.i1i2",
    "brainscore.benchmarks.screen": "{library}.benchmark_helpers.screen",
    "brainscore.get_stimulus_set": "{library}.load_stimulus_set",
    "brainscore.get_assembly": "{library}.load_dataset",
    "brainscore": "{library}",
    "model_helpers": "{library}.model_helpers",
    "model_tools": "{library}.model_helpers",
    "brainio": "brainscore_core.supported_data_standards.brainio",
}
NAMES: Mapping[str, str] = {"PropertiesAssembly": "PropertyAssembly"}
"""Class name in older tutorials -> current name."""
_STILL_THERE = ("brainio", "brainscore")  # like `NAMES`


def current_name(name: str, library: str) -> str | None:
    """Return the current name for a predecessor's dotted name; None for any other.

    Examples
    --------
    >>> current_name('brainscore.benchmarks.BenchmarkBase', 'mylibrary')
    'mylibrary.benchmarks.BenchmarkBase'
    """
    for old, new in _MODULES.items():
        if name == old or name.startswith(f"{old}."):
            return _renamed(new.format(library=library) + name.removeprefix(old))
    renamed = _renamed(name)
    return renamed if renamed != name else None


def _renamed(name: str) -> str:
    prefix, dot, last = name.rpartition(".")
    return f"{prefix}{dot}{NAMES.get(last, last)}"


def check_outdated(source: CheckedPlugin, _: Surroundings) -> Iterator[Finding]:
    """Require current names of modules and classes."""
    library = source.plugin.root.package.partition(".")[0]
    for path, file in source.files.items():
        for node in ast.walk(file.tree) if file.tree else ():
            for old in _imported(node):
                new = current_name(old, library)
                if new is not None:
                    is_there = old.partition(".")[0] in _STILL_THERE or old.rpartition(".")[2] in NAMES
                    message = f"{old} is called {new} now"
                    fix = "import it under that name; brainscore check --fix does"
                    line = getattr(node, "lineno", 1)
                    yield source.finding("old-import", message, fix, path, line, hint=is_there)


def _imported(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
        yield from (f"{node.module}.{alias.name}" for alias in node.names)


RULES = (check_outdated,)
