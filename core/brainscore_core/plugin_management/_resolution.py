"""Predict which shared libraries and builds for one torch an installation would change."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

BUILT_FOR_TORCH = frozenset({"torchaudio", "torchtext", "torchvision"})
"""Distributions that work with one build of torch alone, though their metadata allow any."""

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
    """Return canonical name -> version of a dry run, from the report of ``pip`` if it exists, else ``uv``'s output."""
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
