"""Switch the activation cache off for one wrapper."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from brainscore_vision.model_helpers.activations.cache.switches import without_cache

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly

__all__ = ["disable_activation_caching"]


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
