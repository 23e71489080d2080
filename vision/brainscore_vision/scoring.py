"""Score one model on one benchmark, here or in an environment of its own, keep the record and say what it holds."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from brainscore_vision.loading import find_plugin_directory, load_benchmark, load_model
from brainscore_vision.model_interface import region_layers

if TYPE_CHECKING:
    from pathlib import Path

    from brainscore_core.benchmarks import Benchmark
    from brainscore_core.metrics import Score
    from brainscore_core.scoring.records import ScoreRecord

__all__ = ["format_record", "record_failure", "run_score", "score", "score_and_record"]


def score(
    model_identifier: str, benchmark_identifier: str, conda_active: bool = False, *, report: bool = True
) -> Score:
    """Score a model on a benchmark, keep the record, and say what came out.

    Parameters
    ----------
    model_identifier : str
        A registered model, such as ``'pixels'``.
    benchmark_identifier : str
        A registered benchmark, such as ``'SimulatedCortex2026.V1-pls'``.
    conda_active : bool
        Accepted from callers of the published system: True says that the environment is prepared already, so that
        ``BS_INSTALL_DEPENDENCIES=newenv`` does not make another one.
    report : bool
        Whether to print the summary (to standard error, so that output can be piped).

    Returns
    -------
    Score
        0-d, ceiling-normalised: about 0 (no better than chance) to 1 (at the noise ceiling). Attributes: ``raw``,
        ``ceiling``, ``error``, ``model_identifier``, ``benchmark_identifier``, ``comment`` (the layers used) and
        ``record_path``.

    Raises
    ------
    UnknownIdentifierError
        If no plugin registers one of the identifiers.
    """
    result, record, path = score_and_record(model_identifier, benchmark_identifier, conda_active=conda_active)
    if report:
        from brainscore_core.command_line import say

        say(format_record(record, path))
    return result


def score_and_record(
    model_identifier: str,
    benchmark_identifier: str,
    record_path: Path | None = None,
    *,
    conda_active: bool = False,
) -> tuple[Score, ScoreRecord, Path]:
    """Score a pair, here or in an environment of its own (``BS_INSTALL_DEPENDENCIES=newenv``), and write its record.

    Parameters
    ----------
    record_path : Path, optional
        Where to write the record; None means ``scores/<benchmark>/<model>.json`` in the Brain-Score home.
    """
    from brainscore_core.config import settings
    from brainscore_core.scoring import records  # brings NumPy, which the command line can do without

    path = record_path or records.record_path(settings().home / "scores", model_identifier, benchmark_identifier)
    if settings().install_dependencies == "newenv" and not conda_active:
        record = _record_from_new_environment(model_identifier, benchmark_identifier, path)
        return _score_of(record, path), record, path
    started = time.monotonic()
    result, benchmark = _score_pair(model_identifier, benchmark_identifier)
    record = records.ScoreRecord.of_score(
        result,
        model=model_identifier,
        benchmark=benchmark_identifier,
        benchmark_version=getattr(benchmark, "version", None),
        duration_s=time.monotonic() - started,
    )
    record.write(path)
    result.attrs["record_path"] = str(path)
    return result, record, path


def record_failure(model_identifier: str, benchmark_identifier: str, error: Exception, record_path: Path) -> None:
    """Write the record of a pair that could not be scored: status ``failed:<class of the error>``."""
    from brainscore_core.scoring.records import ScoreRecord

    failed = ScoreRecord.without_score(
        f"failed:{type(error).__name__}", str(error), model=model_identifier, benchmark=benchmark_identifier
    )
    failed.write(record_path)


def run_score(model_identifier: str, benchmark_identifier: str) -> Score:
    """Score a pair in this process without keeping a record."""
    return _score_pair(model_identifier, benchmark_identifier)[0]


def _score_pair(model_identifier: str, benchmark_identifier: str) -> tuple[Score, Benchmark]:
    # The benchmark first: a wrong name must not cost the loading of a large model.
    benchmark = load_benchmark(benchmark_identifier)
    model = load_model(model_identifier)
    result = benchmark(model)
    result.attrs["model_identifier"] = model_identifier
    result.attrs["benchmark_identifier"] = benchmark_identifier
    layers = region_layers(model)
    if layers:
        result.attrs["comment"] = f"layers: {layers}"
    return result, benchmark


def _record_from_new_environment(model_identifier: str, benchmark_identifier: str, path: Path) -> ScoreRecord:
    from brainscore_core.plugin_management.environment import isolated_score
    from brainscore_core.scoring.records import ScoreRecord

    return isolated_score(
        "brainscore_vision",
        model_identifier,
        benchmark_identifier,
        plugin_folders=[
            find_plugin_directory("benchmark", benchmark_identifier),
            find_plugin_directory("model", model_identifier),
        ],
        record_path=path,
        read=ScoreRecord.read,
    )


def _score_of(record: ScoreRecord, path: Path) -> Score:
    """Return the score that a record describes, as far as it does: without values for splits and neuroids."""
    from brainscore_core.metrics import Score

    result = Score(float("nan") if record.score is None else record.score)
    result.attrs.update(
        raw=None if record.raw is None else Score(record.raw),
        ceiling=None if record.ceiling is None else Score(record.ceiling),
        error=record.error,
        model_identifier=record.model,
        benchmark_identifier=record.benchmark,
        comment=f"layers: {dict(record.layers)}",
        record_path=str(path),
    )
    return result


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
