"""Compare a record with that of the same pair scored again, and name the differences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from brainscore_core.records.record import ScoreRecord

__all__ = ["Difference", "differences", "not_comparable"]

_DIGESTS = (
    ("data", "the data"),
    ("weights", "the weights of the model"),
    ("model_revision", "the source of the model's plugin"),
    ("benchmark_revision", "the source of the benchmark's plugin"),
    ("plugins", "the source of a plugin that the benchmark uses"),
    ("library", "the source of the library"),
    ("environment", "what is installed"),
    ("candidate_environment", "what is installed for the model"),
)
_REST = (
    *("benchmark_version", "status", "raw", "ceiling", "score", "error", "interval", "raw_error", "raw_interval"),
    *("n_stimuli", "n_neuroids", "n_trials", "n_subjects", "n_clusters", "n_tested_in_training", "layers", "seed"),
    *("seeds", "influence", "values"),
)


@dataclass(frozen=True)
class Difference:
    """One difference between two records; `field` also names the entry of a mapping."""

    field: str
    what: str
    before: object
    after: object


def differences(before: ScoreRecord, after: ScoreRecord) -> Iterator[Difference]:
    """Yield the differences, causes first, skipping fields that `not_comparable` names or that vary between runs."""
    for field, what in _DIGESTS:
        if field not in not_comparable(before, after):
            yield from _of_field(field, what, getattr(before, field), getattr(after, field))
    for field in _REST:
        yield from _of_field(field, f"the field {field!r}", getattr(before, field), getattr(after, field))


def not_comparable(before: ScoreRecord, after: ScoreRecord) -> list[str]:
    """Return the digests that cannot be compared: one record has none, or one of another kind."""
    incomparable = []
    for field, _ in _DIGESTS:
        digests = [getattr(record, field) for record in (before, after)]
        # None is a statement there: the model had no environment of its own.
        if (not all(digests) and field != "candidate_environment") or (
            field.endswith("_revision") and len({str(digest).startswith("folder-") for digest in digests}) > 1
        ):
            incomparable.append(field)
    return incomparable


def _of_field(field: str, what: str, before: object, after: object) -> Iterator[Difference]:
    if isinstance(before, Mapping) and isinstance(after, Mapping) and field in ("data", "plugins"):
        for name in sorted({*before, *after}):
            if before.get(name) != after.get(name):
                yield Difference(f"{field}[{name}]", f"{what} ({name})", before.get(name), after.get(name))
    elif before != after:
        yield Difference(field, what, before, after)
