"""Keep the result of one model on one benchmark as one JSON file."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar
from urllib.parse import quote

from pydantic import AfterValidator, Field, Strict, TypeAdapter

from brainscore_core import caching
from brainscore_core.errors import CorruptFileError
from brainscore_core.scoring import provenance
from brainscore_core.untrusted import MOST_NAME, Flag, Untrusted, checked, matching, parse, read_start, text

if TYPE_CHECKING:
    from brainscore_core.metrics import Score

__all__ = ["MOST_BYTES", "SCHEMA_VERSION", "ScoreRecord", "Status", "record_path"]

SCHEMA_VERSION = 2
MOST_BYTES = 2**20  # of one record
_MOST_MESSAGE, _MOST_LAYERS, _MOST_DEPTH, _LARGEST = 1_000, 100_000, 10, 10**15
_STATUS = re.compile(r"scored|failed:[A-Za-z_][\w.]{0,99}|skipped:[^\n]{1,900}", re.ASCII)

Small = TypeVar("Small", bound=Mapping[str, object])


def _printable(value: str) -> str:
    if not value.isprintable():
        raise ValueError("expected characters that can be printed")
    return value


def _small(value: Small) -> Small:
    level: list[object] = [value]
    for _ in range(_MOST_DEPTH):
        lists = [each for each in level if isinstance(each, list)]
        dicts = [each for each in level if isinstance(each, dict)]
        level = [entry for each in (*lists, *(each.values() for each in dicts)) for entry in each]
    if level or len(json.dumps(value)) > _MOST_LAYERS:
        raise ValueError(f"expected at most {_MOST_LAYERS} characters of JSON, {_MOST_DEPTH} levels deep")
    return value


# What a record may hold: it may have been written by anybody.
_Name = Annotated[str, Field(min_length=1, max_length=MOST_NAME), AfterValidator(_printable)]
_Number = Annotated[float, Strict(), Field(gt=-_LARGEST, lt=_LARGEST)]
_Integer = Annotated[int, Strict(), Field(gt=-_LARGEST, lt=_LARGEST)]
Status = Annotated[str, matching(_STATUS, "'scored', 'failed:<class>' or 'skipped:<reason>'")]


@dataclass(frozen=True, kw_only=True)
class ScoreRecord(Untrusted):
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

    model: _Name
    benchmark: _Name
    benchmark_version: _Integer | None
    score: _Number | None
    raw: _Number | None
    ceiling: _Number | None
    error: _Number | None
    interval: tuple[_Number, _Number] | None
    n_stimuli: _Integer | None
    n_neuroids: _Integer | None
    n_trials: _Integer | None
    layers: Annotated[Mapping[str, object], AfterValidator(_small)]
    simulated: Flag
    seed: _Integer | None
    duration_s: _Number | None
    created: _Name
    versions: Annotated[Mapping[str, str], AfterValidator(_small)]
    machine: _Name
    source_revision: _Name | None
    status: Status = "scored"
    message: Annotated[str, text(_MOST_MESSAGE)] = ""
    model_revision: _Name | None = None
    benchmark_revision: _Name | None = None
    version_class: _Name = field(default_factory=provenance.version_class)
    schema_version: _Integer = SCHEMA_VERSION

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
        benchmark_version : object
            The benchmark's version; kept if it is an integer.
        """
        attrs = score.attrs
        interval = attrs.get("interval")
        low, high = (_number(interval[0]), _number(interval[1])) if interval is not None else (None, None)
        return dataclasses.replace(
            cls.without_score("scored", model=model, benchmark=benchmark, duration_s=_number(duration_s)),
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
            duration_s=duration_s,
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
            If the file is too large, not JSON, lacks a field, has one of a wrong type, or another schema version.
        """
        return cls.from_json(read_start(Path(path), MOST_BYTES), str(path))

    @classmethod
    def from_json(cls, data: str | bytes, where: str = "This") -> ScoreRecord:
        """Read what `to_json` wrote, also with earlier schema versions.

        Raises
        ------
        CorruptFileError
            As `read`; the message names `where`.
        """
        try:
            return checked(_RECORD, _of_this_version(parse(data, "record", MOST_BYTES)), "wrong type or size at record")
        except CorruptFileError as error:
            raise CorruptFileError(f"{where} is no score record: {error} Score the pair again.") from error


_RECORD = TypeAdapter(ScoreRecord)


def _of_this_version(content: object) -> object:
    """Bring the content of an earlier record into the present layout."""
    version = content.get("schema_version") if isinstance(content, dict) else None
    if isinstance(content, dict) and version == 1:  # has no status, because every one was of a score
        versions = content.get("versions")
        release = versions.get("brainscore", "") if isinstance(versions, dict) else ""
        return {**content, "version_class": provenance.version_class(str(release)), "schema_version": SCHEMA_VERSION}
    if isinstance(version, int) and version != SCHEMA_VERSION:
        raise CorruptFileError(f"It has schema version {version}, expected {SCHEMA_VERSION}.")
    return content


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
    import numpy as np  # reading records, as planning does, needs none

    array = np.asarray(getattr(value, "values", value))
    if array.size != 1 or array.dtype.kind not in "biuf":
        return None
    number = float(array.reshape(()))
    return number if math.isfinite(number) else None


def _integer(value: object) -> int | None:
    number = _number(value)
    return int(number) if number is not None and number == int(number) else None
