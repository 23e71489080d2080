"""Convert a score to its record's fields and back, and a record to text; numbers that are not finite become None."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from brainscore_core.statistics import FEW_CLUSTERS, FEW_STIMULI

if TYPE_CHECKING:
    from pathlib import Path

    from brainscore_core.metrics import Score
    from brainscore_core.records.record import ScoreRecord


_COUNTS = ("n_stimuli", "n_tested_in_training", "n_clusters", "n_neuroids", "n_trials", "n_subjects", "seed")
_MOST_REASON, _MOST_SOURCES = 500, 10  # characters; names
_SAME = 1e-6  # largest difference of equal scores, since some are computed in single precision


def fields(score: Score, benchmark: str) -> dict[str, Any]:
    """Return the fields of a `ScoreRecord` that a score determines; `benchmark` owns unnamed stimuli and units."""
    attrs = score.attrs
    return {
        "score": number(score),
        **{name: number(attrs.get(name)) for name in ("raw", "ceiling", "error", "stimulus_error", "split_error")},
        **{name: integer(attrs.get(name)) for name in _COUNTS},
        "interval": _interval(attrs.get("interval")),
        "layers": {str(region): layer for region, layer in dict(attrs.get("layers") or {}).items()},
        "layer_origin": {str(region): origin for region, origin in dict(attrs.get("layer_origin") or {}).items()},
        "simulated": bool(attrs.get("simulated", False)),
        "seeds": _seeds(attrs),
        "normalization": _normalization(score),
        "chance": number(attrs.get("chance")) or 0.0,
        "presentation_order": attrs.get("presentation_order"),
        "error_over": _sources(attrs),
        "error_nan_reason": _reason(attrs.get("error_nan_reason")),
        "interval_nan_reason": _reason(attrs.get("interval_nan_reason")),
        **_influence(attrs, benchmark),
        **_of_raw(attrs, benchmark),
        **of_ceiling(attrs.get("ceiling")),
    }


def normalised(
    raw: float | None, ceiling: float | None, normalization: str | None, chance: float = 0.0
) -> float | None:
    """Return the score by a formula of `brainscore_core.benchmarks`; None if the formula or a part of it is unknown."""
    if raw is None or ceiling is None:
        return None
    if normalization == "explained_variance" and ceiling > 0:
        return raw * abs(raw) / ceiling
    return (raw - chance) / (ceiling - chance) if normalization == "ceil_score" and ceiling > chance else None


def follows(score: float, expected: float, *, or_clipped: bool = False) -> bool:
    """Return whether a score is the expected one within rounding, or that clipped to [0, 1]."""
    scores = (expected, min(max(expected, 0.0), 1.0)) if or_clipped else (expected,)
    return any(math.isclose(score, value, rel_tol=_SAME, abs_tol=_SAME) for value in scores)


def _normalization(score: Score) -> str | None:
    """Return the stated normalisation if the score follows from it: arithmetic, such as a square, keeps attributes."""
    name = str(score.attrs.get("normalization") or "") or None
    raw, ceiling, chance = (number(score.attrs.get(part)) for part in ("raw", "ceiling", "chance"))
    value, expected = number(score), normalised(raw, ceiling, name, chance or 0.0)
    return name if value is None or expected is None or follows(value, expected, or_clipped=True) else None


def of_ceiling(ceiling: object) -> dict[str, Any]:
    """Return the fields about the error and the estimator of a ceiling."""
    attrs: Mapping[Hashable, Any] = getattr(ceiling, "attrs", {})
    error, interval = number(attrs.get("error")), _interval(attrs.get("interval"))
    # A reason may remain from before an error was computed.
    why = None if error is not None else attrs.get("error_nan_reason")
    why = why or (attrs.get("interval_nan_reason") if interval is None else None)
    return {
        "ceiling_error": error,
        "ceiling_interval": interval,
        "ceiling_error_over": _sources(attrs),
        "ceiling_nan_reason": _reason(why),
        "ceiling_estimator": _reason(attrs.get("estimator")),
    }


def number(value: object) -> float | None:
    """Return a finite float; None for None, NaN and anything but a single number."""
    if value is None:
        return None
    import numpy as np  # heavy; planning only reads records

    array = np.asarray(getattr(value, "values", value))
    if array.size != 1 or array.dtype.kind not in "biuf":
        return None
    scalar = float(array.reshape(()))
    return scalar if math.isfinite(scalar) else None


def integer(value: object) -> int | None:
    """Return a whole number; None for anything else."""
    exact = number(value)
    return int(exact) if exact is not None and exact == int(exact) else None


def _interval(value: Any) -> tuple[float, float] | None:  # whatever a benchmark states
    low, high = (None, None) if value is None else (number(value[0]), number(value[1]))
    return None if low is None or high is None else (low, high)


def _seeds(attrs: Mapping[Hashable, Any]) -> dict[str, int]:
    seeds = {name: integer(getattr(attrs.get(name), "attrs", {}).get("seed")) for name in ("raw", "ceiling")}
    seeds |= {str(name): integer(seed) for name, seed in dict(attrs.get("seeds") or {}).items()}
    return {name: seed for name, seed in seeds.items() if seed is not None}


def _sources(attrs: Mapping[Hashable, Any]) -> tuple[str, ...]:
    return tuple(str(source) for source in attrs.get("error_over", ()))[:_MOST_SOURCES]


def _reason(value: object) -> str | None:
    return None if value is None else str(value)[:_MOST_REASON]


def _influence(attrs: Mapping[Hashable, object], benchmark: str) -> dict[str, Any]:
    from brainscore_core.statistics.influence import Influence  # heavy: NumPy
    from brainscore_core.statistics.sketch import InfluenceSketch

    influence = attrs.get("influence")
    if not isinstance(influence, Influence) or influence.why_unknown is not None:
        return {"error_df": number(attrs.get("error_df"))}
    names = {key: str(attrs[key]) if attrs.get(key) else None for key in ("stimulus_set", "assembly")}
    sketch = InfluenceSketch.of(
        influence, stimuli=names["stimulus_set"] or benchmark, units=names["assembly"] or benchmark
    )
    return {**names, "influence": sketch.to_text(), "error_df": number(influence.degrees_of_freedom)}


def _of_raw(attrs: Mapping[Hashable, object], benchmark: str) -> dict[str, Any]:
    from brainscore_core.statistics.influence import Influence  # heavy: NumPy

    raw, ceiling = (getattr(attrs.get(name), "attrs", {}) for name in ("raw", "ceiling"))
    names: Mapping[Hashable, object] = {key: attrs.get(key) for key in ("stimulus_set", "assembly")}
    influence = _influence({**raw, **names}, benchmark)
    return {
        "raw_error": number(raw.get("error")),
        "raw_interval": _interval(raw.get("interval")),
        "raw_error_df": influence["error_df"],
        "raw_influence": influence.get("influence") if isinstance(ceiling.get("influence"), Influence) else None,
    }


# -- from a record to a score and to text ------------------------------------------------------------------------------
#
# Turn a record back into a score, and into lines of text.


_PLURALS = {
    "stimulus": "stimuli",
    "stimulus_block": "blocks of consecutive stimuli",
    "presentation": "stimuli",
    "neuroid": "neuroids",
    "subject": "subjects",
    "trial": "trials",
    "split": "splits",
}


def format_record(record: ScoreRecord, path: Path | None) -> str:
    """Return a record's summary for people; `path` is None if it was not written."""
    sources = " and ".join(_PLURALS.get(source, _clusters(source, record.n_clusters)) for source in record.error_over)
    over = f" over new {sources}" if sources else ""
    error = "" if record.error is None else f" ± {record.error:.4f} (standard error{over})"
    bounds = record.interval
    interval = "" if bounds is None else f", 95 % interval {bounds[0]:.3f} to {bounds[1]:.3f}"
    stimuli = "stimuli" if (record.n_stimuli or 0) >= FEW_STIMULI else "stimuli (few, so the error is uncertain)"
    counts = {stimuli: record.n_stimuli, "neuroids": record.n_neuroids, "trials": record.n_trials}
    sizes = [f"{count} {unit}" for unit, count in counts.items() if count is not None]
    if record.n_tested_in_training is not None:
        sizes.append(f"{record.n_tested_in_training} test stimuli that are also used in training")
    layers = ", ".join(f"{region}: {layer}{_origin(record, region)}" for region, layer in record.layers.items())
    versions = ", ".join(f"{name} {version}" for name, version in record.versions.items())
    lines = [
        f"{record.model} on {record.benchmark}" + (" (SIMULATED measurements)" if record.simulated else ""),
        f"  score     {_number(record.score)}{error}{interval}",
        *([f"  because   {record.message}"] if record.is_scored and record.message else []),
        *_missing(record),
        *([] if record.split_error is None else [f"  splits    ± {record.split_error:.4f} over splits of these data"]),
        f"  raw       {_number(record.raw)}",
        f"  ceiling   {_number(record.ceiling)}",
        f"  data      {', '.join(sizes) or 'size not stated'}; benchmark version {record.benchmark_version}",
        f"  layers    {layers or 'not stated'}",
        f"  seed      {'not stated' if record.seed is None else record.seed}",
        f"  versions  {versions}",
        f"  time      {record.duration_s or 0:.1f} s",
        f"  record    {path or 'not written: give the model a unique name (identifier=..., --name)'}",
    ]
    return "\n".join(lines)


def _clusters(coordinate: str, n_clusters: int | None) -> str:
    if n_clusters is None:
        return coordinate
    return f"{coordinate} ({'few clusters: ' if n_clusters < FEW_CLUSTERS else ''}{n_clusters})"


def _number(value: float | None) -> str:
    return "not available" if value is None else f"{value:.4f}"


def _missing(record: ScoreRecord) -> Iterator[str]:
    if record.score is not None:
        reasons = {"error": record.error_nan_reason, "interval": record.interval_nan_reason}
        yield from (f"  {name:9s} none: {reason}" for name, reason in reasons.items() if reason)


def _origin(record: ScoreRecord, region: str) -> str:
    origin = record.layer_origin.get(region)
    if not isinstance(origin, dict) or "benchmark" not in origin:
        return ""
    words = f"chosen on {origin['benchmark']}{' (SIMULATED)' if origin.get('simulated') else ''}"
    if origin.get("separable") is False:
        words += f", not separable from {origin.get('runner_up')}"
    optimism = origin.get("optimism")
    if origin["benchmark"] == record.benchmark and isinstance(optimism, float):
        words += f", this benchmark; choosing the best raises the score by chance, by about {max(optimism, 0.0):.3f}"
    return f" ({words})"


def score_of(record: ScoreRecord, path: Path) -> Score:
    """Return the score that a record in a file describes, without the values of splits and neuroids."""
    from brainscore_core.metrics import Score  # heavy: xarray

    score = Score(float("nan") if record.score is None else record.score)
    names = "error", "interval", "split_error", "stimulus_error", "error_nan_reason", "interval_nan_reason"
    score.attrs.update(
        {name: getattr(record, name) for name in names},
        raw=None if record.raw is None else Score(record.raw),
        ceiling=None if record.ceiling is None else Score(record.ceiling),
        error_over=list(record.error_over),
        model_identifier=record.model,
        benchmark_identifier=record.benchmark,
        comment=f"layers: {dict(record.layers)}",
        record_path=str(path),
    )
    if record.score is None:
        score.attrs["not_applicable"] = record.message
    return score
