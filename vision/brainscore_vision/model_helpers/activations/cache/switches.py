"""Switch the activation cache off, or make it the only source, inside a block or for one wrapper."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brainscore_core.config import settings
from brainscore_core.errors import BrainScoreError

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly

__all__ = [
    "NotStoredError",
    "cache_folder",
    "cache_wanted",
    "disable_activation_caching",
    "only_stored",
    "refuse_to_run",
    "without_cache",
]

_cache_wanted: ContextVar[bool] = ContextVar("brainscore_activation_cache", default=True)


def cache_wanted() -> bool:
    """Tell whether activations may be cached."""
    return _cache_wanted.get() and not settings().caching_disabled


@contextmanager
def without_cache() -> Iterator[None]:
    """Disable the cache inside the block (in this thread or task only)."""
    token = _cache_wanted.set(False)
    try:
        yield
    finally:
        _cache_wanted.reset(token)


class NotStoredError(BrainScoreError, LookupError):
    """Activations are not stored, and `only_stored` forbids computing them."""


_only_stored: ContextVar[bool] = ContextVar("brainscore_only_stored", default=False)


@contextmanager
def only_stored() -> Iterator[None]:
    """Raise `NotStoredError` inside the block where a model would compute activations."""
    token = _only_stored.set(True)
    try:
        yield
    finally:
        _only_stored.reset(token)


def refuse_to_run(model: str, layers: Sequence[str], n_stimuli: int) -> None:
    """Raise `NotStoredError` inside `only_stored`."""
    if _only_stored.get():
        raise NotStoredError(
            f"The activations of {model!r} in {', '.join(layers)} to {n_stimuli} stimuli are not stored. "
            "`brainscore cache list` shows which are; scoring the pair computes and stores them."
        )


def cache_folder() -> Path:
    """Return the folder of cached activations."""
    return settings().cache_home / "activations"


# -- one wrapper -------------------------------------------------------------------------------------------------------


class _WithoutCaching:
    _wrapper: Callable[..., NeuroidAssembly]

    def __init__(self, wrapper: Callable[..., NeuroidAssembly]) -> None:
        object.__setattr__(self, "_wrapper", wrapper)

    def __call__(self, *args: Any, **kwargs: Any) -> NeuroidAssembly:  # checked by the wrapper
        with without_cache():
            return self._wrapper(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:  # whatever the wrapper has
        if name == "_wrapper":  # absent before __init__ (copy, pickle)
            raise AttributeError(name)
        return getattr(self._wrapper, name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self._wrapper, name, value)


def disable_activation_caching(wrapper: Callable[..., NeuroidAssembly]) -> Callable[..., NeuroidAssembly]:
    """Return the wrapper with the activation cache off for its own calls only."""
    return _WithoutCaching(wrapper)
