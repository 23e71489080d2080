"""Draw the scores of models on one benchmark against those on another."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from brainscore_core.plots.figures import axes_for, dress, figure_of
from brainscore_core.plots.inputs import Records, check_known, models_of, read_records
from brainscore_core.plots.style import LITERAL, shortened, theme_named
from brainscore_core.records.comparison import compare_records
from brainscore_core.statistics.correlations import OverModels, correlation_over_models

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    Floats = npt.NDArray[np.float64]

__all__ = ["scatter"]

_MOST_WITH_INTERVALS = 60


def scatter(
    records: Records,
    x: str,
    y: str,
    *,
    models: Sequence[str] | None = None,
    highlight: Collection[str] = (),
    ax: Axes | None = None,
    theme: str = "light",
) -> Figure:
    """Draw the scores of models on benchmark `y` against those on `x`, with their correlation over models.

    Parameters
    ----------
    records : iterable of ScoreRecord or path-like
        At most one per model and benchmark; or their folder.
    x, y : str
        Benchmarks.
    models : sequence of str, optional
        None: all with both scores.
    highlight : collection of str
        Models in another colour, with their names.
    ax : matplotlib.axes.Axes, optional
        None: those of a new figure.
    theme : {'light', 'dark'}

    Returns
    -------
    matplotlib.figure.Figure
        A dot for each model, with 95 % intervals if there are at most 60 or if highlighted; dashed: equal scores. The
        title gives Pearson's and Spearman's correlations with 95 % intervals over models. SVG groups: ``scores``,
        ``score:<model>`` for highlighted models, ``intervals:x``, ``highlighted:x``, and the same with ``y``.

    Raises
    ------
    DataNotHereError
        There are no records.
    UnknownIdentifierError
        A named model or benchmark has no record.
    RequirementsError
        matplotlib is not installed.
    """
    ink, given = theme_named(theme), read_records(records)
    check_known("benchmark", [x, y], {record.benchmark for record in given})
    names = models_of([record for record in given if record.benchmark in (x, y)], models)
    check_known("model", highlight, names)
    of = {
        record.name: record
        for record in compare_records([record for record in given if record.benchmark in (x, y)], names)
    }
    values = np.array([of[name].comparison.scores for name in (x, y)])
    intervals = np.array([of[name].intervals for name in (x, y)]).reshape(2, -1, 2)
    complete = np.flatnonzero(np.isfinite(values).all(axis=0))

    panel = axes_for(ax, 5.6, 5.2, ink, f"{y} against {x}")
    of_all = complete if len(complete) <= _MOST_WITH_INTERVALS else complete[:0]
    marked = np.array([place for place in complete if names[place] in highlight], dtype=np.intp)
    groups = (("intervals", of_all, ink.series[0], 0.3), ("highlighted", marked, ink.series[1], 0.9))
    for axis, letter in enumerate("xy"):
        for name, places, colour, strength in groups:
            of_group = values[:, places], intervals[axis, places]
            _draw_intervals(panel, *of_group, axis, colour, strength, f"{name}:{letter}")
    panel.scatter(
        values[0, complete], values[1, complete], s=26, color=ink.series[0], alpha=0.6, lw=0, gid="scores", zorder=3
    )
    for place, label in zip(marked, shortened([names[place] for place in marked]), strict=True):
        at = values[:, place].tolist()
        name = f"score:{names[place]}"
        panel.plot(at[:1], at[1:], "s", ms=7, color=ink.series[1], mec=ink.ground, gid=name, zorder=4)
        beside: dict[str, Any] = {"textcoords": "offset points", "color": ink.text, "zorder": 5, **LITERAL}
        ground = {"facecolor": ink.ground, "alpha": 0.6, "edgecolor": "none", "pad": 1.0}
        panel.annotate(label, at, (7, 6), fontsize=8.5, bbox=ground, **beside)
    _draw_diagonal(panel, values[:, complete], ink.muted)
    dress(panel, ink, grid="both")
    simulated = [" (SIMULATED)" if of[name].are_simulated else "" for name in (x, y)]
    panel.set_xlabel(f"{x}{simulated[0]}", fontsize=9, color=ink.text, **LITERAL)
    panel.set_ylabel(f"{y}{simulated[1]}", fontsize=9, color=ink.text, **LITERAL)
    lines = [_correlations(*(correlation_over_models(*values, ranked=ranked) for ranked in (False, True)))]
    lines += [f"n = {len(complete)} models with both scores; 95 % intervals"]
    if lacking := sorted(set(highlight) - {names[place] for place in complete}):
        lines += [f"without one of the scores: {', '.join(shortened(lacking))}"]
    panel.set_title("\n".join(lines), loc="left", fontsize=9, color=ink.text, **LITERAL)
    return figure_of(panel)


def _draw_intervals(panel: Axes, at: Floats, ends: Floats, axis: int, colour: str, strength: float, gid: str) -> None:
    draw = panel.hlines if axis == 0 else panel.vlines
    draw(at[1 - axis], ends[:, 0], ends[:, 1], colors=colour, alpha=strength, lw=1.2, gid=gid)


def _draw_diagonal(panel: Axes, values: Floats, colour: str) -> None:
    low, high = values.min(axis=1, initial=np.inf).max(), values.max(axis=1, initial=-np.inf).min()
    if low < high:
        panel.plot((low, high), (low, high), color=colour, lw=1, ls=(0, (4, 4)), gid="equal", zorder=1)


def _correlations(pearson: OverModels, spearman: OverModels) -> str:
    if np.isnan(pearson.r):
        return "no correlation: too few models, or all alike"
    return f"Pearson {_told(pearson)}, Spearman {_told(spearman)}"


def _told(over: OverModels) -> str:
    return f"{over.r:.2f}{'' if np.isnan(over.low) else f' [{over.low:.2f}, {over.high:.2f}]'}"
