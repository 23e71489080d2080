"""Derive names from a typed one."""

from __future__ import annotations

import keyword
import re
from collections.abc import Container

from brainscore_core.errors import ConfigurationError, did_you_mean

KIND_NAMES = ("data", "metric", "benchmark", "model")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*", re.ASCII)
_LONGEST = 60


def kind_names(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return kinds in order of dependence, each once, from words that may be plurals.

    Raises `ConfigurationError` for other words.
    """
    names = set()
    for word in words:
        singular = word.lower().removesuffix("s")
        if singular not in KIND_NAMES:
            raise ConfigurationError(
                f"{word!r} is not a kind of plugin; expected {', '.join(KIND_NAMES)}, and the name last: nox -s "
                f"new_plugin -- benchmark MyExperiment2024.{did_you_mean(word, KIND_NAMES)}"
            )
        names.add(singular)
    return tuple(kind for kind in KIND_NAMES if kind in names)


def folder_name(name: str) -> str:
    """Return the folder's name: the typed one in lower case.

    Raises `ConfigurationError` if it is no Python name; suggests one.
    """
    if _NAME.fullmatch(name) and not keyword.iskeyword(name.lower()) and len(name) <= _LONGEST:
        return name.lower()
    proposed = re.sub(r"[^A-Za-z0-9_]+", "_", name, flags=re.ASCII).strip("_")[:_LONGEST]
    if not _NAME.fullmatch(proposed) or keyword.iskeyword(proposed.lower()):
        proposed = f"my_{proposed}".rstrip("_")
    raise ConfigurationError(
        f"{name!r} cannot be the name of a plugin folder; expected letters, digits and _, a letter first, at most "
        f"{_LONGEST}. Use {proposed.lower()!r}; with --identifier it can be registered under another name."
    )


def camel_case(text: str) -> str:
    """Return a text as a class name.

    Examples
    --------
    >>> camel_case('my_metric-2')
    'MyMetric2'
    """
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"[^A-Za-z0-9]+", text))


def free_name(name: str, taken: Container[str]) -> str:
    """Return the nearest free name: ``smith2024`` gives ``smith2024b``, ``network`` gives ``network_2``.

    Examples
    --------
    >>> free_name('smith2024', {'smith2024', 'smith2024b'})
    'smith2024c'
    """
    if name not in taken:
        return name
    candidates = [f"{name}{letter}" for letter in "bcdefghijklmnopqrstuvwxyz"] if re.search(r"\d{4}$", name) else []
    number = 2
    while True:
        for candidate in candidates:
            if candidate not in taken:
                return candidate
        candidates = [f"{name}_{number}"]
        number += 1
