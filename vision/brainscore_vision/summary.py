"""Say to people what the record of a score holds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from brainscore_core.scoring.records import ScoreRecord

__all__ = ["format_record"]


def format_record(record: ScoreRecord, path: Path) -> str:
    """Return the summary of a record as lines of text."""

    def shown(value: float | None) -> str:
        return "not available" if value is None else f"{value:.4f}"

    error = "" if record.error is None else f" ± {record.error:.4f} (standard error)"
    low_high = record.interval
    interval = "" if low_high is None else f", 95 % interval {low_high[0]:.3f} to {low_high[1]:.3f}"
    counts = {"stimuli": record.n_stimuli, "neuroids": record.n_neuroids, "trials": record.n_trials}
    sizes = [f"{count} {unit}" for unit, count in counts.items() if count is not None]
    layers = ", ".join(f"{region}: {layer}" for region, layer in record.layers.items())
    versions = ", ".join(f"{name} {version}" for name, version in record.versions.items())
    lines = [
        f"{record.model} on {record.benchmark}" + (" (SIMULATED measurements)" if record.simulated else ""),
        f"  score     {shown(record.score)}{error}{interval}",
        f"  raw       {shown(record.raw)}",
        f"  ceiling   {shown(record.ceiling)}",
        f"  data      {', '.join(sizes) or 'size not stated'}; benchmark version {record.benchmark_version}",
        f"  layers    {layers or 'not stated'}",
        f"  seed      {'not stated' if record.seed is None else record.seed}",
        f"  versions  {versions}",
        f"  time      {record.duration_s or 0:.1f} s",
        f"  record    {path}",
    ]
    return "\n".join(lines)
