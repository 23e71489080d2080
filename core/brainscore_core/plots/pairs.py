"""Draw the scores of models on one benchmark against those on another."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from brainscore_core.plots.figures import axes_for, dress_plane, figure_of
from brainscore_core.plots.inputs import Records, check_known, models_of, read_records
from brainscore_core.plots.style import LITERAL, Theme, shortened, theme_named
from brainscore_core.records.comparison import compare_records
from brainscore_core.statistics.correlations import OverModels, correlation_over_models

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    Floats = npt.NDArray[np.float64]
    Indices = npt.NDArray[np.intp]

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
    """Draw the scores of models on two benchmarks, with their correlation over models; see `brainscore_core.plots`.

    Returns
    -------
    matplotlib.figure.Figure
        A dot for each model with both scores, with 95 % intervals if there are at most 60 or if highlighted; dashed:
        equal scores. The title gives Pearson's and Spearman's correlations with 95 % intervals over models. SVG groups:
        ``scores``, ``score:<model>`` for highlighted models, ``intervals:x``, ``highlighted:x``, and those with ``y``.
    """
    ink, entries = theme_named(theme), read_records(records)
    check_known("benchmark", [x, y], {record.benchmark for record in entries})
    names = models_of([record for record in entries if record.benchmark in (x, y)], models)
    check_known("model", highlight, names)
    of = {
        record.name: record
        for record in compare_records([record for record in entries if record.benchmark in (x, y)], names)
    }
    values = np.array([of[name].comparison.scores for name in (x, y)])
    intervals = np.array([of[name].intervals for name in (x, y)]).reshape(2, -1, 2)
    complete = np.flatnonzero(np.isfinite(values).all(axis=0))

    panel = axes_for(ax, 5.6, 5.2, ink, f"{y} against {x}")
    of_all = complete if len(complete) <= _MOST_WITH_INTERVALS else complete[:0]
    marked = np.array([place for place in complete if names[place] in highlight], dtype=np.intp)
    groups = (("intervals", of_all, ink.series[0], 0.3), ("highlighted", marked, ink.series[1], 0.9))
    for group, places, colour, strength in groups:
        at = values[:, places]
        style: dict[str, Any] = {"colors": colour, "alpha": strength, "lw": 1.2}
        panel.hlines(at[1], *intervals[0, places].T, gid=f"{group}:x", **style)
        panel.vlines(at[0], *intervals[1, places].T, gid=f"{group}:y", **style)
    _draw_dots(panel, values, complete, {place: names[place] for place in marked.tolist()}, ink)
    labels = [f"{name}{' (SIMULATED)' if of[name].are_simulated else ''}" for name in (x, y)]
    dress_plane(panel, ink, *labels)
    lines = [_correlations(*(correlation_over_models(*values, ranked=ranked) for ranked in (False, True)))]
    lines += [f"n = {len(complete)} models with both scores; 95 % intervals"]
    if lacking := sorted(set(highlight) - {names[place] for place in complete}):
        lines += [f"without one of the scores: {', '.join(shortened(lacking))}"]
    panel.set_title("\n".join(lines), loc="left", fontsize=9, color=ink.text, **LITERAL)
    return figure_of(panel)


def _draw_dots(panel: Axes, values: Floats, complete: Indices, marked: Mapping[int, str], ink: Theme) -> None:
    """Draw all models and the dashed diagonal; marked ones with their names."""
    at = values[:, complete]
    panel.scatter(at[0], at[1], s=26, color=ink.series[0], alpha=0.6, lw=0, gid="scores", zorder=3)
    beside: dict[str, Any] = {"textcoords": "offset points", "color": ink.text, "zorder": 5, **LITERAL}
    ground = {"facecolor": ink.ground, "alpha": 0.6, "edgecolor": "none", "pad": 1.0}
    for (place, model), label in zip(marked.items(), shortened(list(marked.values())), strict=True):
        x, y = values[:, place].tolist()
        panel.plot([x], [y], "s", ms=7, color=ink.series[1], mec=ink.ground, gid=f"score:{model}", zorder=4)
        panel.annotate(label, (x, y), (7, 6), fontsize=8.5, bbox=ground, **beside)
    low, high = at.min(axis=1, initial=np.inf).max(), at.max(axis=1, initial=-np.inf).min()
    if low < high:
        panel.plot((low, high), (low, high), color=ink.muted, lw=1, ls=(0, (4, 4)), gid="equal", zorder=1)


def _correlations(pearson: OverModels, spearman: OverModels) -> str:
    if np.isnan(pearson.r):
        return "no correlation: too few models, or all alike"
    return f"Pearson {_told(pearson)}, Spearman {_told(spearman)}"


def _told(over: OverModels) -> str:
    return f"{over.r:.2f}{'' if np.isnan(over.low) else f' [{over.low:.2f}, {over.high:.2f}]'}"
