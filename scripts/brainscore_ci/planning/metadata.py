"""Hold the schema of ``metadata.yml``, in which a plugin says what people and the planning want to know about it.

=============== ========================================================================================
``access``      ``public`` or ``private``: whether scoring needs data or weights that not everybody may see
``licence``     SPDX expression, such as ``CC-BY-4.0``, ``MIT`` or ``LicenseRef-agreement-with-the-authors``
``contact``     who answers questions: an e-mail address, a GitHub name with ``@``, or a web address
``citation``    the publication as people would cite it
``doi``         the publication, such as ``10.1523/JNEUROSCI.5181-14.2015``
``minutes``     what a test run or a score takes, about
``memory_gb``   memory that a test run or a score takes, about
=============== ========================================================================================

The first three are required, and one of ``citation`` and ``doi``. Files of the published system, whose keys are
``models``, ``benchmarks``, ``data`` or ``metrics`` and then identifiers, are left as they are.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from brainscore_core.errors import nearest

__all__ = ["KEYS", "REQUIRED", "MetadataProblem", "check_metadata", "read_values"]

KEYS = ("access", "licence", "contact", "citation", "doi", "minutes", "memory_gb")
REQUIRED = ("access", "licence", "contact")
_CITED = ("citation", "doi")
_PUBLISHED = frozenset({"models", "benchmarks", "data", "metrics"})
_LARGEST, _DEEPEST = 100_000, 20  # bytes and levels; files of the published system have 5
_OTHER_SPELLINGS = {"license": "licence", "memory": "memory_gb", "email": "contact", "reference": "citation"}


@dataclass(frozen=True)
class MetadataProblem:
    """One thing that is wrong with metadata.

    Attributes
    ----------
    line : int
        Counted from 1.
    message : str
        What was found and what is expected.
    fix : str
        What to do about it.
    """

    line: int
    message: str
    fix: str


def check_metadata(content: bytes) -> list[MetadataProblem]:
    """Return everything that is wrong with the content of a ``metadata.yml``."""
    try:
        text = _plain_text(content)
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        values = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        line = getattr(error.problem_mark, "line", 0) + 1
        return [MetadataProblem(line, f"is no YAML: {error.problem}", "correct that line")]
    except _RefusedError as error:
        return [MetadataProblem(error.line, f"is not read: {error}", "write plain values")]
    except (ValueError, RecursionError, TypeError, yaml.YAMLError) as error:
        return [MetadataProblem(1, f"is no YAML: {error}", "write a few keys and values in YAML, in UTF-8")]
    if not isinstance(node, yaml.MappingNode) or not isinstance(values, dict):
        return [MetadataProblem(1, "holds no keys and values", f"give it the keys {', '.join(REQUIRED)}")]
    keys = [(str(key.value), key.start_mark.line + 1) for key, _ in node.value]
    if any(isinstance(value, yaml.MappingNode) for key, value in node.value if key.value in _PUBLISHED):
        return []
    return [*_check_keys(keys), *_check_values({str(key): value for key, value in values.items()}, dict(keys))]


def read_values(content: bytes) -> Mapping[str, Any]:
    """Return the keys and values in the content of a ``metadata.yml``; empty if it cannot be read."""
    try:
        values = yaml.safe_load(_plain_text(content))
    except (ValueError, RecursionError, TypeError, yaml.YAMLError):
        return {}  # `check_metadata` says why
    return values if isinstance(values, dict) else {}


class _RefusedError(ValueError):
    def __init__(self, message: str, event: yaml.Event) -> None:
        super().__init__(message)
        self.line: int = getattr(event.start_mark, "line", 0) + 1


def _plain_text(content: bytes) -> str:
    """Return YAML as text; raises for what would take minutes or gigabytes to load."""
    if len(content) > _LARGEST:
        raise ValueError(f"it has {len(content):,} bytes, where a few lines are expected")
    text = content.decode("utf-8-sig")
    depth = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        if isinstance(event, yaml.AliasEvent):  # a few lines of them can stand for gigabytes
            raise _RefusedError("a value refers to another with *", event)
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:  # reading takes the square of the depth
            raise _RefusedError("it is nested too deeply", event)
    return text


def _check_keys(keys: list[tuple[str, int]]) -> list[MetadataProblem]:
    problems, seen = [], set[str]()
    for key, line in keys:
        if key in seen:
            problems.append(MetadataProblem(line, f"the key {key!r} is there twice", "keep one of them"))
        elif key not in KEYS:
            close = [_OTHER_SPELLINGS[key]] if key in _OTHER_SPELLINGS else nearest(key, KEYS, 1)
            fix = f"call it {close[0]!r}" if close else f"remove it, or use one of {', '.join(KEYS)}"
            problems.append(MetadataProblem(line, f"the key {key!r} is unknown", fix))
        seen.add(key)
    problems += [
        MetadataProblem(1, f"the key {name!r} is missing", f"add {name}: {_EXPECTED[name]}")
        for name in REQUIRED
        if name not in seen
    ]
    if not seen & set(_CITED):
        problems.append(MetadataProblem(1, "neither 'citation' nor 'doi' is there", f"add doi: {_EXPECTED['doi']}"))
    return problems


def _check_values(values: Mapping[str, Any], lines: Mapping[str, int]) -> list[MetadataProblem]:
    problems = []
    for key, value in values.items():
        if key in _VALID and not _VALID[key](value):
            message = f"{key} is {_shown(value)}; expected {_EXPECTED[key]}"
            problems.append(MetadataProblem(lines.get(key, 1), message, f"correct the value of {key}"))
    return problems


def _shown(value: object) -> str:
    if isinstance(value, (dict, list)):
        return f"a {'list' if isinstance(value, list) else 'mapping'}"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _is_licence(value: object) -> bool:
    from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression

    try:
        return isinstance(value, str) and bool(canonicalize_license_expression(value))
    except (InvalidLicenseExpression, ValueError, RecursionError):
        return False


def _is_contact(value: object) -> bool:
    forms = r"[^\s@<>]+@[^\s@<>]+\.[A-Za-z]{2,}|@[A-Za-z0-9](?:-?[A-Za-z0-9])*|https://\S+"
    return isinstance(value, str) and re.fullmatch(forms, value) is not None


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_doi(value: object) -> bool:
    return isinstance(value, str) and re.fullmatch(r"10\.\d{4,9}/\S+", value) is not None


def _is_positive(value: object) -> bool:
    is_number = isinstance(value, (int, float)) and not isinstance(value, (bool, dt.date))
    return is_number and 0 < value < float("inf")  # type: ignore[operator] # a number, as the line above says


_VALID: Mapping[str, Callable[[object], bool]] = {
    "access": lambda value: value in ("public", "private"),
    "licence": _is_licence,
    "contact": _is_contact,
    "citation": _is_text,
    "doi": _is_doi,
    "minutes": _is_positive,
    "memory_gb": _is_positive,
}
_EXPECTED: Mapping[str, str] = {
    "access": "public or private",
    "licence": "an SPDX expression such as CC-BY-4.0, MIT or LicenseRef-<name>",
    "contact": "an e-mail address, a GitHub name such as '@octocat', or a web address that starts with https://",
    "citation": "a text",
    "doi": "a DOI such as 10.1523/JNEUROSCI.5181-14.2015",
    "minutes": "a number above 0",
    "memory_gb": "a number above 0",
}
