"""List what this Python interpreter reads: itself, its libraries, and the folders that it imports from."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

__all__ = ["interpreter_paths"]


def interpreter_paths(environment: Path | None = None) -> tuple[Path, ...]:
    """Return the existing folders and files that this interpreter needs, without those in ``/usr``, sorted.

    A stranger may have filled an `environment` made from it: other folders that this names do not count.
    """
    imports = sys.path if sys.flags.safe_path else sys.path[1:]
    paths = [Path(path) for path in (sys.prefix, sys.base_prefix, sys.exec_prefix, *imports) if path]
    paths += _links(Path(os.path.abspath(sys.executable)))  # noqa: PTH100 - links are followed one by one
    for path in imports:
        paths += _checkouts(Path(path)) if path else []
    if environment is not None:
        paths.append(environment.parent.parent)
    existing = {path for one in paths if one.exists() for path in (one.absolute(), one.resolve())}
    roots: list[Path] = []
    for candidate in sorted(existing):
        if not any(candidate.is_relative_to(above) for above in (Path("/usr"), *roots)):
            roots.append(candidate)
    return tuple(roots)


def _links(file: Path) -> Iterator[Path]:
    for _ in range(40):
        yield file
        if not file.is_symlink():
            return
        file = Path(os.path.normpath(file.parent / os.readlink(file)))  # noqa: PTH115 - as text: it may be relative


def _checkouts(packages: Path) -> Iterator[Path]:
    """Yield the folders that packages are imported from by their own finder."""
    for finder in packages.glob("__editable__*_finder.py"):
        # Such as __editable___house_1_0_finder.py beside house-1.0.dist-info.
        name = finder.name.removeprefix("__editable__").strip("_").removesuffix("_finder.py")
        for file in packages.glob("*.dist-info/direct_url.json"):
            if name.startswith(file.parent.name.partition("-")[0]):
                try:
                    yield Path(unquote(urlsplit(json.loads(file.read_bytes())["url"]).path))
                except (ValueError, KeyError, TypeError):
                    continue
