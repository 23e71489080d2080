"""Switch the activation cache off, or make it the only source, inside a block."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from brainscore_core.config import settings
from brainscore_core.errors import BrainScoreError

__all__ = ["NotStoredError", "cache_folder", "cache_wanted", "only_stored", "refuse_to_run", "without_cache"]

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
