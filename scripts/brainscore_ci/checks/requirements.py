"""Check the ``requirements.txt`` of a plugin: it can be resolved, and nothing in it can change unseen."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from brainscore_ci.checks.findings import Finding
from brainscore_core.plugin_management.requirements import is_module_of_python, is_own_distribution

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet

    from brainscore_ci.checks.plugin import CheckedPlugin, Surroundings

__all__ = ["RULES"]

_Find = Callable[..., Finding]  # makes one of a line, see `CheckedPlugin.finding`

_COMMIT = re.compile(r"@[0-9a-f]{40}(?:#|$)")
_DIGEST = re.compile(r"[#&]sha(?:256|384|512)=[0-9a-f]{64,}")
_UPPER = frozenset({"<", "<=", "==", "~=", "==="})


def check_requirements(source: CheckedPlugin, surroundings: Surroundings) -> Iterator[Finding]:
    """Require that every line names a distribution, or a commit that cannot change."""
    file = source.files.get("requirements.txt")
    if file is None or file.content is None:
        return
    find = partial(source.finding, "requirements", file="requirements.txt")
    try:
        file.content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        yield find(f"is no UTF-8 (byte {error.start})", "save it as UTF-8")
        return
    seen: dict[str, int] = {}
    for line, text in _lines(file.text):
        yield from _check_line(partial(find, line=line), text, source, surroundings)
        requirement = _requirement(text)
        name = canonicalize_name(requirement.name) if requirement else None
        if name is not None and seen.setdefault(name, line) != line and ";" not in text:
            yield find(f"{name} is there already, in line {seen[name]}", "keep one of them", line=line, hint=True)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield number and text of each line that says something; a backslash continues a line."""
    waiting, start = "", 0
    for number, raw in enumerate(text.splitlines(), 1):
        start = start if waiting else number
        if raw.endswith("\\"):
            waiting += f"{raw[:-1]} "
            continue
        line = re.sub(r"(^|\s+)#.*$", "", waiting + raw).strip()
        waiting = ""
        if line:
            yield start, line
    if waiting.strip():
        yield start, waiting.strip()


def _requirement(text: str) -> Requirement | None:
    try:
        return Requirement(re.split(r"\s+--", text)[0])
    except InvalidRequirement:
        return None


def _check_line(find: _Find, text: str, source: CheckedPlugin, surroundings: Surroundings) -> Iterator[Finding]:
    if text.startswith("-"):
        yield from _check_option(find, text, source)
        return
    requirement = _requirement(text)
    if requirement is not None:
        yield from _check_named(find, requirement, surroundings)
    elif re.fullmatch(r"\.(\[.*\])?/?", text):
        yield find("names the plugin folder itself", "remove the line: the plugin is there already", hint=True)
    elif "://" in text or text.startswith(("./", "../", "/", "git@")):
        yield from _check_url(find, text)
    else:
        fix = "write it as pip reads it, such as timm>=1.0"
        yield find(f"{text!r} is no requirement", fix)


def _check_option(find: _Find, text: str, source: CheckedPlugin) -> Iterator[Finding]:
    included = re.fullmatch(r"(?:-r|--requirement|-c|--constraint)[ =]?\s*(.+)", text)
    editable = re.fullmatch(r"(?:-e|--editable)[ =]?\s*(.+)", text)
    if included:
        if included[1] not in source.files:
            yield find(f"includes {included[1]!r}, which is not in the plugin folder", "write its lines out here")
    elif editable and re.fullmatch(r"\.(\[.*\])?/?", editable[1]):
        yield find("names the plugin folder itself", "remove the line: the plugin is there already", hint=True)
    elif editable:
        yield from _check_url(find, editable[1])
    elif text.split("=")[0].split()[0] in {"--no-binary", "--only-binary", "--prefer-binary", "--pre"}:
        return
    else:
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
        yield find(f"{text!r} is no package that everybody can install", "name a release on PyPI")


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
    message = f"{requirement.name}{bounds} holds back what the library itself requires ({requirement.name}{wanted})"
    if too_old and upper[0].operator in {"<", "<="}:
        message += ", and leaves nothing to install"
    yield find(message, "drop the upper bound, and adapt the plugin to the current release", hint=True)


RULES = (check_requirements,)
