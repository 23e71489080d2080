"""Read activations from the cache, and compute missing ones."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from brainscore_core.files import locked
from brainscore_core.identity.digest import Stamp, file_stamp
from brainscore_vision.identity.objects import NotDigestibleError
from brainscore_vision.model_helpers.activations.cache.entries import Group, group_of, make_room, note_call
from brainscore_vision.model_helpers.activations.cache.entry import ActivationEntry, CacheTroubleError, Recording
from brainscore_vision.model_helpers.activations.cache.layout import (
    Layout,
    Recorded,
    SideBySide,
    exceeds_budget,
    pieces,
)

if TYPE_CHECKING:
    from brainscore_vision.model_helpers.activations.batches import ImageBatch
    from brainscore_vision.model_helpers.activations.cache.layout import Parts

__all__ = ["Extraction", "extract", "file_stamps"]

_logger = logging.getLogger(__name__)
_said: set[tuple[str, str]] = set()  # model and reason

Stamps = list[Stamp | None]

MAY_CHANGE = frozenset({"model code and settings"})
"""Parts of a key that a model may change while it runs, such as a counter of its calls: the activations of one
uninterrupted run follow from the initial state. That does not hold for resumed runs or changed weights."""


@dataclass(frozen=True)
class Extraction:
    """A request for activations, and functions that compute them.

    Attributes
    ----------
    count
        Distinct stimuli.
    batches
        ``batches(layers, first, stop)`` yields the activations of the stimuli from `first` to before `stop`.
    model_parts, stimuli_parts
        Return the parts of the key, plain values by name; `TypeError` if one has no digest. `model_parts`, which
        includes this process, is called again after a recording.
    stamp
        Returns a cheap value that differs if a stimulus has changed, see `file_stamps`.
    about
        Not in the key, see `ActivationEntry`.
    notes
        ``notes(layer)`` returns plain values to store with the complete activations of a layer.
    """

    layers: Sequence[str]
    count: int
    batches: Callable[[Sequence[str], int, int], Generator[ImageBatch]]
    model_parts: Callable[[], Parts]
    stimuli_parts: Callable[[], Parts]
    stamp: Callable[[], Stamps]
    about: Parts
    notes: Callable[[str], Parts] = lambda layer: {}  # noqa: ARG005 - nothing to note of any layer


def extract(work: Extraction, *, use_cache: bool, rows: Sequence[int] | None = None) -> Recorded:
    """Return the activations of all layers side by side.

    Missing layers are computed and stored together; an interrupted extraction resumes after its last finished batch.
    `rows` are the positions of the stimuli to return; None is each stimulus once.
    """
    if use_cache:
        stamp = work.stamp()
        try:
            parts = {**work.model_parts(), **work.stimuli_parts()}
        except TypeError as error:
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
    recordings = _read(group, asked)
    outcomes = dict.fromkeys(recordings, "hit")
    if absent := asked.without(recordings):
        try:
            with _lock(group.folder):
                recordings |= _read(group, asked, absent, mend=True)
                outcomes |= dict.fromkeys(recordings, "hit")
                if absent := asked.without(recordings):
                    entry = group.entry(absent)
                    outcome, recording = _fill(work, entry, parts, stamp, asked)
                    outcomes |= dict.fromkeys(absent, outcome)
                    recordings |= dict.fromkeys(absent, recording)
        except CacheTroubleError as error:
            _say_without_cache(error)
            absent = asked.without(recordings)
            recordings |= dict.fromkeys(absent, _record_in_memory(work, absent))
            outcomes |= dict.fromkeys(absent, "miss")
        else:
            try:
                make_room(keep=[group.entry(recording.layout.layers).folder for recording in recordings.values()])
            except OSError as error:
                _logger.warning("No room could be made in the activation cache: %s", error)
    note_call(work.about, parts, outcomes)
    return asked.of(recordings)


@dataclass(frozen=True)
class _Asked:
    layers: Sequence[str]
    count: int
    rows: Sequence[int] | None

    def without(self, layers: Collection[str]) -> list[str]:
        return [layer for layer in self.layers if layer not in layers]

    def as_stored(self, layout: Layout) -> slice | None:
        """Return the requested bytes of each row if mapped without a copy; otherwise None."""
        place = layout.together(self.layers) if self.rows is None else None
        if place is None or self._in_budget(layout) or exceeds_budget((place.stop - place.start) * self.count):
            return place
        return None  # copied, because results within the budget are writable

    def writable(self, layout: Layout) -> bool:
        return self._in_budget(layout) and self.as_stored(layout) is not None

    def _in_budget(self, layout: Layout) -> bool:
        return not exceeds_budget(layout.row_bytes * self.count)

    def of(self, recordings: Mapping[str, Recording]) -> Recorded:
        one = recordings[self.layers[0]]
        place = self.as_stored(one.layout)
        if place is None:
            rows = range(self.count) if self.rows is None else self.rows
            return Recorded.of({layer: recordings[layer].layer(layer) for layer in self.layers}, rows)
        matrix = one.layout.matrix(one.rows, place, self.layers)
        return Recorded(matrix, {layer: one.layout.shapes[layer] for layer in self.layers})


def _read(
    group: Group, asked: _Asked, layers: Sequence[str] | None = None, *, mend: bool = False
) -> dict[str, Recording]:
    absent = list(asked.layers if layers is None else layers)
    recordings: dict[str, Recording] = {}
    for entry in group.candidates(absent):
        here = [layer for layer in entry.layers if layer in absent]
        recording = entry.read(writable=asked.writable, mend=mend) if here else None
        if recording is not None:
            recordings |= dict.fromkeys(here, recording)
            absent = [layer for layer in absent if layer not in recordings]
        if not absent:
            break
    return recordings


def _fill(
    work: Extraction, entry: ActivationEntry, parts: Parts, stamp: Stamps, asked: _Asked
) -> tuple[str, Recording]:
    """Return ``miss`` or ``resumed``, and the recording; an entry is whole unless model or stimuli have changed."""
    missing = entry.missing()
    outcome = "miss" if missing == [(0, work.count)] else "resumed"
    memory: _InMemory | None = None
    try:
        for start, stop in missing:
            with closing(work.batches(entry.layers, start, stop)) as batches:
                for batch in batches:
                    memory = _put(entry, batch, memory)
        reason = _why_not_as_before(work, parts, stamp, () if outcome == "resumed" else MAY_CHANGE)
        is_whole = reason is None and memory is None
        if is_whole:
            try:
                entry.finish({layer: notes for layer in entry.layers if (notes := work.notes(layer))})
            except CacheTroubleError as error:  # though all values are stored
                _say_without_cache(error)
                is_whole = False
    except BaseException as error:
        if isinstance(error, CacheTroubleError) or _why_not_as_before(work, parts, stamp) is not None:
            _discard(entry)
        raise
    if is_whole:
        recording = entry.read(writable=asked.writable)
    else:
        recording = memory.recording() if memory else entry.read_unfinished(writable=asked.writable)
        _discard(entry)
    if reason is not None:
        _say_uncached(work, reason)
    if recording is None:
        raise CacheTroubleError(f"the data written to {entry.folder} cannot be read")
    return outcome, recording


def _discard(entry: ActivationEntry) -> None:
    with suppress(OSError):  # the rest is not taken for whole
        entry.discard()


class _InMemory:
    """Activations not stored on disk; `CacheTroubleError` beyond the memory budget."""

    def __init__(self, layers: Sequence[str], count: int, batch: ImageBatch) -> None:
        self._layout = Layout.of({layer: batch.activations[layer] for layer in layers})
        if exceeds_budget(self._layout.row_bytes * count):
            raise CacheTroubleError("the activations exceed the memory that BRAINSCORE_MEMORY_GB allows")
        self.rows = np.empty((count, self._layout.row_bytes), np.uint8)

    def put(self, batch: ImageBatch) -> None:
        values = {layer: batch.activations[layer] for layer in self._layout.layers}
        self._layout.check(values)
        joined = b"".join(pieces(list(values.values())))
        self.rows[batch.start : batch.stop] = np.frombuffer(joined, np.uint8).reshape(batch.stop - batch.start, -1)

    def recording(self) -> Recording:
        return Recording(self.rows, self._layout)


def _put(entry: ActivationEntry, batch: ImageBatch, memory: _InMemory | None) -> _InMemory | None:
    if memory is None:  # after the first failure, all batches stay in memory
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


def _why_not_as_before(
    work: Extraction, parts: Parts, stamp: Stamps, may_change: Collection[str] = ()
) -> TypeError | str | None:
    try:
        now = work.model_parts()
    except TypeError as error:
        return error
    # A stimulus deleted since cannot have changed its recording.
    same_stimuli = all(new in (old, None) for old, new in zip(stamp, work.stamp(), strict=True))
    same_model = all(parts.get(name) == value or name in may_change for name, value in now.items())
    return None if same_stimuli and same_model else "the model or stimuli changed while they were recorded"


def _say_uncached(work: Extraction, reason: TypeError | str) -> None:
    """Warn once for each model and reason, unless made without a digest."""
    message = str(work.about.get("model")), str(reason)
    intended = isinstance(reason, TypeError) and not isinstance(reason, NotDigestibleError)
    _logger.log(
        logging.DEBUG if intended or message in _said else logging.WARNING,
        "The activations of the model %r are not cached: %s.", message[0], message[1].rstrip("."),
    )  # fmt: skip
    _said.add(message)


@contextmanager
def _lock(folder: Path) -> Iterator[None]:
    lock = locked(folder)
    try:
        lock.__enter__()
    except (OSError, NotImplementedError) as error:  # the latter if the file system has no locks
        raise CacheTroubleError(str(error)) from error
    try:
        yield
    finally:
        lock.__exit__(None, None, None)


def file_stamps(paths: Sequence[str]) -> Stamps:
    """Return each file's stamp; None if it does not exist."""
    return [file_stamp(path) for path in paths]
