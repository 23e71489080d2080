"""Describe the installed software a result was computed with."""

from __future__ import annotations

import importlib.metadata
import platform
import re
import sys
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from brainscore_core._version import __version__
from brainscore_core.identity.stamp import Stamp, file_stamp

__all__ = ["installed", "version_class", "versions"]

_DIST_INFO = re.compile(r"([A-Za-z0-9][A-Za-z0-9._]*)-([A-Za-z0-9][A-Za-z0-9.!+_]*)\.dist-info", re.ASCII)

# What can change a score from below: the numerical libraries and those that decode and resize images.
_REPORTED = ("numpy", "pandas", "xarray", "scipy", "scikit-learn", "torch", "pillow")


def versions() -> dict[str, str]:
    """Return name -> version of Python, Brain-Score and the libraries that results depend on.

    Read from installed metadata, so nothing is imported; a library that is not installed is left out.
    """
    found = {"python": platform.python_version(), "brainscore": __version__}
    for name in _REPORTED:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def version_class(version: str = __version__) -> str:
    """Return the class of a release: scores made with releases of one class are comparable.

    A release that may change a score gets a new minor version, so the class is major and minor version; of a text that
    is no version, the text.

    Examples
    --------
    >>> version_class('3.0.0a1')
    '3.0'
    """
    match = re.match(r"\d+\.\d+", version)
    return match[0] if match else version


def installed(environment: Path | None = None) -> str:
    """Return the lock of this environment: a line ``name==version`` for Python and for each distribution, sorted.

    Read from installed metadata, so nothing is imported. Where one hides another of the same name, the one that is
    imported counts.

    Parameters
    ----------
    environment : Path, optional
        Folder of an environment that was made from this one (`plugin_management.environment`): what is installed there
        hides what is installed here. A stranger may have filled it, so only the names of files in it are read.
    """
    here = _installed(tuple((path, file_stamp(Path(path))) for path in sys.path))
    if environment is None:
        return here
    found = dict(line.split("==", 1) for line in here.splitlines())
    packages = ("lib/python*/site-packages", "Lib/site-packages")
    for folder in (each for pattern in packages for each in environment.glob(f"{pattern}/*.dist-info")):
        match = _DIST_INFO.fullmatch(folder.name)
        if match:
            found[_normalised(match[1])] = match[2]
    return _as_lines(found)


@lru_cache(maxsize=8)
def _installed(paths: tuple[tuple[str, Stamp | None], ...]) -> str:  # noqa: ARG001 - what is installed changes its folder
    found: dict[str, str] = {}
    for each in importlib.metadata.distributions():
        name = each.metadata["Name"]
        if name:  # what is left of a distribution that was removed has none
            found.setdefault(_normalised(name), each.version)
    return _as_lines({**found, "python": platform.python_version()})


def _normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _as_lines(found: Mapping[str, str]) -> str:
    names = ["python", *sorted(found.keys() - {"python"})]
    return "".join(f"{name}=={found[name]}\n" for name in names)
