"""Draw an atlas of layers: a panel for each region, a row for each layer, its score with its interval."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from brainscore_core.caching import atomic_path
from brainscore_core.errors import ConfigurationError, RequirementsError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from brainscore_vision.model_helpers.brain_transformation.layer_atlas.records import LayerAtlas, RegionChoice

__all__ = ["draw_atlas", "save_atlas"]

FORMATS = (".svg", ".png", ".pdf")
# Colours that people with any kind of colour vision tell apart: Okabe & Ito (2008), Color Universal Design,
# https://jfly.uni-koeln.de/color/. Shapes say the same.
LAYER, CHOSEN, HONEST, TEXT, GRID = "#0072B2", "#D55E00", "#000000", "#333333", "#DDDDDD"
ROW_INCHES, PANEL_INCHES = 0.24, 2.9


def draw_atlas(atlas: LayerAtlas) -> Figure:
    """Draw an atlas.

    Returns
    -------
    matplotlib.figure.Figure
        From left to right a panel for each region; from top to bottom the layers from early to late. Circles are
        scores, lines their 95 % intervals; a square is the layer that was chosen, a diamond its score less what
        choosing adds by chance. Groups of the SVG are called ``score:<region>:<layer>``,
        ``interval:<region>:<layer>`` and ``honest:<region>``.

    Raises
    ------
    RequirementsError
        matplotlib is not installed.
    """
    figure_class = _figure_class()
    n_regions, n_layers = len(atlas.regions), len(atlas.layers)
    figure = figure_class(figsize=(1.6 + PANEL_INCHES * n_regions, 2.1 + ROW_INCHES * n_layers), layout="constrained")
    panels = figure.subplots(1, n_regions, sharex=True, sharey=True, squeeze=False)[0]
    for panel, choice in zip(panels, atlas.regions, strict=True):
        _draw_region(panel, choice)
    first = panels[0]
    first.set_yticks(range(n_layers), list(atlas.layers), fontsize=8)
    first.set_ylim(n_layers - 0.4, -0.6)
    figure.suptitle(f"Layers of {atlas.model}", fontsize=12, fontweight="bold", color=TEXT)
    _add_legend(figure, panels[0], honest=any(choice.optimism is not None for choice in atlas.regions))
    return figure


def save_atlas(atlas: LayerAtlas, path: str | Path) -> Path:
    """Draw an atlas into a file, whole or not at all, and return where it is.

    Parameters
    ----------
    path : path-like
        Ends in ``.svg``, ``.png`` or ``.pdf``. Text in SVG stays text.

    Raises
    ------
    ConfigurationError
        The name ends in something else.
    RequirementsError
        matplotlib is not installed.
    """
    target = Path(path)
    kind = target.suffix.lower()
    if kind not in FORMATS:
        raise ConfigurationError(f"{target} should end in {', '.join(FORMATS)}, which says how to draw it.")
    figure = draw_atlas(atlas)
    from matplotlib import rc_context  # `draw_atlas` has found it

    metadata = {"Title": f"Layers of {atlas.model}"} | ({"Date": None} if kind == ".svg" else {})
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "atlas"}), atomic_path(target) as temporary:
        figure.savefig(temporary, format=kind[1:], dpi=160, metadata=metadata)
    return target


def _figure_class() -> type[Figure]:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise RequirementsError(
            "Drawing needs matplotlib, which is not installed: pip install 'brainscore-vision[figures]'. The table "
            "needs nothing."
        ) from error
    return Figure


def _draw_region(panel: Axes, choice: RegionChoice) -> None:
    for row, each in enumerate(choice.scores):
        if each.score is None:
            panel.text(0, row, "cannot be scored", fontsize=7, color=TEXT, va="center", style="italic")
            continue
        chosen = each.layer == choice.layer
        colour = CHOSEN if chosen else LAYER
        if chosen:
            panel.axhspan(row - 0.45, row + 0.45, color=CHOSEN, alpha=0.1, lw=0)
        if each.interval is not None:
            panel.plot(each.interval, (row, row), color=colour, lw=2, gid=f"interval:{choice.region}:{each.layer}")
        panel.plot(
            [each.score],
            [row],
            marker="s" if chosen else "o",
            ms=7 if chosen else 5.5,
            color=colour,
            mec="white",
            mew=0.8,
            ls="none",
            gid=f"score:{choice.region}:{each.layer}",
        )
    if choice.optimism is not None:
        row = [each.layer for each in choice.scores].index(choice.layer)
        panel.plot(
            [choice.score - choice.optimism],
            [row],
            marker="D",
            ms=4.5,
            color="white",
            mec=HONEST,
            mew=1.1,
            ls="none",
            gid=f"honest:{choice.region}",
        )
    _dress(panel, choice)


def _dress(panel: Axes, choice: RegionChoice) -> None:
    simulated = " (SIMULATED)" if choice.simulated else ""
    panel.set_title(f"{choice.region}\n\n", fontsize=11, fontweight="bold", color=TEXT)
    said = f"{choice.benchmark}{simulated}\n{_verdict(choice)}"
    panel.text(0.5, 1.01, said, transform=panel.transAxes, ha="center", va="bottom", fontsize=7.5, color=TEXT)
    panel.set_xlabel("score (1: noise ceiling)", fontsize=8, color=TEXT)
    panel.grid(axis="x", color=GRID, lw=0.7)
    panel.set_axisbelow(True)
    panel.axvline(0, color=TEXT, lw=0.8)
    panel.tick_params(axis="both", length=0, labelsize=8, labelcolor=TEXT)
    for spine in panel.spines.values():
        spine.set_visible(False)


def _verdict(choice: RegionChoice) -> str:
    if choice.runner_up is None:
        return f"{choice.layer}, the only layer"
    if choice.separable is None:
        return f"{choice.layer}, then {choice.runner_up}"
    return f"{choice.layer}, {'' if choice.separable else 'not '}separable from {choice.runner_up}"


def _add_legend(figure: Figure, panel: Axes, *, honest: bool) -> None:
    shapes = [("o", LAYER, "white", "layer, 95 % interval"), ("s", CHOSEN, "white", "chosen")]
    if honest:
        shapes.append(("D", "white", HONEST, "less what choosing adds by chance"))
    marks = [
        panel.plot([], [], marker=shape, color=colour, mec=edge, ls="none", label=label)[0]
        for shape, colour, edge, label in shapes
    ]
    figure.legend(handles=marks, loc="outside lower center", ncols=len(marks), fontsize=8, frameon=False)
