"""Draw models in the order of their scores, a few models on every benchmark, and one benchmark against another."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from brainscore_core.errors import ConfigurationError, DataNotHereError
from brainscore_core.plots.figures import (
    LITERAL,
    MARKERS,
    ROW_INCHES,
    Records,
    Theme,
    axes_for,
    check_known,
    check_most,
    draw_mark,
    dress,
    dress_plane,
    figure_of,
    head,
    label_inches,
    models_of,
    new_figure,
    read_records,
    rows_for,
    shortened,
    sizes_of,
    theme_named,
    told_beside,
)
from brainscore_core.records.comparison import ComparedModels, averages_of, compare_on_average, compare_records
from brainscore_core.statistics.correlations import OverModels, correlation_over_models

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from brainscore_core.records.record import ScoreRecord
    from brainscore_core.statistics.averages import Missing

    Floats = npt.NDArray[np.float64]
    Indices = npt.NDArray[np.intp]


# -- models in their order ---------------------------------------------------------------------------------------------
#
# Draw models ranked by score, with intervals, ties, and reasons for missing scores.


_ALL = "average"
_COLUMNS_PT = 8, 50, 90  # of rank, ties and n, right of the axes


def scores(
    records: Records,
    benchmark: str | None = None,
    *,
    models: Sequence[str] | None = None,
    parents: Mapping[str, str] | None = None,
    missing: Missing = "zero",
    most: int | None = None,
    highlight: Collection[str] = (),
    ax: Axes | None = None,
    theme: str = "light",
) -> Figure:
    """Draw models ranked by their scores on a benchmark, or on average; see `brainscore_core.plots`.

    Parameters
    ----------
    benchmark
        A benchmark or a node of `parents`. None: the average of all benchmarks with a score.
    parents
        Parent of each benchmark and inner node, except roots. None: all benchmarks are below ``'average'``.
    missing : {'zero', 'left out', 'complete'}
        Treatment of missing scores, see `brainscore_core.statistics.averages.average_tree`.

    Returns
    -------
    matplotlib.figure.Figure
        A row for each model: score, 95 % interval, interval of the rank, letters of ties (`Comparison.letters`), for
        averages the number of benchmarks with a score, or the reason for a missing score. Averages that lack some have
        neither interval nor rank, and come last. A triangle is above the ceiling. SVG groups: ``score:<model>`` and
        ``interval:<model>``.
    """
    check_most(most)
    ink, entries = theme_named(theme), read_records(records)
    compared = _compared(entries, models_of(entries, models), benchmark, parents, missing)
    check_known("model", highlight, compared.models)
    order = compared.order[:most]
    title = f"{compared.name}{' (SIMULATED)' if compared.are_simulated else ''}"
    names = shortened([compared.models[place] for place in order])
    panel = rows_for(ax, names, ink, title)
    _draw_rows(panel, compared, order, ink, highlight)
    sizes = sizes_of(record for record in entries if record.benchmark in compared.benchmarks)
    _dress(panel, compared, order, ink)
    head(panel, title, _told_of_ranks(compared, len(order), sizes), ink)
    return figure_of(panel)


def _compared(
    records: Sequence[ScoreRecord],
    models: Sequence[str],
    benchmark: str | None,
    parents: Mapping[str, str] | None,
    missing: Missing,
) -> ComparedModels:
    benchmarks = {record.benchmark for record in records}
    above = dict.fromkeys(benchmarks, _ALL) if parents is None else parents
    if benchmark is None and len(benchmarks) == 1:
        (benchmark,) = benchmarks
    node = _root(above) if benchmark is None else benchmark
    check_known("benchmark or average", [node], benchmarks | set(above.values()))
    if node in benchmarks:
        return compare_records((record for record in records if record.benchmark == node), models)[0]
    return compare_on_average(records, models, node, above, missing=missing)


def _root(parents: Mapping[str, str]) -> str:
    roots = sorted(set(parents.values()) - set(parents))
    if len(roots) != 1:
        raise ConfigurationError(
            f"The tree of benchmarks has {len(roots)} roots ({', '.join(roots) or 'none'}); choose the node to draw."
        )
    return roots[0]


def _draw_rows(
    panel: Axes, compared: ComparedModels, order: Sequence[int], ink: Theme, highlight: Collection[str]
) -> None:
    ranks, letters = compared.ranks, compared.letters
    is_average = len(compared.benchmarks) > 1
    for row, place in enumerate(order):
        model, score = compared.models[place], compared.scores[place]
        if score.is_missing:
            told_beside(panel, row, score.reason, ink.muted, style="italic")
            continue
        draw_mark(
            panel,
            score.value,
            row,
            compared.intervals[place],
            colour=ink.series[1 if model in highlight else 0],
            name=model,
            theme=ink,
            marker="^" if _is_above(compared, place) else "o",
        )
        counts = f"{compared.n_scored[place]}/{len(compared.benchmarks)}" if is_average else ""
        for at, text in zip(_COLUMNS_PT, (ranks[place], letters[place], counts), strict=True):
            told_beside(panel, row, text, ink.text, right_pt=at)
    for at, text in zip(_COLUMNS_PT, ("rank", "ties", "n" if is_average else ""), strict=True):
        told_beside(panel, -1, text, ink.muted, right_pt=at)


def _is_above(compared: ComparedModels, place: int) -> bool:
    return len(compared.benchmarks) == 1 and compared.scores[place].value > 1


def _dress(panel: Axes, compared: ComparedModels, order: Sequence[int], ink: Theme) -> None:
    dress(panel, ink)
    for label, place in zip(panel.get_yticklabels(), order, strict=True):
        label.set_color(ink.muted if compared.scores[place].is_missing else ink.text)
    scored = [place for place in order if not compared.scores[place].is_missing]
    ends = [end for place in scored for end in (*compared.intervals[place], compared.scores[place].value)]
    for x, name in ((0, "zero"), (1, "at-ceiling")):
        if ends and np.nanmin(ends) <= x <= np.nanmax(ends):
            panel.axvline(x, color=ink.muted, lw=1, ls="-" if x == 0 else (0, (4, 3)), gid=name)
    notes = ["1: noise ceiling"]
    notes += ["triangle: above the ceiling"] if any(_is_above(compared, place) for place in scored) else []
    notes += ["no line: unknown error"] if any(np.isnan(compared.intervals[place]).any() for place in scored) else []
    notes += ["some lines: upper bounds"] if any(compared.scores[place].is_bound for place in scored) else []
    panel.set_xlabel(f"score with its 95 % interval\n{'; '.join(notes)}", fontsize=8.5, color=ink.text)


def _told_of_ranks(compared: ComparedModels, n_drawn: int, sizes: str) -> list[str]:
    n, n_benchmarks = sum(not score.is_missing for score in compared.scores), len(compared.benchmarks)
    cut = "" if n_drawn == len(compared.models) else f", the first {n_drawn} are drawn"
    parts = [f"n = {n} of {len(compared.models)} models with a score{cut}"]
    parts += [f"{n_benchmarks} benchmarks"] if n_benchmarks > 1 else []
    return [*parts, sizes]


# -- a few models on every benchmark -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Row:
    compared: ComparedModels
    place: int | None  # of a model; None: the heading of a benchmark
    sizes: str = ""


def compare(
    records: Records,
    models: Sequence[str] | None = None,
    *,
    benchmarks: Sequence[str] | None = None,
    reference: str | None = None,
    theme: str = "light",
) -> Figure:
    """Draw scores of models and their differences from one, a block of rows for each benchmark.

    For other parameters see `brainscore_core.plots`.

    Parameters
    ----------
    benchmarks
        None: all with a record of one of the models, and their averages.
    reference
        Model to subtract; None: the first.

    Returns
    -------
    matplotlib.figure.Figure
        Blocks are ordered from best to worst. Left: scores with 95 % intervals, letters of groups (models that share
        one do not differ significantly) and intervals of ranks. Right: differences with intervals, filled if
        significant after Holm's correction for all pairs, and the corrected p value, after ~ if the covariance is
        unknown. SVG groups: ``score:<benchmark>:<model>``, ``interval:<benchmark>:<model>`` and, on the right,
        ``score:difference:<benchmark>:<model>`` and ``interval:difference:<benchmark>:<model>``.
    """
    ink, entries = theme_named(theme), read_records(records)
    names = models_of(entries, models)
    check_known("benchmark", benchmarks or (), {record.benchmark for record in entries})
    check_known("model", [] if reference is None else [reference], names)
    base = 0 if reference is None else names.index(reference)
    selected = [
        record for record in entries if record.model in names and (benchmarks is None or record.benchmark in benchmarks)
    ]
    compared = compare_records(selected, names)
    if not compared:
        raise DataNotHereError("There is nothing to draw: none of these models has a record on these benchmarks.")
    compared += averages_of(compared, selected)
    sizes = {
        comparison.name: sizes_of(record for record in selected if record.benchmark == comparison.name)
        for comparison in compared
    }
    rows = []
    for comparison in compared:
        rows += [_Row(comparison, None, sizes[comparison.name]), *(_Row(comparison, at) for at in comparison.order)]
    return _draw(rows, names, base, ink)


def _draw(rows: Sequence[_Row], names: Sequence[str], base: int, ink: Theme) -> Figure:
    has_differences = len(names) > 1
    labels = shortened(names)
    width = (9.6 if has_differences else 5.6) + label_inches(labels)
    figure = new_figure(width, 0.9 + ROW_INCHES * len(rows), ink, f"Comparison of {', '.join(names)}")
    panels = figure.subplots(1, 1 + has_differences, sharey=True, squeeze=False)[0]
    for y, row in enumerate(rows):
        if row.place is None:
            _head(panels[0], y, row.compared, row.sizes, ink)
            continue
        compared, place = row.compared, row.place
        score = compared.scores[place]
        if score.is_missing:
            told_beside(panels[0], y, score.reason, ink.muted, style="italic")
        else:
            name = f"{compared.name}:{compared.models[place]}"
            draw_mark(panels[0], score.value, y, compared.intervals[place], name=name, theme=ink, **_series(place, ink))
            told_beside(panels[0], y, compared.letters[place], ink.text, right_pt=8)
            told_beside(panels[0], y, f"rank {compared.ranks[place]}", ink.text, right_pt=34)
        if has_differences:
            _draw_difference(panels[1], y, compared, place, base, ink)
    ticks = [(y, labels[row.place]) for y, row in enumerate(rows) if row.place is not None]
    panels[0].set_yticks([y for y, _ in ticks], [label for _, label in ticks], **LITERAL)
    panels[0].set_ylim(len(rows) - 0.4, -0.7)
    panels[0].set_xlabel("score with its 95 % interval", fontsize=8.5, color=ink.text)
    if has_differences:
        label = f"difference from {labels[base]} with its 95 % interval\nfilled: significant after Holm's correction"
        panels[1].set_xlabel(label, fontsize=8.5, color=ink.text, **LITERAL)
        panels[1].axvline(0, color=ink.muted, lw=1, gid="zero")
    for panel in panels:
        dress(panel, ink)
    return figure


def _head(panel: Axes, y: float, compared: ComparedModels, sizes: str, ink: Theme) -> None:
    simulated = " (SIMULATED)" if compared.are_simulated and "SIMULATED" not in compared.name else ""
    name = told_beside(panel, y, f"{compared.name}{simulated}", ink.text, fontsize=8.5, fontweight="bold")
    beside: dict[str, Any] = {"xytext": (6, 0), "textcoords": "offset points", "va": "center", "annotation_clip": False}
    panel.annotate(sizes, (1, 0.5), xycoords=name, fontsize=8, color=ink.muted, **beside)


def _draw_difference(panel: Axes, y: float, compared: ComparedModels, place: int, base: int, ink: Theme) -> None:
    comparison, has_score = compared.comparison, not compared.scores[place].is_missing
    difference = float(comparison.differences[place, base])
    if math.isnan(difference) or place == base:
        text = "reference" if place == base else "no difference: the reference has no score"
        told_beside(panel, y, text if has_score else "", ink.muted, style="italic")
        return
    margin, p = float(comparison.margins[place, base]), float(comparison.p_holm[place, base])
    draw_mark(
        panel,
        difference,
        y,
        (difference - margin, difference + margin),
        name=f"difference:{compared.name}:{compared.models[place]}",
        theme=ink,
        filled=bool(comparison.differs[place, base]),
        **_series(place, ink),
    )
    text = _told(p, is_matched=bool(comparison.joint.is_matched[place, base]))
    told_beside(panel, y, text, ink.text, right_pt=8)


def _series(place: int, ink: Theme) -> dict[str, Any]:
    return {"colour": ink.series[place % len(ink.series)], "marker": MARKERS[place % len(MARKERS)]}


def _told(p: float, *, is_matched: bool) -> str:
    if math.isnan(p):
        return "no error"
    return f"{'' if is_matched else '~ '}{'p < 0.0001' if p < 0.0001 else f'p = {p:.4f}'}"


# -- one benchmark against another -------------------------------------------------------------------------------------
#
# Draw the scores of models on one benchmark against those on another.


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
        lines += [f"left out, a score is missing: {', '.join(shortened(lacking))}"]
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
        return "no correlation: too few models, or equal scores"
    return f"Pearson {_told_of_pair(pearson)}, Spearman {_told_of_pair(spearman)}"


def _told_of_pair(over: OverModels) -> str:
    return f"{over.r:.2f}{'' if np.isnan(over.low) else f' [{over.low:.2f}, {over.high:.2f}]'}"
