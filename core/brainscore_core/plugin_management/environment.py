"""Build environments that keep the requirements of plugins apart.

A virtual environment sees, through a ``.pth`` file, everything importable here behind its own packages: requirements of
plugins hide the versions from here, and packages that a plugin forgot to require stay visible.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import sysconfig
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from brainscore_core.command_line import NO_SCORE, say
from brainscore_core.config import settings
from brainscore_core.errors import BrainScoreError, RequirementsError
from brainscore_core.files import atomic_path, locked
from brainscore_core.plugin_management._requirement_files import RequirementLine, read_requirements
from brainscore_core.plugin_management._resolution import installed_version
from brainscore_core.plugin_management.requirements import (
    LAYER_MARKER,
    SHARED,
    is_satisfied,
    own_bounds,
    pinned_versions,
    run_installer,
    unsatisfied,
)
from brainscore_core.processes import Ended, run_bounded

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
    """Return an interpreter that meets the requirements of plugins: this one if it does, else `environment_for`."""
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
            f"Scoring {model_identifier} on {benchmark_identifier} in an environment of its own failed.\n{finished}"
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
    _require_success(run_bounded([*program, folder]), "An environment cannot be made.")
    scheme = "nt" if os.name == "nt" else "posix_prefix"
    packages = sysconfig.get_path("purelib", scheme, {"base": str(folder), "platbase": str(folder)})
    Path(packages, "_brainscore_parent.pth").write_text("".join(f"{path}\n" for path in paths), "utf-8")
    # Satisfied requirements come from here through the .pth file.
    missing = [line for line in lines if line.requirement is None or not is_satisfied(line.requirement)]
    if missing:
        names = " and ".join(path.name for path in plugin_folders)
        say(f"Installing what {names} require: {', '.join(line.text for line in missing)}")
        finished = _install(missing, python, bounded=bounded)
        conflicts = ", ".join(conflicts_of(plugin_folders))
        because = f" The library requires {conflicts}; only a candidate in a box may have others." if conflicts else ""
        _require_success(finished, f"What {names} require cannot be installed into an environment.{because}")
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
