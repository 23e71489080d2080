"""Find, list, explain and remove cached activations, unless somebody wants new ones.

All entries of the same key, whichever layers they hold, lie in one folder that is named by the digest of that key.
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from brainscore_core.config import settings
from brainscore_core.errors import BrainScoreError
from brainscore_core.files import locked
from brainscore_core.identity.digest import content_digest
from brainscore_core.identity.store import CacheEntry, Store
from brainscore_vision.model_helpers.activations.store import (
    FORMAT,
    Entry,
    Parts,
    discard,
    is_held,
    read_record,
)

__all__ = [
    "Call",
    "Group",
    "NotStoredError",
    "Stored",
    "cache_folder",
    "cache_wanted",
    "differences",
    "group_of",
    "make_room",
    "nearest_entry",
    "note_call",
    "noted_calls",
    "only_stored",
    "refuse_to_run",
    "remove_entries",
    "stored_entries",
    "without_cache",
]

_PATTERN = "??/*/*"
_CALLS = "calls.jsonl"
_CALLS_BYTES = 2**20
_SHOWN_CALLS = 200

_cache_wanted: ContextVar[bool] = ContextVar("brainscore_activation_cache", default=True)


def cache_wanted() -> bool:
    """Tell whether activations may be cached here."""
    return _cache_wanted.get() and not settings().caching_disabled


@contextmanager
def without_cache() -> Iterator[None]:
    """Neither read nor write cached activations inside this block (in this thread or task only)."""
    token = _cache_wanted.set(False)
    try:
        yield
    finally:
        _cache_wanted.reset(token)


class NotStoredError(BrainScoreError, LookupError):
    """Activations that a model may not compute now (`only_stored`) are not stored."""


_only_stored: ContextVar[bool] = ContextVar("brainscore_only_stored", default=False)


@contextmanager
def only_stored() -> Iterator[None]:
    """Let no model compute activations inside this block: what is not stored raises `NotStoredError`."""
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
    """Return where cached activations lie."""
    return settings().cache_home / "activations"


@dataclass(frozen=True)
class Group:
    """The entries of one key, each for some layers."""

    folder: Path
    n_stimuli: int
    parts: Parts
    about: Parts

    def entry(self, layers: Sequence[str]) -> Entry:
        """Return the entry of layers that are recorded together, be it there or not."""
        name = content_digest(self.folder.name, list(layers))
        return Entry(self.folder / name, layers, self.n_stimuli, self.parts, self.about)

    def candidates(self, layers: Sequence[str]) -> Iterator[Entry]:
        """Give the entries that may have some of these layers: that of exactly these, then those with most of them."""
        exact = self.entry(layers)
        yield exact
        others = [self.entry(read_record(folder)[1].get("layers", ())) for folder in self.folder.glob("*")]
        # Those of other keys, that somebody has copied here, have another name.
        there = [entry for entry in others if entry.folder != exact.folder and entry.folder.is_dir()]
        yield from sorted(there, key=lambda entry: -len({*layers} & {*entry.layers}))


def group_of(parts: Parts, n_stimuli: int, about: Parts) -> Group:
    """Return the group of a key."""
    key = content_digest({"format": FORMAT, **parts})
    return Group(cache_folder() / key[:2] / key, n_stimuli, parts, about)


# --- what is there -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Stored:
    """One entry as it lies on the disk.

    Attributes
    ----------
    state : str
        ``whole``, ``partial`` (an extraction that was interrupted or is at work), ``damaged`` or ``outdated`` (of
        another version, whose entries are not read).
    finished : int
        How many of the `n_stimuli` stimuli are there.
    used : float
        When it was last read or written, seconds since 1970.
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

    def entry(self) -> Entry:
        """Return what reads it."""
        return Entry(self.folder, self.layers, self.n_stimuli, self.parts, self.about)


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
    """Remove the least recently used entries until the rest fits into a limit in bytes; return the removed ones.

    Entries in `keep`, and those that a process reads or fills, stay. A limit of None is that of the settings.
    """
    store = Store(cache_folder(), limit_bytes, pattern=_PATTERN)
    return store.make_room(remove=lambda folder: folder not in keep and _remove(folder))


def remove_entries(entries: Sequence[Stored]) -> list[Stored]:
    """Remove entries unless a process reads or fills them; return the removed ones."""
    return [stored for stored in entries if _remove(stored.folder)]


def _remove(folder: Path) -> bool:
    from filelock import Timeout  # imported when needed: start-up stays fast

    group = folder.parent
    try:
        with locked(group, timeout_s=0):
            if is_held(folder / "values.npy"):
                return False
            discard(folder)
            if not any(group.iterdir()):
                group.rmdir()
    except (Timeout, OSError, NotImplementedError):  # the last where the file system has no locks
        return False
    return True


# --- why a call was a hit or a miss ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Call:
    """What an extractor was asked for, and what the cache had.

    Attributes
    ----------
    time : float
        Seconds since 1970.
    outcomes : mapping of str to str
        By layer: ``hit``, ``miss`` or ``resumed``; empty if nothing was cached.
    reason : str
        Why nothing was cached; empty if it was.
    """

    time: float
    about: Parts
    parts: Parts
    outcomes: Mapping[str, str]
    reason: str = ""


def note_call(about: Parts, parts: Parts, outcomes: Mapping[str, str], reason: str = "") -> None:
    """Keep what was asked for, so that `brainscore cache explain` can say why; the oldest calls are forgotten."""
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
    for each in (path.with_suffix(".old"), path):
        if each.is_file():
            lines += each.read_text(encoding="utf-8", errors="replace").splitlines()
    calls = []
    for line in lines[-most:]:
        try:
            calls.append(Call(**json.loads(line)))
        except (ValueError, TypeError):  # a line that was cut
            continue
    return calls


def nearest_entry(call: Call, layer: str, entries: Sequence[Stored]) -> Stored | None:
    """Return the entry with the fewest parts of the key that differ from a call, the latest one of these.

    An entry that the call itself made, whose parts are all the same, does not count.
    """
    others = [
        stored for stored in entries if stored.parts and (layer not in stored.layers or stored.parts != call.parts)
    ]
    return min(others, key=lambda stored: (len(differences(call, layer, stored)), -stored.used), default=None)


def differences(call: Call, layer: str, stored: Stored) -> dict[str, tuple[object, object]]:
    """Return the parts of the key that differ: name -> (value of the call, value of the entry)."""
    other = layer if layer in stored.layers else ", ".join(stored.layers)
    here, there = {"layer": layer, **call.parts}, {"layer": other, **stored.parts}
    names = dict.fromkeys([*here, *there])
    return {name: (here.get(name), there.get(name)) for name in names if here.get(name) != there.get(name)}
