"""Draw an atlas of layers: a panel for each region, a row with each layer's score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from brainscore_core.errors import ContractError
from brainscore_core.plots.figures import (
    LITERAL,
    ROW_INCHES,
    Theme,
    check_known,
    draw_mark,
    dress,
    label_inches,
    new_figure,
    shortened,
    theme_named,
)

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    Floats = npt.NDArray[np.float64]

_PANEL_INCHES = 2.9


def atlas(
    score: npt.ArrayLike,
    layers: Sequence[str],
    regions: Sequence[str],
    *,
    interval: npt.ArrayLike | None = None,
    chosen: Sequence[str | None] | None = None,
    honest: npt.ArrayLike | None = None,
    notes: Sequence[str] | None = None,
    title: str = "",
    theme: str = "light",
) -> Figure:
    """Draw how well each layer of a model predicts each region; see `brainscore_core.plots` for `theme` and errors.

    Parameters
    ----------
    score, interval : array-like, shapes (n_regions, n_layers) and (n_regions, n_layers, 2)
        Normalised by the ceiling, and 95 % intervals; NaN: none.
    layers
        Early to late.
    chosen, honest : sequences of length n_regions, optional
        The chosen layer (None: none), and its score corrected for the bias of choosing the best (NaN: unknown).
    notes
        Below the names of regions, such as benchmarks.

    Returns
    -------
    matplotlib.figure.Figure
        A panel for each region with a row for each layer: circles are scores with intervals, a square is the chosen
        layer, a diamond its corrected score. SVG groups: ``score:<region>:<layer>``, ``interval:<region>:<layer>`` and
        ``honest:<region>``.
    """
    ink, n_regions, n_layers = theme_named(theme), len(regions), len(layers)
    values = _shaped("score", score, (n_regions, n_layers))
    ends = _shaped("interval", interval, (n_regions, n_layers, 2))
    corrected = _shaped("honest", honest, (n_regions,))
    picked = [None] * n_regions if chosen is None else list(chosen)
    said = [""] * n_regions if notes is None else list(notes)
    if not n_regions or not n_layers or (len(picked), len(said)) != (n_regions, n_regions):
        raise ContractError(
            "An atlas needs layers and regions, and one chosen layer and one note for each region; got "
            f"{n_layers} layers, {n_regions} regions, {len(picked)} chosen layers and {len(said)} notes."
        )
    check_known("layer", [layer for layer in picked if layer is not None], layers)

    labels = shortened(layers)
    figure = new_figure(0.6 + label_inches(labels) + _PANEL_INCHES * n_regions, 2.1 + ROW_INCHES * n_layers, ink, title)
    panels = figure.subplots(1, n_regions, sharex=True, sharey=True, squeeze=False)[0]
    panels[0].set_yticks(range(n_layers), labels, **LITERAL)
    panels[0].set_ylim(n_layers - 0.4, -0.6)
    for place, panel in enumerate(panels):
        row = None if picked[place] is None else list(layers).index(str(picked[place]))
        _draw_region(panel, regions[place], layers, values[place], ends[place], row, corrected[place], ink)
        _dress(panel, regions[place], said[place], ink)
    if title:
        figure.suptitle(title, fontsize=12, fontweight="bold", color=ink.text, **LITERAL)
    _add_legend(figure, panels[0], ink, chosen=any(picked), honest=bool(np.isfinite(corrected).any()))
    return figure


def _shaped(name: str, numbers: npt.ArrayLike | None, shape: tuple[int, ...]) -> Floats:
    if numbers is None:
        return np.full(shape, np.nan)
    values = np.asarray(numbers, dtype=np.float64)
    if values.shape != shape:
        raise ContractError(f"{name} has the shape {values.shape}; expected {shape}: regions first, then layers.")
    return values


def _draw_region(
    panel: Axes,
    region: str,
    layers: Sequence[str],
    score: Floats,
    interval: Floats,
    chosen: int | None,
    honest: float,
    ink: Theme,
) -> None:
    for row, layer in enumerate(layers):
        if np.isnan(score[row]):
            panel.text(0, row, "cannot be scored", fontsize=7, color=ink.muted, va="center", style="italic")
            continue
        colour, marker = (ink.series[1], "s") if row == chosen else (ink.series[0], "o")
        if row == chosen:
            panel.axhspan(row - 0.45, row + 0.45, color=colour, alpha=0.12, lw=0)
        ends = (float(interval[row, 0]), float(interval[row, 1]))
        name = f"{region}:{layer}"
        draw_mark(panel, float(score[row]), row, ends, colour=colour, marker=marker, name=name, theme=ink)
    if chosen is not None and np.isfinite(honest):
        panel.plot(
            [honest], [chosen], "D", ms=4.5, color=ink.ground, mec=ink.text, mew=1.1, gid=f"honest:{region}"
        )  # fmt: skip


def _dress(panel: Axes, region: str, note: str, ink: Theme) -> None:
    n_lines = note.count("\n") + 1 if note else 0
    panel.set_title(region, fontsize=11, fontweight="bold", color=ink.text, pad=6 + 10.5 * n_lines, **LITERAL)
    panel.annotate(
        note, (0.5, 1), (0, 4), "axes fraction", "offset points", ha="center", va="bottom", fontsize=7.5,
        color=ink.muted, **LITERAL,
    )  # fmt: skip
    panel.set_xlabel("score (1: noise ceiling)", fontsize=8, color=ink.text)
    panel.axvline(0, color=ink.muted, lw=0.8)
    dress(panel, ink)


def _add_legend(figure: Figure, panel: Axes, ink: Theme, *, chosen: bool, honest: bool) -> None:
    shapes = [("o", ink.series[0], ink.ground, "layer, 95 % interval")]
    shapes += [("s", ink.series[1], ink.ground, "chosen")] if chosen else []
    shapes += [("D", ink.ground, ink.text, "corrected for choosing the best")] if honest else []
    marks = [
        panel.plot([], [], marker=shape, color=colour, mec=edge, ls="none", label=label)[0]
        for shape, colour, edge, label in shapes
    ]
    figure.legend(
        handles=marks, loc="outside lower center", ncols=len(marks), fontsize=8, frameon=False, labelcolor=ink.text
    )
