"""Draw how several models compare."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from brainscore_core.caching import atomic_path
from brainscore_core.errors import ConfigurationError, RequirementsError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from brainscore_core.scoring.comparison import ComparedModels

__all__ = ["draw_comparison", "save_comparison"]

FORMATS = (".svg", ".png", ".pdf")
# Colours that people with any kind of colour vision tell apart: Okabe & Ito (2008), Color Universal Design,
# https://jfly.uni-koeln.de/color/. Shapes say the same.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "D", "^", "v", "P", "X")
TEXT, GRID = "#333333", "#DDDDDD"
ROW_INCHES = 0.24


def draw_comparison(compared: Sequence[ComparedModels]) -> Figure:
    """Draw scores with their intervals, a block of rows for each benchmark.

    Returns
    -------
    matplotlib.figure.Figure
        In a block the models from best to worst: the score, its 95 % interval, the letters of the groups (models that
        share one do not differ significantly) and between which ranks the model lies. Groups of the SVG are called
        ``score:<benchmark>:<model>`` and ``interval:<benchmark>:<model>``.

    Raises
    ------
    ConfigurationError
        There is nothing to draw.
    RequirementsError
        matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise RequirementsError(
            "Drawing needs matplotlib, which is not installed: pip install 'brainscore-core[figures]'. The table needs "
            "nothing."
        ) from error
    if not compared:
        raise ConfigurationError("There is nothing to draw: no benchmark was compared.")
    n_rows = sum(len(each.models) + 1 for each in compared)
    figure = Figure(figsize=(7.2, 1.1 + ROW_INCHES * n_rows), layout="constrained")
    panel = figure.subplots()
    ticks: list[tuple[float, str]] = []
    row = 0.0
    for each in compared:
        _draw_block(panel, each, row, ticks)
        row += len(each.models) + 1
    panel.set_yticks([place for place, _ in ticks], [name for _, name in ticks], fontsize=8)
    panel.set_ylim(row - 0.4, -0.9)
    panel.set_xlabel("score with its 95 % interval", color=TEXT)
    panel.grid(axis="x", color=GRID, lw=0.7)
    panel.set_axisbelow(True)
    panel.tick_params(length=0, colors=TEXT)
    for side in ("top", "right", "left"):
        panel.spines[side].set_visible(False)
    return figure


def _draw_block(panel: Axes, compared: ComparedModels, top: float, ticks: list[tuple[float, str]]) -> None:
    ranks, letters = compared.ranks, compared.letters
    title = compared.name
    if compared.are_simulated and "SIMULATED" not in title:
        title += " (SIMULATED)"
    panel.annotate(
        title, (0, top), xycoords=("axes fraction", "data"), fontsize=9, fontweight="bold", color=TEXT, va="center"
    )
    for row, place in enumerate(compared.order, start=1):
        model, score, (low, high) = compared.models[place], compared.scores[place], compared.intervals[place]
        colour, marker = COLOURS[place % len(COLOURS)], MARKERS[place % len(MARKERS)]
        ticks.append((top + row, model))
        if score.is_missing:
            panel.annotate(
                score.reason,
                (0.01, top + row),
                xycoords=("axes fraction", "data"),
                fontsize=7,
                color=TEXT,
                va="center",
                style="italic",
            )
            continue
        label = f"{compared.name}:{model}"
        if not np.isnan(low):
            panel.plot((low, high), (top + row, top + row), color=colour, lw=2.2, alpha=0.6, gid=f"interval:{label}")
        panel.plot([score.value], [top + row], marker, color=colour, ms=6, mec="white", mew=0.7, gid=f"score:{label}")
        panel.annotate(
            f"{letters[place]}   rank {ranks[place]}",
            (1.01, top + row),
            xycoords=("axes fraction", "data"),
            fontsize=8,
            color=TEXT,
            va="center",
            annotation_clip=False,
        )


def save_comparison(compared: Sequence[ComparedModels], path: str | Path) -> Path:
    """Draw a comparison into a file, whole or not at all, and return where it is.

    Parameters
    ----------
    path : path-like
        Ends in ``.svg``, ``.png`` or ``.pdf``, else `ConfigurationError`. Text in SVG stays text.
    """
    target = Path(path)
    kind = target.suffix.lower()
    if kind not in FORMATS:
        raise ConfigurationError(f"{target} should end in {', '.join(FORMATS)}, which says how to draw it.")
    figure = draw_comparison(compared)
    from matplotlib import rc_context  # `draw_comparison` has found it

    metadata = {"Title": "Comparison of models"} | ({"Date": None} if kind == ".svg" else {})
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "comparison"}), atomic_path(target) as temporary:
        figure.savefig(temporary, format=kind[1:], dpi=160, metadata=metadata)
    return target
