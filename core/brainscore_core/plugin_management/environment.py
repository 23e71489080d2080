"""Build environments that keep the requirements of plugins apart.

An environment is a virtual environment of the running interpreter that sees everything importable here (the libraries
from where they are imported now, and the packages installed beside them) through a ``.pth`` file, behind its own
packages. The requirements of a plugin are installed into it and hide the versions from here. It is cheap to make and
isolates additions and other versions, but does not hide installed packages that a plugin forgot to require.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import sysconfig
from collections.abc import Callable, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import TypeVar

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from brainscore_core.command_line import NO_SCORE
from brainscore_core.config import settings
from brainscore_core.errors import BrainScoreError, RequirementsError
from brainscore_core.files import atomic_path, locked
from brainscore_core.plugin_management._requirement_files import RequirementLine, read_requirements
from brainscore_core.plugin_management.requirements import (
    LAYER_MARKER,
    OWN,
    is_satisfied,
    pinned_versions,
    run_installer,
    unsatisfied,
)
from brainscore_core.processes import Ended, run_bounded

__all__ = ["environment_for", "isolated_score", "python_for", "requirements_of", "run_in_environment"]

Record = TypeVar("Record")

_FORMAT = 2  # raise it whenever environments are made differently


def environment_for(plugin_folders: Sequence[Path]) -> Path:
    """Return the interpreter of an environment that meets the requirements of plugins; make it the first time.

    Parameters
    ----------
    plugin_folders : sequence of Path
        Folders of plugins that work together, such as a model and a benchmark.

    Returns
    -------
    Path
        Its ``python``. Environments are kept below ``environments`` in the cache home under the digest of the
        requirements, the running interpreter and the paths it imports from.

    Raises
    ------
    RequirementsError
        If the requirements cannot be read or installed.
    """
    lines = {line.text: line for folder in plugin_folders for line in read_requirements(folder)}
    paths = _visible_paths()
    content = [_FORMAT, sys.version, sys.executable, sys.prefix, sorted(lines), paths]
    digest = hashlib.sha256(json.dumps(content).encode()).hexdigest()[:32]
    folder = settings().cache_home / "environments" / digest
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    with locked(folder):
        if not (folder / LAYER_MARKER).is_file():
            # Programs installed into an environment hold its path, so it is made in place and not renamed.
            shutil.rmtree(folder, ignore_errors=True)
            try:
                _make(folder, python, list(lines.values()), paths, plugin_folders)
            except BaseException:
                shutil.rmtree(folder, ignore_errors=True)
                raise
    return python


def python_for(plugin_folders: Sequence[Path]) -> Path:
    """Return an interpreter that meets the requirements of plugins: this one, or that of an environment.

    Parameters and errors are those of `environment_for`. Nothing is installed into the running interpreter.
    """
    return environment_for(plugin_folders) if requirements_of(plugin_folders)[1] else Path(sys.executable)


def requirements_of(plugin_folders: Sequence[Path]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the requirements of plugins and those that this interpreter lacks, each line once, sorted.

    Raises
    ------
    RequirementsError
        If the requirements cannot be read.
    """
    lines = {line.text: line for folder in plugin_folders for line in read_requirements(folder)}
    return tuple(sorted(lines)), tuple(sorted(line.text for line in unsatisfied(list(lines.values()))))


def run_in_environment(
    python: Path, arguments: Sequence[str | Path], *, environment: Mapping[str, str] | None = None
) -> Ended:
    """Run an interpreter and pass its output on to standard error.

    Parameters
    ----------
    python : Path
        As `environment_for` returns it.
    arguments : sequence of str or Path
        Arguments of ``python``, such as ``['-m', 'mylibrary', 'score', ...]``.
    environment : mapping of str to str, optional
        Variables to set besides those of this process.
    """
    return run_bounded(
        [python, *arguments],
        environment={**os.environ, **(environment or {})},
        show=lambda line: sys.stderr.write(f"{line}\n"),
        most_shown=float("inf"),
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
    """Score a model on a benchmark in an environment that meets the requirements of their plugins.

    Runs ``python -m <library> score`` there, which installs the requirements of further plugins (a metric, a data set)
    into that environment.

    Parameters
    ----------
    library : str
        Package with the command line, such as ``'mylibrary'``.
    plugin_folders : sequence of Path
        Folders of plugins with requirements.
    record_path : Path
        Path of the record, which the program writes and ``read`` reads.

    Raises
    ------
    RequirementsError
        If the environment cannot be made.
    BrainScoreError
        If the program fails, with its command, exit status and last lines.
    """
    record_path = record_path.absolute()
    finished = run_in_environment(
        environment_for(plugin_folders),
        [
            *("-m", library, "score"),
            f"--model_identifier={model_identifier}",
            f"--benchmark_identifier={benchmark_identifier}",
            *("--record", record_path),
        ],
        environment={"BS_INSTALL_DEPENDENCIES": "yes"},
    )
    if finished.status not in (0, NO_SCORE):
        raise BrainScoreError(
            f"Scoring {model_identifier} on {benchmark_identifier} in an environment of its own failed.\n{finished}"
        )
    return read(record_path)


def _make(
    folder: Path, python: Path, lines: Sequence[RequirementLine], paths: Sequence[str], plugin_folders: Sequence[Path]
) -> None:
    uv = shutil.which("uv")
    program = (
        [uv, "venv", "--quiet", "--python", sys.executable] if uv else [sys.executable, "-m", "venv", "--without-pip"]
    )
    _require_success(run_bounded([*program, folder]), "An environment cannot be made.")
    (_site_packages(folder) / "_brainscore_parent.pth").write_text("".join(f"{path}\n" for path in paths), "utf-8")
    # Satisfied requirements come from here through the .pth file; installing them again would only cost time.
    missing = [line for line in lines if line.requirement is None or not is_satisfied(line.requirement)]
    if missing:
        names = " and ".join(path.name for path in plugin_folders)
        sys.stderr.write(f"Installing what {names} require: {', '.join(line.text for line in missing)}\n")
        finished = _install(missing, python)
        _require_success(finished, f"What {names} require cannot be installed into an environment.")
    # Written last: without it, an environment is incomplete.
    with atomic_path(folder / LAYER_MARKER) as temporary:
        temporary.write_text(json.dumps({"requirements": [line.text for line in lines], "paths": list(paths)}), "utf-8")


def _install(lines: Sequence[RequirementLine], python: Path) -> Ended:
    """Install with the versions from here; only if these conflict, with other ones in front of them."""
    named = {canonicalize_name(line.requirement.name) for line in lines if line.requirement}
    here = [f"{name}=={version}" for name, version in pinned_versions().items() if name not in named]
    finished = run_installer(lines, python=python, constraints=[*_own_bounds(), *here], layered=True)
    if finished.status != 0:
        finished = run_installer(lines, python=python, constraints=_own_bounds(), layered=True)
    return finished


def _require_success(finished: Ended, message: str) -> None:
    if finished.status != 0:
        raise RequirementsError(f"{message}\n{finished}\nCorrect the requirements of the plugins and try again.")


def _site_packages(folder: Path) -> Path:
    scheme = "nt" if os.name == "nt" else "posix_prefix"
    return Path(sysconfig.get_path("purelib", scheme, {"base": str(folder), "platbase": str(folder)}))


def _visible_paths() -> list[str]:
    """Return the folders that this interpreter imports from, without the standard library and the running script."""
    standard = {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")}
    standard |= {str(Path(path, "lib-dynload")) for path in standard}
    library = str(Path(__file__).parents[2])
    others = sys.path if sys.flags.safe_path else sys.path[1:]
    return [path for path in dict.fromkeys([library, *others]) if path not in standard and path and Path(path).is_dir()]


def _own_bounds() -> list[str]:
    """Return the version bounds of the libraries that are installed as distributions."""
    bounds: list[str] = []
    for name in OWN:
        try:
            required = [Requirement(text) for text in metadata.requires(name) or ()]
        except metadata.PackageNotFoundError:
            continue
        bounds += [f"{line.name}{line.specifier}" for line in required if line.marker is None and not line.url]
    return [bound for bound in dict.fromkeys(bounds) if not bound.startswith("brainscore")]
