"""Draw raw scores and their noise ceilings: of models, or of single neuroids or subjects."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from brainscore_core.errors import ConfigurationError, DataNotHereError, count
from brainscore_core.plots.figures import (
    Records,
    Theme,
    axes_for,
    check_known,
    check_most,
    draw_mark,
    dress,
    figure_of,
    head,
    models_of,
    read_records,
    rows_for,
    shortened,
    sizes_of,
    theme_named,
    told_beside,
)
from brainscore_core.records.record import record_path
from brainscore_core.records.values import read_values
from brainscore_core.statistics.averages import Estimate

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from brainscore_core.records.record import ScoreRecord

    Floats = npt.NDArray[np.float64]

_UNITS = ("neuroid", "subject")


def highest_raw(ceiling: float, normalization: str | None) -> float:
    """Return the raw score whose normalised score is 1: the ceiling, or its root for ``'explained_variance'``.

    Examples
    --------
    >>> highest_raw(0.81, "explained_variance"), highest_raw(0.81, "ceil_score")
    (0.9, 0.81)
    """
    if normalization == "explained_variance":
        return math.sqrt(ceiling) if ceiling >= 0 else float("nan")
    return ceiling


def ceiling(
    records: Records,
    benchmark: str,
    *,
    models: Sequence[str] | None = None,
    most: int | None = None,
    ax: Axes | None = None,
    theme: str = "light",
) -> Figure:
    """Draw the raw score of each model on a benchmark below its ceiling; see `brainscore_core.plots` for parameters.

    Returns
    -------
    matplotlib.figure.Figure
        A row for each model, the highest raw score first: raw score, normalised score, and the highest raw score that
        noise allows (`highest_raw`) as a stroke, with 95 % intervals if known. SVG groups: ``score:<model>``,
        ``interval:<model>``, ``ceilings`` and ``ceiling-interval:<model>``.
    """
    check_most(most)
    ink, entries = theme_named(theme), read_records(records)
    check_known("benchmark", [benchmark], {record.benchmark for record in entries})
    of_benchmark = [record for record in entries if record.benchmark == benchmark]
    names = models_of(of_benchmark, models)
    complete = [entry for entry in of_benchmark if entry.model in names and None not in (entry.raw, entry.ceiling)]
    if not complete:
        raise DataNotHereError(f"No record of these models on {benchmark} has both a raw score and a ceiling.")
    complete.sort(key=lambda record: (-_number(record.raw), record.model))
    drawn = complete[:most]
    title = f"{benchmark}{' (SIMULATED)' if any(entry.simulated for entry in complete) else ''}"
    panel = rows_for(ax, shortened([entry.model for entry in drawn]), ink, f"Raw scores and ceiling of {benchmark}")
    tops = _draw_ceilings(panel, drawn, ink)
    for row, (record, top) in enumerate(zip(drawn, tops, strict=True)):
        raw, ends = _number(record.raw), record.raw_interval
        if ends is None:
            df = float("inf") if record.raw_error_df is None else record.raw_error_df
            ends = Estimate(raw, _number(record.raw_error), df=df).interval()
        draw_mark(panel, raw, row, ends, colour=ink.series[0], name=record.model, theme=ink)
        score = "no score" if record.score is None else f"{record.score:.3f}"
        told_beside(panel, row, f"{score}{' above' if raw > top else ''}", ink.text, right_pt=8)
    told_beside(panel, -1, "score", ink.muted, right_pt=8)
    dress(panel, ink)
    is_root = any(entry.normalization == "explained_variance" for entry in drawn)
    interval = " with its 95 % interval" if any(entry.ceiling_interval for entry in drawn) else ""
    how = f"\nline: highest score that noise allows{' (root of the reliability)' if is_root else ''}{interval}"
    panel.set_xlabel(f"raw score with its 95 % interval{how}".removesuffix(","), fontsize=8.5, color=ink.text)
    cut = "" if len(drawn) == len(complete) else f", the first {len(drawn)} are drawn"
    n = count(len(complete), "model")
    head(panel, title, [f"n = {n}{cut}", *_ceiling_notes(complete), sizes_of(complete)], ink)
    return figure_of(panel)


def _draw_ceilings(panel: Axes, records: Sequence[ScoreRecord], ink: Theme) -> list[float]:
    """Draw a stroke and its interval into each row; return their places."""
    tops = []
    for row, record in enumerate(records):
        tops.append(highest_raw(_number(record.ceiling), record.normalization))
        if record.ceiling_interval is not None:
            # A negative reliability has no root.
            low, high = (highest_raw(max(end, 0.0), record.normalization) for end in record.ceiling_interval)
            name = f"ceiling-interval:{record.model}"
            panel.barh(row, high - low, 1.0, left=low, color=ink.series[1], alpha=0.2, lw=0, gid=name)
    places = np.arange(len(records))
    panel.vlines(tops, places - 0.5, places + 0.5, colors=ink.series[1], lw=2, gid="ceilings")
    return tops


def _ceiling_notes(records: Sequence[ScoreRecord]) -> list[str]:
    ends = dict.fromkeys(f"{of([_number(record.ceiling) for record in records]):.3f}" for of in (min, max))
    intervals = {record.ceiling_interval for record in records}
    estimators = {record.ceiling_estimator for record in records}
    interval = intervals.pop() if len(intervals) == 1 else None
    notes = [f"ceiling {' to '.join(ends)}{'' if interval is None else f' [{interval[0]:.3f}, {interval[1]:.3f}]'}"]
    return notes + [estimator for estimator in estimators if estimator and len(estimators) == 1]


def _number(value: float | None) -> float:
    return float("nan") if value is None else value


def neuroids(
    records: Records,
    model: str,
    benchmark: str,
    *,
    values: Mapping[str, npt.NDArray[Any]] | None = None,
    ax: Axes | None = None,
    theme: str = "light",
) -> Figure:
    """Draw raw scores of single neuroids or subjects against their ceilings; see `brainscore_core.plots`.

    `values`: as `brainscore_core.records.values.read_values` returns. None: read from the folder of the records.

    Returns
    -------
    matplotlib.figure.Figure
        A dot for each: raw score against the highest that noise allows (`highest_raw`), equal on the dashed line;
        strokes are medians. Without single ceilings, a histogram of raw scores. SVG groups: ``scores``, ``at-ceiling``,
        ``median:x`` and ``median:y``.
    """
    ink, entries = theme_named(theme), read_records(records)
    check_known("benchmark", [benchmark], {record.benchmark for record in entries})
    check_known("model", [model], {record.model for record in entries if record.benchmark == benchmark})
    (record,) = (entry for entry in entries if (entry.model, entry.benchmark) == (model, benchmark))
    values = _values_of(record, records) if values is None else values
    unit = next((name for name in _UNITS if f"raw.{name}" in values), None)
    if unit is None:
        raise DataNotHereError(f"The record of {model} on {benchmark} has no values of single neuroids or subjects.")
    raw, top = np.asarray(values[f"raw.{unit}"], dtype=np.float64), _tops(values, unit, record)
    panel = axes_for(ax, 5.2, 5.0, ink, f"{model} on {benchmark}")
    finite = np.isfinite(raw) if top is None else np.isfinite(raw) & np.isfinite(top)
    _draw_units(panel, raw[finite], None if top is None else top[finite], unit, ink)
    dress(panel, ink, grid="both")
    lacking = "" if finite.all() else f" of {finite.size} {unit}s"
    head(panel, f"{shortened([model])[0]} on {benchmark}", [f"n = {int(finite.sum())}{lacking or f' {unit}s'}"], ink)
    return figure_of(panel)


def _values_of(record: ScoreRecord, records: Records) -> Mapping[str, npt.NDArray[Any]]:
    if record.values is None:
        return {}
    if not isinstance(records, (str, os.PathLike)):
        raise ConfigurationError(
            "Values of single neuroids are stored next to the records: pass the folder of the records, or `values`."
        )
    return read_values(record_path(Path(records), record.model, record.benchmark), record.values)


def _tops(values: Mapping[str, npt.NDArray[Any]], unit: str, record: ScoreRecord) -> Floats | None:
    """Return the highest raw score of each; None without ceilings of the same neuroids."""
    ceilings = values.get(f"ceiling.{unit}")
    names = [values.get(f"{of}.{unit}_id") for of in ("raw", "ceiling")]
    if ceilings is None or len(ceilings) != len(values[f"raw.{unit}"]):
        return None
    if names[0] is not None and names[1] is not None and not np.array_equal(names[0], names[1]):
        return None
    return np.array([highest_raw(float(value), record.normalization) for value in ceilings])


def _draw_units(panel: Axes, raw: Floats, top: Floats | None, unit: str, ink: Theme) -> None:
    """Draw raw scores against the highest possible ones, or their histogram, and the medians."""
    if top is None:
        panel.hist(raw, bins=30, color=ink.series[0], alpha=0.7, gid="scores")
        labels = "raw score", f"{unit}s"
    else:
        panel.scatter(top, raw, s=22, color=ink.series[0], alpha=0.6, lw=0, gid="scores", zorder=3)
        ends = (min(raw.min(initial=0), top.min(initial=0)), max(top.max(initial=1), raw.max(initial=0)))
        panel.plot(ends, ends, color=ink.muted, lw=1, ls=(0, (4, 4)), gid="at-ceiling")
        labels = "highest raw score that noise allows", "raw score"
    panel.set_xlabel(labels[0], fontsize=9, color=ink.text)
    panel.set_ylabel(labels[1], fontsize=9, color=ink.text)
    if len(raw) and top is None:
        panel.axvline(float(np.median(raw)), color=ink.series[1], lw=1.5, gid="median:x")
    elif len(raw) and top is not None:
        panel.axhline(float(np.median(raw)), color=ink.series[1], lw=1.2, gid="median:y")
        panel.axvline(float(np.median(top)), color=ink.series[1], lw=1.2, gid="median:x")
