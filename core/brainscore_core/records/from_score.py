"""Convert a score to its record's fields and back; numbers that are not finite become None."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from brainscore_core.metrics import Score

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
