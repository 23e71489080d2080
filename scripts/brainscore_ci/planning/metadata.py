"""Read a plugin's ``metadata.yml``."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import yaml

_LARGEST, _DEEPEST = 100_000, 20  # bytes and levels; published files reach 5 levels


_LOADERS = (getattr(yaml, "CSafeLoader", yaml.SafeLoader), yaml.SafeLoader)
"""The fast loader, and the one of the static checks, which accepts a little more."""


def read_values(content: bytes) -> Mapping[str, Any]:
    """Return the content of a ``metadata.yml``; empty if it cannot be read."""
    for loader in _LOADERS:
        with suppress(ValueError, RecursionError, TypeError, yaml.YAMLError):  # the static checks say why
            values = yaml.load(plain_text(content, loader), Loader=loader)  # noqa: S506 - both are safe
            return values if isinstance(values, dict) else {}
    return {}


class RefusedMetadataError(ValueError):
    """Loading a ``metadata.yml`` would take minutes or gigabytes; ``line``, from 1, says where."""

    def __init__(self, message: str, event: yaml.Event) -> None:
        super().__init__(message)
        self.line: int = getattr(event.start_mark, "line", 0) + 1


def plain_text(content: bytes, loader: type[Any] = yaml.SafeLoader) -> str:
    """Return YAML as text; raise ValueError if loading it would take minutes or gigabytes."""
    if len(content) > _LARGEST:
        raise ValueError(f"it has {len(content):,} bytes, where a few lines are expected")
    text = content.decode("utf-8-sig")
    depth = 0
    for event in yaml.parse(text, Loader=loader):
        if isinstance(event, yaml.AliasEvent):  # a few lines of aliases can expand to gigabytes
            raise RefusedMetadataError("a value refers to another with *", event)
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:  # reading time grows with the square of the depth
            raise RefusedMetadataError("it is nested too deeply", event)
    return text
