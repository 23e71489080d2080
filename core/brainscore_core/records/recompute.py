"""Divide the raw scores of records by another ceiling, with their uncertainty, without running any model.

Records state raw score and ceiling with their errors separately. Only the covariance comes from influence sketches,
which scatter by about 2 %; the rest is exact. `differences` names what changed where a pair was scored again.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from brainscore_core.benchmarks import as_ceiling, ceil_score, explained_variance
from brainscore_core.errors import CeilingError
from brainscore_core.metrics import Score
from brainscore_core.metrics.errors import UNCERTAIN_CEILING
from brainscore_core.records import from_score
from brainscore_core.records.record import MADE, ScoreRecord, record_path
from brainscore_core.records.store import FolderStore
from brainscore_core.records.values import read_values, values_of, write_values
from brainscore_core.statistics.influence import Influence, fieller_from_variances, t_quantile
from brainscore_core.statistics.sketch import InfluenceSketch

__all__ = [
    "Difference",
    "NotFromRecordError",
    "Renormalisation",
    "differences",
    "not_comparable",
    "renormalise",
    "renormalised",
]


_SAME = 1e-9  # largest relative difference by rounding
_LAWFUL = {"explained_variance": ("reliability", "dissimilarity_reliability")}


class NotFromRecordError(CeilingError):
    """A score cannot be computed from its record: score the pair again."""


@dataclass(frozen=True)
class Renormalisation:
    """The change of one record; if there is a `problem`, it stays as it was."""

    before: ScoreRecord
    after: ScoreRecord
    problem: str = ""

    @property
    def is_new(self) -> bool:
        """Whether the record changes."""
        made = dict.fromkeys(MADE)
        return dataclasses.asdict(self.before) | made != dataclasses.asdict(self.after) | made


def renormalise(
    folder: Path,
    benchmark: str,
    ceiling: Score,
    *,
    version: int | None = None,
    revision: str | None = None,
    dry_run: bool = False,
) -> list[Renormalisation]:
    """Divide the raw scores of a benchmark's records by its present ceiling, 0-d, and rewrite each record atomically.

    A repeated call resumes an interrupted one.

    Parameters
    ----------
    version
        Present version of the benchmark. None: as in the records.
    revision
        Present revision of the benchmark's plugin, for records that name only its folder; others keep theirs.

    Returns
    -------
    list of Renormalisation
        One for every record of the benchmark, sorted by model.
    """
    changes = []
    for record in FolderStore(folder).whole():
        if record.benchmark != benchmark:
            continue
        try:
            after = renormalised(record, ceiling)
        except CeilingError as error:
            changes.append(Renormalisation(record, record, str(error)))
            continue
        if version is not None:
            after = dataclasses.replace(after, benchmark_version=version)
        if revision and (record.benchmark_revision or "").startswith("folder-"):
            after = dataclasses.replace(after, benchmark_revision=revision)
        change = Renormalisation(record, after)
        if change.is_new and not dry_run:
            after = _written(after, record_path(folder, after.model, after.benchmark), ceiling)
            change = Renormalisation(record, after)
        changes.append(change)
    return sorted(changes, key=lambda change: change.before.model)


def _written(record: ScoreRecord, path: Path, ceiling: Score) -> ScoreRecord:
    """Write a record, after its values of single neuroids, which include the new ceiling's."""
    if record.values:
        holder = Score(0.0)
        holder.attrs["ceiling"] = ceiling
        try:
            values = {
                name: array for name, array in read_values(path, record.values).items() if name.startswith("raw.")
            }
            record = dataclasses.replace(record, values=write_values(path, values | values_of(holder)))
        except OSError:  # missing or of another run: the record no longer names them
            record = dataclasses.replace(record, values=None)
    record = dataclasses.replace(record, created=datetime.now(UTC).isoformat(timespec="seconds"))
    record.write(path)
    return record


def renormalised(record: ScoreRecord, ceiling: Score) -> ScoreRecord:
    """Return the record of the same raw score, divided by another ceiling, 0-d, exact without attrs ``influence``.

    Raises
    ------
    NotFromRecordError
        If there is no score, no stated normalisation, or the score does not follow from raw score and ceiling, as for a
        mean over subjects with own ceilings.
    CeilingError
        If the ceiling is not a usable number, or of a quantity that does not fit this raw score.
    """
    raw, slope_before = _checked(record)
    of_ceiling = as_ceiling(ceiling, of=f"benchmark {record.benchmark!r}")
    quantity = of_ceiling.attrs.get("quantity")
    lawful = _LAWFUL.get(str(record.normalization))
    if quantity is not None and lawful is not None and quantity not in lawful:
        raise CeilingError(
            f"The ceiling of {record.benchmark!r} is a {quantity} now, and its scores are normalised with "
            f"{record.normalization}, which needs a {' or '.join(lawful)}. Score the pairs again."
        )
    about = from_score.of_ceiling(of_ceiling)
    if _is_unchanged(record, float(of_ceiling), about):
        texts = {name: about[name] for name in ("ceiling_error_over", "ceiling_nan_reason", "ceiling_estimator")}
        return dataclasses.replace(record, **texts)  # with its exact uncertainty
    score = _divided(record, raw, of_ceiling)
    slope = _slope(record, raw, float(of_ceiling))
    fields: dict[str, Any] = {
        "score": float(score),
        "ceiling": float(of_ceiling),
        **about,
        "error": from_score.number(score.attrs.get("error")),
        "interval": score.attrs.get("interval"),
        "split_error": _scaled(record.split_error, slope, slope_before),
        "stimulus_error": _scaled(record.stimulus_error, slope, slope_before),
    }
    if record.influence is not None and record.raw_error is not None and record.error_nan_reason is None:
        fields |= _uncertainty(record, raw, of_ceiling)
    elif fields["interval"] is None and record.interval is None:
        del fields["interval"]
    return dataclasses.replace(record, **fields)


def _is_unchanged(record: ScoreRecord, ceiling: float, about: Mapping[str, Any]) -> bool:
    """Return whether value, error and interval of a ceiling are the record's; `about` is of `from_score.of_ceiling`."""
    pairs = [(ceiling, record.ceiling), (about["ceiling_error"], record.ceiling_error)]
    pairs += zip(about["ceiling_interval"] or (None, None), record.ceiling_interval or (None, None), strict=True)
    return all(
        new is old if new is None or old is None else math.isclose(new, old, rel_tol=_SAME, abs_tol=_SAME)
        for new, old in pairs
    )


def _checked(record: ScoreRecord) -> tuple[float, float]:
    """Return raw score and slope if the score follows from raw score and ceiling."""
    whose = f"{record.model} on {record.benchmark}"
    if record.score is None or record.raw is None or record.ceiling is None:
        raise NotFromRecordError(f"{whose} has no score to divide by a ceiling: {record.status}.")
    expected = from_score.normalised(record.raw, record.ceiling, record.normalization, record.chance)
    if expected is None:
        raise NotFromRecordError(f"The record of {whose} does not state its normalisation. Score the pair again.")
    if not from_score.follows(record.score, expected):
        raise NotFromRecordError(
            f"The score of {whose} is {record.score:.6g}, but {record.normalization} of its raw score and its ceiling "
            f"gives {expected:.6g}: it was clipped or combined from parts with separate ceilings. Score it again."
        )
    return record.raw, _slope(record, record.raw, record.ceiling)


def _divided(record: ScoreRecord, raw: float, ceiling: Score) -> Score:
    score = Score(raw)
    if record.raw_error is not None:
        score.attrs["error"] = record.raw_error
    if record.raw_interval is not None:
        score.attrs["interval"] = record.raw_interval
    if record.normalization == "explained_variance":
        return explained_variance(score, ceiling)
    return ceil_score(score, ceiling, chance=record.chance)


def _slope(record: ScoreRecord, raw: float, ceiling: float) -> float:
    return abs(2 * raw / ceiling) if record.normalization == "explained_variance" else 1 / (ceiling - record.chance)


def _scaled(error: float | None, slope: float, before: float) -> float | None:
    return error * slope / before if error is not None and before else error


def _uncertainty(record: ScoreRecord, raw: float, ceiling: Score) -> dict[str, Any]:
    """Return error, interval and influences of a ratio whose numerator has influences; see `benchmarks.propagate`.

    A squared score is the square of ``t = raw / sqrt(ceiling)``, and its interval is that of t.
    """
    is_squared = record.normalization == "explained_variance"
    top = float(ceiling) - record.chance
    divisor = math.sqrt(top) if is_squared else top
    ratio = (raw - record.chance) / divisor
    sketch = _raw_sketch(record, raw)
    of_raw, freedom = (record.raw_error or 0.0) ** 2, record.raw_error_df
    influence = ceiling.attrs.get("influence")
    moved = sketch * (1 / divisor)
    if isinstance(influence, Influence) and influence.why_unknown is None:
        of_divisor = influence * (1 / (2 * divisor)) if is_squared else influence
        below = InfluenceSketch.of(
            of_divisor, stimuli=record.stimulus_set or record.benchmark, units=record.assembly or record.benchmark
        )
        moved = moved - below * (ratio / divisor)
        variances = (of_raw, of_divisor.variance, sketch.covariance(below))
        variance = (variances[0] + ratio**2 * variances[1] - 2 * ratio * variances[2]) / divisor**2
        freedom = min(freedom or math.inf, influence.degrees_of_freedom)
        quantile = t_quantile(freedom)
        low, high = fieller_from_variances(raw - record.chance, divisor, variances, quantile)
    else:
        variance = of_raw / divisor**2
        low, high = ((end - record.chance) / divisor for end in record.raw_interval or (math.nan, math.nan))
    error = math.sqrt(4 * ratio**2 * variance + 2 * variance**2) if is_squared else math.sqrt(variance)
    ends = (low * abs(low), high * abs(high)) if is_squared else (low, high)
    is_known = not any(map(math.isnan, ends))
    return {
        "error": error,
        "error_df": freedom if freedom is None or math.isfinite(freedom) else None,
        "interval": ends if is_known else None,
        "interval_nan_reason": None if is_known else UNCERTAIN_CEILING,
        "influence": (moved * (2 * abs(ratio)) if is_squared else moved).to_text(),
    }


def _raw_sketch(record: ScoreRecord, raw: float) -> InfluenceSketch:
    """Return the influences on the raw score; if the ceiling was exact, from those on the score."""
    if record.raw_influence is not None:
        return InfluenceSketch.from_text(record.raw_influence)
    slope = _slope(record, raw, record.ceiling or 1.0)
    return InfluenceSketch.from_text(record.influence or "") * (1 / slope if slope else 0.0)


# -- differences between two records -----------------------------------------------------------------------------------
#
# Compare a record with a new one of the same pair, and name the differences.


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
        # None is a statement there: the model had no separate environment.
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
