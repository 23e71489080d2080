"""Describe the machine and the installed software that a result was computed with."""

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

__all__ = ["REPORTED", "installed", "machine", "peak_memory_bytes", "version_class", "versions"]

_DIST_INFO = re.compile(r"([A-Za-z0-9][A-Za-z0-9._]*)-([A-Za-z0-9][A-Za-z0-9.!+_]*)\.dist-info", re.ASCII)

REPORTED = ("python", "brainscore", "numpy", "pandas", "xarray", "scipy", "scikit-learn", "torch", "pillow")
"""Software that can change a score."""


def versions() -> dict[str, str]:
    """Return name -> version of Python, Brain-Score and other installed software of `REPORTED`, without imports."""
    result = {"python": platform.python_version(), "brainscore": __version__}
    for name in REPORTED[2:]:
        try:
            result[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return result


def version_class(version: str = __version__) -> str:
    """Return a release's class, its major and minor version: only scores of one class are comparable.

    Examples
    --------
    >>> version_class('3.0.0a1')
    '3.0'
    """
    match = re.match(r"\d+\.\d+", version)
    return match[0] if match else version


def installed(environment: Path | None = None) -> str:
    """Return the lock of this environment: a line ``name==version`` for Python and for each distribution, sorted.

    Read from metadata without imports; of an untrusted `environment` (a folder on top of this one, whose distributions
    hide those here) only from file names.
    """
    here = _installed(tuple((path, file_stamp(Path(path))) for path in sys.path))
    if environment is None:
        return here
    versions_by_name = dict(line.split("==", 1) for line in here.splitlines())
    packages = ("lib/python*/site-packages", "Lib/site-packages")
    for folder in (path for pattern in packages for path in environment.glob(f"{pattern}/*.dist-info")):
        match = _DIST_INFO.fullmatch(folder.name)
        if match:
            versions_by_name[_normalised(match[1])] = match[2]
    return _as_lines(versions_by_name)


@lru_cache(maxsize=8)
def _installed(paths: tuple[tuple[str, Stamp | None], ...]) -> str:  # noqa: ARG001 - an installation changes its folder
    versions_by_name: dict[str, str] = {}
    for distribution in importlib.metadata.distributions():
        name = distribution.metadata["Name"]
        if name:  # remains of a removed distribution have none
            versions_by_name.setdefault(_normalised(name), distribution.version)
    return _as_lines({**versions_by_name, "python": platform.python_version()})


def _normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _as_lines(versions_by_name: Mapping[str, str]) -> str:
    names = ["python", *sorted(versions_by_name.keys() - {"python"})]
    return "".join(f"{name}=={versions_by_name[name]}\n" for name in names)


def machine() -> str:
    """Return operating system and processor architecture, such as ``'Linux-x86_64'``."""
    return f"{platform.system()}-{platform.machine()}"


def peak_memory_bytes() -> int | None:
    """Return the peak memory of this process; None if the system does not report it."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024
