"""Describe the environment of a result: machine, installed software, source of plugins and library, git commit."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import os
import platform
import re
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from importlib import metadata
from pathlib import Path

from brainscore_core._version import __version__
from brainscore_core.errors import ConfigurationError
from brainscore_core.git import run_git
from brainscore_core.identity.digest import Stamp, file_stamp

__all__ = [
    "REPORTED",
    "UNREGISTERED",
    "folder_commit",
    "folder_revision",
    "installed",
    "is_reviewed",
    "library_digest",
    "machine",
    "peak_memory_bytes",
    "source_revision",
    "sources_digest",
    "version_class",
    "versions",
]


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


# -- sources -----------------------------------------------------------------------------------------------------------
#
# Digest the source of plugins and of the library, and name the git commit of this checkout.


UNREGISTERED = "unregistered"
"""Revision of a model that is not a plugin."""


def source_revision() -> str | None:
    """Return the git commit of the checkout this package runs from, if any, with ``+changes`` if files differ from it.

    New Python files in its folders are changes too, unless ignored.
    """
    here = Path(__file__).parent
    if _git(here, "ls-files", "--error-unmatch", Path(__file__).name) is None:
        return None
    options = ("--porcelain=v2", "--branch", "--untracked-files=all")
    status = _git(here, "-c", "status.relativePaths=false", "status", *options)
    commit = re.search(r"^# branch\.oid ([0-9a-f]+)$", status or "", re.MULTILINE)
    if not commit:
        return None
    changed = re.search(r"^(?:[12u] |\? .*/.*\.py\"?$)", status or "", re.MULTILINE)
    return f"{commit[1]}+changes" if changed else commit[1]


def folder_commit(directory: Path) -> str:
    """Return the git commit of an outside plugin, with ``+changes`` if its files differ, or ``'unknown'``."""
    commit = _git(directory, "rev-parse", "--verify", "HEAD")
    # A stranger's configuration may name a program that watches files. Byte code from imports is not a change.
    options = ("--porcelain", "--untracked-files=all", "--", ".", ":(exclude,glob)**/__pycache__/**")
    status = _git(directory, "-c", "core.fsmonitor=false", "status", *options)
    return f"{commit}+changes" if commit and status else commit or "unknown"


def is_reviewed(directory: Path, distribution: str) -> bool:
    """Return whether a plugin's folder came with an installed distribution, or is as on the main branch of its clone.

    The branch is where ``origin`` pointed at the last fetch: files that are merged here only, changed, new or ignored
    by git were not reviewed. False without such a branch.
    """
    with contextlib.suppress(metadata.PackageNotFoundError):
        installed = {Path(str(file.locate())) for file in metadata.files(distribution) or ()}
        if directory / "__init__.py" in installed and installed.issuperset(_files(directory)):
            return True
    main = "refs/remotes/origin/HEAD"
    if not _git(directory, "ls-tree", "-r", "--name-only", main, "--", "."):
        return False
    calm = ("-c", "core.fsmonitor=false")  # as above; a configured program for differences would run too
    if _git(directory, *calm, "diff", "--quiet", "--no-ext-diff", "--no-textconv", main, "--", ".") is None:
        return False
    return _git(directory, *calm, "ls-files", "--others", "--exclude=__pycache__/", "--", ".") == ""


def folder_revision(directory: Path) -> str:
    """Return ``folder-`` and a digest of a plugin's file names and contents, without byte code and hidden files.

    Unlike the revision from planning, it ignores the plugin's dependencies.
    """
    digest = hashlib.sha256()
    for file in _files(directory):
        _feed(digest, file, directory)
    return f"folder-{digest.hexdigest()[:16]}"


def sources_digest(folders: Sequence[Path], without: Collection[Path] = ()) -> str:
    """Digest file names and contents below `folders`, excluding the folders `without`, byte code and hidden files."""
    digest = hashlib.sha256()
    for folder in folders:
        for file in _files(folder, without):
            _feed(digest, file, folder.parent)
    return digest.hexdigest()


def library_digest(package: Path, plugins: Collection[str]) -> str:
    """Digest the source of core and of a domain's package, without its folders of plugins."""
    return sources_digest([Path(__file__).parents[1], package], without=[package / name for name in plugins])


def _files(directory: Path, without: Collection[Path] = ()) -> Iterator[Path]:
    files = []
    for place, inner, names in os.walk(directory):
        folder = Path(place)
        inner[:] = [name for name in inner if _counts(name) and folder / name not in without]
        files += [folder / name for name in names if _counts(name)]
    return (file for file in sorted(files) if file.is_file())


def _counts(name: str) -> bool:
    return name != "__pycache__" and not name.startswith(".")


def _feed(digest: hashlib._Hash, file: Path, directory: Path) -> None:
    digest.update(f"{file.relative_to(directory).as_posix()}\0".encode("utf-8", "surrogateescape"))
    digest.update(hashlib.sha256(file.read_bytes()).digest())


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        done = run_git(folder, *arguments, timeout_s=10)
    except ConfigurationError:
        return None
    return done.stdout.decode("utf-8", "replace").strip() if done.status == 0 else None
