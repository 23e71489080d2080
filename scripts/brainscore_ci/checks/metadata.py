"""Check ``metadata.yml`` against its schema.

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

import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, TypeGuard

import yaml
from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression

from brainscore_ci.checks.findings import Finding
from brainscore_ci.checks.placeholders import QUESTIONS
from brainscore_ci.planning.metadata import RefusedMetadataError, plain_text
from brainscore_core.errors import nearest

if TYPE_CHECKING:
    from brainscore_ci.checks.plugin import CheckedPlugin, Surroundings

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
        message = "a new plugin without metadata.yml, which says who may see it, its licence, and whom to ask"
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
        return [(line, f"is no YAML: {error.problem}", "correct that line")]
    except RefusedMetadataError as error:
        return [(error.line, f"is not read: {error}", "write plain values")]
    except (ValueError, RecursionError, TypeError, yaml.YAMLError) as error:
        return [(1, f"is no YAML: {error}", "write a few keys and values in YAML, in UTF-8")]
    if not isinstance(node, yaml.MappingNode) or not isinstance(values, dict):
        return [(1, "holds no keys and values", f"give it the keys {', '.join(REQUIRED)}")]
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
            yield line, f"the key {key!r} is there twice", "keep one of them"
        elif key not in KEYS:
            close = [OTHER_SPELLINGS[key]] if key in OTHER_SPELLINGS else nearest(key, KEYS, 1)
            fix = f"call it {close[0]!r}" if close else f"remove it, or use one of {', '.join(KEYS)}"
            yield line, f"the key {key!r} is unknown", fix
        seen.add(key)
    for name in REQUIRED:
        if name not in seen:
            yield 1, f"the key {name!r} is missing", f"add {name}: {_EXPECTED[name]}"
    if not seen & set(CITED):
        yield 1, "neither 'citation' nor 'doi' is there", f"add doi: {_EXPECTED['doi']}"


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

RULES = (check_metadata_file,)
