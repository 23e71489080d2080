"""Keep the result of one model on one benchmark as one JSON file."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np

from brainscore_core import caching
from brainscore_core.errors import CorruptFileError
from brainscore_core.scoring import provenance

if TYPE_CHECKING:
    from brainscore_core.metrics import Score

__all__ = ["SCHEMA_VERSION", "ScoreRecord", "record_path"]

SCHEMA_VERSION = 1


@dataclass(frozen=True, kw_only=True)
class ScoreRecord:
    """What is kept about one score; every number is a plain float and every missing one is None.

    Attributes
    ----------
    model, benchmark : str
        Identifiers, as they are registered.
    benchmark_version : int or None
        The benchmark's own version.
    score : float or None
        Ceiling-normalised score; None if the model cannot be scored on this benchmark (NaN).
    raw, ceiling, error : float or None
        Score before normalisation, ceiling, and standard error of the score.
    interval : tuple of float or None
        95 % interval of the score, where the benchmark states one.
    n_stimuli, n_neuroids, n_trials : int or None
        Size of the measurement.
    layers : dict
        Region -> layer (or layers) of the model that was recorded.
    simulated : bool
        True if the measurements are simulated, not biological.
    seed : int or None
        Seed of the metric's splits.
    duration_s : float or None
        Wall-clock time from loading the model to the score.
    created : str
        UTC time, ISO 8601.
    versions : dict
        Software name -> version.
    machine : str
        Operating system and architecture.
    source_revision : str or None
        Commit of the checkout that ran.
    schema_version : int
        Version of this layout.
    """

    model: str
    benchmark: str
    benchmark_version: int | None
    score: float | None
    raw: float | None
    ceiling: float | None
    error: float | None
    interval: tuple[float, float] | None
    n_stimuli: int | None
    n_neuroids: int | None
    n_trials: int | None
    layers: Mapping[str, Any]
    simulated: bool
    seed: int | None
    duration_s: float | None
    created: str
    versions: Mapping[str, str]
    machine: str
    source_revision: str | None
    schema_version: int = field(default=SCHEMA_VERSION)

    @classmethod
    def of_score(
        cls,
        score: Score,
        *,
        model: str,
        benchmark: str,
        benchmark_version: object = None,
        duration_s: float | None = None,
    ) -> ScoreRecord:
        """Make the record of a score from its value and attributes.

        Parameters
        ----------
        score : Score
            0-d, with any of the attributes ``raw``, ``ceiling``, ``error``, ``interval``, ``n_stimuli``,
            ``n_neuroids``, ``n_trials``, ``layers``, ``simulated`` and ``seed``.
        model, benchmark : str
            Identifiers.
        benchmark_version : object
            The benchmark's version; kept if it is an integer.
        duration_s : float, optional
            How long it took.
        """
        attrs = score.attrs
        interval = attrs.get("interval")
        low, high = (_number(interval[0]), _number(interval[1])) if interval is not None else (None, None)
        return cls(
            model=model,
            benchmark=benchmark,
            benchmark_version=_integer(benchmark_version),
            score=_number(score),
            raw=_number(attrs.get("raw")),
            ceiling=_number(attrs.get("ceiling")),
            error=_number(attrs.get("error")),
            interval=(low, high) if low is not None and high is not None else None,
            n_stimuli=_integer(attrs.get("n_stimuli")),
            n_neuroids=_integer(attrs.get("n_neuroids")),
            n_trials=_integer(attrs.get("n_trials")),
            layers={str(region): layer for region, layer in dict(attrs.get("layers") or {}).items()},
            simulated=bool(attrs.get("simulated", False)),
            seed=_integer(attrs.get("seed")),
            duration_s=_number(duration_s),
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            versions=provenance.versions(),
            machine=provenance.machine(),
            source_revision=provenance.source_revision(),
        )

    def to_json(self) -> str:
        """Return the record as JSON text, keys in the order of the class, ending with a line break."""
        return json.dumps(dataclasses.asdict(self), indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    def write(self, path: str | Path) -> Path:
        """Write the record, whole or not at all, and return where it is."""
        target = Path(path)
        with caching.atomic_path(target) as temporary:
            temporary.write_text(self.to_json(), encoding="utf-8")
        return target

    @classmethod
    def read(cls, path: str | Path) -> ScoreRecord:
        """Read a record.

        Raises
        ------
        CorruptFileError
            If the file is not JSON, lacks a field or has another schema version.
        """
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8"))
            record = cls(**content)
        except (ValueError, TypeError) as error:
            raise CorruptFileError(f"{path} is no score record: {error}. Score the pair again.") from error
        if record.schema_version != SCHEMA_VERSION:
            raise CorruptFileError(
                f"{path} has schema version {record.schema_version}, expected {SCHEMA_VERSION}. Score the pair again."
            )
        low_high = record.interval
        return record if low_high is None else dataclasses.replace(record, interval=(low_high[0], low_high[1]))


def record_path(folder: Path, model: str, benchmark: str) -> Path:
    """Return where the record of a pair is kept: ``<folder>/<benchmark>/<model>.json``.

    Identifiers may hold any character; those that a file name cannot are percent-encoded.
    """
    return folder / _file_name(benchmark) / f"{_file_name(model)}.json"


def _file_name(identifier: str) -> str:
    # A leading dot would hide the file, and '.' and '..' are folders.
    name = quote(identifier, safe=" +=@,()[]")
    return "%2E" + name[1:] if name.startswith(".") else name


def _number(value: object) -> float | None:
    """Return a finite float, or None for None, NaN, and values that are no single number."""
    if value is None:
        return None
    array = np.asarray(getattr(value, "values", value))
    if array.size != 1 or array.dtype.kind not in "biuf":
        return None
    number = float(array.reshape(()))
    return number if math.isfinite(number) else None


def _integer(value: object) -> int | None:
    number = _number(value)
    return int(number) if number is not None and number == int(number) else None
