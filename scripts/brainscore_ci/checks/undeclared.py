"""Check that Python, the library or a requirement provides every import of a plugin."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from packaging.utils import canonicalize_name

from brainscore_ci.checks.outdated import current_name
from brainscore_core.errors import RequirementsError
from brainscore_core.plugin_management.requirements import (
    expanded_requirements,
    is_module_of_python,
    is_own_distribution,
)

if TYPE_CHECKING:
    from brainscore_ci.checks.findings import Finding
    from brainscore_ci.checks.plugin import CheckedPlugin, Surroundings

# Module -> distributions that provide it. Others are not recommended: anybody may register a module's name on PyPI.
_PROVIDERS: Mapping[str, tuple[str, ...]] = {
    "PIL": ("pillow",),
    "bs4": ("beautifulsoup4",),
    "cv2": ("opencv-python", "opencv-python-headless", "opencv-contrib-python"),
    "dateutil": ("python-dateutil",),
    "mpl_toolkits": ("matplotlib",),
    "open_clip": ("open-clip-torch",),
    "pkg_resources": ("setuptools",),
    "skimage": ("scikit-image",),
    "sklearn": ("scikit-learn",),
    "yaml": ("pyyaml",),
}
_OF_THEIR_OWN_NAME = frozenset(
    {
        "einops", "ftfy", "gdown", "jax", "joblib", "matplotlib", "networkx", "numba", "peft", "requests", "seaborn",
        "tensorflow", "thingsvision", "timm", "torch", "torchaudio", "torchvision", "transformers",
    }
)  # fmt: skip
_WITH_TESTS = frozenset({"pytest"})
_WITH_THE_LIBRARY = frozenset({"brainio", "brainscore", "result_caching"})  # modules beside the packages


def check_undeclared(source: CheckedPlugin, surroundings: Surroundings) -> Iterator[Finding]:
    """Require named distributions; relying on another requirement's own is a hint."""
    if not surroundings.dependencies:
        return  # the library's requirements are unknown
    try:
        lines = expanded_requirements(source.plugin.directory, within=True)
    except (RequirementsError, RecursionError):
        return  # the requirements rule reports it
    if any(line.requirement is None and not line.text.startswith("-") for line in lines):
        return  # an unnamed requirement may provide anything
    named = {canonicalize_name(line.requirement.name) for line in lines if line.requirement is not None}
    library = source.plugin.root.package.partition(".")[0]
    reported = set[str]()
    # Also of inner folders: some plugins put one on the import path.
    own = {part.removesuffix(".py") for path in source.files if path.endswith(".py") for part in path.split("/")}
    for path, file in source.python.items():
        for node in _imports(file.tree.body if file.tree else []):
            for module in _modules(node):
                providers = [canonicalize_name(name) for name in _PROVIDERS.get(module, (module,))]
                is_here = (
                    module in (library, *reported, *_WITH_TESTS, *_WITH_THE_LIBRARY, *own)
                    or module in sys.stdlib_module_names
                    or is_module_of_python(module)
                    or is_own_distribution(module)
                    or current_name(module, library) is not None
                )
                if is_here or any(name in named or name in surroundings.dependencies for name in providers):
                    continue
                reported.add(module)
                message = f"imports {module}, which neither the library nor requirements.txt provides"
                fix = f"add {providers[0]} to requirements.txt"
                if module not in _PROVIDERS and module not in _OF_THEIR_OWN_NAME:
                    fix = "add what provides it to requirements.txt; a package of the same name may be a stranger's"
                yield source.finding("undeclared-import", message, fix, path, node.lineno, hint=bool(named))


def _imports(body: list[ast.stmt]) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield imports, except those that may fail and those for type checkers."""
    for statement in body:
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            yield statement
        elif isinstance(statement, ast.Try):
            caught = " ".join(
                ast.unparse(handler.type) if handler.type else "Exception" for handler in statement.handlers
            )
            if not any(name in caught for name in ("ImportError", "ModuleNotFoundError", "Exception")):
                yield from _imports(statement.body)
            for handler in statement.handlers:
                yield from _imports(handler.body)
            yield from _imports([*statement.orelse, *statement.finalbody])
        elif isinstance(statement, ast.If) and "TYPE_CHECKING" in ast.dump(statement.test):
            yield from _imports(statement.orelse)
        else:
            for _, value in ast.iter_fields(statement):
                if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                    yield from _imports(value)


def _modules(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name.partition(".")[0] for alias in node.names)
    elif node.level == 0 and node.module:
        yield node.module.partition(".")[0]


RULES = (check_undeclared,)
