"""The result of one model on one benchmark, stored as one JSON file."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar
from urllib.parse import quote

from pydantic import AfterValidator, Field, Strict

from brainscore_core.errors import CorruptFileError
from brainscore_core.files import atomic_path
from brainscore_core.identity import software
from brainscore_core.names import is_device_name
from brainscore_core.records import from_score
from brainscore_core.untrusted import (
    MOST_NAME,
    Flag,
    Identifier,
    Untrusted,
    adapter_of,
    at_most,
    checked,
    matching,
    parse,
    read_start,
    shown,
    text,
)

if TYPE_CHECKING:
    from brainscore_core.metrics import Score
    from brainscore_core.statistics.averages import Estimate

__all__ = [
    "MADE",
    "MOST_BYTES",
    "NOT_APPLICABLE",
    "SCHEMA_VERSION",
    "ScoreRecord",
    "Status",
    "file_name_of",
    "json_schema",
    "record_path",
    "values_path",
]

SCHEMA_VERSION = 5
MOST_BYTES = 2**20  # of one record
NOT_APPLICABLE = "not_applicable"
MADE = ("created", "duration_s", "machine", "peak_memory_bytes")
"""Fields that differ when the same pair is scored again; in the file they form the block ``made``."""

_MOST_MESSAGE, _MOST_TAIL, _MOST_LAYERS, _MOST_DEPTH, _LARGEST = 1_000, 4_000, 100_000, 10, 10**15
_MOST_REASON, _MOST_SOURCES, _MOST_INFLUENCE, _MOST_PARTS = 500, 10, 8_192, 1_000
_MOST_UNEXPLAINED = 20.0
"""Largest score, in units of the ceiling, of a record without a stated normalisation; 99 is probably a percentage."""

_STATUS = re.compile(r"scored|not_applicable|failed:[A-Za-z_][\w.]{0,99}|skipped:[^\n]{1,900}", re.ASCII)

Small = TypeVar("Small", bound=Mapping[str, object])


def _printable(value: str) -> str:
    if not value.isprintable():
        raise ValueError("expected printable characters")
    return value


def _small(value: Small) -> Small:
    level: list[object] = [*value.values()]
    depth = 1
    while level and depth < _MOST_DEPTH:
        depth += 1
        lists = [value for value in level if isinstance(value, list)]
        dicts = [value for value in level if isinstance(value, dict)]
        level = [entry for group in (*lists, *(mapping.values() for mapping in dicts)) for entry in group]
    # JSON has at most twelve characters for one, and is slower to write.
    if level or (len(str(value)) > _MOST_LAYERS / 12 and len(json.dumps(value)) > _MOST_LAYERS):
        raise ValueError(f"expected at most {_MOST_LAYERS} characters of JSON, {_MOST_DEPTH} levels deep")
    return value


# Bounds of the fields: anybody may have written a record.
_Name = Annotated[str, Field(min_length=1, max_length=MOST_NAME), AfterValidator(_printable)]
_Number = Annotated[float, Strict(), Field(gt=-_LARGEST, lt=_LARGEST)]
_Integer = Annotated[int, Strict(), Field(gt=-_LARGEST, lt=_LARGEST)]
_Positive = Annotated[float, Strict(), Field(ge=0, lt=_LARGEST)]
_Ceiling = Annotated[float, Strict(), Field(gt=0, le=1 + 1e-6)]  # as `as_ceiling` accepts them
_Reason = Annotated[str, text(_MOST_REASON)]
_Sketch = Annotated[str, Field(max_length=_MOST_INFLUENCE, pattern=r"^[A-Za-z0-9+/]*={0,2}$")]  # base64
_FewParts = Field(max_length=_MOST_PARTS)  # `at_most` of a mapping needs pydantic 2.14
_Digests = Annotated[Mapping[_Name, _Name], _FewParts]
Status = Annotated[
    str,
    matching(_STATUS, "'scored', 'not_applicable', 'failed:<class>' or 'skipped:<reason>'"),
    Field(json_schema_extra={"pattern": f"^({_STATUS.pattern})$"}),
]


@dataclass(frozen=True, kw_only=True)
class ScoreRecord(Untrusted):
    """One score and its provenance; numbers are plain floats, None if missing.

    Attributes
    ----------
    model, benchmark
        Registered identifiers.
    canonical
        Identifier of the model that `model` is an alias of; None if it is not an alias.
    benchmark_version
        The benchmark's own version.
    score
        Ceiling-normalised score; None for NaN.
    raw, ceiling
        Before normalisation, and its divisor.
    error
        Standard error of the score over new samples of `error_over`.
    interval
        95 % interval of the score, if the benchmark states one.
    n_stimuli, n_neuroids, n_trials, n_subjects
        Size of the measurement.
    n_tested_in_training
        Number of test stimuli of a given split that train too, with the same features; None: none.
    layers
        Region -> recorded layer or layers of the model.
    simulated
        Whether the measurements are simulated.
    seed
        Seed stated by the benchmark.
    duration_s
        Wall-clock time from loading the model to the score.
    created
        UTC time, ISO 8601.
    versions
        Software name -> version.
    machine
        Operating system and architecture.
    source_revision
        Commit of the checkout.
    status
        'scored', 'not_applicable', 'failed:<class of the error>' or 'skipped:<reason>'.
    message
        Message of the error, or why the benchmark is not applicable.
    model_revision, benchmark_revision
        Digest of the plugin's code and dependencies if from planning, otherwise of its folder
        (`sources.folder_revision`); ``'unregistered'`` without a plugin.
    version_class
        Library releases with comparable scores, see `software.version_class`.
    layer_origin
        Region -> origin of its layer: ``from`` and, if it was chosen, the benchmark and the certainty.
    error_over
        Factors that another experiment would sample again, such as ``('stimulus', 'neuroid')``; empty if not stated.
    n_clusters
        Number of clusters of stimuli, if the first of `error_over` is their coordinate, such as ``'object_name'``.
    error_df
        Degrees of freedom of the error; None: infinite or not stated.
    stimulus_error
        Part of `error` over new stimuli only.
    split_error
        Standard error of the mean over splits of these data.
    error_nan_reason, interval_nan_reason
        Why there is no error or no interval.
    influence
        Influences on the score (`InfluenceSketch.to_text`).
    stimulus_set, assembly
        Identifiers of the stimuli and units in `influence`; None: they belong only to this benchmark.
    normalization
        Function from `raw` and `ceiling` to `score`, such as ``'explained_variance'``; None: not stated.
    chance
        Chance level that `normalization` subtracted from both.
    presentation_order
        ``'experiment'`` if the model saw the stimuli in the order of their table; None: in one of their content, see
        `brainscore_core.benchmarks.Benchmark`.
    raw_error, raw_interval, raw_error_df, raw_influence
        As without ``raw_``, before normalisation. `raw_influence` is present only if the ceiling has influences too;
        otherwise it follows from `influence`.
    ceiling_error, ceiling_interval, ceiling_error_over
        As without ``ceiling_``, for the ceiling.
    ceiling_nan_reason
        Why the ceiling has no error or no interval.
    ceiling_estimator
        Estimator of the ceiling; None: not stated.
    seeds
        ``'raw'`` and ``'ceiling'`` -> seed of the splits of metric and ceiling, and further seeds of the benchmark.
    data
        ``'<kind>:<identifier>'`` -> content digest of each stimulus set and assembly that the benchmark loaded.
    plugins
        ``'<kind>/<folder>'`` -> digest of the files of each plugin that the benchmark uses, its own included.
    outside_plugins
        ``'<kind>/<folder>'`` -> git commit (`sources.folder_commit`) of each plugin from outside the library, the
        model's included.
    weights
        Digest of the model's parameters and buffers; None if the model states none.
    library
        Digest of the library's source, without plugins.
    environment
        Digest of names and versions of all installed distributions (`software.installed`).
    candidate_environment
        The same for the model's environment, if it had its own.
    isolation
        Where the model ran: ``'box'``, or ``'none'``, in the process of the judge; None: not stated.
    data_access
        ``'unstated'`` if nothing said who may read the data: they were taken to belong to the person who scored, in one
        process with the model. None: stated, or the model was in a box.
    values
        Digest of the file of `brainscore_core.records.values`.
    tail
        Last lines of output.
    peak_memory_bytes
        Peak memory.
    schema_version
        Version of this layout.
    """

    model: Identifier
    benchmark: Identifier
    benchmark_version: _Integer | None
    score: _Number | None
    raw: _Number | None
    ceiling: _Ceiling | None
    error: _Positive | None
    interval: tuple[_Number, _Number] | None
    n_stimuli: _Integer | None
    n_neuroids: _Integer | None
    n_trials: _Integer | None
    layers: Annotated[Mapping[str, object], AfterValidator(_small)]
    simulated: Flag
    seed: _Integer | None
    duration_s: _Positive | None
    created: _Name
    versions: Annotated[Mapping[str, str], AfterValidator(_small)]
    machine: _Name
    source_revision: _Name | None
    status: Status = "scored"
    message: Annotated[str, text(_MOST_MESSAGE)] = ""
    model_revision: _Name | None = None
    benchmark_revision: _Name | None = None
    version_class: _Name = field(default_factory=software.version_class)
    canonical: Identifier | None = None
    layer_origin: Annotated[Mapping[str, object], AfterValidator(_small)] = field(default_factory=dict)
    error_over: Annotated[tuple[_Name, ...], at_most(_MOST_SOURCES)] = ()
    error_df: _Number | None = None
    stimulus_error: _Positive | None = None
    split_error: _Positive | None = None
    error_nan_reason: _Reason | None = None
    interval_nan_reason: _Reason | None = None
    influence: _Sketch | None = None
    stimulus_set: _Name | None = None
    assembly: _Name | None = None
    n_subjects: _Integer | None = None
    n_clusters: _Integer | None = None
    n_tested_in_training: _Integer | None = None
    normalization: _Name | None = None
    chance: _Number = 0.0
    presentation_order: Literal["experiment"] | None = None
    raw_error: _Positive | None = None
    raw_interval: tuple[_Number, _Number] | None = None
    raw_error_df: _Number | None = None
    raw_influence: _Sketch | None = None
    ceiling_error: _Positive | None = None
    ceiling_interval: tuple[_Number, _Number] | None = None
    ceiling_error_over: Annotated[tuple[_Name, ...], at_most(_MOST_SOURCES)] = ()
    ceiling_nan_reason: _Reason | None = None
    ceiling_estimator: _Reason | None = None
    seeds: Annotated[Mapping[_Name, _Integer], _FewParts] = field(default_factory=dict)
    data: _Digests = field(default_factory=dict)
    plugins: _Digests = field(default_factory=dict)
    outside_plugins: _Digests = field(default_factory=dict)
    weights: _Name | None = None
    library: _Name | None = None
    environment: _Name | None = None
    candidate_environment: _Name | None = None
    isolation: Literal["box", "none"] | None = None
    data_access: Literal["unstated"] | None = None
    values: _Name | None = None
    tail: Annotated[str, text(_MOST_TAIL)] = ""
    peak_memory_bytes: _Integer | None = None
    schema_version: _Integer = SCHEMA_VERSION

    @property
    def is_scored(self) -> bool:
        """Whether scoring succeeded, with a score or with "not applicable"."""
        return self.status in ("scored", NOT_APPLICABLE)

    @property
    def created_in_utc(self) -> str:
        """`created` as a UTC time, whatever zone it names (none: UTC); unchanged if it is not a time."""
        try:
            time = datetime.fromisoformat(self.created)
            return (time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)).isoformat()
        except (ValueError, OverflowError):
            return self.created

    @classmethod
    def of_score(cls, score: Score, *, model: str, benchmark: str, **fields: Any) -> ScoreRecord:  # fields of the class
        """Make the record of a score from its value and attributes.

        Parameters
        ----------
        score
            0-d; NaN means 'not_applicable'. Attributes named like a field become that field; ``not_applicable`` becomes
            the message; the ceiling's, such as ``error``, become ``ceiling_...``.
        **fields
            Further fields, such as ``duration_s``.
        """
        numbers = {"benchmark_version": from_score.integer, "duration_s": from_score.number}
        content: dict[str, Any] = from_score.fields(score, benchmark)  # fields of the class
        content |= {name: numbers[name](value) if name in numbers else value for name, value in fields.items()}
        return cls.without_score(
            NOT_APPLICABLE if math.isnan(float(score)) else "scored",
            str(score.attrs.get("not_applicable", "")),
            model=model,
            benchmark=benchmark,
            **content,
        )

    @classmethod
    def without_score(
        cls,
        status: str,
        message: str = "",
        *,
        model: str,
        benchmark: str,
        tail: str = "",
        **fields: Any,  # fields of the class
    ) -> ScoreRecord:
        """Make the record of a pair without a score, with the start of a message and the end of the output."""
        # Numbers that every record states; None without a score.
        numbers = ("benchmark_version", "score", "raw", "ceiling", "error", "interval", "n_stimuli", "n_neuroids")
        empty = dict.fromkeys((*numbers, "n_trials", "seed", "duration_s"))
        content = {
            **empty,
            "layers": {},
            "simulated": False,
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "versions": software.versions(),
            "machine": software.machine(),
            **fields,
        }
        if "source_revision" not in content:
            content["source_revision"] = software.source_revision()  # asks git
        return cls(
            model=model,
            benchmark=benchmark,
            status=status,
            message=_encodable(message[:_MOST_MESSAGE]),
            tail=_encodable(tail[-_MOST_TAIL:]),
            **content,
        )

    def to_json(self, *, indent: int | None = 2) -> str:
        """Return the record as JSON text with a final line break, keys in class order and `MADE` at the end.

        Equal inputs give equal text except for the block ``made``. Without an `indent`, it is one line.
        """
        content = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        content["made"] = {name: content.pop(name) for name in MADE}
        return json.dumps(content, indent=indent, ensure_ascii=False, allow_nan=False) + "\n"

    def estimate(self, *, of_same_benchmark: bool = False) -> Estimate:
        """Return value, error and influences of the score; their sketch is scaled to the exact error.

        Unless it is only compared with records `of_same_benchmark`, a record that names no stimulus set and assembly
        has no influences, since others may share these under other names.
        """
        from brainscore_core.statistics.averages import Estimate  # brings NumPy, see `number`
        from brainscore_core.statistics.sketch import InfluenceSketch

        nan = float("nan")
        value, error = (nan if number is None else number for number in (self.score, self.error))
        reason = (self.message or self.status) if self.score is None else (self.error_nan_reason or "")
        sketch = None
        if self.influence is not None and (of_same_benchmark or None not in (self.stimulus_set, self.assembly)):
            sketch = InfluenceSketch.from_text(self.influence)
            sketch = sketch * (error / sketch.error) if sketch.error > 0 and math.isfinite(error) else None
        return Estimate(value, error, reason, float("inf") if self.error_df is None else self.error_df, sketch)

    def checked_json(self) -> str:
        """Return `to_json`; raise `CorruptFileError` if `from_json` would refuse it."""
        content = self.to_json()
        self.from_json(content, f"The result of {shown(self.model)} on {shown(self.benchmark)}")
        return content

    def write(self, path: str | Path) -> Path:
        """Write the record, whole or not at all, and return its path; for errors see `checked_json`."""
        target, content = Path(path), self.checked_json()
        with atomic_path(target) as temporary:
            temporary.write_text(content, encoding="utf-8")
        return target

    @classmethod
    def read(cls, path: str | Path) -> ScoreRecord:
        """Read a record; raise `CorruptFileError` if it is too large or invalid."""
        return cls.from_json(read_start(Path(path), MOST_BYTES), str(path))

    @classmethod
    def from_json(cls, data: str | bytes, where: str = "This") -> ScoreRecord:
        """Read a record that `to_json` wrote; errors name `where`.

        Raises `CorruptFileError` if a field has another type or size, an error or a duration is negative, a ceiling is
        not in (0, 1], or the score does not follow from raw score and ceiling by the stated normalisation, clipped to
        [0, 1] or not. Scores with another normalisation or none cannot be recomputed; for them only the size is
        checked.
        """
        try:
            record = checked(
                adapter_of(cls), _unnested(parse(data, "record", MOST_BYTES)), "wrong type or size at record"
            )
            _check_score(record)
        except CorruptFileError as error:
            raise CorruptFileError(f"{where} is not a valid score record: {error} Score the pair again.") from error
        return record


def _check_score(record: ScoreRecord) -> None:
    """Raise `CorruptFileError` if the score contradicts raw score and ceiling, see `ScoreRecord.from_json`."""
    score, raw, ceiling = record.score, record.raw, record.ceiling
    if score is None:
        return
    expected = from_score.normalised(raw, ceiling, record.normalization, record.chance)
    if expected is None:
        if abs(score) > _MOST_UNEXPLAINED:
            raise CorruptFileError(
                f"Its score is {score:g}, and no normalisation of raw score and ceiling explains it; expected 0 "
                f"(chance) to 1 (the ceiling), and at most {_MOST_UNEXPLAINED:g}. If it is in percent, divide it by "
                "100."
            )
    elif not from_score.follows(score, expected, or_clipped=True):
        raise CorruptFileError(
            f"Its score is {score:.6g}, but {record.normalization} of its raw score {raw} and its ceiling "
            f"{ceiling} is {expected:.6g}."
        )


def _unnested(content: object) -> object:
    """Move the values of block ``made`` up to the others."""
    if not isinstance(content, dict):
        return content
    version, made = content.get("schema_version"), content.get("made")
    if version != SCHEMA_VERSION:
        raise CorruptFileError(f"It has schema version {shown(version)}, expected {SCHEMA_VERSION}.")
    if not isinstance(made, dict) or set(made) != set(MADE) or not content.keys().isdisjoint(MADE):
        raise CorruptFileError(f"Its block 'made' is {shown(made)}; expected exactly {', '.join(MADE)}.")
    content.pop("made")
    return content | made


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of a record's file."""
    schema = adapter_of(ScoreRecord).json_schema()
    about = {name: schema["properties"].pop(name) for name in MADE}
    provenance = {"type": "object", "properties": about, "required": list(MADE), "additionalProperties": False}
    schema["properties"]["made"] = provenance
    schema["properties"]["schema_version"] = {"const": SCHEMA_VERSION}
    schema["required"] = list(schema["properties"])
    schema["description"] = str(ScoreRecord.__doc__).partition("\n")[0]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def record_path(folder: Path, model: str, benchmark: str) -> Path:
    """Return the path of a pair's record: ``<folder>/<benchmark>/<model>.json``.

    Characters that file names cannot hold are percent-encoded, and one character of each name that a file system
    reserves or changes.
    """
    return folder / file_name_of(benchmark) / f"{file_name_of(model)}.json"


def _encodable(said: str) -> str:
    return said.encode("utf-8", "replace").decode("utf-8")


def values_path(record: Path) -> Path:
    """Return the path of the values next to a record, see `brainscore_core.records.values`."""
    return record.with_name(f"{record.name.removesuffix('.json')}.values.npz")


def file_name_of(identifier: str) -> str:
    """Return an identifier as part of a path, see `record_path`."""
    name = quote(identifier, safe=" +=@,()[]").replace("~", "%7E")  # 'GIT~1' is '.git' for Windows
    if name.startswith(".") or is_device_name(name):  # hidden, '.' or '..'
        name = f"%{ord(name[0]):02X}{name[1:]}"
    return f"{name[:-1]}%{ord(name[-1]):02X}" if name.endswith((".", " ")) else name  # Windows would drop it
