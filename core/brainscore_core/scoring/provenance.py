"""Tell which software and machine made a result."""

from __future__ import annotations

import importlib.metadata
import platform
import re
from pathlib import Path

from brainscore_core._version import __version__
from brainscore_core.errors import ConfigurationError
from brainscore_core.git import run_git

__all__ = ["machine", "source_revision", "version_class", "versions"]

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


def machine() -> str:
    """Return operating system and processor architecture, such as ``'Linux-x86_64'``."""
    return f"{platform.system()}-{platform.machine()}"


def source_revision() -> str | None:
    """Return the git commit of the checkout this package runs from, with ``+changes`` if files differ from it.

    Returns
    -------
    str or None
        None if the package does not run from a git checkout or git is not installed.
    """
    here = Path(__file__).parent
    commit = _git(here, "rev-parse", "HEAD")
    if not commit or _git(here, "ls-files", "--error-unmatch", Path(__file__).name) is None:
        return None
    changed = _git(here, "status", "--porcelain", "--untracked-files=no")
    return f"{commit}+changes" if changed else commit


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        done = run_git(folder, *arguments, timeout_s=10)
    except ConfigurationError:
        return None
    return done.stdout.decode("utf-8", "replace").strip() if done.status == 0 else None
