"""Read ``metadata.yml``, in which a plugin says what people and the planning want to know about it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import yaml

__all__ = ["RefusedMetadataError", "plain_text", "read_values"]

_LARGEST, _DEEPEST = 100_000, 20  # bytes and levels; files of the published system have 5


_LOADERS = (getattr(yaml, "CSafeLoader", yaml.SafeLoader), yaml.SafeLoader)
"""The fast loader if it is installed, then the one that the static checks use and that accepts a little more."""


def read_values(content: bytes) -> Mapping[str, Any]:
    """Return the keys and values in the content of a ``metadata.yml``; empty if it cannot be read."""
    for loader in _LOADERS:
        with suppress(ValueError, RecursionError, TypeError, yaml.YAMLError):  # the static checks say why
            values = yaml.load(plain_text(content, loader), Loader=loader)  # noqa: S506 - both are safe
            return values if isinstance(values, dict) else {}
    return {}


class RefusedMetadataError(ValueError):
    """Loading a ``metadata.yml`` would take minutes or gigabytes; ``line`` says where, counted from 1."""

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
        if isinstance(event, yaml.AliasEvent):  # a few lines of them can stand for gigabytes
            raise RefusedMetadataError("a value refers to another with *", event)
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:  # reading takes the square of the depth
            raise RefusedMetadataError("it is nested too deeply", event)
    return text
