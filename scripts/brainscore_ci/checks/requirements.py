"""Check each requirement as it would be installed: resolvable and immutable."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.utils import canonicalize_name

from brainscore_ci.checks.findings import Finding
from brainscore_core.errors import RequirementsError
from brainscore_core.plugin_management.requirements import (
    RequirementLine,
    expanded_requirements,
    is_module_of_python,
    is_own_distribution,
)

if TYPE_CHECKING:
    from packaging.requirements import Requirement
    from packaging.specifiers import SpecifierSet

    from brainscore_ci.checks.plugin import CheckedPlugin, Surroundings

_Find = Callable[..., Finding]  # makes a finding of a line, see `CheckedPlugin.finding`

_COMMIT = re.compile(r"@[0-9a-f]{7,40}(?:#|$)")
_DIGEST = re.compile(r"[#&]sha(?:256|384|512)=[0-9a-f]{64,}")
_UPPER = frozenset({"<", "<=", "==", "~=", "==="})


def check_requirements(source: CheckedPlugin, surroundings: Surroundings) -> Iterator[Finding]:
    """Require that every installed line names a distribution or a fixed commit."""
    try:
        lines = expanded_requirements(source.plugin.directory, within=True)
    except (RequirementsError, RecursionError) as error:
        yield _unreadable(source, str(error))
        return
    seen: dict[str, RequirementLine] = {}
    for line in lines:
        find = partial(source.finding, "requirements", file=line.file, line=line.number)
        yield from _check_line(find, line, surroundings)
        name = canonicalize_name(line.requirement.name) if line.requirement else None
        if name is not None and (first := seen.setdefault(name, line)) is not line and ";" not in line.text:
            where = f"line {first.number}" if first.file == line.file else f"{first.file}:{first.number}"
            yield find(f"{name} is there already, in {where}", "keep one of them", hint=True)


def _unreadable(source: CheckedPlugin, said: str) -> Finding:
    place = re.match(r"(?P<file>.+?):(?P<line>\d+): ", said)
    file = Path(place["file"]) if place else source.plugin.directory / "requirements.txt"
    name = file.relative_to(source.plugin.directory).as_posix()
    message = said.removeprefix(place[0] if place else "").rstrip(".")
    fix = "write each requirement on one line of requirements.txt, as pip reads it"
    return source.finding("requirements", message, fix, name, int(place["line"]) if place else 1)


def _check_line(find: _Find, line: RequirementLine, surroundings: Surroundings) -> Iterator[Finding]:
    text, *options = re.split(r"\s+(?=--)", line.text)
    if text.startswith("-"):
        yield from _check_option(find, line.text)
        return
    for option in options:
        if not option.startswith("--hash"):
            yield find(f"{option.split()[0]!r} changes how something is built or found", "remove it")
    if re.fullmatch(r"\.(\[.*\])?/?", text):
        yield find("names the plugin folder itself", "remove the line: the plugin is there already", hint=True)
    elif re.match(r"[a-z+]+://", text):
        yield from _check_url(find, text)
    elif line.requirement is not None:
        yield from _check_named(find, line.requirement, surroundings)
    elif "://" in text or text.startswith(("./", "../", "/", "git@")):
        yield from _check_url(find, text)
    else:
        fix = "write it as pip reads it, such as timm>=1.0"
        yield find(f"{text!r} is no requirement", fix)


def _check_option(find: _Find, text: str) -> Iterator[Finding]:
    editable = re.fullmatch(r"(?:-e|--editable)[ =]?\s*(.+)", text)
    if editable and re.fullmatch(r"\.(\[.*\])?/?", editable[1]):
        yield find("names the plugin folder itself", "remove the line: the plugin is there already", hint=True)
    elif editable:
        yield from _check_url(find, editable[1])
    elif re.match(r"-c|--constraint", text):
        yield find("names a file with limits, which is not judged", "write the limits behind the names: timm<2")
    elif re.split("[= ]", text)[0] not in {"--no-binary", "--only-binary", "--prefer-binary", "--pre"}:
        yield find(f"{text.split()[0]!r} changes where packages come from", "remove it; name packages of PyPI")


def _check_url(find: _Find, text: str) -> Iterator[Finding]:
    if text.startswith("git@") or re.match(r"(git\+)?(ssh|file|http|git)://", text):
        yield find(f"{text!r} is not fetched by https", "use git+https://...@<40 digits of the commit>")
    elif text.startswith("git+https://"):
        if not _COMMIT.search(text):
            yield find(
                f"{text!r} may change with every push to that repository",
                "pin the commit: git+https://...@<40 hexadecimal digits>",
            )
    elif text.startswith("https://"):
        if not _DIGEST.search(text):
            fix = "name a release on PyPI, or append #sha256=<digest>"
            yield find(f"{text!r} may change unseen", fix)
    else:
        yield find(f"{text!r} is not a package that everybody can install", "name a release on PyPI")


def _check_named(find: _Find, requirement: Requirement, surroundings: Surroundings) -> Iterator[Finding]:
    name = canonicalize_name(requirement.name)
    if is_own_distribution(name):
        yield find(f"{requirement.name} is there already, with every plugin", "remove the line", hint=True)
    elif is_module_of_python(name):
        yield find(
            f"{requirement.name} is a module of Python; a distribution of that name would be something else",
            "remove the line",
        )
    elif requirement.url is not None:
        yield from _check_url(find, requirement.url)
    elif name in surroundings.dependencies:
        yield from _check_bound(find, requirement, surroundings.dependencies[name])


def _check_bound(find: _Find, requirement: Requirement, wanted: SpecifierSet) -> Iterator[Finding]:
    upper = [one for one in requirement.specifier if one.operator in _UPPER]
    if not upper:
        return
    lowest = [one.version for one in wanted if one.operator in {">=", "=="}]
    too_old = bool(lowest) and all(not requirement.specifier.contains(version, prereleases=True) for version in lowest)
    bounds = ",".join(map(str, upper))
    message = f"{requirement.name}{bounds} conflicts with a requirement of the library ({requirement.name}{wanted})"
    if too_old and upper[0].operator in {"<", "<="}:
        message += "; without a box, nothing is left to install"
    yield find(message, "drop the upper bound, and adapt the plugin to the current release", hint=True)


RULES = (check_requirements,)
