"""Read which distributions a plugin requires, from requirements.txt and from a setup.py that is never run."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from brainscore_core.errors import RequirementsError
from brainscore_core.plugin_management.source import constants, evaluate, parse

__all__ = ["RequirementLine", "is_module_of_python", "is_own_distribution", "read_requirements"]

# Lines that name the libraries themselves: they are here already, whatever the version that was current when the
# plugin was written.
_OWN = re.compile(r"brainscore(-.*)?|brain-score|brainio|model-tools|candidate-models")
_OWN_SOURCE = re.compile(r"github\.com[/:]brain-score/", re.IGNORECASE)
# Modules that left the standard library; nobody who names one means a distribution.
_FORMER_MODULES = frozenset({"asynchat", "asyncore", "distutils", "imp", "smtpd"})


@dataclass(frozen=True)
class RequirementLine:
    """One thing that a plugin requires.

    Attributes
    ----------
    text : str
        As an installer reads it in a requirements file.
    requirement : Requirement or None
        The same taken apart; None for options and for what only an installer understands.
    """

    text: str
    requirement: Requirement | None


def read_requirements(directory: Path) -> list[RequirementLine]:
    """Return what a plugin requires, in the order of its files, each line once.

    Left out are the Brain-Score libraries, modules of the standard library, the plugin folder itself, and what the
    markers say is not for this interpreter.

    Parameters
    ----------
    directory : Path
        The plugin's folder; its ``requirements.txt`` and the ``install_requires`` of its ``setup.py`` count.

    Raises
    ------
    RequirementsError
        If a file cannot be read.
    """
    texts: list[str] = []
    if (directory / "setup.py").is_file():
        texts += _install_requires(directory / "setup.py")
    if (directory / "requirements.txt").is_file():
        texts += _lines(directory / "requirements.txt", ())
    lines = (_parse(text) for text in dict.fromkeys(texts))
    return [line for line in lines if not _needless(line)]


def _parse(text: str) -> RequirementLine:
    if text.startswith("-"):
        return RequirementLine(text, None)
    plain = re.split(r"\s+--", text)[0]  # options of one line, such as --hash
    egg = re.search(r"#(?:.*&)?egg=([\w.-]+)", plain)
    for candidate in (plain, f"{egg[1]} @ {plain}" if egg else ""):
        try:
            return RequirementLine(text, Requirement(candidate))
        except InvalidRequirement:
            continue
    return RequirementLine(text, None)


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
    """Tell whether a distribution is one of the Brain-Score libraries, by any name they have had."""
    return _OWN.fullmatch(canonicalize_name(name)) is not None


def is_module_of_python(name: str) -> bool:
    """Tell whether a requirement names a module of Python itself, or one that left it."""
    module = canonicalize_name(name).replace("-", "_")
    return module in sys.stdlib_module_names or module in _FORMER_MODULES


# requirements.txt ----------------------------------------------------------------------------------------------------


def _lines(file: Path, above: tuple[Path, ...]) -> Iterator[str]:
    """Yield the lines of a requirements file and of those it includes, paths made absolute."""
    file = file.resolve()
    if file in above:
        return
    for text in _text(file).replace("\\\n", " ").splitlines():
        line = re.sub(r"(^|\s+)#.*$", "", text).strip()
        included = re.match(r"(?:-r|--requirement)[ =]?\s*(.+)", line)
        if included:
            yield from _lines(file.parent / included[1], (*above, file))
        elif line:
            yield _with_absolute_path(line, file.parent)


def _with_absolute_path(line: str, folder: Path) -> str:
    """Return a line that means the same in a file elsewhere: ``./wheels/x.whl``, ``-c other.txt``, ``-f wheels``."""
    option = re.match(r"(-[cfe]|--constraint|--find-links|--editable)[ =]?\s*(.+)", line)
    prefix, path = (f"{option[1]} ", option[2]) if option else ("", line)
    if re.fullmatch(r"\.(\[.*\])?/?", path) or "://" in path or not (option or path.startswith(("./", "../"))):
        return line
    return f"{prefix}{(folder / path).absolute()}"


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise RequirementsError(f"{file} cannot be read: {error}. Expected a text file in UTF-8.") from error


# setup.py ------------------------------------------------------------------------------------------------------------


def _install_requires(file: Path) -> list[str]:
    """Return the literal ``install_requires`` of a setup.py; what only running it would tell is not there."""
    try:
        tree = parse(_text(file), str(file))
    except SyntaxError as error:
        raise RequirementsError(
            f"{file}:{error.lineno or 1}: cannot be read: {error}. Move its requirements to requirements.txt."
        ) from error
    names = constants(tree)
    values = [
        evaluate(keyword.value, names)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and _is_setup(node.func)
        for keyword in node.keywords
        if keyword.arg == "install_requires"
    ]
    lists = [tuple(value.splitlines()) if isinstance(value, str) else value for value in values]
    texts = [text for entries in lists if isinstance(entries, tuple) for text in entries]
    return [text.strip() for text in texts if isinstance(text, str) and text.strip()]


def _is_setup(function: ast.expr) -> bool:
    return (isinstance(function, ast.Name) and function.id == "setup") or (
        isinstance(function, ast.Attribute) and function.attr == "setup"
    )
