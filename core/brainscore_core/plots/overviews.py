"""Draw a model's profile, scores against cost, scores over time, and how similarly benchmarks rank models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from brainscore_core.errors import ConfigurationError, DataNotHereError, did_you_mean
from brainscore_core.plots.figures import (
    LITERAL,
    ROW_INCHES,
    Records,
    Theme,
    axes_for,
    check_known,
    draw_mark,
    dress,
    dress_plane,
    figure_of,
    head,
    label_inches,
    models_of,
    read_records,
    rows_for,
    shortened,
    theme_named,
)
from brainscore_core.records.comparison import compare_records, compare_tree
from brainscore_core.statistics.correlations import rank_correlations

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from brainscore_core.records.record import ScoreRecord
    from brainscore_core.statistics.averages import Missing
    from brainscore_core.statistics.influence import Interval

    Floats = npt.NDArray[np.float64]
    Bools = npt.NDArray[np.bool_]

_NUMBER_INCHES, _MOST_NAMED = 0.3, 12
_COSTS = ("duration_s", "peak_memory_bytes")


class Standing(NamedTuple):
    """A model's score on a benchmark or an average, its 95 % interval, and the best and median score of all models."""

    name: str
    score: float
    interval: Interval
    best: float
    median: float


def standings(
    records: Records, model: str, *, parents: Mapping[str, str] | None = None, missing: Missing = "zero"
) -> list[Standing]:
    """Compare a model with all others on each benchmark, or each node of `parents`, averaged as by `average_tree`."""
    entries = read_records(records)
    models = models_of(entries, None)
    check_known("model", [model], models)
    compared = compare_tree(entries, models, parents or {}, missing=missing)
    standing, place = [], models.index(model)
    for entry in compared or compare_records(entries, models):
        values = np.array([score.value for score in entry.scores])
        if np.isfinite(values[place]):
            ends = entry.intervals[place]
            best, median = float(np.nanmax(values)), float(np.nanmedian(values))
            standing.append(Standing(entry.name, float(values[place]), ends, best, median))
    return standing


def profile(
    records: Records,
    model: str,
    *,
    parents: Mapping[str, str] | None = None,
    missing: Missing = "zero",
    ax: Axes | None = None,
    theme: str = "light",
) -> Figure:
    """Draw the place of a model on each benchmark or average, see `standings` and `brainscore_core.plots`.

    Returns
    -------
    matplotlib.figure.Figure
        A row for each node: a dot with its 95 % interval, a triangle at the best score of all models, a bar at the
        median. SVG groups: ``score:<node>`` and ``interval:<node>``, ``best`` and ``median``.
    """
    ink, rows = theme_named(theme), standings(records, model, parents=parents, missing=missing)
    panel = rows_for(ax, shortened([row.name for row in rows]), ink, model)
    for at, row in enumerate(rows):
        draw_mark(panel, row.score, at, row.interval, colour=ink.series[0], name=row.name, theme=ink)
    places = range(len(rows))
    panel.plot([row.best for row in rows], places, "^", color=ink.series[1], ms=5, ls="none", gid="best")
    panel.plot([row.median for row in rows], places, "|", color=ink.text, ms=9, mew=1.6, ls="none", gid="median")
    dress(panel, ink)
    panel.set_xlabel("score (0: chance, 1: noise ceiling)", fontsize=8.5, color=ink.text)
    head(panel, model, ["dot: its score with 95 % interval", "triangle: best model", "bar: median model"], ink)
    return figure_of(panel)


def front_of(cost: npt.ArrayLike, score: npt.ArrayLike) -> Bools:
    """Return which models are Pareto-optimal in cost (low) and score (high); False for NaN.

    Examples
    --------
    >>> front_of([1, 2, 2, 3], [0.2, 0.4, 0.3, 0.4])
    array([ True,  True, False, False])
    """
    costs, scores = np.asarray(cost, np.float64), np.asarray(score, np.float64)
    front = np.zeros(len(costs), dtype=bool)
    best = -np.inf
    for place in np.lexsort((-scores, costs)):
        if np.isfinite(costs[place]) and scores[place] > best:
            front[place], best = True, scores[place]
    return front


def pareto(
    records: Records,
    benchmark: str,
    *,
    costs: Mapping[str, float] | str = "duration_s",
    label: str = "cost",
    ax: Axes | None = None,
    theme: str = "light",
) -> Figure:
    """Draw scores against costs, and join the models that are best for their cost; see `brainscore_core.plots`.

    Parameters
    ----------
    costs
        Cost of each model, such as its number of parameters; or a field of records: ``'duration_s'`` or
        ``'peak_memory_bytes'``.
    label
        Name of the given costs.

    Returns
    -------
    matplotlib.figure.Figure
        A dot for each model with a score and a cost; costs are logarithmic. SVG groups: ``scores`` and ``front``.
    """
    ink, entries = theme_named(theme), _of_benchmark(records, benchmark)
    if isinstance(costs, str) and costs not in _COSTS:
        raise ConfigurationError(
            f"costs={costs!r}; expected {' or '.join(_COSTS)}, or numbers.{did_you_mean(costs, _COSTS)}"
        )
    named = costs if isinstance(costs, str) else label
    price = {entry.model: getattr(entry, costs) for entry in entries} if isinstance(costs, str) else costs
    priced = [entry for entry in entries if entry.score is not None and (price.get(entry.model) or 0) > 0]
    if not priced:
        raise DataNotHereError(f"No model has both a score on {benchmark} and a cost ({named}).")
    x, y = (np.array(values, np.float64) for values in zip(*((price[e.model], e.score) for e in priced), strict=True))
    front = np.flatnonzero(front_of(x, y))
    front = front[np.argsort(x[front])]
    panel = axes_for(ax, 6, 4.6, ink, f"{benchmark} against {named}")
    panel.set_xscale("log")
    panel.scatter(x, y, s=26, color=ink.series[0], alpha=0.6, lw=0, gid="scores", zorder=3)
    panel.step(x[front], y[front], "-o", where="post", color=ink.series[1], lw=1.4, ms=5, gid="front", zorder=4)
    for place in front[-_MOST_NAMED:]:
        _name(panel, float(x[place]), float(y[place]), priced[place].model, ink)
    dress_plane(panel, ink, named, f"score on {benchmark}")
    head(panel, benchmark, [f"n = {len(priced)} models", "line: best for their cost"], ink)
    return figure_of(panel)


def record_over_time(created: Sequence[str], score: npt.ArrayLike) -> tuple[list[datetime], Floats, Bools]:
    """Return times in order, their scores, and whether each is the best so far; `created` is ISO 8601."""
    times = [datetime.fromisoformat(time) for time in created]
    values = np.asarray(score, np.float64)
    order = sorted(range(len(times)), key=lambda place: (times[place], -values[place]))
    ordered = values[order]
    before = np.concatenate([[-np.inf], np.fmax.accumulate(ordered)[:-1]]) if len(ordered) else ordered
    return [times[place] for place in order], ordered, ordered > before


def history(records: Records, benchmark: str, *, ax: Axes | None = None, theme: str = "light") -> Figure:
    """Draw when models were scored on a benchmark, and the best score so far; see `brainscore_core.plots`.

    Returns
    -------
    matplotlib.figure.Figure
        A dot for each score, and a step for each new best one. SVG groups: ``scores`` and ``best``.
    """
    ink, entries = theme_named(theme), _of_benchmark(records, benchmark)
    scored = [(entry.created, entry.score) for entry in entries if entry.score is not None]
    if not scored:
        raise DataNotHereError(f"There is nothing to draw: no score on {benchmark}.")
    times, values, is_best = record_over_time(*zip(*scored, strict=True))
    dates = np.array([time.astimezone(UTC).replace(tzinfo=None) for time in times], dtype="datetime64[s]")
    panel = axes_for(ax, 6.4, 4, ink, f"history of {benchmark}")
    panel.scatter(dates, values, s=22, color=ink.series[0], alpha=0.6, lw=0, gid="scores", zorder=3)
    panel.step(dates[is_best], values[is_best], where="post", color=ink.series[1], lw=1.6, gid="best", zorder=4)
    dress_plane(panel, ink, "time of the score", f"score on {benchmark}")
    head(panel, benchmark, [f"n = {len(scored)} models", "line: best so far"], ink)
    return figure_of(panel)


def similarity(records: Records, *, ax: Axes | None = None, theme: str = "light") -> Figure:
    """Draw Spearman's correlation over models for each pair of benchmarks; see `brainscore_core.plots`.

    Returns
    -------
    matplotlib.figure.Figure
        A row and a column for each benchmark; blank: fewer than three models have both scores. SVG group: ``map``.
    """
    ink, entries = theme_named(theme), read_records(records)
    compared = compare_records(entries, models_of(entries, None))
    r, _ = rank_correlations(np.array([entry.comparison.scores for entry in compared]))
    names = shortened([entry.name for entry in compared])
    side = 1.4 + label_inches(names) + max(_NUMBER_INCHES, ROW_INCHES) * len(names)
    panel = axes_for(ax, side, side, ink, "similarity of benchmarks")
    image = panel.imshow(r, vmin=-1, vmax=1, cmap="RdBu_r", gid="map")
    panel.set_xticks(range(len(names)), names, rotation=90, **LITERAL)
    panel.set_yticks(range(len(names)), names, **LITERAL)
    panel.tick_params(length=0, labelsize=8, labelcolor=ink.text)
    panel.set_facecolor(ink.line)
    bar = figure_of(panel).colorbar(image, ax=panel, shrink=0.6)
    bar.set_label("Spearman's correlation over models", color=ink.text, fontsize=8.5)
    bar.ax.tick_params(labelsize=8, labelcolor=ink.muted)
    return figure_of(panel)


def _of_benchmark(records: Records, benchmark: str) -> list[ScoreRecord]:
    entries = read_records(records)
    check_known("benchmark", [benchmark], {entry.benchmark for entry in entries})
    return [entry for entry in entries if entry.benchmark == benchmark]


def _name(panel: Axes, x: float, y: float, model: str, ink: Theme) -> None:
    panel.annotate(
        shortened([model])[0], (x, y), (5, 5), textcoords="offset points", fontsize=7.5, color=ink.text, **LITERAL
    )
