"""Draw models ranked by score, with intervals, ties, and reasons for missing scores."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from brainscore_core.errors import ConfigurationError
from brainscore_core.plots.figures import draw_mark, dress, figure_of, head, rows_for, told_beside
from brainscore_core.plots.inputs import Records, check_known, check_most, models_of, read_records, sizes_of
from brainscore_core.plots.style import Theme, shortened, theme_named
from brainscore_core.records.comparison import ComparedModels, compare_on_average, compare_records

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from brainscore_core.records.record import ScoreRecord
    from brainscore_core.statistics.averages import Missing

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
    head(panel, title, _told(compared, len(order), sizes), ink)
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
            f"The tree of benchmarks has {len(roots)} roots ({', '.join(roots) or 'none'}); say which node to draw."
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


def _told(compared: ComparedModels, n_drawn: int, sizes: str) -> list[str]:
    n, n_benchmarks = sum(not score.is_missing for score in compared.scores), len(compared.benchmarks)
    cut = "" if n_drawn == len(compared.models) else f", the first {n_drawn} are drawn"
    parts = [f"n = {n} of {len(compared.models)} models with a score{cut}"]
    parts += [f"{n_benchmarks} benchmarks"] if n_benchmarks > 1 else []
    return [*parts, sizes]
