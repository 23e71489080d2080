"""Check how a plugin describes itself: ``metadata.yml`` against its schema, citations, no text of a template.

================= ========================================================================================
``access``        ``public`` or ``private``: whether scoring needs restricted data or weights
``licence``       SPDX expression, such as ``CC-BY-4.0``, ``MIT`` or ``LicenseRef-agreement-with-the-authors``
``contact``       who answers questions: an e-mail address, a GitHub name with ``@``, or a web address
``citation``      the publication as people would cite it
``doi``           DOI of the publication, such as ``10.1523/JNEUROSCI.5181-14.2015``
``minutes``       expected minutes of a test run or a score
``memory_gb``     expected memory of a test run or a score
``gpus``          number of GPUs that a score requires; most require none
``uses``          identifiers of other plugins that this one loads, if its source states them nowhere
``owners``        account numbers at GitHub of those who may change the plugin without another person's approval
``region``        recorded regions, such as ``IT`` or ``[V4, IT]``
``behaviour``     task of the subjects, such as ``match to sample``
``species``       such as ``Macaca mulatta`` or ``Homo sapiens``
``technique``     such as ``electrophysiology``, ``fMRI``, ``EEG`` or ``psychophysics``
``n_stimuli``     number of different stimuli
``n_neuroids``    number of neurons, sites or voxels
``n_subjects``    number of people or animals
``family``        family of the model, such as ``ResNet``; the leaderboard shows this and the rest
``training_data`` training data of the model, such as ``ImageNet-1k``
``parameters``    number of parameters of the model
``imagenet_top1`` share of ImageNet images that the model labels correctly, in [0, 1]
================= ========================================================================================

The first three and one of ``citation`` and ``doi`` are required. Facts are single values or lists; counts of parts of a
plugin are a mapping, such as ``n_neuroids: {V4: 88, IT: 168}``.

Published files, keyed by ``models``, ``benchmarks``, ``data`` or ``metrics`` and then identifiers, are not checked.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeGuard

import yaml
from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression

from brainscore_ci.checks.findings import CheckedPlugin, Finding, Surroundings
from brainscore_ci.planning.metadata import RefusedMetadataError, plain_text
from brainscore_core.errors import nearest
from brainscore_core.plugin_management.registrations import evaluate

if TYPE_CHECKING:
    from brainscore_core.plugin_management.source import SourceFile

_Problem = tuple[int, str, str]  # line, problem, fix

_DESCRIBED = ("region", "behaviour", "species", "technique")
_COUNTED = ("n_stimuli", "n_neuroids", "n_subjects")
_OF_MODELS = ("family", "training_data", "parameters", "imagenet_top1")
KEYS = (
    *("access", "licence", "contact", "citation", "doi", "minutes", "memory_gb", "gpus", "uses", "owners"),
    *(*_DESCRIBED, "metric", *_COUNTED, *_OF_MODELS),
)
_CONTACT = re.compile(r"[^\s@<>]+@[^\s@<>]+\.[A-Za-z]{2,}|@[A-Za-z0-9](?:-?[A-Za-z0-9])*|https://[!-~]+")
REQUIRED = ("access", "licence", "contact")
CITED = ("citation", "doi")
PUBLISHED = frozenset({"models", "benchmarks", "data", "metrics"})
OTHER_SPELLINGS = {
    "license": "licence",
    "memory": "memory_gb",
    "gpu": "gpus",
    "email": "contact",
    "reference": "citation",
    "behavior": "behaviour",
    "n_neurons": "n_neuroids",
    "n_voxels": "n_neuroids",
    "n_images": "n_stimuli",
}


def check_metadata_file(source: CheckedPlugin, _: Surroundings) -> Iterator[Finding]:
    """Require a valid ``metadata.yml`` of new plugins."""
    present = [name for name in ("metadata.yml", "metadata.yaml") if name in source.files]
    if len(present) == 2:
        message = "metadata.yml and metadata.yaml both exist"
        yield source.finding("metadata", message, "keep metadata.yml", present[1])
    if not present and source.earlier == {}:
        message = "a new plugin has no metadata.yml, which states its access, licence and contact"
        fix = "add one with access, licence, contact, and citation or doi"
        yield source.finding("metadata", message, fix, hint=True)
    for name in present:
        content = source.files[name].content
        yield from check_metadata(content, source.where(name)) if content is not None else ()


def check_metadata(content: bytes, path: str = "metadata.yml") -> list[Finding]:
    """Return every problem of the content of a ``metadata.yml``."""
    return [
        Finding(path=path, line=line, rule="metadata", message=message, fix=fix)
        for line, message, fix in _problems(content)
    ]


def _problems(content: bytes) -> list[_Problem]:
    try:
        text = plain_text(content)
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        values = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        line = getattr(error.problem_mark, "line", 0) + 1
        return [(line, f"is not valid YAML: {error.problem}", "correct that line")]
    except RefusedMetadataError as error:
        return [(error.line, f"cannot be read: {error}", "write plain values")]
    except (ValueError, RecursionError, TypeError, yaml.YAMLError) as error:
        return [(1, f"is not valid YAML: {error}", "write a few keys and values in YAML, in UTF-8")]
    if not isinstance(node, yaml.MappingNode) or not isinstance(values, dict):
        return [(1, "contains no keys and values", f"give it the keys {', '.join(REQUIRED)}")]
    keys = [(str(key.value), key.start_mark.line + 1) for key, _ in node.value]
    if any(isinstance(value, yaml.MappingNode) for key, value in node.value if key.value in PUBLISHED):
        return []
    lines = dict(keys)
    wrong = [
        (lines.get(key, 1), f"{key} is {_shown(value)}; expected {_EXPECTED[key]}", f"correct the value of {key}")
        for key, value in ((str(key), value) for key, value in values.items())
        if key in _VALID and not _VALID[key](value) and not _is_question(key, value, text)
    ]
    return [*_check_keys(keys), *wrong]


def _is_question(key: str, value: object, text: str) -> bool:
    """Return whether a value is a template's question as the rule about placeholders finds it, which reports it."""
    return value == QUESTIONS.get(key) and str(value) in text


def _check_keys(keys: list[tuple[str, int]]) -> Iterator[_Problem]:
    seen = set[str]()
    for key, line in keys:
        if key in seen:
            yield line, f"the key {key!r} occurs twice", "keep one of them"
        elif key not in KEYS:
            close = [OTHER_SPELLINGS[key]] if key in OTHER_SPELLINGS else nearest(key, KEYS, 1)
            fix = f"rename it to {close[0]!r}" if close else f"remove it, or use one of {', '.join(KEYS)}"
            yield line, f"the key {key!r} is unknown", fix
        seen.add(key)
    for name in REQUIRED:
        if name not in seen:
            yield 1, f"the key {name!r} is missing", f"add {name}: {_EXPECTED[name]}"
    if not seen & set(CITED):
        yield 1, "neither 'citation' nor 'doi' is given", f"add doi: {_EXPECTED['doi']}"


def _shown(value: object) -> str:
    if isinstance(value, (dict, list)):
        return f"a {'list' if isinstance(value, list) else 'mapping'}"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _is_licence(value: object) -> bool:
    try:
        return isinstance(value, str) and bool(canonicalize_license_expression(value))
    except (InvalidLicenseExpression, ValueError, RecursionError):
        return False


def _is_positive(value: object) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < float("inf")


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip()) and not re.fullmatch("<.*>", value)  # a template's question


def _is_description(value: object) -> bool:
    return all(map(_is_text, value)) and bool(value) if isinstance(value, list) else _is_text(value)


def _are(value: object, is_valid: Callable[[object], bool]) -> bool:
    """Return whether a value, or every value of a mapping, is valid."""
    parts = list(value.values()) if isinstance(value, dict) else [value]
    return bool(parts) and all(map(is_valid, parts))


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


_VALID: Mapping[str, Callable[[object], bool]] = {
    "access": lambda value: value in ("public", "private"),
    "licence": _is_licence,
    "contact": lambda value: isinstance(value, str) and _CONTACT.fullmatch(value) is not None,
    "citation": _is_text,
    "doi": lambda value: isinstance(value, str) and re.fullmatch(r"10\.\d{4,9}/\S+", value) is not None,
    "minutes": _is_positive,
    "memory_gb": _is_positive,
    "gpus": _is_count,
    "owners": lambda value: isinstance(value, list) and bool(value) and all(map(_is_count, value)),
    **dict.fromkeys((*_DESCRIBED, "uses", "metric", "family", "training_data"), _is_description),
    **dict.fromkeys((*_COUNTED, "parameters"), lambda value: _are(value, _is_count)),
    "imagenet_top1": lambda value: _are(value, lambda share: _is_positive(share) and share <= 1),
}
_EXPECTED: Mapping[str, str] = {
    "access": "public or private",
    "licence": "an SPDX expression such as CC-BY-4.0, MIT or LicenseRef-<name>",
    "contact": "an e-mail address, a GitHub name such as '@octocat', or a web address that starts with https://",
    "citation": "a text",
    "doi": "a DOI such as 10.1523/JNEUROSCI.5181-14.2015",
    "minutes": "a number above 0",
    "memory_gb": "a number above 0",
    "gpus": "a whole number above 0",
    "owners": "a list of account numbers, such as [583231]; https://api.github.com/users/LOGIN shows yours as id",
    **dict.fromkeys((*_DESCRIBED, "uses", "metric", "family", "training_data"), "a text, or a list of texts"),
    **dict.fromkeys(
        (*_COUNTED, "parameters"), "a whole number above 0, or a mapping from the parts of the plugin to such numbers"
    ),
    "imagenet_top1": "a number between 0 and 1, or a mapping from identifiers to such numbers",
}


def fixed_metadata(text: str, *, is_private: bool) -> str:
    """Return the text of a ``metadata.yml`` with normalised keys, and placeholders for missing values."""
    for spelled, key in OTHER_SPELLINGS.items():
        if not re.search(rf"^{key}:", text, re.MULTILINE):
            text = re.sub(rf"^{spelled}:", f"{key}:", text, flags=re.MULTILINE)
    try:
        values = yaml.safe_load(text) if text.strip() else {}
    except (yaml.YAMLError, RecursionError, ValueError):
        return text
    if values is None:
        values = {}
    if not isinstance(values, dict) or any(isinstance(values.get(key), dict) for key in PUBLISHED):
        return text  # a published file, or something else
    added = {**QUESTIONS, **({"access": "private"} if is_private else {})}
    missing = [key for key in REQUIRED if key not in values] + ([] if set(CITED) & values.keys() else ["citation"])
    lines = [f'{key}: "{added[key]}"' for key in missing]
    if not lines:
        return text
    return "\n".join([*([text.rstrip("\n")] if text.strip() else []), *lines]) + "\n"


# -- Template text, all of which must go ------------------------------------------------------------------------------

QUESTIONS: Mapping[str, str] = {
    "access": "<public or private>",
    "licence": "<SPDX expression, such as CC-BY-4.0 or MIT>",
    "contact": "<e-mail address, or GitHub name with @>",
    "citation": "<Author, First (2024). Title of the publication. Name of the journal>.",
}
"""Key of ``metadata.yml`` -> its placeholder in a new file."""

_CITATION_ANSWER = "the citation", "cite the publication, or the source of the plugin"
_LICENCE_ANSWER = "the licence", "write its SPDX expression, such as CC-BY-4.0, MIT or LicenseRef-<name>"
_CONTACT_ANSWER = "the contact", "write an e-mail address, or a GitHub name such as '@octocat'"
_ACCESS_ANSWER = "the access", "write public or private"
_UPLOAD_ANSWER = (
    "the values that an upload provides (bucket, access, contact)",
    "upload the packaged files with --to and the data plugin's folder, or write all three",
)
PLACEHOLDERS: Mapping[str, tuple[str, str]] = {
    "Title of the publication": _CITATION_ANSWER,
    "Author, First": _CITATION_ANSWER,
    "Name of the journal": _CITATION_ANSWER,
    "Your Paper Title": _CITATION_ANSWER,
    QUESTIONS["licence"]: _LICENCE_ANSWER,
    QUESTIONS["contact"]: _CONTACT_ANSWER,
    QUESTIONS["access"]: _ACCESS_ANSWER,
    'bucket="..."': _UPLOAD_ANSWER,
    '/..."': _UPLOAD_ANSWER,
    "/...'": _UPLOAD_ANSWER,
    "a guess: write how wide": ("the width of the stimuli", "write VISUAL_DEGREES as it was in the experiment"),
}
"""Text of a template or tutorial -> its meaning and its replacement."""


def check_placeholders(source: CheckedPlugin, surroundings: Surroundings) -> Iterator[Finding]:
    """Refuse placeholder texts, with one finding for all texts that one answer replaces.

    Plugins of one name, such as data and their benchmark, share their facts: the first of them has the findings.
    """
    together = surroundings.together.get(source.plugin.name, (source,))
    if source is not together[0]:
        return
    places: dict[tuple[str, str], dict[str, tuple[CheckedPlugin, str, int]]] = {}
    for plugin in together:
        for path, file in plugin.files.items():
            if not path.endswith((".py", ".yml", ".yaml", ".bib")) or file.content is None:
                continue
            where = path if plugin is source else plugin.where(path)
            for number, line in enumerate(file.text.splitlines(), 1):
                for meaning in (meaning for text, meaning in PLACEHOLDERS.items() if text in line):
                    places.setdefault(meaning, {}).setdefault(where, (plugin, path, number))
    if _UPLOAD_ANSWER in places:
        places[_UPLOAD_ANSWER] |= places.pop(_ACCESS_ANSWER, {}) | places.pop(_CONTACT_ANSWER, {})
    for (name, fix), found in places.items():
        (_, (plugin, path, number)), *others = found.items()
        also = "".join(f", also in {where}:{line}" for where, (_, _, line) in others)
        yield plugin.finding("placeholder", f"{name} is a placeholder{also}", fix, path, number)


# -- Citations, readable and complete, by reading BibTeX strictly ------------------------------------------------------

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
        message = f"the citation {entry.key!r} lacks {', '.join(missing)}, which @{entry.type} requires"
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
            raise self._malformed("@ is not followed by a type and a brace; expected something like @article{key,")
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
                raise self._malformed("a closing brace has no matching opening brace")
            self.position += 1
        self.position = start
        raise self._malformed(f"the value that opens here is not closed; expected {closing!r}")

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


RULES = (
    check_metadata_file,
    check_placeholders,
    check_citations,
)
