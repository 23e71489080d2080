"""Install the requirements of a plugin once, without changing distributions that all plugins share."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import metadata
from pathlib import Path
from ssl import SSLError
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from brainscore_core.command_line import say
from brainscore_core.config import settings
from brainscore_core.credentials import environment_of
from brainscore_core.errors import RequirementsError
from brainscore_core.files import atomic_path, locked
from brainscore_core.plugin_management._requirement_files import (
    RequirementLine,
    expanded_requirements,
    is_module_of_python,
    is_own_distribution,
    read_requirements,
)
from brainscore_core.processes import Ended, run_bounded
from brainscore_core.transfer.fetch import check_reachable

__all__ = [
    "LAYER_MARKER",
    "OWN",
    "SHARED",
    "TORCH_INDEX",
    "RequirementLine",
    "expanded_requirements",
    "install_command",
    "install_requirements",
    "is_module_of_python",
    "is_own_distribution",
    "is_satisfied",
    "own_bounds",
    "pinned_versions",
    "read_requirements",
    "run_installer",
    "unsatisfied",
]


# -- changes by an installation ---------------------------------------------------------------------------------------
#
# Predict which shared libraries and builds for one torch an installation would change.


BUILT_FOR_TORCH = frozenset({"torchaudio", "torchtext", "torchvision"})
"""Distributions that work with only one build of torch, although their metadata allow any."""

_PLANNED_BY_UV = re.compile(r"^\s*\+ ([\w.-]+)==(\S+)", re.MULTILINE)


def installed_version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def used_by(names: tuple[str, ...]) -> dict[str, str]:
    """Return name -> installed version of the direct and indirect requirements of distributions, without extras."""
    used: dict[str, str] = {}
    waiting = list(names)
    while waiting:
        try:
            required = metadata.requires(waiting.pop()) or ()
        except metadata.PackageNotFoundError:
            continue
        for requirement in map(Requirement, required):
            name = canonicalize_name(requirement.name)
            applies = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
            # Last, since it reads a file: most requirements are of extras.
            if applies and name not in {*used, *names} and (version := installed_version(name)) is not None:
                used[name] = version
                waiting.append(name)
    return used


def planned_versions(report: Path, output: str) -> dict[str, str]:
    """Return canonical name -> version of a dry run, from the report of ``pip`` if it exists, or ``uv``'s output."""
    if report.is_file():
        installs = [entry["metadata"] for entry in json.loads(report.read_bytes())["install"]]
        return {canonicalize_name(entry["name"]): entry["version"] for entry in installs}
    return {canonicalize_name(name): version for name, version in _PLANNED_BY_UV.findall(output)}


def foreign_builds(planned: Mapping[str, str]) -> dict[str, str]:
    """Return planned distributions built for another torch than the planned or installed one, with right versions."""
    torch = planned.get("torch") or installed_version("torch")
    if torch is None:
        return {}
    label = _local(torch)
    return {
        name: f"{Version(version).public}{'+' if label else ''}{label}"
        for name, version in planned.items()
        if name in BUILT_FOR_TORCH and _local(version) != label
    }


def _local(version: str) -> str:
    try:
        return Version(version).local or ""
    except InvalidVersion:
        return ""


# -- requirements of plugins -------------------------------------------------------------------------------------------


OWN = ("brainscore-core", "brainscore-vision", "brainscore-workspace")
"""The libraries; no plugin may replace their requirements."""

SHARED = ("numpy", "pandas", "scipy", "scikit-learn", "torch", "xarray")
"""Distributions that every plugin shares, required by the libraries or not: no plugin may replace them."""

TORCH_INDEX = "https://download.pytorch.org/whl"
"""Index of the builds of each kind of torch, such as ``/cpu``."""

LAYER_MARKER = "brainscore-environment.json"
"""File in an environment that sees the packages of another one through a ``.pth`` file."""


_ANSWER_S = 4
_OUT_OF_REACH = (
    "The requirements of plugin {plugin} ({names}) cannot be installed: the package index cannot be reached "
    "({reason}). Connect this machine, or set a reachable index (PIP_INDEX_URL) or a proxy (HTTPS_PROXY); or install "
    "them yourself and set BS_INSTALL_DEPENDENCIES=no."
)
# What may name other places than the index: then the installer itself is asked.
_OTHER_PLACES = ("PIP_NO_INDEX", "PIP_FIND_LINKS", "PIP_CONFIG_FILE", "UV_NO_INDEX", "UV_FIND_LINKS", "UV_CONFIG_FILE")
_OTHER_FILES = ("/etc/pip.conf", "~/.pip/pip.conf", "~/.config/pip/pip.conf", "/etc/uv/uv.toml", "~/.config/uv/uv.toml")


def _why_out_of_reach(lines: Sequence[RequirementLine]) -> str:
    """Return why the index cannot be asked, before an installer repeats its requests; empty if unknown."""
    plain = any(line.requirement is not None and line.requirement.url is None for line in unsatisfied(lines))
    files = [Path(sys.prefix, "pip.conf"), *(Path(name).expanduser() for name in _OTHER_FILES)]
    elsewhere = any(map(os.environ.get, _OTHER_PLACES)) or any(file.is_file() for file in files)
    named = filter(None, map(os.environ.get, ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL")))
    parts = urlsplit(next(named, "" if elsewhere else "https://pypi.org/simple"))
    if not plain or parts.scheme not in ("http", "https") or settings().installer_offline:
        return ""
    address = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}/"
    try:
        check_reachable(address, address)
        with urlopen(Request(address, method="HEAD"), timeout=_ANSWER_S):  # noqa: S310 - see the schemes above
            return ""
    except (HTTPError, SSLError):  # it answers; certificates are the installer's own business
        return ""
    except OSError as error:
        reason = error.__cause__ or getattr(error, "reason", error)
        return "" if isinstance(reason, SSLError) else f"{parts.hostname}: {reason}"


def install_requirements(plugin: str, directory: Path) -> bool:
    """Install missing requirements of a folder's plugin into this interpreter; return whether there were any.

    Raises `RequirementsError`, also if the installation would change shared distributions (`OWN`, `SHARED`) or bring a
    build for another torch.
    """
    lines = read_requirements(directory)
    stamp = settings().cache_home / "requirements" / f"{_digest(lines)}.json"
    if _nothing_to_do(lines, stamp):
        return False
    # Two installers at once may leave a broken mixture.
    with locked(settings().cache_home / "requirements" / _digest([])):
        importlib.invalidate_caches()
        if _nothing_to_do(lines, stamp):  # another process was faster
            return False
        _refuse_conflicts(plugin, directory, lines)
        names = ", ".join(line.text for line in unsatisfied(lines) if not line.text.startswith("-"))
        say(f"Installing the requirements of plugin {plugin}: {names}")
        # A distribution that was installed from an address cannot also be pinned to a version.
        addressed = {
            canonicalize_name(line.requirement.name) for line in lines if line.requirement and line.requirement.url
        }
        pins = [f"{name}=={version}" for name, version in pinned_versions().items() if name not in addressed]
        if reason := _why_out_of_reach(lines):
            raise RequirementsError(_OUT_OF_REACH.format(plugin=plugin, names=names, reason=reason))
        finished = run_installer(lines, constraints=pins, layered=Path(sys.prefix, LAYER_MARKER).is_file())
        if finished.status != 0:
            changes = _changes(lines)
            if changes:
                raise RequirementsError(
                    f"The requirements of plugin {plugin} ({names}) would change packages that the library uses: "
                    f"{', '.join(changes)}. Nothing was installed. {_remedies()}"
                )
            raise RequirementsError(
                f"The requirements of plugin {plugin} ({names}) cannot be installed.\n{finished}\n{_remedies()}"
            )
        importlib.invalidate_caches()
        unmet = [line.text for line in unsatisfied(lines)]
        with atomic_path(stamp) as temporary:
            temporary.write_text(json.dumps({"python": sys.executable, "unsatisfied": unmet}), encoding="utf-8")
    return True


def run_installer(
    lines: Sequence[RequirementLine],
    *,
    python: str | Path = sys.executable,
    constraints: Sequence[str] = (),
    layered: bool = False,
) -> Ended:
    """Run the installer without the credentials of this process: it may run anybody's code.

    Raises a `RequirementsError`, with nothing installed, if only builds for another torch are available.
    """
    into = partial(_run, lines, python=python, layered=layered)
    if "+" in (installed_version("torch") or ""):  # otherwise the index of torch has fitting builds
        ended, planned = into(constraints=constraints, dry=True)
        builds = foreign_builds(planned) if ended.status == 0 else {}
        if ended.status != 0:
            return ended
        if builds:
            return _install_builds(into, planned, constraints, builds)
    return into(constraints=constraints)[0]


def _install_builds(
    into: Callable[..., tuple[Ended, dict[str, str]]],
    planned: Mapping[str, str],
    constraints: Sequence[str],
    builds: Mapping[str, str],
) -> Ended:
    torch = planned.get("torch") or installed_version("torch")
    index = f"{TORCH_INDEX}/{str(torch).partition('+')[2]}"
    fitting = [*constraints, *(f"{name}=={version}" for name, version in builds.items())]
    ended, _ = into(constraints=fitting, index=index)
    if ended.status != 0:
        names = " and ".join(builds)
        raise RequirementsError(
            f"No build of {names} matches torch {torch}: {', '.join(f'{name} {planned[name]}' for name in builds)} is "
            f"built for another torch and would fail when it is imported, and the installer cannot get "
            f"{', '.join(fitting[len(constraints) :])} from {index}. Nothing was installed. Install {names} from the "
            f"index that torch came from; or install both, torch and {names}, from one index.\n{ended}"
        )
    return ended


def _run(
    lines: Sequence[RequirementLine],
    *,
    python: str | Path = sys.executable,
    constraints: Sequence[str] = (),
    layered: bool = False,
    dry: bool = False,
    index: str | None = None,
) -> tuple[Ended, dict[str, str]]:
    command: list[str | Path] = [*install_command(python, layered=layered)]
    of_uv = "-m" not in command
    if index is not None and not settings().installer_offline:
        command += ["--extra-index-url", index, *(["--index-strategy", "unsafe-best-match"] if of_uv else [])]
    with tempfile.TemporaryDirectory(prefix="brainscore-requirements-") as folder:
        required, constrained = Path(folder, "requirements.txt"), Path(folder, "constraints.txt")
        required.write_text("".join(f"{line.text}\n" for line in lines), encoding="utf-8")
        constrained.write_text("".join(f"{line}\n" for line in constraints), encoding="utf-8")
        report = Path(folder, "report.json")
        if dry:
            command += ["--dry-run"] if of_uv else ["--dry-run", "--quiet", "--report", report]
        command += ["-r", required, "-c", constrained]
        ended = run_bounded(command, environment=environment_of(os.environ))
        return ended, planned_versions(report, ended.output) if dry and ended.status == 0 else {}


def install_command(python: str | Path, *, layered: bool = False) -> list[str]:
    """Return the command that installs into an interpreter, with ``uv`` if found, otherwise with ``pip``.

    A ``layered`` interpreter sees another's packages through a ``.pth`` file. ``uv`` would reinstall them all, so
    ``pip`` is preferred.
    """
    offline = settings().installer_offline
    uv = shutil.which("uv")
    has_pip = importlib.util.find_spec("pip") is not None
    if uv and not (layered and has_pip):
        return [uv, "pip", "install", "--python", str(python), *(["--offline"] if offline else [])]
    if not has_pip:
        raise RequirementsError(
            f"Nothing can be installed into {python}: neither uv nor the module pip is available. Install uv, or set "
            "BS_INSTALL_DEPENDENCIES=no and install requirements yourself."
        )
    elsewhere = [] if str(python) == sys.executable else ["--python", str(python)]
    # pip's own 5 repetitions take 15 s on a machine without network.
    retries = ["--retries", "0" if settings().offline else "2"]
    options = ["--disable-pip-version-check", "--no-input", *retries, *(["--no-index"] if offline else [])]
    # -P: a folder called pip in the working directory is not the installer.
    return [sys.executable, "-P", "-m", "pip", *elsewhere, "install", *options]


# Installed ---------------------------------------------------------------------------------------------------------


def is_satisfied(requirement: Requirement) -> bool:
    """Return whether the running interpreter meets a requirement: version, address and extras, but not indirectly."""
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
    dependencies = [Requirement(dependency) for dependency in distribution.requires or () if requirement.extras]
    return key in above or all(
        _is_satisfied(dependency, above | {key})
        for dependency in dependencies
        if (marker := dependency.marker) is not None
        and not marker.evaluate({"extra": ""})
        and any(marker.evaluate({"extra": extra}) for extra in requirement.extras)
    )


def _is_from(distribution: metadata.Distribution, url: str) -> bool:
    """Return whether a distribution was installed from an address, by its ``direct_url.json`` (PEP 610)."""
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
    """Return the lines that are unmet or cannot be evaluated; option-only lines are skipped."""
    return [
        line
        for line in lines
        if (
            not is_satisfied(line.requirement)
            if line.requirement
            else not line.text.startswith("-") or line.text.startswith(("-e", "--editable"))
        )
    ]


def _nothing_to_do(lines: Sequence[RequirementLine], stamp: Path) -> bool:
    unmet = {line.text for line in unsatisfied(lines)}
    if not unmet or settings().caching_disabled:
        return not unmet
    try:
        # Lines unmet after a successful installation, such as an address, would stay so.
        return unmet <= set(json.loads(stamp.read_bytes())["unsatisfied"])
    except (OSError, ValueError, TypeError, KeyError):
        return False


def _digest(lines: Sequence[RequirementLine]) -> str:
    content = [sys.executable, sys.prefix, sys.version, [line.text for line in lines]]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:32]


# Shared -------------------------------------------------------------------------------------------------------------


def pinned_versions() -> dict[str, str]:
    """Return the installed distributions that no plugin may replace."""
    shared = {name: version for name in SHARED if (version := installed_version(name))}
    return {**shared, **used_by(OWN)}


def own_bounds() -> dict[str, SpecifierSet]:
    """Return the direct requirements of the libraries: canonical name -> versions."""
    bounds: dict[str, SpecifierSet] = {}
    for library in OWN:
        try:
            required = [Requirement(text) for text in metadata.requires(library) or ()]
        except metadata.PackageNotFoundError:
            continue
        for line in required:
            if line.marker is None and not line.url and not is_own_distribution(line.name):
                name = canonicalize_name(line.name)
                bounds[name] = bounds.get(name, SpecifierSet()) & line.specifier
    return bounds


def _refuse_conflicts(plugin: str, directory: Path, lines: Sequence[RequirementLine]) -> None:
    pinned, conflicts = pinned_versions(), []
    for line in lines:
        if line.requirement and (name := canonicalize_name(line.requirement.name)) in pinned:
            plain = Requirement(str(line.requirement))
            plain.extras = set()
            if not is_satisfied(plain):
                bound = own_bounds().get(name)
                ours = f", the library requires {plain.name}{bound}" if bound else ""
                conflicts.append(f"it requires {line.text}{ours}, and {plain.name} {pinned[name]} is installed")
    if conflicts:
        raise RequirementsError(
            f"The requirements of plugin {plugin} ({directory}) conflict with the library: {'; '.join(conflicts)}. "
            f"{_remedies()}"
        )


def _changes(lines: Sequence[RequirementLine]) -> list[str]:
    """Return the shared distributions that an installation would change: ``'numpy 2.4.0 -> 1.26.4'``."""
    ended, planned = _run(lines, layered=Path(sys.prefix, LAYER_MARKER).is_file(), dry=True)
    if ended.status != 0:
        return []
    pinned = pinned_versions()
    return [f"{name} {pinned[name]} -> {planned[name]}" for name in sorted(planned.keys() & pinned.keys())]


def _remedies() -> str:
    return (
        "Correct the requirements of the plugin; or set BS_INSTALL_DEPENDENCIES=no to use the installed packages, or "
        "BS_INSTALL_DEPENDENCIES=newenv to score in a separate environment."
    )
