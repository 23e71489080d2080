"""Install what a plugin requires, once, without disturbing what all plugins share."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import json
import shutil
import sys
import tempfile
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from brainscore_core.caching import atomic_path, locked
from brainscore_core.config import settings
from brainscore_core.errors import RequirementsError
from brainscore_core.plugin_management._requirement_files import (
    RequirementLine,
    is_module_of_python,
    is_own_distribution,
    read_requirements,
)
from brainscore_core.processes import Ended, run_bounded

__all__ = [
    "LAYER_MARKER",
    "SHARED",
    "install_command",
    "install_requirements",
    "is_module_of_python",
    "is_own_distribution",
    "is_satisfied",
    "run_installer",
    "unsatisfied",
]

SHARED = ("numpy", "pandas", "scipy", "scikit-learn", "torch", "xarray")
"""Distributions that every plugin shares: none of them may replace the installed version."""

LAYER_MARKER = "brainscore-environment.json"
"""File in the folder of an interpreter that sees the packages of another one through a ``.pth`` file."""


def install_requirements(plugin: str, directory: Path) -> bool:
    """Install into the running interpreter what a plugin requires and is not there yet.

    Parameters
    ----------
    plugin : str
        Its name, for messages.
    directory : Path
        Its folder, with ``requirements.txt``, ``setup.py`` (read, never run), both or neither.

    Returns
    -------
    bool
        Whether anything had to be installed.

    Raises
    ------
    RequirementsError
        If a file cannot be read, a requirement contradicts what all plugins share (`SHARED`), or the installer fails;
        with its command, exit status and last lines.
    """
    lines = read_requirements(directory)
    stamp = settings().cache_home / "requirements" / f"{_digest(lines)}.json"
    if _nothing_to_do(lines, stamp):
        return False
    # One lock for the interpreter: two installers at once may leave a broken mixture.
    with locked(settings().cache_home / "requirements" / _digest([])):
        importlib.invalidate_caches()
        if _nothing_to_do(lines, stamp):  # another process was faster
            return False
        _refuse_conflicts(plugin, directory, lines)
        wanted = ", ".join(line.text for line in unsatisfied(lines) if not line.text.startswith("-"))
        sys.stderr.write(f"Installing what plugin {plugin} requires: {wanted}\n")
        finished = run_installer(
            lines, constraints=_constraints(lines), layered=Path(sys.prefix, LAYER_MARKER).is_file()
        )
        if finished.status != 0:
            raise RequirementsError(
                f"What plugin {plugin} requires ({wanted}) cannot be installed.\n{finished}\n{_advice(finished)}"
            )
        importlib.invalidate_caches()
        left = [line.text for line in unsatisfied(lines)]
        with atomic_path(stamp) as temporary:
            temporary.write_text(json.dumps({"python": sys.executable, "unsatisfied": left}), encoding="utf-8")
    return True


def run_installer(
    lines: Sequence[RequirementLine],
    *,
    python: str | Path = sys.executable,
    constraints: Sequence[str] = (),
    layered: bool = False,
) -> Ended:
    """Run the installer on some requirements.

    Parameters
    ----------
    python : path-like
        The interpreter to install into.
    constraints : sequence of str
        Requirements that hold if those distributions are installed at all.
    layered : bool
        See `install_command`.
    """
    with tempfile.TemporaryDirectory(prefix="brainscore-requirements-") as folder:
        required, constrained = Path(folder, "requirements.txt"), Path(folder, "constraints.txt")
        required.write_text("".join(f"{line.text}\n" for line in lines), encoding="utf-8")
        constrained.write_text("".join(f"{line}\n" for line in constraints), encoding="utf-8")
        return run_bounded([*install_command(python, layered=layered), "-r", required, "-c", constrained])


def install_command(python: str | Path, *, layered: bool = False) -> list[str]:
    """Return the command that installs into an interpreter: that of ``uv`` if it is found, else that of ``pip``.

    Parameters
    ----------
    python : path-like
        The interpreter to install into.
    layered : bool
        It sees the packages of another interpreter through a ``.pth`` file. ``uv`` would not see those and install
        torch and all the others again, so ``pip`` is preferred.

    Raises
    ------
    RequirementsError
        If there is neither.
    """
    offline = settings().offline
    uv = shutil.which("uv")
    has_pip = importlib.util.find_spec("pip") is not None
    if uv and not (layered and has_pip):
        return [uv, "pip", "install", "--python", str(python), *(["--offline"] if offline else [])]
    if not has_pip:
        raise RequirementsError(
            f"Nothing can be installed into {python}: neither the program uv nor the module pip is there. "
            "Install uv, or set BS_INSTALL_DEPENDENCIES=no and install requirements yourself."
        )
    elsewhere = [] if str(python) == sys.executable else ["--python", str(python)]
    options = ["--disable-pip-version-check", "--no-input", *(["--no-index"] if offline else [])]
    return [sys.executable, "-m", "pip", *elsewhere, "install", *options]


# What is there -------------------------------------------------------------------------------------------------------


def is_satisfied(requirement: Requirement) -> bool:
    """Whether the running interpreter has what a requirement asks for: version, address and extras.

    Requirements of what is installed are taken as satisfied.
    """
    return _is_satisfied(requirement, frozenset())


def _is_satisfied(requirement: Requirement, above: frozenset[str]) -> bool:
    try:
        distribution = metadata.distribution(requirement.name)
    except metadata.PackageNotFoundError:
        return False
    if requirement.url is not None:
        if not _is_from(distribution, requirement.url):
            return False
    elif not requirement.specifier.contains(distribution.version, prereleases=True):
        return False
    key = str(requirement)
    return key in above or all(
        _is_satisfied(Requirement(dependency), above | {key})
        for extra in requirement.extras
        for dependency in distribution.requires or ()
        if _is_of_extra(Requirement(dependency), extra)
    )


def _is_of_extra(requirement: Requirement, extra: str) -> bool:
    marker = requirement.marker
    return marker is not None and not marker.evaluate({"extra": ""}) and marker.evaluate({"extra": extra})


def _is_from(distribution: metadata.Distribution, url: str) -> bool:
    """Whether a distribution was installed from an address, according to its ``direct_url.json`` (PEP 610)."""
    try:
        direct: Any = json.loads(distribution.read_text("direct_url.json") or "{}")
    except ValueError:
        return False
    version_control = direct.get("vcs_info", {})
    installed = direct.get("url", "")
    if version_control:
        revision = version_control.get("requested_revision")
        installed = f"{version_control.get('vcs')}+{installed}" + (f"@{revision}" if revision else "")
    return str(installed) == url.partition("#")[0]


def unsatisfied(lines: Sequence[RequirementLine]) -> list[RequirementLine]:
    """Return the lines that are not satisfied or of which that cannot be told; options alone ask for nothing."""
    return [
        line
        for line in lines
        if (not is_satisfied(line.requirement) if line.requirement else not _is_mere_option(line.text))
    ]


def _is_mere_option(text: str) -> bool:
    return text.startswith("-") and not text.startswith(("-e", "--editable"))


def _nothing_to_do(lines: Sequence[RequirementLine], stamp: Path) -> bool:
    left = {line.text for line in unsatisfied(lines)}
    if not left or settings().caching_disabled:
        return not left
    try:
        # What stayed unsatisfied after an installation that succeeded (an address, say) would do so again.
        return left <= set(json.loads(stamp.read_bytes())["unsatisfied"])
    except (OSError, ValueError, TypeError, KeyError):
        return False


def _digest(lines: Sequence[RequirementLine]) -> str:
    content = [sys.executable, sys.prefix, sys.version, [line.text for line in lines]]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:32]


# What is shared ------------------------------------------------------------------------------------------------------


def _installed_version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _constraints(lines: Sequence[RequirementLine]) -> list[str]:
    # A shared distribution that is required from an address cannot be pinned to a version as well.
    from_address = {
        canonicalize_name(line.requirement.name) for line in lines if line.requirement and line.requirement.url
    }
    versions = {name: _installed_version(name) for name in SHARED if name not in from_address}
    return [f"{name}=={version}" for name, version in versions.items() if version]


def _refuse_conflicts(plugin: str, directory: Path, lines: Sequence[RequirementLine]) -> None:
    conflicts = [
        f"it requires {line.text}, and {line.requirement.name} {_installed_version(line.requirement.name)} is installed"
        for line in lines
        if line.requirement
        and canonicalize_name(line.requirement.name) in SHARED
        and _installed_version(line.requirement.name)
        and not is_satisfied(line.requirement)
    ]
    if conflicts:
        raise RequirementsError(
            f"What plugin {plugin} ({directory}) requires contradicts what all plugins share: {'; '.join(conflicts)}. "
            f"{_remedies()}"
        )


def _advice(finished: Ended) -> str:
    said = finished.tail.lower()
    if any(f"{name}==" in said for name in SHARED):
        return f"The installed versions of {', '.join(SHARED)} are kept, because all plugins share them. {_remedies()}"
    return _remedies()


def _remedies() -> str:
    return (
        "Correct the requirements of the plugin; or set BS_INSTALL_DEPENDENCIES=no to try with what is installed; or "
        "BS_INSTALL_DEPENDENCIES=newenv to score in an environment of its own."
    )
