"""Turn a record back into a score, and into lines of text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from brainscore_core.statistics import FEW_CLUSTERS, FEW_STIMULI

if TYPE_CHECKING:
    from pathlib import Path

    from brainscore_core.metrics import Score
    from brainscore_core.records.record import ScoreRecord

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
        sizes.append(f"{record.n_tested_in_training} test stimuli that also train")
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
        f"  record    {path or 'not written: give the model a name of its own (identifier=..., --name)'}",
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
        words += f", this benchmark; choosing adds about {max(optimism, 0.0):.3f} to the score by chance"
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
