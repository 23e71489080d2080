"""Check the ``requirements.txt`` of a plugin: it can be resolved, and nothing in it can change unseen."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from brainscore_ci.checks.findings import Finding
from brainscore_core.plugin_management.requirements import is_module_of_python, is_own_distribution

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet

    from brainscore_ci.checks.plugin import CheckedPlugin, Surroundings

__all__ = ["RULES"]

_COMMIT = re.compile(r"@[0-9a-f]{40}(?:#|$)")
_DIGEST = re.compile(r"[#&]sha(?:256|384|512)=[0-9a-f]{64,}")
_UPPER = frozenset({"<", "<=", "==", "~=", "==="})


@dataclass(frozen=True)
class _Problem:
    message: str
    fix: str
    is_hint: bool = False


def check_requirements(source: CheckedPlugin, surroundings: Surroundings) -> Iterator[Finding]:
    """Require that every line names a distribution, or a commit that cannot change."""
    file = source.files.get("requirements.txt")
    if file is None or file.content is None:
        return
    where = source.where("requirements.txt")
    try:
        file.content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"is no UTF-8 (byte {error.start})"
        yield Finding(path=where, line=1, rule="requirements", message=message, fix="save it as UTF-8")
        return
    seen: dict[str, int] = {}
    for line, text in _lines(file.text):
        for problem in _check_line(text, source, surroundings):
            yield Finding(
                path=where,
                line=line,
                rule="requirements",
                message=problem.message,
                fix=problem.fix,
                severity="hint" if problem.is_hint else "error",
            )
        name = _name(text)
        if name is not None and seen.setdefault(name, line) != line and ";" not in text:
            message = f"{name} is there already, in line {seen[name]}"
            fix = "keep one of them"
            yield Finding(path=where, line=line, rule="requirements", message=message, fix=fix, severity="hint")


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


def _name(text: str) -> str | None:
    requirement = _requirement(text)
    return canonicalize_name(requirement.name) if requirement else None


def _check_line(text: str, source: CheckedPlugin, surroundings: Surroundings) -> Iterator[_Problem]:
    if text.startswith("-"):
        yield from _check_option(text, source)
        return
    requirement = _requirement(text)
    if requirement is not None:
        yield from _check_named(requirement, surroundings)
    elif re.fullmatch(r"\.(\[.*\])?/?", text):
        yield _Problem("names the plugin folder itself", "remove the line: the plugin is there already", is_hint=True)
    elif "://" in text or text.startswith(("./", "../", "/", "git@")):
        yield from _check_url(text)
    else:
        fix = "write it as pip reads it, such as timm>=1.0"
        yield _Problem(f"{text!r} is no requirement", fix)


def _check_option(text: str, source: CheckedPlugin) -> Iterator[_Problem]:
    included = re.fullmatch(r"(?:-r|--requirement|-c|--constraint)[ =]?\s*(.+)", text)
    editable = re.fullmatch(r"(?:-e|--editable)[ =]?\s*(.+)", text)
    if included:
        if included[1] not in source.files:
            yield _Problem(f"includes {included[1]!r}, which is not in the plugin folder", "write its lines out here")
    elif editable and re.fullmatch(r"\.(\[.*\])?/?", editable[1]):
        yield _Problem("names the plugin folder itself", "remove the line: the plugin is there already", is_hint=True)
    elif editable:
        yield from _check_url(editable[1])
    elif text.split("=")[0].split()[0] in {"--no-binary", "--only-binary", "--prefer-binary", "--pre"}:
        return
    else:
        yield _Problem(f"{text.split()[0]!r} changes where packages come from", "remove it; name packages of PyPI")


def _check_url(text: str) -> Iterator[_Problem]:
    if text.startswith("git@") or re.match(r"(git\+)?(ssh|file|http|git)://", text):
        yield _Problem(f"{text!r} is not fetched by https", "use git+https://...@<40 digits of the commit>")
    elif text.startswith("git+https://"):
        if not _COMMIT.search(text):
            yield _Problem(
                f"{text!r} may change with every push to that repository",
                "pin the commit: git+https://...@<40 hexadecimal digits>",
            )
    elif text.startswith("https://"):
        if not _DIGEST.search(text):
            fix = "name a release on PyPI, or append #sha256=<digest>"
            yield _Problem(f"{text!r} may change unseen", fix)
    else:
        yield _Problem(f"{text!r} is no package that everybody can install", "name a release on PyPI")


def _check_named(requirement: Requirement, surroundings: Surroundings) -> Iterator[_Problem]:
    name = canonicalize_name(requirement.name)
    if is_own_distribution(name):
        yield _Problem(f"{requirement.name} is there already, with every plugin", "remove the line", is_hint=True)
    elif is_module_of_python(name):
        yield _Problem(
            f"{requirement.name} is a module of Python; a distribution of that name would be something else",
            "remove the line",
        )
    elif requirement.url is not None:
        yield from _check_url(requirement.url)
    elif name in surroundings.dependencies:
        yield from _check_bound(requirement, surroundings.dependencies[name])


def _check_bound(requirement: Requirement, wanted: SpecifierSet) -> Iterator[_Problem]:
    upper = [one for one in requirement.specifier if one.operator in _UPPER]
    if not upper:
        return
    lowest = [one.version for one in wanted if one.operator in {">=", "=="}]
    too_old = bool(lowest) and all(not requirement.specifier.contains(version, prereleases=True) for version in lowest)
    bounds = ",".join(map(str, upper))
    message = f"{requirement.name}{bounds} holds back what the library itself requires ({requirement.name}{wanted})"
    if too_old and upper[0].operator in {"<", "<="}:
        message += ", and leaves nothing to install"
    yield _Problem(message, "drop the upper bound, and adapt the plugin to the current release", is_hint=True)


RULES = (check_requirements,)
