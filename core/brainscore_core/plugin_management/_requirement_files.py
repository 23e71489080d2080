"""Read a plugin's required distributions, from requirements.txt and a setup.py that is never run."""

from __future__ import annotations

import ast
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from brainscore_core.errors import RequirementsError
from brainscore_core.plugin_management.registrations import constants, dotted, evaluate, parse

# The libraries themselves are here already, in whatever version.
_OWN = re.compile(r"brainscore(-.*)?|brain-score|brainio|model-tools|candidate-models")
_OWN_SOURCE = re.compile(r"github\.com[/:]brain-score/", re.IGNORECASE)
# Modules that left the standard library; such a name never means a distribution.
_FORMER_MODULES = frozenset({"asynchat", "asyncore", "distutils", "imp", "smtpd"})


@dataclass(frozen=True)
class RequirementLine:
    """One requirement of a plugin, as an installer reads it, without comments and variables.

    ``requirement`` is None for options and lines that only an installer understands; ``file`` is relative to the
    plugin.
    """

    text: str
    requirement: Requirement | None
    file: str = "requirements.txt"
    number: int = 1


def read_requirements(directory: Path) -> list[RequirementLine]:
    """Return the requirements in ``requirements.txt`` and in ``install_requires`` of ``setup.py``, in order, each once.

    Excluded are the Brain-Score libraries, modules of the standard library, the plugin folder itself, and lines whose
    markers exclude this interpreter. Raises `RequirementsError` if a file cannot be read, or installers would read a
    line in another way.
    """
    lines = {line.text: line for line in reversed(expanded_requirements(directory))}
    return [line for line in reversed(lines.values()) if not _needless(line)]


def expanded_requirements(directory: Path, *, within: bool = False) -> list[RequirementLine]:
    """Return every line for an installer, also of included files; with ``within``, refuse files outside that folder."""
    entries: list[tuple[Path, int, str]] = []
    if (directory / "setup.py").is_file():
        entries += _install_requires(directory / "setup.py")
    if (directory / "requirements.txt").is_file():
        entries += _lines(directory / "requirements.txt", set(), directory if within else None)
    return [
        RequirementLine(text, _parse(text), Path(os.path.relpath(file, directory)).as_posix(), number)
        for file, number, text in entries
    ]


def _parse(text: str) -> Requirement | None:
    if text.startswith("-"):
        return None
    plain = re.split(r"\s+--", text)[0]  # options of one line, such as --hash
    egg = re.search(r"#(?:.*&)?egg=([\w.-]+)", plain)
    for candidate in (plain, f"{egg[1]} @ {plain}" if egg else ""):
        try:
            return Requirement(candidate)
        except InvalidRequirement:
            continue
    return None


def _needless(line: RequirementLine) -> bool:
    requirement = line.requirement
    if requirement is None:
        itself = re.fullmatch(r"((-e|--editable)[ =])?\s*\.(\[.*\]|/)?", line.text)
        return itself is not None or _OWN_SOURCE.search(line.text) is not None
    return bool(
        is_own_distribution(requirement.name)
        or _OWN_SOURCE.search(requirement.url or "")
        or is_module_of_python(requirement.name)
        or (requirement.marker is not None and not requirement.marker.evaluate())
    )


def is_own_distribution(name: str) -> bool:
    """Return whether a distribution is a Brain-Score library, by any name it has had."""
    return _OWN.fullmatch(canonicalize_name(name)) is not None


def is_module_of_python(name: str) -> bool:
    """Return whether a requirement names a module of the standard library, present or former."""
    module = canonicalize_name(name).replace("-", "_")
    return module in sys.stdlib_module_names or module in _FORMER_MODULES


# requirements.txt ----------------------------------------------------------------------------------------------------


def _lines(file: Path, seen: set[Path], top: Path | None) -> Iterator[tuple[Path, int, str]]:
    """Yield file, number and text of the lines of a requirements file and those it includes, paths made absolute."""
    if file.resolve() in seen:
        return
    seen.add(file.resolve())
    for number, line in logical_lines(_text(file)):
        _check_plain(file, number, line)
        named = re.match(r"(-r|--requirement|-c|--constraint)[ =]?\s*(.+)", line)
        if named is None:
            yield file, number, _with_absolute_path(line, file.parent)
            continue
        other = file.parent / named[2]
        if top is not None and not other.resolve().is_relative_to(top.resolve()):
            raise RequirementsError(f"{file}:{number}: names {named[2]!r}, which is not in the plugin's folder.")
        if named[1] in ("-r", "--requirement"):
            yield from _lines(other, seen, top)
            continue
        for place, limit in logical_lines(_text(other)):  # read by the installer itself
            _check_plain(other, place, limit)
        yield file, number, _with_absolute_path(line, file.parent)


def logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield number and text of each line that is not empty; a backslash at its end continues a line."""
    waiting, start = "", 0
    for number, raw in enumerate([*text.splitlines(), ""], 1):
        start = start if waiting else number
        if raw.endswith("\\"):
            waiting += f"{raw[:-1]} "
            continue
        line = re.sub(r"(^|\s+)#.*$", "", waiting + raw).strip()
        waiting = ""
        if line:
            yield start, line


def _check_plain(file: Path, number: int, text: str) -> None:
    """Refuse a line that installers and readers interpret differently."""
    if "$" in text:
        raise RequirementsError(
            f"{file}:{number}: {text!r} contains a $. Installers insert environment variables there, which may be "
            "secrets: write the text itself, or %24 for a $ in an address."
        )
    if "\\" in text or not text.isprintable():
        raise RequirementsError(
            f"{file}:{number}: {text!r} contains a backslash or control characters, which installers read differently. "
            "Write one requirement per line."
        )


def _with_absolute_path(line: str, folder: Path) -> str:
    """Make the path in a line absolute: ``./wheels/x.whl``, ``-c other.txt``, ``-f wheels``."""
    option = re.match(r"(-[cfe]|--constraint|--find-links|--editable)[ =]?\s*(.+)", line)
    prefix, path = (f"{option[1]} ", option[2]) if option else ("", line)
    if re.fullmatch(r"\.(\[.*\])?/?", path) or "://" in path or not (option or path.startswith(("./", "../"))):
        return line
    return f"{prefix}{(folder / path).absolute()}"


def _text(file: Path) -> str:
    if file.is_symlink():
        raise RequirementsError(
            f"{file} is a symbolic link, which may point anywhere. Replace it with the file itself."
        )
    try:
        return file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise RequirementsError(f"{file} cannot be read: {error}. Expected a text file in UTF-8.") from error


# setup.py ------------------------------------------------------------------------------------------------------------


def _install_requires(file: Path) -> list[tuple[Path, int, str]]:
    """Return file, line and text of the literal ``install_requires`` of a setup.py."""
    try:
        tree = parse(_text(file), str(file))
    except SyntaxError as error:
        raise RequirementsError(
            f"{file}:{error.lineno or 1}: cannot be read: {error}. Move its requirements to requirements.txt."
        ) from error
    names = constants(tree)
    arguments = [
        (keyword.value.lineno, evaluate(keyword.value, names))
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and dotted(node.func, {}).rpartition(".")[2] == "setup"
        for keyword in node.keywords
        if keyword.arg == "install_requires"
    ]
    lines = []
    for number, value in arguments:
        entries = value.splitlines() if isinstance(value, str) else value if isinstance(value, tuple) else ()
        for text in (entry.strip() for entry in entries if isinstance(entry, str) and entry.strip()):
            _check_plain(file, number, text)
            if text.startswith("-"):
                raise RequirementsError(
                    f"{file}:{number}: {text!r} is an installer option; install_requires may only name distributions."
                )
            lines.append((file, number, text))
    return lines
