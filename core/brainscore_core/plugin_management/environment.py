"""Build environments that keep the requirements of plugins apart.

A virtual environment sees, through a ``.pth`` file, everything importable here behind its own packages: requirements of
plugins hide the versions from here, and packages that a plugin forgot to require stay visible.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shutil
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import TypeVar

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from brainscore_core.command_line import NO_SCORE, say
from brainscore_core.config import settings
from brainscore_core.credentials import environment_of
from brainscore_core.errors import BrainScoreError, RequirementsError
from brainscore_core.files import atomic_path, locked
from brainscore_core.plugin_management._requirement_files import RequirementLine, read_requirements
from brainscore_core.plugin_management.requirements import (
    LAYER_MARKER,
    OWN,
    SHARED,
    TORCH_INDEX,
    install_command,
    installed_version,
    is_satisfied,
    own_bounds,
    pinned_versions,
    run_installer,
    unsatisfied,
)
from brainscore_core.processes import Ended, run_bounded

# -- environments of plugins -------------------------------------------------------------------------------------------


Record = TypeVar("Record")

_FORMAT = 2  # of environments


def environment_for(plugin_folders: Sequence[Path], *, bounded: bool = True) -> Path:
    """Return the interpreter of an environment, made once, that meets several plugins' requirements.

    Unless it is `bounded` by the library's requirements, the plugins' versions win, such as NumPy 1: enough for a
    candidate in a box.
    """
    lines = {line.text: line for folder in plugin_folders for line in read_requirements(folder)}
    paths = _visible_paths()
    content = [_FORMAT, sys.version, sys.executable, sys.prefix, sorted(lines), paths, bounded]
    digest = hashlib.sha256(json.dumps(content).encode()).hexdigest()[:32]
    folder = settings().cache_home / "environments" / digest
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    with locked(folder):
        if not (folder / LAYER_MARKER).is_file():
            # Programs installed into an environment hold its path, so it cannot be renamed.
            shutil.rmtree(folder, ignore_errors=True)
            try:
                _make(folder, python, list(lines.values()), paths, plugin_folders, bounded=bounded)
            except BaseException:
                shutil.rmtree(folder, ignore_errors=True)
                raise
    return python


def python_for(plugin_folders: Sequence[Path]) -> Path:
    """Return an interpreter that meets the requirements of plugins: this one if it does, or `environment_for`."""
    return environment_for(plugin_folders) if requirements_of(plugin_folders)[1] else Path(sys.executable)


def requirements_of(plugin_folders: Sequence[Path]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return plugins' requirements, and those that this interpreter lacks, each line once, sorted."""
    lines = {line.text: line for folder in plugin_folders for line in read_requirements(folder)}
    return tuple(sorted(lines)), tuple(sorted(line.text for line in unsatisfied(list(lines.values()))))


def run_in_environment(
    python: Path, arguments: Sequence[str | Path], *, environment: Mapping[str, str] | None = None
) -> Ended:
    """Run an interpreter with extra environment variables; pass its output to standard error."""
    return run_bounded(
        [python, *arguments], environment={**os.environ, **(environment or {})}, show=say, most_shown=float("inf")
    )


def isolated_score(
    library: str,
    model_identifier: str,
    benchmark_identifier: str,
    *,
    plugin_folders: Sequence[Path],
    record_path: Path,
    read: Callable[[Path], Record],
) -> Record:
    """Score a model on a benchmark in an environment for both plugins.

    The program there, ``python -m <library> score``, writes the record that ``read`` returns. Raises `BrainScoreError`
    if it fails.
    """
    record_path = record_path.absolute()
    finished = run_in_environment(
        environment_for(plugin_folders),
        [
            *("-m", library, "score"),
            f"--model_identifier={model_identifier}",
            f"--benchmark_identifier={benchmark_identifier}",
            *("--record", record_path),
            *("--isolation", "none"),  # the caller has let the model run in its own process
        ],
        environment={"BS_INSTALL_DEPENDENCIES": "yes"},
    )
    if finished.status not in (0, NO_SCORE):
        raise BrainScoreError(
            f"Scoring {model_identifier} on {benchmark_identifier} in a separate environment failed.\n{finished}"
        )
    return read(record_path)


def _make(
    folder: Path,
    python: Path,
    lines: Sequence[RequirementLine],
    paths: Sequence[str],
    plugin_folders: Sequence[Path],
    *,
    bounded: bool,
) -> None:
    uv = shutil.which("uv")
    program = (
        [uv, "venv", "--quiet", "--python", sys.executable] if uv else [sys.executable, "-m", "venv", "--without-pip"]
    )
    _require_success(run_bounded([*program, folder]), "The environment cannot be created.")
    scheme = "nt" if os.name == "nt" else "posix_prefix"
    packages = sysconfig.get_path("purelib", scheme, {"base": str(folder), "platbase": str(folder)})
    Path(packages, "_brainscore_parent.pth").write_text("".join(f"{path}\n" for path in paths), "utf-8")
    # Satisfied requirements come from here through the .pth file.
    missing = [line for line in lines if line.requirement is None or not is_satisfied(line.requirement)]
    if missing:
        names = " and ".join(path.name for path in plugin_folders)
        say(f"Installing the requirements of {names}: {', '.join(line.text for line in missing)}")
        finished = _install(missing, python, bounded=bounded)
        conflicts = ", ".join(conflicts_of(plugin_folders))
        because = (
            f" The library requires {conflicts}; only a candidate in a box may use other versions." if conflicts else ""
        )
        _require_success(finished, f"The requirements of {names} cannot be installed into an environment.{because}")
    # Last: without it, an environment is incomplete.
    with atomic_path(folder / LAYER_MARKER) as temporary:
        temporary.write_text(json.dumps({"requirements": [line.text for line in lines], "paths": list(paths)}), "utf-8")


def conflicts_of(plugin_folders: Sequence[Path]) -> list[str]:
    """Return the requirements of the library that plugins exclude, such as ``'numpy>=2'``."""
    bounds, conflicts = own_bounds(), []
    lines = [line for folder in plugin_folders for line in read_requirements(folder)]
    for requirement in (line.requirement for line in lines if line.requirement):
        bound = bounds.get(canonicalize_name(requirement.name), SpecifierSet())
        both = bound & requirement.specifier
        versions = [part.version.removesuffix(".*") for part in both if part.operator in (">=", "==", "~=")]
        versions += [version for version in [installed_version(requirement.name)] if version]
        if (
            bound
            and requirement.specifier
            and not any(both.contains(version, prereleases=True) for version in versions)
        ):
            conflicts.append(f"{requirement.name}{bound}")
    return conflicts


def _install(lines: Sequence[RequirementLine], python: Path, *, bounded: bool) -> Ended:
    """Install with the versions from here or, if these conflict, other ones."""
    named = {canonicalize_name(line.requirement.name) for line in lines if line.requirement}
    here = [f"{name}=={version}" for name, version in pinned_versions().items() if name not in named]
    bounds = [f"{name}{bound}" for name, bound in own_bounds().items()]
    finished = run_installer(lines, python=python, constraints=[*bounds, *here], layered=True)
    if finished.status != 0:
        finished = run_installer(lines, python=python, constraints=bounds, layered=True)
    if finished.status != 0 and not bounded:
        # pandas from here, for instance, refuses NumPy 1: shared distributions are resolved with the plugin's.
        shared = [RequirementLine(name, Requirement(name)) for name in SHARED if name not in named]
        finished = run_installer([*lines, *shared], python=python, layered=True)
    return finished


def _require_success(finished: Ended, message: str) -> None:
    if finished.status != 0:
        raise RequirementsError(f"{message}\n{finished}\nCorrect the requirements of the plugins and try again.")


def _visible_paths() -> list[str]:
    """Return the folders that this interpreter imports from, except the standard library's and the script's."""
    standard = {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")}
    standard |= {str(Path(path, "lib-dynload")) for path in standard}
    library = str(Path(__file__).parents[2])
    others = sys.path if sys.flags.safe_path else sys.path[1:]
    return [path for path in dict.fromkeys([library, *others]) if path not in standard and path and Path(path).is_dir()]


# -- environments of locks ---------------------------------------------------------------------------------------------
#
# Build the environment of a lock, see `brainscore_core.identity.software.installed`, to reproduce results.
#
# Distributions of the same version come from here, others as wheels from an index: installing runs no code.


_LOCK_FORMAT = 1  # of environments
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
        raise RequirementsError("A lock does not state its Python version; expected a line such as python==3.12.1.")
    return versions


def environment_from_lock(lock: str, library_folders: Sequence[Path]) -> Path:
    """Return the interpreter of an environment, made once, with exactly the distributions of a lock, see `read_lock`.

    ``library_folders`` are the libraries' source in a checkout. A `RequirementsError` names unavailable distributions.
    """
    versions = read_lock(lock)
    checkouts = [str(path) for path in library_folders if not path.is_relative_to(sys.prefix)]
    content = json.dumps([_LOCK_FORMAT, lock, sys.version, sys.executable, checkouts])
    folder = settings().cache_home / "locked-environments" / hashlib.sha256(content.encode()).hexdigest()[:32]
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    with locked(folder):
        if not (folder / _MARKER).is_file():
            shutil.rmtree(folder, ignore_errors=True)
            try:
                _make_from_lock(folder, python, versions, checkouts)
            except BaseException:
                shutil.rmtree(folder, ignore_errors=True)
                raise
            with atomic_path(folder / _MARKER) as temporary:
                temporary.write_text(lock, "utf-8")
    return python


def _make_from_lock(folder: Path, python: Path, wanted: Mapping[str, str], checkouts: Sequence[str]) -> None:
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
        say(f"Installing {len(remaining)} distributions in the locked versions")
        ended = _install_lock(remaining, python)
        if ended.status != 0:
            lacking = _unavailable(remaining, python)
            raise RequirementsError(
                f"The lock needs distributions that have no wheel for this machine: {', '.join(lacking or remaining)}. "
                f"{'' if lacking else ended}"
            )


def _make_empty(folder: Path, version: str) -> None:
    uv = shutil.which("uv")
    if version != platform.python_version() and not uv:
        raise RequirementsError(
            f"The lock needs Python {version}, which is not available. This is Python {platform.python_version()}; "
            "install uv, which downloads other versions, or run this command with that Python."
        )
    interpreter = sys.executable if version == platform.python_version() else version
    offline = ["--offline"] if settings().installer_offline else []
    program = [uv, "venv", "--quiet", *offline, "--python", interpreter] if uv else [sys.executable, "-m", "venv"]
    ended = run_bounded([*program, *([] if uv else ["--without-pip"]), folder], environment=environment_of(os.environ))
    if ended.status != 0:
        raise RequirementsError(f"The lock needs Python {version}, which is not available.\n{ended}")


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


def _install_lock(lines: Sequence[str], python: Path, *, dry: bool = False) -> Ended:
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
    if _install_lock(lines, python, dry=True).status == 0:
        return []
    if len(lines) == 1:
        return list(lines)
    middle = len(lines) // 2
    return _unavailable(lines[:middle], python) + _unavailable(lines[middle:], python)
