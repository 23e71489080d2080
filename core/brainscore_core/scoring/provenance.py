"""Tell which software and machine made a result."""

from __future__ import annotations

import hashlib
import importlib.metadata
import platform
import re
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from brainscore_core._version import __version__
from brainscore_core.errors import ConfigurationError
from brainscore_core.git import run_git

__all__ = [
    "UNREGISTERED",
    "folder_revision",
    "installed",
    "machine",
    "peak_memory_bytes",
    "source_revision",
    "sources_digest",
    "text_digest",
    "version_class",
    "versions",
]

_DIST_INFO = re.compile(r"([A-Za-z0-9][A-Za-z0-9._]*)-([A-Za-z0-9][A-Za-z0-9.!+_]*)\.dist-info", re.ASCII)

UNREGISTERED = "unregistered"
"""Revision of what is no plugin: a model that was passed itself, or registered while the program runs."""


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

    New Python files in its folders, such as those of a plugin that nobody has committed yet, are changes too; what lies
    beside the folders or is ignored is none.

    Returns
    -------
    str or None
        None if the package does not run from a git checkout or git is not installed.
    """
    here = Path(__file__).parent
    commit = _git(here, "rev-parse", "HEAD")
    if not commit or _git(here, "ls-files", "--error-unmatch", Path(__file__).name) is None:
        return None
    changed = _git(here, "status", "--porcelain", "--untracked-files=no") or _git(
        here, "ls-files", "--others", "--exclude-standard", "--", ":(top,glob)*/**/*.py"
    )
    return f"{commit}+changes" if changed else commit


def folder_revision(directory: Path) -> str:
    """Return ``folder-`` and a digest of the files of a plugin, of their names and contents.

    Byte code and hidden files do not count. Unlike the revision that planning computes, which has no such prefix, it
    knows nothing of what the plugin uses.
    """
    digest = hashlib.sha256()
    for file in _files(directory):
        _feed(digest, file, directory)
    return f"folder-{digest.hexdigest()[:16]}"


def sources_digest(folders: Sequence[Path], without: Collection[Path] = ()) -> str:
    """Return a digest of names and contents of the files in folders, but for those below some folders in them.

    Byte code and hidden files do not count.

    Returns
    -------
    str
        64 hexadecimal digits.
    """
    digest = hashlib.sha256()
    for folder in folders:
        for file in _files(folder):
            if not any(file.is_relative_to(each) for each in without):
                _feed(digest, file, folder.parent)
    return digest.hexdigest()


def _files(directory: Path) -> Iterator[Path]:
    for file in sorted(directory.rglob("*")):
        parts = file.relative_to(directory).parts
        if file.is_file() and not any(part == "__pycache__" or part.startswith(".") for part in parts):
            yield file


def _feed(digest: hashlib._Hash, file: Path, directory: Path) -> None:
    digest.update(f"{file.relative_to(directory).as_posix()}\0".encode("utf-8", "surrogateescape"))
    digest.update(hashlib.sha256(file.read_bytes()).digest())


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
    here = _installed(tuple((path, _changed(Path(path))) for path in sys.path))
    if environment is None:
        return here
    found = dict(line.split("==", 1) for line in here.splitlines())
    packages = ("lib/python*/site-packages", "Lib/site-packages")
    for folder in (each for pattern in packages for each in environment.glob(f"{pattern}/*.dist-info")):
        match = _DIST_INFO.fullmatch(folder.name)
        if match:
            found[_normalised(match[1])] = match[2]
    return _as_lines(found)


def _changed(path: Path) -> int | None:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return None


@lru_cache(maxsize=8)
def _installed(paths: tuple[tuple[str, int | None], ...]) -> str:  # noqa: ARG001 - what is installed changes its folder
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


def text_digest(text: str) -> str:
    """Return the SHA-256 of a text, 64 hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()


def peak_memory_bytes() -> int | None:
    """Return the most memory that this process has used at a time, in bytes; None where the system does not say."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        done = run_git(folder, *arguments, timeout_s=10)
    except ConfigurationError:
        return None
    return done.stdout.decode("utf-8", "replace").strip() if done.status == 0 else None
