"""Check that citations are readable and complete, by reading BibTeX strictly."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from brainscore_core.plugin_management.registrations import evaluate

if TYPE_CHECKING:
    from brainscore_ci.checks.findings import Finding
    from brainscore_ci.checks.plugin import CheckedPlugin, Surroundings
    from brainscore_core.plugin_management.source import SourceFile

_CITING = frozenset({"data", "metrics", "benchmarks"})
_EXAMPLE = "@article{author2024, author={...}, title={...}, journal={...}, year={2024}}"


def check_citations(source: CheckedPlugin, _: Surroundings) -> Iterator[Finding]:
    """Require complete citations in ``BIBTEX`` and ``bibtex=``, and at least one for data, metrics and benchmarks."""
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
        message = f"the citation is not BibTeX: {error}"
        fix = f"write something like {_EXAMPLE}, or leave the text empty if nothing can be cited"
        yield source.finding("citation", message, fix, file, line + error.line)
        return
    for entry in entries:
        yield from _check_fields(source, file, line + entry.line, entry)


def _check_fields(source: CheckedPlugin, file: str, line: int, entry: BibtexEntry) -> Iterator[Finding]:
    missing = missing_fields(entry)
    if missing is None:
        message = f"@{entry.type} is not a BibTeX type"
        fix = "use @article, @inproceedings, @book or @misc"
        yield source.finding("citation", message, fix, file, line, hint=True)
    elif missing:
        message = f"the citation {entry.key!r} lacks {', '.join(missing)}, which @{entry.type} demands"
        yield source.finding("citation", message, "add the missing fields", file, line, hint=True)


# -- reading BibTeX ----------------------------------------------------------------------------------------------------

# Required fields of each entry type (BibTeX manual, Patashnik 1988); / separates alternatives.
_REQUIRED: Mapping[str, tuple[str, ...]] = {
    "article": ("author", "title", "journal/journaltitle/eprint/archiveprefix", "year/date"),
    "book": ("author/editor", "title", "publisher", "year/date"),
    "inbook": ("author/editor", "title", "publisher", "year/date"),
    "incollection": ("author", "title", "booktitle", "publisher", "year/date"),
    "inproceedings": ("author", "title", "booktitle", "year/date"),
    "conference": ("author", "title", "booktitle", "year/date"),
    "mastersthesis": ("author", "title", "school/institution", "year/date"),
    "phdthesis": ("author", "title", "school/institution", "year/date"),
    "thesis": ("author", "title", "school/institution", "year/date"),
    "proceedings": ("title", "year/date"),
    "techreport": ("author", "title", "institution", "year/date"),
    "report": ("author", "title", "institution", "year/date"),
    "unpublished": ("author", "title", "note/year/date"),
    "manual": ("title",),
    "misc": ("title/howpublished/note/url",),
    "online": ("title", "url/doi/eprint"),
    "software": ("title", "url/doi/version"),
    "dataset": ("title", "url/doi/year/date"),
}
_TYPE = re.compile(r"@\s*([A-Za-z]+)\s*([{(])")
_NAME = re.compile(r"[^\s\"#%'(),={}]+")
_SPACE = re.compile(r"\s*")


class MalformedBibtexError(ValueError):
    """A text is not BibTeX; `line` counts from 0."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True)
class BibtexEntry:
    """One citation: type and names of fields in lower case, and first line from 0."""

    type: str
    key: str
    fields: Mapping[str, str] = field(default_factory=dict)
    line: int = 0


def read_bibtex(text: str) -> list[BibtexEntry]:
    """Return the citations in a text, ignoring everything between them."""
    entries, position = [], 0
    while (at := text.find("@", position)) >= 0:
        reader = _Reader(text, at)
        entry = reader.entry()
        if entry is not None:
            entries.append(entry)
        position = reader.position
    if not entries:
        raise MalformedBibtexError("there is no entry; expected something like @article{key, title={...}, ...}", 0)
    return entries


def missing_fields(entry: BibtexEntry) -> tuple[str, ...] | None:
    """Return the missing required fields of an entry, with the usual one of alternatives; None for unknown types."""
    required = _REQUIRED.get(entry.type)
    if required is None:
        return None
    return tuple(
        name.partition("/")[0]
        for name in required
        if not any(entry.fields.get(one, "").strip() for one in name.split("/"))
    )


@dataclass
class _Reader:
    text: str
    position: int

    def entry(self) -> BibtexEntry | None:
        start = self.position
        match = _TYPE.match(self.text, start)
        if match is None:
            raise self._malformed("@ is followed by no type and brace; expected something like @article{key,")
        self.position = match.end()
        kind, closing = match[1].lower(), "}" if match[2] == "{" else ")"
        if kind in {"comment", "preamble", "string"}:
            self._balanced(closing)
            return None
        key = self._name("a key before the first comma")
        fields: dict[str, str] = {}
        while not self._take(closing):
            if not self._take(","):
                raise self._malformed(f"expected a comma or {closing!r}, found {self._here()}")
            if self._take(closing):
                break
            name = self._name("the name of a field").lower()
            if not self._take("="):
                raise self._malformed(f"expected = after the field {name!r}, found {self._here()}")
            fields[name] = self._value(name)
        return BibtexEntry(kind, key, fields, self.text.count("\n", 0, start))

    def _value(self, name: str) -> str:
        parts = []
        while True:
            if self._take("{"):
                parts.append(self._balanced("}"))
            elif self._take('"'):
                parts.append(self._balanced('"'))
            else:
                parts.append(self._name(f"a value of the field {name!r}"))
            if not self._take("#"):
                return "".join(parts)

    def _balanced(self, closing: str) -> str:
        """Return everything up to the closing character outside braces."""
        start, depth = self.position, 0
        while self.position < len(self.text):
            character = self.text[self.position]
            if character == closing and depth == 0:
                self.position += 1
                return self.text[start : self.position - 1]
            depth += (character == "{") - (character == "}")
            if depth < 0:
                raise self._malformed("a closing brace has no opening one")
            self.position += 1
        self.position = start
        raise self._malformed(f"what opens here is not closed; expected {closing!r}")

    def _name(self, expected: str) -> str:
        self._skip()
        match = _NAME.match(self.text, self.position)
        if match is None:
            raise self._malformed(f"expected {expected}, found {self._here()}")
        self.position = match.end()
        return match[0]

    def _skip(self) -> None:
        match = _SPACE.match(self.text, self.position)
        self.position = match.end() if match else self.position

    def _take(self, character: str) -> bool:
        self._skip()
        matches = self.text.startswith(character, self.position)
        self.position += matches
        return matches

    def _here(self) -> str:
        return repr(self.text[self.position : self.position + 12]) if self.position < len(self.text) else "the end"

    def _malformed(self, message: str) -> MalformedBibtexError:
        return MalformedBibtexError(message, self.text.count("\n", 0, self.position))


RULES = (check_citations,)
