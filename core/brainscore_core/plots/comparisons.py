"""Draw the scores of a few models on every benchmark, and their differences from one of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from brainscore_core.errors import DataNotHereError
from brainscore_core.plots.figures import ROW_INCHES, draw_mark, dress, label_inches, new_figure, told_beside
from brainscore_core.plots.inputs import Records, check_known, models_of, read_records, sizes_of
from brainscore_core.plots.style import LITERAL, MARKERS, Theme, shortened, theme_named
from brainscore_core.records.comparison import ComparedModels, averages_of, compare_records

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


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
