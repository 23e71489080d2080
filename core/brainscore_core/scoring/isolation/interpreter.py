"""Find what this interpreter of Python reads to run: itself, its libraries, and what it imports from."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

__all__ = ["interpreter_paths"]


def interpreter_paths(environment: Path | None = None) -> tuple[Path, ...]:
    """Return the folders and files that have to be readable where this interpreter shall run, but for ``/usr``.

    Parameters
    ----------
    environment : Path, optional
        Interpreter of an environment that was made from this one (see `plugin_management.environment`); what is
        installed there may be a stranger's, so nothing that it says about other folders is believed.

    Returns
    -------
    tuple of Path
        Those that exist, none below another, in the order of their names.
    """
    imports = sys.path if sys.flags.safe_path else sys.path[1:]
    found = [Path(path) for path in (sys.prefix, sys.base_prefix, sys.exec_prefix, *imports) if path]
    found += _links(Path(os.path.abspath(sys.executable)))  # noqa: PTH100 - links are followed one by one
    for path in imports:
        found += _checkouts(Path(path)) if path else []
    if environment is not None:
        found.append(environment.parent.parent)
    existing = {path for each in found if each.exists() for path in (each.absolute(), each.resolve())}
    kept: list[Path] = []
    for candidate in sorted(existing):
        if not any(candidate.is_relative_to(above) for above in (Path("/usr"), *kept)):
            kept.append(candidate)
    return tuple(kept)


def _links(file: Path) -> Iterator[Path]:
    """Yield a file and what it leads to, step by step."""
    for _ in range(40):
        yield file
        if not file.is_symlink():
            return
        file = Path(os.path.normpath(file.parent / os.readlink(file)))  # noqa: PTH115 - as text: it may be relative


def _checkouts(packages: Path) -> Iterator[Path]:
    """Yield the folders that packages are imported from by a finder of their own, which `sys.path` does not name."""
    for finder in packages.glob("__editable__*_finder.py"):
        # Such as __editable___house_1_0_finder.py beside house-1.0.dist-info.
        name = finder.name.removeprefix("__editable__").strip("_").removesuffix("_finder.py")
        for file in packages.glob("*.dist-info/direct_url.json"):
            if name.startswith(file.parent.name.partition("-")[0]):
                try:
                    yield Path(unquote(urlsplit(json.loads(file.read_bytes())["url"]).path))
                except (ValueError, KeyError, TypeError):
                    continue
