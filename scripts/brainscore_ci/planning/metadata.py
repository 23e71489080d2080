"""Read ``metadata.yml``, in which a plugin says what people and the planning want to know about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

__all__ = ["RefusedMetadataError", "plain_text", "read_values"]

_LARGEST, _DEEPEST = 100_000, 20  # bytes and levels; files of the published system have 5


def read_values(content: bytes) -> Mapping[str, Any]:
    """Return the keys and values in the content of a ``metadata.yml``; empty if it cannot be read."""
    try:
        values = yaml.safe_load(plain_text(content))
    except (ValueError, RecursionError, TypeError, yaml.YAMLError):
        return {}  # the static checks say why
    return values if isinstance(values, dict) else {}


class RefusedMetadataError(ValueError):
    """Loading a ``metadata.yml`` would take minutes or gigabytes; ``line`` says where, counted from 1."""

    def __init__(self, message: str, event: yaml.Event) -> None:
        super().__init__(message)
        self.line: int = getattr(event.start_mark, "line", 0) + 1


def plain_text(content: bytes) -> str:
    """Return YAML as text; raises for what would take minutes or gigabytes to load."""
    if len(content) > _LARGEST:
        raise ValueError(f"it has {len(content):,} bytes, where a few lines are expected")
    text = content.decode("utf-8-sig")
    depth = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        if isinstance(event, yaml.AliasEvent):  # a few lines of them can stand for gigabytes
            raise RefusedMetadataError("a value refers to another with *", event)
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:  # reading takes the square of the depth
            raise RefusedMetadataError("it is nested too deeply", event)
    return text
