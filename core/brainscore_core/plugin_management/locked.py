"""Build the environment of a lock, see `brainscore_core.identity.software.installed`, to reproduce results.

Distributions of the same version come from here, others as wheels from an index: installing runs no code.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path

from packaging.utils import canonicalize_name

from brainscore_core.command_line import say
from brainscore_core.config import settings
from brainscore_core.credentials import environment_of
from brainscore_core.errors import RequirementsError
from brainscore_core.files import atomic_path, locked
from brainscore_core.plugin_management.requirements import OWN, TORCH_INDEX, install_command
from brainscore_core.processes import Ended, run_bounded

__all__ = ["environment_from_lock", "read_lock"]

_FORMAT = 1  # of environments
_LINE = re.compile(r"([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)==([A-Za-z0-9][A-Za-z0-9.!+_-]*)", re.ASCII)
_MOST_LINES = 10_000
_MARKER = "brainscore-lock.txt"


def read_lock(lock: str) -> dict[str, str]:
    """Return name -> version of a lock, with ``'python'``; refuse other lines, since strangers may have written it."""
    lines = lock.splitlines()
    matches = [_LINE.fullmatch(line) for line in lines[:_MOST_LINES]]
    wrong = [line for line, match in zip(lines, matches, strict=False) if match is None]
    if wrong or len(lines) > _MOST_LINES or not lines:
        what = f"{wrong[0][:100]!a}" if wrong else f"{len(lines)} lines"
        raise RequirementsError(f"A lock has {what}; expected up to {_MOST_LINES} lines such as numpy==2.4.0.")
    versions = {match[1]: match[2] for match in matches if match}
    if "python" not in versions:
        raise RequirementsError("A lock does not say of which Python it is; expected a line such as python==3.12.1.")
    return versions


def environment_from_lock(lock: str, library_folders: Sequence[Path]) -> Path:
    """Return the interpreter of an environment, made once, with exactly the distributions of a lock, see `read_lock`.

    ``library_folders`` are the libraries' source in a checkout. A `RequirementsError` names unavailable distributions.
    """
    versions = read_lock(lock)
    checkouts = [str(path) for path in library_folders if not path.is_relative_to(sys.prefix)]
    content = json.dumps([_FORMAT, lock, sys.version, sys.executable, checkouts])
    folder = settings().cache_home / "locked-environments" / hashlib.sha256(content.encode()).hexdigest()[:32]
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    with locked(folder):
        if not (folder / _MARKER).is_file():
            shutil.rmtree(folder, ignore_errors=True)
            try:
                _make(folder, python, versions, checkouts)
            except BaseException:
                shutil.rmtree(folder, ignore_errors=True)
                raise
            with atomic_path(folder / _MARKER) as temporary:
                temporary.write_text(lock, "utf-8")
    return python


def _make(folder: Path, python: Path, wanted: Mapping[str, str], checkouts: Sequence[str]) -> None:
    _make_empty(folder, wanted["python"])
    (packages,) = [*folder.glob("lib/python*/site-packages"), *folder.glob("Lib/site-packages")][:1]
    (packages / "_brainscore_library.pth").write_text("".join(f"{path}\n" for path in checkouts), "utf-8")
    remaining = []
    same_python = wanted["python"] == platform.python_version()
    for name, version in wanted.items():
        if name == "python":
            continue
        try:
            here = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            here = None
        if here is None or here.version != version:
            remaining.append(f"{name}=={version}")
        elif name in OWN and checkouts:  # imported from a checkout: its metadata declare it installed
            declared = packages / f"{canonicalize_name(name).replace('-', '_')}-{version}.dist-info"
            declared.mkdir()
            (declared / "METADATA").write_text(here.read_text("METADATA") or "", "utf-8")
        elif not ((same_python or name in OWN) and _take_over(here, packages)):
            remaining.append(f"{name}=={version}")
    if remaining:
        say(f"Installing {len(remaining)} distributions that are not here in these versions")
        ended = _install(remaining, python)
        if ended.status != 0:
            lacking = _unavailable(remaining, python)
            raise RequirementsError(
                f"Of the lock cannot be had, as a wheel for this machine: {', '.join(lacking or remaining)}. "
                f"{'' if lacking else ended}"
            )


def _make_empty(folder: Path, version: str) -> None:
    uv = shutil.which("uv")
    if version != platform.python_version() and not uv:
        raise RequirementsError(
            f"Of the lock cannot be had: python=={version}. This is Python {platform.python_version()}; install the "
            "program uv, which gets others, or start this command with that Python."
        )
    interpreter = sys.executable if version == platform.python_version() else version
    offline = ["--offline"] if settings().installer_offline else []
    program = [uv, "venv", "--quiet", *offline, "--python", interpreter] if uv else [sys.executable, "-m", "venv"]
    ended = run_bounded([*program, *([] if uv else ["--without-pip"]), folder], environment=environment_of(os.environ))
    if ended.status != 0:
        raise RequirementsError(f"Of the lock cannot be had: python=={version}.\n{ended}")


def _take_over(distribution: metadata.Distribution, packages: Path) -> bool:
    """Copy the files of an installed distribution into another folder; return whether it is complete."""
    files = [file for file in distribution.files or () if ".." not in file.parts and "__pycache__" not in file.parts]
    if not any(file.name == "METADATA" for file in files) or any(
        file.name.startswith("__editable__") for file in files
    ):
        return False
    if all(len(file.parts) == 1 or file.parts[0].endswith(".dist-info") for file in files) and any(
        file.suffix == ".pth" for file in files
    ):  # such as an editable one
        return False
    for file in files:
        source, target = Path(str(distribution.locate_file(file))), packages / file
        if not source.is_file():
            return False
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)
        try:
            os.link(source, target)
        except OSError:  # on another disk, or a disk without links
            shutil.copy2(source, target)
    return True


def _install(lines: Sequence[str], python: Path, *, dry: bool = False) -> Ended:
    command: list[str | Path] = [*install_command(python), "--no-deps", "--only-binary", ":all:"]
    builds = [line.partition("+")[2] for line in lines if line.startswith("torch==") and "+" in line]
    if builds and not settings().installer_offline:
        command += ["--extra-index-url", f"{TORCH_INDEX}/{builds[0]}"]
    with tempfile.TemporaryDirectory(prefix="brainscore-lock-") as folder:
        required = Path(folder, "requirements.txt")
        required.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        command += [*(["--dry-run"] if dry else []), "-r", required]
        return run_bounded(command, environment=environment_of(os.environ))


def _unavailable(lines: Sequence[str], python: Path) -> list[str]:
    """Return the lines that cannot be installed, found by bisection."""
    if _install(lines, python, dry=True).status == 0:
        return []
    if len(lines) == 1:
        return list(lines)
    middle = len(lines) // 2
    return _unavailable(lines[:middle], python) + _unavailable(lines[middle:], python)
