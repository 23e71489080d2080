"""Keep the activations of layers in files, unless somebody wants new ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import BadZipFile

import numpy as np

from brainscore_core.errors import AssemblyError

if TYPE_CHECKING:
    from brainscore_vision.model_helpers.activations.packaging import Array

__all__ = ["CACHE_FORMAT", "cache_wanted", "read_entry", "without_cache", "write_entry"]

CACHE_FORMAT = 1
"""Counted up whenever the meaning of a cached entry changes."""

_cache_wanted: ContextVar[bool] = ContextVar("brainscore_activation_cache", default=True)


def cache_wanted() -> bool:
    """Tell whether activations may be cached here."""
    return _cache_wanted.get()


@contextmanager
def without_cache() -> Iterator[None]:
    """Neither read nor write cached activations inside this block (in this thread or task only)."""
    token = _cache_wanted.set(False)
    try:
        yield
    finally:
        _cache_wanted.reset(token)


def write_entry(values: Array, path: Path) -> None:
    """Write the activations of one layer."""
    if values.dtype.hasobject:
        raise AssemblyError(f"Activations have dtype {values.dtype}; expected numbers.")
    np.savez(path, activations=values)


def read_entry(path: Path, *, n_stimuli: int) -> Array:
    """Read the activations of one layer; ValueError if the file is damaged or of other stimuli."""
    try:
        # The zip container carries a checksum, so that damage is noticed.
        with np.load(path, allow_pickle=False) as archive:
            values: Array = archive["activations"]
    except (BadZipFile, EOFError, KeyError) as error:
        raise ValueError(f"{path} is damaged: {error}") from error
    if values.ndim < 1 or values.shape[0] != n_stimuli:
        raise ValueError(f"{path} holds shape {values.shape}; expected {n_stimuli} stimuli")
    return values
