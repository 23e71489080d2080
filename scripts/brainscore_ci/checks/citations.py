"""Check that citations can be read and are complete."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from brainscore_ci.checks.bibtex import Entry, MalformedBibtexError, missing_fields, read_bibtex
from brainscore_core.plugin_management.source import evaluate

if TYPE_CHECKING:
    from brainscore_ci.checks.findings import Finding
    from brainscore_ci.checks.plugin import CheckedPlugin, Surroundings
    from brainscore_core.plugin_management.source import SourceFile

__all__ = ["RULES"]

_CITING = frozenset({"data", "metrics", "benchmarks"})
_EXAMPLE = "@article{author2024, author={...}, title={...}, journal={...}, year={2024}}"


def check_citations(source: CheckedPlugin, _: Surroundings) -> Iterator[Finding]:
    """Require complete citations in ``BIBTEX`` and ``bibtex=``; data, metrics and benchmarks have one."""
    cited = False
    for path, file in source.python.items():
        if b"bibtex" not in (file.content or b"").lower():
            continue
        cited = True
        for line, text in _citations(file):
            yield from _check(source, path, line, text)
    if not cited and source.folder in _CITING and not any(path.endswith(".bib") for path in source.files):
        yield source.finding(
            "citation", "there is no citation", f'add BIBTEX = """{_EXAMPLE}"""', "__init__.py", hint=True
        )


def _citations(file: SourceFile) -> Iterator[tuple[int, str]]:
    """Yield line and text of every literal citation."""
    for node in ast.walk(file.tree) if file.tree else ():
        values: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
            values = [node.value] if any("bibtex" in name.lower() for name in names) else []
        elif isinstance(node, ast.Call):
            values = [keyword.value for keyword in node.keywords if keyword.arg == "bibtex"]
        elif isinstance(node, ast.FunctionDef) and node.name == "get_bibtex":
            values = [one.value for one in ast.walk(node) if isinstance(one, ast.Return) and one.value is not None]
        for value in values:
            text = None if isinstance(value, ast.Name) else evaluate(value, file.constants)
            if isinstance(text, str) and text.strip():
                yield value.lineno, text


def _check(source: CheckedPlugin, file: str, line: int, text: str) -> Iterator[Finding]:
    try:
        entries = read_bibtex(text)
    except MalformedBibtexError as error:
        message = f"the citation is no BibTeX: {error}"
        fix = f"write something like {_EXAMPLE}, or leave the text empty where there is nothing to cite"
        yield source.finding("citation", message, fix, file, line + error.line)
        return
    for entry in entries:
        yield from _check_fields(source, file, line + entry.line, entry)


def _check_fields(source: CheckedPlugin, file: str, line: int, entry: Entry) -> Iterator[Finding]:
    missing = missing_fields(entry)
    if missing is None:
        message = f"@{entry.type} is no type of BibTeX"
        fix = "use @article, @inproceedings, @book or @misc"
        yield source.finding("citation", message, fix, file, line, hint=True)
    elif missing:
        message = f"the citation {entry.key!r} lacks {', '.join(missing)}, which @{entry.type} demands"
        yield source.finding("citation", message, "add what is missing", file, line, hint=True)


RULES = (check_citations,)
