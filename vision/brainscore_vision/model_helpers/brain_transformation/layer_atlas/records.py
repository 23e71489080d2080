"""Record an atlas of layers as plain numbers, as JSON, as a table and as a figure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from pydantic import TypeAdapter

from brainscore_core import plots
from brainscore_core.errors import CorruptFileError
from brainscore_core.untrusted import checked, parse, read_start
from brainscore_vision.model_helpers.brain_transformation.mapping import LayerMap

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure

__all__ = ["LayerAtlas", "LayerScore", "RegionChoice", "draw_atlas", "format_atlas", "save_atlas"]

Interval = tuple[float, float]
_MOST_BYTES = 16 * 2**20


@dataclass(frozen=True, kw_only=True)
class LayerScore:
    """Score of one layer on one region.

    Attributes
    ----------
    score
        Ceiled score of the benchmark for a model with this layer; None if it cannot be computed.
    error, interval
        Standard error and 95 % interval over stimuli and neuroids, or as stated by an opaque benchmark.
    note
        Reason if there is no score; empty otherwise.
    """

    layer: str
    score: float | None
    error: float | None = None
    interval: Interval | None = None
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class RegionChoice:
    """A region's layer, with its uncertainty.

    Attributes
    ----------
    simulated
        Whether measurements are simulated, not biological.
    scores
        One for each layer, in the model's order.
    layer
        First layer with the highest score.
    runner_up
        The second; None without.
    margin
        Score of the layer minus the runner-up's.
    margin_interval
        95 % interval of the margin over stimuli and neuroids, with common draws.
    nested_score, nested_error
        Score by nested cross-validation; standard error over stimuli and neuroids. None if the benchmark does not
        declare its comparison.
    fold_score
        Score of the chosen layer in the same folds; see `optimism`.
    n_folds, n_same
        Folds of the nested cross-validation, and those with the same choice.
    """

    region: str
    benchmark: str
    simulated: bool
    scores: Sequence[LayerScore]
    layer: str
    runner_up: str | None
    margin: float | None
    margin_interval: Interval | None
    nested_score: float | None
    nested_error: float | None
    fold_score: float | None
    n_folds: int
    n_same: int
    seed: int

    @property
    def separable(self) -> bool | None:
        """Whether the margin's interval is above 0; None without one."""
        return None if self.margin_interval is None else self.margin_interval[0] > 0

    @property
    def score(self) -> float:
        """The score of the chosen layer: the best of several, so biased upwards by the `optimism`."""
        (score,) = (entry.score for entry in self.scores if entry.layer == self.layer)
        return float("nan") if score is None else score

    @property
    def optimism(self) -> float | None:
        """Bias of the score from choosing the layer with the same stimuli; None if unknown.

        `fold_score` minus `nested_score` (as in Tibshirani & Tibshirani 2009, doi:10.1214/08-AOAS224).
        """
        return None if self.fold_score is None or self.nested_score is None else self.fold_score - self.nested_score

    def origin(self) -> dict[str, object]:
        """Return the origin of the layer, for a `LayerMap` and a score's record."""
        names = ("benchmark", "simulated", "runner_up", "margin", "nested_score", "nested_error", "optimism", "seed")
        interval = None if self.margin_interval is None else list(self.margin_interval)
        facts = {name: getattr(self, name) for name in names}
        return {"from": "selection", **facts, "margin_interval": interval, "separable": self.separable}


@dataclass(frozen=True, kw_only=True)
class LayerAtlas:
    """Scores of all layers, early to late, on benchmarks of regions; each region's layer."""

    model: str
    layers: Sequence[str]
    regions: Sequence[RegionChoice]

    @property
    def region_layer_map(self) -> LayerMap:
        """The layer of each region, with its origin."""
        layers = {choice.region: choice.layer for choice in self.regions}
        return LayerMap(layers, {choice.region: choice.origin() for choice in self.regions})

    def __getitem__(self, region: str) -> RegionChoice:
        return {choice.region: choice for choice in self.regions}[region]

    def to_json(self) -> str:
        """Return the atlas as JSON text, ending with a line break."""
        content: Mapping[str, object] = asdict(self)
        return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def read(cls, path: str | Path) -> LayerAtlas:
        """Read an atlas from a JSON file; `CorruptFileError` if it is damaged or too large."""
        try:
            content = parse(read_start(Path(path), _MOST_BYTES), "atlas", _MOST_BYTES)
            return checked(TypeAdapter(cls), content, "wrong type at atlas")
        except OSError as error:
            raise CorruptFileError(
                f"{path} is not an atlas of layers: {error} Make it: brainscore atlas --help"
            ) from error


def format_atlas(atlas: LayerAtlas) -> str:
    """Return an atlas as text: a table of scores and standard errors, then the choices, marked by an asterisk."""
    table = [["layer", *(choice.region for choice in atlas.regions)]]
    for index, layer in enumerate(atlas.layers):
        cells = [_cell(choice.scores[index], chosen=choice.layer == layer) for choice in atlas.regions]
        table.append([layer, *cells])
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table]
    notes = [f"{score.layer} on {choice.region}: {score.note}" for choice in atlas.regions for score in choice.scores]
    choices = [_chosen(choice) for choice in atlas.regions]
    title = f"{atlas.model}: score ± standard error, * chosen"
    return "\n".join([title, *lines, "", *choices, *(note for note in notes if not note.endswith(": "))])


def _cell(score: LayerScore, *, chosen: bool) -> str:
    if score.score is None:
        return "-"
    error = "" if score.error is None else f" ± {score.error:.3f}"
    return f"{score.score:.3f}{error}{' *' if chosen else ''}"


def _chosen(choice: RegionChoice) -> str:
    where = f"{choice.benchmark}{' (SIMULATED measurements)' if choice.simulated else ''}"
    parts = [f"{choice.region}: {choice.layer}, chosen on {where}."]
    if choice.runner_up is not None and choice.margin is not None:
        interval = ""
        if choice.margin_interval is not None:
            low, high = choice.margin_interval
            verdict = "separable" if choice.separable else "not separable"
            interval = f" (95 % interval {low:.3f} to {high:.3f}: {verdict})"
        parts.append(f"Next: {choice.runner_up}, {choice.margin:.3f} lower{interval}.")
    if choice.nested_score is not None and choice.optimism is not None:
        error = "" if choice.nested_error is None else f" ± {choice.nested_error:.3f}"
        parts.append(
            f"Choosing adds {choice.optimism:.3f} by chance (nested cross-validation {choice.nested_score:.3f}{error}, "
            f"not nested {choice.fold_score:.3f}; the same layer in {choice.n_same} of {choice.n_folds} folds)."
        )
    return " ".join(parts)


# -- drawing -----------------------------------------------------------------------------------------------------------
# Draw an atlas of layers: a panel for each region, a row for each layer.


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
