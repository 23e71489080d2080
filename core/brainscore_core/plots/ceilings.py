"""Draw raw scores below what the noise of the measurement allows: of models, or of single neuroids and subjects."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from brainscore_core.errors import ConfigurationError, DataNotHereError
from brainscore_core.plots.figures import axes_for, draw_mark, dress, figure_of, head, rows_for, told_beside
from brainscore_core.plots.inputs import Records, check_known, check_most, models_of, read_records, sizes_of
from brainscore_core.plots.style import Theme, shortened, theme_named
from brainscore_core.records.record import record_path
from brainscore_core.statistics.averages import Estimate

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from brainscore_core.records.record import ScoreRecord
    from brainscore_core.statistics.influence import Interval

    Floats = npt.NDArray[np.float64]

__all__ = ["ceiling", "highest_raw", "neuroids"]

_UNITS = ("neuroid", "subject")


def highest_raw(ceiling: float, normalization: str | None) -> float:
    """Return the raw score that is a score of 1, given a ceiling and how scores are normalised by it.

    A correlation whose square is divided by a reliability (``'explained_variance'``) reaches the root of that; other
    raw scores are of the same quantity as their ceiling.

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
    """Draw the raw score of each model on a benchmark below its ceiling.

    Parameters
    ----------
    records : iterable of ScoreRecord or path-like
        At most one of a model and a benchmark; or the folder that holds them.
    models : sequence of str, optional
        None: all with a raw score.
    most : int, optional
        How many rows are drawn, the best first. None: all.
    ax : matplotlib.axes.Axes, optional
        To draw into; None: those of a new figure.
    theme : {'light', 'dark'}

    Returns
    -------
    matplotlib.figure.Figure
        A row for each model, the highest raw score first: the raw score with its 95 % interval, and as a stroke the raw
        score that noise allows at most (`highest_raw`), with the interval of that where it is known; beside it the
        score. Groups of the SVG are called ``score:<model>``, ``interval:<model>``, ``ceilings`` and
        ``ceiling-interval:<model>``.

    Raises
    ------
    DataNotHereError
        There are no records, or none with a raw score and a ceiling.
    UnknownIdentifierError
        No record is of a model or benchmark that is named.
    RequirementsError
        matplotlib is not installed.
    """
    check_most(most)
    ink, given = theme_named(theme), read_records(records)
    check_known("benchmark", [benchmark], {record.benchmark for record in given})
    of_benchmark = [record for record in given if record.benchmark == benchmark]
    wanted = models_of(of_benchmark, models)
    there = [each for each in of_benchmark if each.model in wanted and None not in (each.raw, each.ceiling)]
    if not there:
        raise DataNotHereError(f"No record of these models on {benchmark} has both a raw score and a ceiling.")
    there.sort(key=lambda record: (-_number(record.raw), record.model))
    drawn = there[:most]
    title = f"{benchmark}{' (SIMULATED)' if any(each.simulated for each in there) else ''}"
    names = shortened([each.model for each in drawn])
    panel = rows_for(ax, names, ink, f"Raw scores and ceiling of {benchmark}")
    tops = _draw_ceilings(panel, drawn, ink)
    for row, (record, top) in enumerate(zip(drawn, tops, strict=True)):
        raw = _number(record.raw)
        draw_mark(panel, raw, row, _raw_interval(record), colour=ink.series[0], name=record.model, theme=ink)
        score = "no score" if record.score is None else f"{record.score:.3f}"
        told_beside(panel, row, f"{score}{' above' if raw > top else ''}", ink.text, right_pt=8)
    told_beside(panel, -1, "score", ink.muted, right_pt=8)
    dress(panel, ink)
    is_root = any(each.normalization == "explained_variance" for each in drawn)
    interval = " with its 95 % interval" if any(each.ceiling_interval for each in drawn) else ""
    how = f"\nline: the highest that noise allows{', the root of the reliability,' if is_root else ''}{interval}"
    panel.set_xlabel(f"raw score with its 95 % interval{how}".removesuffix(","), fontsize=8.5, color=ink.text)
    cut = "" if len(drawn) == len(there) else f", the first {len(drawn)} are drawn"
    head(panel, title, [f"n = {len(there)} models{cut}", *_told_ceilings(there), sizes_of(there)], ink)
    return figure_of(panel)


def _raw_interval(record: ScoreRecord) -> Interval:
    if record.raw_interval is not None:
        return record.raw_interval
    df = float("inf") if record.raw_error_df is None else record.raw_error_df
    return Estimate(_number(record.raw), _number(record.raw_error), df=df).interval()


def _draw_ceilings(panel: Axes, records: Sequence[ScoreRecord], ink: Theme) -> list[float]:
    """Draw a stroke and, behind it, its interval into each row; return where the strokes are."""
    tops = []
    for row, record in enumerate(records):
        tops.append(highest_raw(_number(record.ceiling), record.normalization))
        if record.ceiling_interval is not None:
            # Where noise allows less than nothing, the root of it is none.
            low, high = (highest_raw(max(end, 0.0), record.normalization) for end in record.ceiling_interval)
            name = f"ceiling-interval:{record.model}"
            panel.barh(row, high - low, 1.0, left=low, color=ink.series[1], alpha=0.2, lw=0, gid=name)
    places = np.arange(len(records))
    panel.vlines(tops, places - 0.5, places + 0.5, colors=ink.series[1], lw=2, gid="ceilings")
    return tops


def _told_ceilings(records: Sequence[ScoreRecord]) -> list[str]:
    """Return what the ceiling is, how sure, and how it was estimated, where all records say the same of that."""
    ends = dict.fromkeys(f"{of([_number(record.ceiling) for record in records]):.3f}" for of in (min, max))
    intervals = {record.ceiling_interval for record in records}
    estimators = {record.ceiling_estimator for record in records}
    interval = intervals.pop() if len(intervals) == 1 else None
    told = [f"ceiling {' to '.join(ends)}{'' if interval is None else f' [{interval[0]:.3f}, {interval[1]:.3f}]'}"]
    return told + [estimator for estimator in estimators if estimator and len(estimators) == 1]


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
    """Draw the raw score of each neuroid (or subject) of one score against its ceiling.

    Parameters
    ----------
    records : iterable of ScoreRecord or path-like
        Which hold one of this model on this benchmark; or the folder that holds them, with `values` beside.
    values : mapping of str to ndarray, optional
        What `brainscore_core.records.values.read_values` returns. None: it is read from the folder.
    ax : matplotlib.axes.Axes, optional
        To draw into; None: those of a new figure.
    theme : {'light', 'dark'}

    Returns
    -------
    matplotlib.figure.Figure
        A dot for each: raw score against what noise allows at most (`highest_raw`), which is the dashed line; strokes
        are the medians. Where there is no ceiling for each, how many have which raw score. Groups of the SVG are
        called ``scores``, ``at-ceiling``, ``median:x`` and ``median:y``.

    Raises
    ------
    ConfigurationError
        Records are no folder, and there are no `values`.
    DataNotHereError
        There are no values of single neuroids or subjects.
    UnknownIdentifierError
        There is no such record.
    RequirementsError
        matplotlib is not installed.
    """
    ink, given = theme_named(theme), read_records(records)
    check_known("benchmark", [benchmark], {record.benchmark for record in given})
    check_known("model", [model], {record.model for record in given if record.benchmark == benchmark})
    (record,) = (each for each in given if (each.model, each.benchmark) == (model, benchmark))
    found = _values_of(record, records) if values is None else values
    unit = next((each for each in _UNITS if f"raw.{each}" in found), None)
    if unit is None:
        raise DataNotHereError(f"The record of {model} on {benchmark} keeps no values of single neuroids or subjects.")
    raw, top = np.asarray(found[f"raw.{unit}"], dtype=np.float64), _tops(found, unit, record)
    panel = axes_for(ax, 5.2, 5.0, ink, f"{model} on {benchmark}")
    there = np.isfinite(raw) if top is None else np.isfinite(raw) & np.isfinite(top)
    if top is None:
        panel.hist(raw[there], bins=30, color=ink.series[0], alpha=0.7, gid="scores")
        panel.set_xlabel("raw score", fontsize=9, color=ink.text)
        panel.set_ylabel(f"{unit}s", fontsize=9, color=ink.text)
    else:
        _draw_against(panel, raw[there], top[there], ink)
    if there.any():
        _draw_medians(panel, raw[there], None if top is None else top[there], ink)
    dress(panel, ink, grid="both")
    lacking = "" if there.all() else f" of {there.size} {unit}s"
    head(panel, f"{shortened([model])[0]} on {benchmark}", [f"n = {int(there.sum())}{lacking or f' {unit}s'}"], ink)
    return figure_of(panel)


def _values_of(record: ScoreRecord, records: Records) -> Mapping[str, npt.NDArray[Any]]:
    if record.values is None:
        return {}
    if not isinstance(records, (str, os.PathLike)):
        raise ConfigurationError("The values of single neuroids stand beside records: give their folder, or `values`.")
    from brainscore_core.records.values import read_values

    return read_values(record_path(Path(records), record.model, record.benchmark), record.values)


def _tops(values: Mapping[str, npt.NDArray[Any]], unit: str, record: ScoreRecord) -> Floats | None:
    """Return what each reaches at most; None where that is not known of the same neuroids."""
    given = values.get(f"ceiling.{unit}")
    names = [values.get(f"{of}.{unit}_id") for of in ("raw", "ceiling")]
    if given is None or len(given) != len(values[f"raw.{unit}"]):
        return None
    if names[0] is not None and names[1] is not None and not np.array_equal(names[0], names[1]):
        return None
    return np.array([highest_raw(float(each), record.normalization) for each in given])


def _draw_against(panel: Axes, raw: Floats, top: Floats, ink: Theme) -> None:
    panel.scatter(top, raw, s=22, color=ink.series[0], alpha=0.6, lw=0, gid="scores", zorder=3)
    ends = (min(raw.min(initial=0), top.min(initial=0)), max(top.max(initial=1), raw.max(initial=0)))
    panel.plot(ends, ends, color=ink.muted, lw=1, ls=(0, (4, 4)), gid="at-ceiling")
    panel.set_xlabel("highest raw score that noise allows", fontsize=9, color=ink.text)
    panel.set_ylabel("raw score", fontsize=9, color=ink.text)


def _draw_medians(panel: Axes, raw: Floats, top: Floats | None, ink: Theme) -> None:
    at = float(np.median(raw))
    if top is None:
        panel.axvline(at, color=ink.series[1], lw=1.5, gid="median:x")
    else:
        panel.axhline(at, color=ink.series[1], lw=1.2, gid="median:y")
        panel.axvline(float(np.median(top)), color=ink.series[1], lw=1.2, gid="median:x")
