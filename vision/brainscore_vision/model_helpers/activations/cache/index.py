"""Read and write the indexes of cached activations: JSON lines with checksums.

An entry is a folder with ``values.npy`` (stimulus x unit, layers one after the other, or stimulus x byte if layers
differ in type) and one of two indexes: ``progress.jsonl``, with a line for each finished batch, while it is filled, and
``entry.json`` when it is whole. Both hold the position of each layer, and stimuli and CRC-32 of each batch.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from brainscore_core.identity.stamp import stamp_of
from brainscore_vision.model_helpers.activations.cache.layout import Layout

__all__ = [
    "ENTRY",
    "FORMAT",
    "PROGRESS",
    "VALUES",
    "Parts",
    "Record",
    "boot",
    "layout_of",
    "place_of",
    "read_record",
    "read_text",
    "sealed",
    "signature",
    "size_bytes",
    "unsealed",
]

FORMAT = 3
"""Counted up whenever the meaning of an entry changes."""

Parts = Mapping[str, Any]  # parts of a key by name: plain values of JSON
Record = dict[str, Any]  # an index: plain values of JSON

VALUES, ENTRY, PROGRESS = "values.npy", "entry.json", "progress.jsonl"
_BOOT = Path("/proc/sys/kernel/random/boot_id")


def read_record(folder: Path) -> tuple[str, Parts, int]:
    """Return state (see `entries.Stored`), index and number of stimuli of the entry in a folder."""
    whole = unsealed(read_text(folder / ENTRY))
    records = [whole] if whole else [unsealed(line) for line in read_text(folder / PROGRESS).splitlines() if line]
    if not records or records[0] is None:
        return "damaged", {}, 0
    if records[0].get("format") != FORMAT:
        return "outdated", {}, 0
    if whole is not None:
        return "whole", whole, whole["n_stimuli"]
    batches = {record["start"]: record["stop"] - record["start"] for record in records[1:] if record is not None}
    return "partial", records[0], sum(batches.values())


def read_text(path: Path) -> str:
    """Return the text of a file; empty if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def sealed(record: Record) -> str:
    """Return a record as a line with its checksum."""
    text = json.dumps(record, sort_keys=True)
    return json.dumps({"record": record, "sha256": hashlib.sha256(text.encode()).hexdigest()}, sort_keys=True)


def unsealed(line: str) -> Record | None:
    """Return the record of a line; None if the line is damaged."""
    try:
        outer = json.loads(line)
        record: Record = outer["record"]
        text = json.dumps(record, sort_keys=True)
        intact = outer["sha256"] == hashlib.sha256(text.encode()).hexdigest()
    except (ValueError, KeyError, TypeError):
        return None
    return record if intact else None


def signature(status: os.stat_result) -> list[int | str]:
    """Return a value that differs after a file was changed or the machine was restarted."""
    return [*stamp_of(status), boot()]  # a power cut may lose data that was still in memory


def boot() -> str:
    """Return an identifier of the machine's last start; empty if the system has none."""
    return read_text(_BOOT).strip()


def layout_of(record: Record) -> Layout:
    """Return the layout of the values of an entry."""
    layers = record["layers"]
    shapes = dict(zip(layers, map(tuple, record["shapes"]), strict=True))
    return Layout(shapes, dict(zip(layers, map(np.dtype, record["dtypes"]), strict=True)))


def place_of(record: Record, start: int, stop: int) -> tuple[int, int]:
    """Return offset and number of the bytes of some stimuli."""
    row_bytes = layout_of(record).row_bytes
    return len(record["header"]) // 2 + start * row_bytes, (stop - start) * row_bytes


def size_bytes(record: Record) -> int:
    """Return the size that the file of values should have."""
    return sum(place_of(record, 0, record["n_stimuli"]))
