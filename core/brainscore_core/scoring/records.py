"""Keep the result of one model on one benchmark as one JSON file."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Callable, Mapping
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

SCHEMA_VERSION = 2
_MOST_NAME, _MOST_MESSAGE, _MOST_LAYERS, _LARGEST = 400, 1_000, 100_000, 1e15
_STATUS = re.compile(r"scored|failed:[A-Za-z_][\w.]{0,99}|skipped:[^\n]{1,900}", re.ASCII)


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
    status : str
        'scored', 'failed:<class of the error>' or 'skipped:<reason>'.
    message : str
        What the error said; empty if there was none.
    model_revision, benchmark_revision : str or None
        Digest of the code of the plugin and of everything that it uses; None where nobody computed it.
    version_class : str
        Releases of the library whose scores are comparable, see `provenance.version_class`.
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
    status: str = "scored"
    message: str = ""
    model_revision: str | None = None
    benchmark_revision: str | None = None
    version_class: str = field(default_factory=provenance.version_class)
    schema_version: int = SCHEMA_VERSION

    @property
    def is_scored(self) -> bool:
        """Whether there is a score, be it that the model cannot be scored on this benchmark (None)."""
        return self.status == "scored"

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

    @classmethod
    def without_score(
        cls, status: str, message: str = "", *, model: str, benchmark: str, duration_s: float | None = None
    ) -> ScoreRecord:
        """Make the record of a pair that failed or was left out.

        Parameters
        ----------
        status : str
            'failed:<class of the error>' or 'skipped:<reason>'.
        message : str
            What the error said; its first 1,000 characters are kept.
        model, benchmark : str
            Identifiers.
        duration_s : float, optional
            How long it took.
        """
        return cls(
            model=model,
            benchmark=benchmark,
            benchmark_version=None,
            score=None,
            raw=None,
            ceiling=None,
            error=None,
            interval=None,
            n_stimuli=None,
            n_neuroids=None,
            n_trials=None,
            layers={},
            simulated=False,
            seed=None,
            duration_s=_number(duration_s),
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            versions=provenance.versions(),
            machine=provenance.machine(),
            source_revision=provenance.source_revision(),
            status=status,
            message=message[:_MOST_MESSAGE].encode("utf-8", "replace").decode("utf-8"),
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
        return cls.from_json(Path(path).read_bytes(), str(path))

    @classmethod
    def from_json(cls, text: str | bytes, where: str = "This") -> ScoreRecord:
        """Read what `to_json` wrote, also with earlier schema versions.

        Raises
        ------
        CorruptFileError
            As `read`; the message names `where`.
        """
        try:
            content = json.loads(text)
            version = content["schema_version"]
            if version == 1:  # has no status, and every record was of a score
                made_with = provenance.version_class(content["versions"].get("brainscore", ""))
                content = {**content, "version_class": made_with, "schema_version": SCHEMA_VERSION}
            record = cls(**content)
            if record.interval is not None:
                record = dataclasses.replace(record, interval=(record.interval[0], record.interval[1]))
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError) as error:
            raise CorruptFileError(f"{where} is no score record: {error}. Score the pair again.") from error
        if record.schema_version != SCHEMA_VERSION:
            raise CorruptFileError(
                f"{where} has schema version {version}, expected {SCHEMA_VERSION}. Score the pair again."
            )
        wrong = [name for name, is_valid in _VALID.items() if not is_valid(getattr(record, name))]
        if wrong:
            raise CorruptFileError(
                f"{where} is no score record: {', '.join(wrong)} of a wrong type or size. Score the pair again."
            )
        return record


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


# -- what a record may hold: it may have been written by anybody -------------------------------------------------------


def _is_text(value: object, most: int = _MOST_NAME) -> bool:
    return isinstance(value, str) and 0 < len(value) <= most and value.isprintable()


def _is_number(value: object) -> bool:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return value is None or (is_number and abs(value) < _LARGEST)  # type: ignore[arg-type] # a number by now


def _is_integer(value: object) -> bool:
    return value is None or (isinstance(value, int) and not isinstance(value, bool) and abs(value) < _LARGEST)


def _is_small(value: object) -> bool:
    return isinstance(value, dict) and len(json.dumps(value)) <= _MOST_LAYERS


_VALID: Mapping[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("model", "benchmark", "created", "machine", "version_class"), _is_text),
    **dict.fromkeys(("score", "raw", "ceiling", "error", "duration_s"), _is_number),
    **dict.fromkeys(("benchmark_version", "n_stimuli", "n_neuroids", "n_trials", "seed"), _is_integer),
    **dict.fromkeys(
        ("source_revision", "model_revision", "benchmark_revision"), lambda value: value is None or _is_text(value)
    ),
    "interval": lambda value: value is None or all(_is_number(end) and end is not None for end in value),
    "layers": _is_small,
    "versions": lambda value: _is_small(value) and all(isinstance(version, str) for version in value.values()),
    "simulated": lambda value: isinstance(value, bool),
    "status": lambda value: isinstance(value, str) and _STATUS.fullmatch(value) is not None,
    "message": lambda value: isinstance(value, str) and len(value) <= _MOST_MESSAGE,
}
