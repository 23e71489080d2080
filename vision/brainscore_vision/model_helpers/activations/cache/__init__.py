"""Cache the activations of layers on disk, by content."""

from brainscore_vision.model_helpers.activations.cache.entries import (
    Call,
    Stored,
    differences,
    make_room,
    nearest_entry,
    note_call,
    noted_calls,
    remove_entries,
    stored_entries,
)
from brainscore_vision.model_helpers.activations.cache.switches import (
    NotStoredError,
    cache_folder,
    cache_wanted,
    only_stored,
    without_cache,
)

__all__ = [
    "Call",
    "NotStoredError",
    "Stored",
    "cache_folder",
    "cache_wanted",
    "differences",
    "make_room",
    "nearest_entry",
    "note_call",
    "noted_calls",
    "only_stored",
    "remove_entries",
    "stored_entries",
    "without_cache",
]
