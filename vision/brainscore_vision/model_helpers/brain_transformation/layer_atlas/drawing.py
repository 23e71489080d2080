"""Draw an atlas of layers: a panel for each region, a row for each layer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from brainscore_core import plots

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from brainscore_vision.model_helpers.brain_transformation.layer_atlas.records import LayerAtlas, RegionChoice

__all__ = ["draw_atlas", "save_atlas"]


def draw_atlas(atlas: LayerAtlas, *, theme: str = "light") -> Figure:
    """Draw an atlas, with theme ``light`` or ``dark``; see `brainscore_core.plots.atlas`."""
    of_regions = [choice.scores for choice in atlas.regions]
    return plots.atlas(
        [[_number(score.score) for score in scores] for scores in of_regions],
        atlas.layers,
        [choice.region for choice in atlas.regions],
        interval=[[score.interval or (np.nan, np.nan) for score in scores] for scores in of_regions],
        chosen=[choice.layer for choice in atlas.regions],
        honest=[choice.score - _number(choice.optimism) for choice in atlas.regions],
        notes=[_note(choice) for choice in atlas.regions],
        title=f"Layers of {atlas.model}",
        theme=theme,
    )


def save_atlas(atlas: LayerAtlas, path: str | Path, *, theme: str = "light") -> Path:
    """Draw an atlas into a file and return its path; see `brainscore_core.plots.save`."""
    return plots.save(draw_atlas(atlas, theme=theme), path)


def _number(value: float | None) -> float:
    return float("nan") if value is None else value


def _note(choice: RegionChoice) -> str:
    verdicts = {None: "then", True: "separable from", False: "not separable from"}
    verdict = "the only layer" if choice.runner_up is None else f"{verdicts[choice.separable]} {choice.runner_up}"
    return f"{choice.benchmark}{' (SIMULATED)' if choice.simulated else ''}\n{choice.layer}, {verdict}"
