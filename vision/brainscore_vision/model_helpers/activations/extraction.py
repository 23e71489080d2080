"""Take the activations of layers from the cache, and from the model what the cache does not have."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from brainscore_core.files import locked
from brainscore_core.identity.stamp import Stamp, file_stamp
from brainscore_vision.identity.objects import NotDigestibleError
from brainscore_vision.model_helpers.activations.cache.calls import note_call
from brainscore_vision.model_helpers.activations.cache.entries import Group, group_of, make_room
from brainscore_vision.model_helpers.activations.cache.entry import CacheTroubleError, Entry, Recording
from brainscore_vision.model_helpers.activations.cache.layout import Layout, pieces
from brainscore_vision.model_helpers.activations.cache.matrix import Recorded, SideBySide, exceeds_budget

if TYPE_CHECKING:
    from brainscore_vision.model_helpers.activations.batches import Batch
    from brainscore_vision.model_helpers.activations.cache.index import Parts

__all__ = ["Extraction", "extract", "file_stamps"]

_logger = logging.getLogger(__name__)
_said: set[tuple[str, str]] = set()  # model and reason

Stamps = list[Stamp | None]

MAY_CHANGE = frozenset({"model code and settings"})
"""Parts of a key that a model may change while it runs, such as a counter of its calls: activations that were recorded
in one go follow from what it was before. Those of several goes do not, and not if weights have changed."""


@dataclass(frozen=True)
class Extraction:
    """The activations that somebody asks for, and how to get them.

    Attributes
    ----------
    layers : sequence of str
    count : int
        Number of stimuli, each once.
    batches : callable
        ``batches(layers, first, stop)`` gives the activations of the stimuli from `first` to before `stop`.
    model_parts : callable
        Returns, as plain values by name, what of the key belongs to the model and to this process; raises `TypeError`
        if something that changes the result is not known. Asked again after a recording.
    stimuli_parts : callable
        The same of the stimuli.
    stamp : callable
        Returns what differs if a stimulus has changed, see `file_stamps`; cheap.
    about : mapping of str to value
        Not in the key, see `Entry`.
    notes : callable
        ``notes(layer)`` returns what is kept beside the activations of a layer when they are complete.
    """

    layers: Sequence[str]
    count: int
    batches: Callable[[Sequence[str], int, int], Generator[Batch]]
    model_parts: Callable[[], Parts]
    stimuli_parts: Callable[[], Parts]
    stamp: Callable[[], Stamps]
    about: Parts
    notes: Callable[[str], Parts] = lambda layer: {}  # noqa: ARG005 - nothing to note of any layer


def extract(work: Extraction, *, use_cache: bool, rows: Sequence[int] | None = None) -> Recorded:
    """Return the activations of all layers side by side.

    Layers that are not in the cache are computed and kept there together, batch by batch: an extraction that is stopped
    at any moment goes on after its last finished batch when it is asked for again. Layers that lie there one after the
    other, as they do if they were recorded together, are given without a copy. What lies in the cache is read without a
    lock. What the disk does not take is returned all the same, and is not computed again.

    Parameters
    ----------
    rows : sequence of int or None
        Which stimuli, in which order; None: each once.
    """
    if use_cache:
        stamp = work.stamp()
        try:
            parts = {**work.model_parts(), **work.stimuli_parts()}
        except TypeError as error:  # NotDigestibleError is one, and so is what content_digest raises
            _say_uncached(work, error)
            note_call(work.about, {}, {}, reason=str(error))
        else:
            try:
                return _from_cache(work, parts, stamp, rows)
            except CacheTroubleError as error:
                _say_without_cache(error)
    computed = _computed(work)
    return computed if rows is None else Recorded(Recorded.of({"": computed.matrix}, rows).matrix, computed.shapes)


def _computed(work: Extraction) -> Recorded:
    result: SideBySide | None = None
    with closing(work.batches(work.layers, 0, work.count)) as batches:
        for batch in batches:
            if result is None:
                result = SideBySide(work.count, Layout.of(batch.activations))
            result.put(batch.start, batch.activations)
    if result is None:
        raise ValueError("There is nothing to compute: count is 0.")
    return result.finish()


def _from_cache(work: Extraction, parts: Parts, stamp: Stamps, rows: Sequence[int] | None) -> Recorded:
    group = group_of(parts, work.count, work.about)
    asked = _Asked(tuple(dict.fromkeys(work.layers)), work.count, rows)
    found = _read(group, asked)
    outcomes = dict.fromkeys(found, "hit")
    if absent := asked.without(found):
        try:
            with _lock(group.folder):
                found |= _read(group, asked, absent, mend=True)
                outcomes |= dict.fromkeys(found, "hit")
                if absent := asked.without(found):
                    entry = group.entry(absent)
                    outcome, recording = _fill(work, entry, parts, stamp, asked)
                    outcomes |= dict.fromkeys(absent, outcome)
                    found |= dict.fromkeys(absent, recording)
        except CacheTroubleError as error:
            _say_without_cache(error)
            absent = asked.without(found)
            found |= dict.fromkeys(absent, _record_in_memory(work, absent))
            outcomes |= dict.fromkeys(absent, "miss")
        else:
            with _lock_free():
                kept = [group.entry(recording.layout.layers).folder for recording in found.values()]
                make_room(keep=kept)
    note_call(work.about, parts, outcomes)
    return asked.of(found)


@dataclass(frozen=True)
class _Asked:
    """Which layers of which stimuli are asked for."""

    layers: Sequence[str]
    count: int
    rows: Sequence[int] | None

    def without(self, found: Collection[str]) -> list[str]:
        return [layer for layer in self.layers if layer not in found]

    def as_it_lies(self, layout: Layout) -> slice | None:
        """Return which bytes of each row are what is asked for, if a map of them can be given; None if not."""
        place = layout.together(self.layers) if self.rows is None else None
        if place is None or self._in_budget(layout) or exceeds_budget((place.stop - place.start) * self.count):
            return place
        return None  # it is copied, because what the budget holds can be written to

    def writable(self, layout: Layout) -> bool:
        """Tell whether a map of a file is given that can be written to; what is copied is given back as it is read."""
        return self._in_budget(layout) and self.as_it_lies(layout) is not None

    def _in_budget(self, layout: Layout) -> bool:
        return not exceeds_budget(layout.row_bytes * self.count)

    def of(self, found: Mapping[str, Recording]) -> Recorded:
        one = found[self.layers[0]]
        place = self.as_it_lies(one.layout)
        if place is None:
            rows = range(self.count) if self.rows is None else self.rows
            return Recorded.of({layer: found[layer].layer(layer) for layer in self.layers}, rows)
        matrix = one.layout.matrix(one.rows, place, self.layers)
        return Recorded(matrix, {layer: one.layout.shapes[layer] for layer in self.layers})


def _read(
    group: Group, asked: _Asked, layers: Sequence[str] | None = None, *, mend: bool = False
) -> dict[str, Recording]:
    """Return where layers lie, those that do; layers that lie together if possible."""
    absent = list(asked.layers if layers is None else layers)
    found: dict[str, Recording] = {}
    for entry in group.candidates(absent):
        here = [layer for layer in entry.layers if layer in absent]
        recording = entry.read(writable=asked.writable, mend=mend) if here else None
        if recording is not None:
            found |= dict.fromkeys(here, recording)
            absent = [layer for layer in absent if layer not in found]
        if not absent:
            break
    return found


def _fill(work: Extraction, entry: Entry, parts: Parts, stamp: Stamps, asked: _Asked) -> tuple[str, Recording]:
    """Compute what is missing of an entry, and declare it whole unless the model or the stimuli have changed.

    Returns whether it was begun before, and what was recorded.
    """
    missing = entry.missing()
    outcome = "miss" if missing == [(0, work.count)] else "resumed"
    memory: _InMemory | None = None
    try:
        for start, stop in missing:
            with closing(work.batches(entry.layers, start, stop)) as batches:
                for batch in batches:
                    memory = _put(entry, batch, memory)
        reason = _why_not_as_before(work, parts, stamp, () if outcome == "resumed" else MAY_CHANGE)
        trouble = _finish(entry, work) if reason is None and memory is None else None
    except BaseException as error:
        if isinstance(error, CacheTroubleError) or _why_not_as_before(work, parts, stamp) is not None:
            _discard(entry)
        raise
    if reason is None and memory is None and trouble is None:
        recording = entry.read(writable=asked.writable)
    else:
        recording = memory.recording() if memory else entry.read_unfinished(writable=asked.writable)
        _discard(entry)
    if reason is not None:
        _say_uncached(work, reason)
    if recording is None:
        raise CacheTroubleError(f"what was written to {entry.folder} cannot be read")
    return outcome, recording


def _finish(entry: Entry, work: Extraction) -> CacheTroubleError | None:
    """Declare an entry whole; return what keeps it from being that although all values lie there."""
    try:
        entry.finish({layer: notes for layer in entry.layers if (notes := work.notes(layer))})
    except CacheTroubleError as error:
        _say_without_cache(error)
        return error
    return None


def _discard(entry: Entry) -> None:
    with suppress(OSError):  # what is left of it is not taken for whole
        entry.discard()


# --- without the disk ------------------------------------------------------------------------------------------------


class _InMemory:
    """Hold what the disk does not take, so that nothing that a model has computed is lost or computed again.

    Raises
    ------
    CacheTroubleError
        It exceeds the budget.
    """

    def __init__(self, layers: Sequence[str], count: int, batch: Batch) -> None:
        self._layout = Layout.of({layer: batch.activations[layer] for layer in layers})
        if exceeds_budget(self._layout.row_bytes * count):
            raise CacheTroubleError("what cannot be written exceeds the memory that BRAINSCORE_MEMORY_GB allows")
        self.rows = np.empty((count, self._layout.row_bytes), np.uint8)

    def put(self, batch: Batch) -> None:
        """Add the activations of a batch."""
        values = {layer: batch.activations[layer] for layer in self._layout.layers}
        self._layout.check(values)
        joined = b"".join(pieces(list(values.values())))
        self.rows[batch.start : batch.stop] = np.frombuffer(joined, np.uint8).reshape(batch.stop - batch.start, -1)

    def recording(self) -> Recording:
        """Return all of it."""
        return Recording(self.rows, self._layout)


def _put(entry: Entry, batch: Batch, memory: _InMemory | None) -> _InMemory | None:
    """Put a batch into an entry; from the first time on that this fails, this batch and those before it into memory."""
    if memory is None:
        try:
            entry.put(batch.start, batch.activations)
        except CacheTroubleError as error:
            memory = _InMemory(entry.layers, entry.n_stimuli, batch)
            entry.read_batches(memory.rows)
            _say_without_cache(error)
        else:
            return None
    memory.put(batch)
    return memory


def _record_in_memory(work: Extraction, layers: Sequence[str]) -> Recording:
    memory: _InMemory | None = None
    with closing(work.batches(layers, 0, work.count)) as batches:
        for batch in batches:
            memory = memory or _InMemory(layers, work.count, batch)
            memory.put(batch)
    if memory is None:
        raise CacheTroubleError("there is nothing to compute")
    return memory.recording()


def _say_without_cache(error: CacheTroubleError) -> None:
    _logger.warning("The activations are computed without the cache, which cannot be used: %s", error)


# --- is it still what it was -----------------------------------------------------------------------------------------


def _why_not_as_before(
    work: Extraction, parts: Parts, stamp: Stamps, may_change: Collection[str] = ()
) -> TypeError | str | None:
    """Return why what was recorded does not belong to its key, None if it does."""
    try:
        now = work.model_parts()
    except TypeError as error:
        return error
    # A stimulus that is gone by now cannot have changed what was recorded of it.
    same_stimuli = all(new in (old, None) for old, new in zip(stamp, work.stamp(), strict=True))
    same_model = all(parts.get(name) == value or name in may_change for name, value in now.items())
    return None if same_stimuli and same_model else "the model or stimuli changed while they were recorded"


def _say_uncached(work: Extraction, reason: TypeError | str) -> None:
    """Say once of each model why its activations are not cached, unless that is how it was made."""
    said = str(work.about.get("model")), str(reason)
    known = isinstance(reason, TypeError) and not isinstance(reason, NotDigestibleError)
    _logger.log(
        logging.DEBUG if known or said in _said else logging.WARNING,
        "The activations of the model %r are not cached: %s.", said[0], said[1].rstrip("."),
    )  # fmt: skip
    _said.add(said)


@contextmanager
def _lock(folder: Path) -> Iterator[None]:
    lock = locked(folder)
    try:
        lock.__enter__()
    except (OSError, NotImplementedError) as error:  # the latter where the file system has no locks
        raise CacheTroubleError(str(error)) from error
    try:
        yield
    finally:
        lock.__exit__(None, None, None)


@contextmanager
def _lock_free() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        _logger.warning("No room could be made in the activation cache: %s", error)


def file_stamps(paths: Sequence[str]) -> Stamps:
    """Return the stamp of each file; None if it does not exist."""
    return [file_stamp(path) for path in paths]
