"""Register hooks with an extractor, remove them or switch them off."""

from collections.abc import Callable, Mapping
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
from brainscore_vision.model_helpers.activations.cache.layout import Array

__all__ = ["Activations", "BatchHook", "CacheableHook", "Hook", "HookHandle", "StimulusSetHook", "parts_of", "register"]

Activations = Mapping[str, Array]  # by layer
BatchHook = Callable[[Activations], Activations]
StimulusSetHook = Callable[[StimulusSet], StimulusSet]
Hook = TypeVar("Hook", bound=Callable[..., object])


@runtime_checkable
class CacheableHook(Protocol):
    """A batch hook that declares its dependencies, so that results can be cached."""

    def __call__(self, activations: Activations, /) -> Activations: ...  # noqa: D102 - any batch hook
    def cache_parts(self) -> Mapping[str, Any]:
        """Return plain values by name that change whenever results may."""

    def notes(self, layer: str) -> Mapping[str, Any]:
        """Return plain values by name to store with a layer's activations."""


class HookHandle(Generic[Hook]):
    """Remove a registered hook, or switch it off for a while."""

    def __init__(self, hooks: dict[int, Hook], hook_id: int) -> None:
        self.id = hook_id
        self._hooks = hooks
        self._saved: Hook | None = None

    def remove(self) -> Hook:
        """Remove the hook and return it."""
        return self._hooks.pop(self.id)

    def disable(self) -> None:
        """Switch the hook off until `enable`."""
        self._saved = self.remove()

    def enable(self) -> None:
        """Switch the hook on again."""
        if self._saved is not None:
            self._hooks[self.id] = self._saved
            self._saved = None


def register(hooks: dict[int, Hook], hook_id: int, hook: Hook) -> HookHandle[Hook]:
    """Add a hook."""
    hooks[hook_id] = hook
    return HookHandle(hooks, hook_id)


def parts_of(hook: BatchHook) -> Mapping[str, Any]:  # plain values
    """Return the dependencies of a hook; raise TypeError if it is not a `CacheableHook`."""
    if not isinstance(hook, CacheableHook):
        raise TypeError(f"the batch hook {hook!r} does not declare its dependencies (cache_parts)")
    return hook.cache_parts()
