"""Log requests to the cache, to explain hits and misses."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from brainscore_vision.model_helpers.activations.cache.switches import cache_folder

if TYPE_CHECKING:
    from brainscore_vision.model_helpers.activations.cache.entries import Stored
    from brainscore_vision.model_helpers.activations.cache.layout import Parts

__all__ = ["Call", "differences", "nearest_entry", "note_call", "noted_calls"]

_CALLS = "calls.jsonl"
_CALLS_BYTES = 2**20
_SHOWN_CALLS = 200


@dataclass(frozen=True)
class Call:
    """A request to an extractor and its outcome.

    Attributes
    ----------
    time
        Seconds since 1970.
    outcomes
        By layer: ``hit``, ``miss`` or ``resumed``; empty if nothing was cached.
    reason
        Why nothing was cached, or empty.
    """

    time: float
    about: Parts
    parts: Parts
    outcomes: Mapping[str, str]
    reason: str = ""


def note_call(about: Parts, parts: Parts, outcomes: Mapping[str, str], reason: str = "") -> None:
    """Log a call for `brainscore cache explain`; the oldest calls are dropped."""
    record = {"time": time.time(), "about": about, "parts": parts, "outcomes": outcomes, "reason": reason}
    path = cache_folder() / _CALLS
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_file() and path.stat().st_size > _CALLS_BYTES:
            path.replace(path.with_suffix(".old"))
        with path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(record) + "\n")
    except OSError:
        return  # costs an explanation, never a result


def noted_calls(most: int = _SHOWN_CALLS) -> list[Call]:
    """Return the last calls, the latest last."""
    path = cache_folder() / _CALLS
    lines: list[str] = []
    for log in (path.with_suffix(".old"), path):
        if log.is_file():
            lines += log.read_text(encoding="utf-8", errors="replace").splitlines()
    calls = []
    for line in lines[-most:]:
        try:
            calls.append(Call(**json.loads(line)))
        except (ValueError, TypeError):  # a line that was cut
            continue
    return calls


def nearest_entry(call: Call, layer: str, entries: Sequence[Stored]) -> Stored | None:
    """Return the latest of the other entries whose keys differ least from a call."""
    others = [
        stored for stored in entries if stored.parts and (layer not in stored.layers or stored.parts != call.parts)
    ]
    return min(others, key=lambda stored: (len(differences(call, layer, stored)), -stored.used), default=None)


def differences(call: Call, layer: str, stored: Stored) -> dict[str, tuple[object, object]]:
    """Return differing parts of the key: name -> (value of the call, of the entry)."""
    other = layer if layer in stored.layers else ", ".join(stored.layers)
    ours, theirs = {"layer": layer, **call.parts}, {"layer": other, **stored.parts}
    names = dict.fromkeys([*ours, *theirs])
    return {name: (ours.get(name), theirs.get(name)) for name in names if ours.get(name) != theirs.get(name)}
