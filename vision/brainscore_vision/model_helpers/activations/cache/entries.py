"""Find, list and evict cached activations, and log requests for them."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from brainscore_core.files import locked
from brainscore_core.identity.digest import content_digest
from brainscore_core.identity.store import CacheEntry, Store
from brainscore_vision.model_helpers.activations.cache.entry import ActivationEntry, discard, is_held
from brainscore_vision.model_helpers.activations.cache.layout import FORMAT, VALUES, Parts, read_record
from brainscore_vision.model_helpers.activations.cache.switches import cache_folder

__all__ = [
    "Call",
    "Group",
    "Stored",
    "differences",
    "group_of",
    "make_room",
    "nearest_entry",
    "note_call",
    "noted_calls",
    "remove_entries",
    "stored_entries",
]

_PATTERN = "??/*/*"  # of the folders of entries


@dataclass(frozen=True)
class Group:
    """The entries of one key, each for some layers."""

    folder: Path
    n_stimuli: int
    parts: Parts
    about: Parts

    def entry(self, layers: Sequence[str]) -> ActivationEntry:
        """Return the entry of layers recorded together, whether it exists or not."""
        name = content_digest(self.folder.name, list(layers))
        return ActivationEntry(self.folder / name, layers, self.n_stimuli, self.parts, self.about)

    def candidates(self, layers: Sequence[str]) -> Iterator[ActivationEntry]:
        """Yield entries that may have some of these layers: the exact one, then those with most."""
        exact = self.entry(layers)
        yield exact
        others = [self.entry(read_record(folder)[1].get("layers", ())) for folder in self.folder.glob("*")]
        # Entries that were copied from other keys have another name.
        existing = [entry for entry in others if entry.folder != exact.folder and entry.folder.is_dir()]
        yield from sorted(existing, key=lambda entry: -len({*layers} & {*entry.layers}))


def group_of(parts: Parts, n_stimuli: int, about: Parts) -> Group:
    """Return the group of a key."""
    key = content_digest({"format": FORMAT, **parts})
    return Group(cache_folder() / key[:2] / key, n_stimuli, parts, about)


@dataclass(frozen=True)
class Stored:
    """An entry on disk.

    Attributes
    ----------
    state
        ``whole``, ``partial`` (interrupted or in progress), ``damaged`` or ``outdated`` (of another version, never
        read).
    finished
        Number of stored stimuli.
    used
        Last reading or writing, seconds since 1970.
    """

    folder: Path
    state: str
    layers: Sequence[str]
    n_stimuli: int
    finished: int
    size_bytes: int
    used: float
    parts: Parts
    about: Parts

    @property
    def key(self) -> str:
        """The name of its folder."""
        return self.folder.name

    def entry(self) -> ActivationEntry:
        """Return the entry for reading."""
        return ActivationEntry(self.folder, self.layers, self.n_stimuli, self.parts, self.about)


def stored_entries() -> list[Stored]:
    """Return all entries, the least recently used first."""
    return [_stored(entry) for entry in Store(cache_folder(), pattern=_PATTERN).entries() if entry.path.is_dir()]


def _stored(entry: CacheEntry) -> Stored:
    state, record, finished = read_record(entry.path)
    return Stored(
        entry.path,
        state,
        layers=record.get("layers", ()),
        n_stimuli=record.get("n_stimuli", 0),
        finished=finished,
        size_bytes=entry.size_bytes,
        used=entry.used,
        parts=record.get("parts", {}),
        about=record.get("about", {}),
    )


def make_room(limit_bytes: int | None = None, keep: Collection[Path] = ()) -> list[CacheEntry]:
    """Remove the least recently used entries until the rest fits a limit in bytes; return those removed.

    Entries in `keep` or in use stay. None: the setting.
    """
    store = Store(cache_folder(), limit_bytes, pattern=_PATTERN)
    return store.make_room(remove=lambda folder: folder not in keep and _remove(folder))


def remove_entries(entries: Sequence[Stored]) -> list[Stored]:
    """Remove entries unless in use; return those removed."""
    return [stored for stored in entries if _remove(stored.folder)]


def _remove(folder: Path) -> bool:
    group = folder.parent
    try:
        with locked(group, timeout_s=0):
            if is_held(folder / VALUES):
                return False
            discard(folder)
            if not any(group.iterdir()):
                group.rmdir()
    except (OSError, NotImplementedError):  # in use, or the file system has no locks
        return False
    return True


# -- log of requests ---------------------------------------------------------------------------------------------------
# Log requests to the cache, to explain hits and misses.

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
    """Return the entry of other calls whose key differs least from a call's; of several, the latest."""
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
