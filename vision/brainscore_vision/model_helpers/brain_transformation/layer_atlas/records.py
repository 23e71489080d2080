"""Hold what an atlas of layers says, as plain numbers that can be written and read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import TypeAdapter

from brainscore_core.errors import CorruptFileError
from brainscore_core.untrusted import checked, parse, read_start
from brainscore_vision.model_helpers.brain_transformation.mapping import LayerMap

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["LayerAtlas", "LayerScore", "RegionChoice", "format_atlas"]

Interval = tuple[float, float]
_MOST_BYTES = 16 * 2**20


@dataclass(frozen=True, kw_only=True)
class LayerScore:
    """How well one layer predicts one region.

    Attributes
    ----------
    score : float or None
        Ceiled, as the benchmark gives it for a model with this layer; None if it cannot be computed.
    error : float or None
        Standard error over stimuli and neuroids (of an opaque benchmark: what it states).
    interval : (float, float) or None
        95 % interval over the same.
    note : str
        Why there is no score; empty if there is one.
    """

    layer: str
    score: float | None
    error: float | None = None
    interval: Interval | None = None
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class RegionChoice:
    """Which layer stands for a region, and how sure that is.

    Attributes
    ----------
    benchmark : str
        Identifier of what it was chosen on.
    simulated : bool
        Whether its measurements are simulated, not biological.
    scores : sequence of LayerScore
        Of every layer, in the model's order.
    layer : str
        The one with the highest score, the first of several.
    runner_up : str or None
        The second; None if there is no other layer that has a score.
    margin : float or None
        How much higher the score of the layer is than that of the runner-up.
    margin_interval : (float, float) or None
        95 % interval of the margin over stimuli and neuroids, both layers with the same draws.
    nested_score : float or None
        Score by nested cross-validation, in which no stimulus is used both to choose a layer and to score it. None
        where the benchmark does not say what it predicts.
    nested_error : float or None
        Standard error of it over stimuli and neuroids.
    fold_score : float or None
        Score of the chosen layer in the same folds, which had a part in choosing it. Folds leave fewer stimuli for
        fitting than the benchmark does, so that both are lower than its score; their difference is the `optimism`.
    n_folds, n_same : int
        Folds of the nested cross-validation, and in how many of them the same layer was chosen.
    seed : int
        Of the folds and the draws.
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
        """Whether the interval of the margin lies above 0; None if there is none."""
        return None if self.margin_interval is None else self.margin_interval[0] > 0

    @property
    def score(self) -> float:
        """The score of the chosen layer: the best of several, so that it is too high by the `optimism`."""
        (score,) = (each.score for each in self.scores if each.layer == self.layer)
        return float("nan") if score is None else score

    @property
    def optimism(self) -> float | None:
        """By how much a score of the chosen layer is too high because the same stimuli chose it; None if not known.

        The difference of `fold_score` and `nested_score` (in the manner of Tibshirani & Tibshirani (2009), A bias
        correction for the minimum error rate in cross-validation, Annals of Applied Statistics 3,
        doi:10.1214/08-AOAS224).
        """
        return None if self.fold_score is None or self.nested_score is None else self.fold_score - self.nested_score

    def origin(self) -> dict[str, object]:
        """Return how the layer came to be, for a `LayerMap` and the record of a score."""
        names = ("benchmark", "simulated", "runner_up", "margin", "nested_score", "nested_error", "optimism", "seed")
        interval = None if self.margin_interval is None else list(self.margin_interval)
        chosen = {name: getattr(self, name) for name in names}
        return {"from": "selection", **chosen, "margin_interval": interval, "separable": self.separable}


@dataclass(frozen=True, kw_only=True)
class LayerAtlas:
    """All layers of a model on the benchmarks of some regions, and which layer each region gets.

    Attributes
    ----------
    model : str
        Identifier of the model.
    layers : sequence of str
        In the model's order, from early to late.
    regions : sequence of RegionChoice
    """

    model: str
    layers: Sequence[str]
    regions: Sequence[RegionChoice]

    @property
    def region_layer_map(self) -> LayerMap:
        """The layer of each region, with its origin."""
        chosen = {choice.region: choice.layer for choice in self.regions}
        return LayerMap(chosen, {choice.region: choice.origin() for choice in self.regions})

    def __getitem__(self, region: str) -> RegionChoice:
        """Return the choice for a region; `KeyError` if there is none."""
        return {choice.region: choice for choice in self.regions}[region]

    def to_json(self) -> str:
        """Return the atlas as JSON text, ending with a line break."""
        content: Mapping[str, object] = asdict(self)
        return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def read(cls, path: str | Path) -> LayerAtlas:
        """Read from a file what `to_json` returned.

        Raises
        ------
        CorruptFileError
            It cannot be read, holds something else, or is too large.
        """
        try:
            content = parse(read_start(Path(path), _MOST_BYTES), "atlas", _MOST_BYTES)
            return checked(TypeAdapter(cls), content, "wrong type at atlas")
        except OSError as error:
            raise CorruptFileError(f"{path} is no atlas of layers: {error} Make it: brainscore atlas --help") from error


def format_atlas(atlas: LayerAtlas) -> str:
    """Return an atlas as lines of text: a table of scores and standard errors, then what was chosen.

    An asterisk marks the layer of a region.
    """
    table = [["layer", *(choice.region for choice in atlas.regions)]]
    for index, layer in enumerate(atlas.layers):
        cells = [_cell(choice.scores[index], chosen=choice.layer == layer) for choice in atlas.regions]
        table.append([layer, *cells])
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table]
    notes = [f"{each.layer} on {choice.region}: {each.note}" for choice in atlas.regions for each in choice.scores]
    chosen = [_chosen(choice) for choice in atlas.regions]
    title = f"{atlas.model}: score ± standard error, * chosen"
    return "\n".join([title, *lines, "", *chosen, *(note for note in notes if not note.endswith(": "))])


def _cell(score: LayerScore, *, chosen: bool) -> str:
    if score.score is None:
        return "-"
    error = "" if score.error is None else f" ± {score.error:.3f}"
    return f"{score.score:.3f}{error}{' *' if chosen else ''}"


def _chosen(choice: RegionChoice) -> str:
    where = f"{choice.benchmark}{' (SIMULATED measurements)' if choice.simulated else ''}"
    parts = [f"{choice.region}: {choice.layer}, chosen on {where}."]
    if choice.runner_up is not None and choice.margin is not None:
        parts.append(f"Next: {choice.runner_up}, {choice.margin:.3f} lower{_margin(choice)}.")
    if choice.nested_score is not None and choice.optimism is not None:
        error = "" if choice.nested_error is None else f" ± {choice.nested_error:.3f}"
        parts.append(
            f"Choosing adds {choice.optimism:.3f} by chance (nested cross-validation {choice.nested_score:.3f}{error}, "
            f"not nested {choice.fold_score:.3f}; the same layer in {choice.n_same} of {choice.n_folds} folds)."
        )
    return " ".join(parts)


def _margin(choice: RegionChoice) -> str:
    if choice.margin_interval is None:
        return ""
    low, high = choice.margin_interval
    verdict = "separable" if choice.separable else "not separable"
    return f" (95 % interval {low:.3f} to {high:.3f}: {verdict})"
