"""Score layers on one benchmark, each as a model of one layer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from brainscore_core.errors import LayerNotFoundError, did_you_mean
from brainscore_core.metrics import Score
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
from brainscore_vision.metric_helpers.labelled.alignment import stack
from brainscore_vision.model_helpers.activations.packaging import add_presentation_coords
from brainscore_vision.model_helpers.brain_transformation.mapping import LayerMappedModel
from brainscore_vision.model_helpers.brain_transformation.temporal import TemporalAligned

if TYPE_CHECKING:
    from brainscore_core.benchmarks import Benchmark
    from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
    from brainscore_vision.model_helpers.activations.cache.layout import Array

__all__ = ["LayerScores", "OnePass", "model_of_layer", "region_recorded"]

# -- one pass over the stimuli -----------------------------------------------------------------------------------------
# Show stimuli to a model once, for activations of any layer for any of them.


@dataclass(frozen=True)
class _Pass:
    """Activations, with the row of each stimulus and each layer's columns."""

    answer: NeuroidAssembly
    rows: dict[str, int]
    columns: dict[str, slice | Array]

    @classmethod
    def of(cls, answer: NeuroidAssembly, paths: Sequence[str], layers: Sequence[str]) -> _Pass:
        names = answer["layer"].values
        columns = {layer: _as_slice(np.flatnonzero(names == layer)) for layer in layers}
        missing = [layer for layer, places in columns.items() if not isinstance(places, slice) and not len(places)]
        if missing:
            hint = did_you_mean(missing[0], np.unique(names))
            raise LayerNotFoundError(f"The model gave no activations for layer {missing[0]!r}.{hint}")
        return cls(answer, {path: row for row, path in enumerate(paths)}, columns)


class OnePass:
    """An activations model, see `ModelCommitment`, that keeps its activations of all `layers`."""

    def __init__(self, activations_model: Callable[..., NeuroidAssembly], layers: Sequence[str]) -> None:
        self._model = activations_model
        self.layers = list(dict.fromkeys(layers))
        self._passes: list[_Pass] = []
        self._repeats = False  # whether trials differ, so that nothing can be shared

    def show(self, stimulus_sets: Sequence[StimulusSet], number_of_trials: int = 1) -> None:
        """Show every stimulus of some sets once; sets are merged unless one `stimulus_id` means different files."""
        for paths in _unions([_paths_of(stimuli) for stimuli in stimulus_sets]):
            stimuli = StimulusSet({"stimulus_id": list(paths)})
            stimuli.stimulus_paths = paths
            stimuli.identifier = "stimuli-of-the-layer-atlas"
            self._remember(stimuli, number_of_trials)

    def __call__(
        self, stimuli: StimulusSet, layers: Sequence[str], number_of_trials: int = 1, require_variance: bool = False
    ) -> NeuroidAssembly:
        """Return activations; new stimuli are shown first, to all layers."""
        own = require_variance or self._repeats or not set(layers) <= set(self.layers)
        if own or not isinstance(stimuli, StimulusSet):
            return self._model(
                stimuli, layers=list(layers), number_of_trials=number_of_trials, require_variance=require_variance
            )
        paths = list(_paths_of(stimuli).values())
        one = self._find(paths) or self._remember(stimuli, number_of_trials)
        if one is None:  # every presentation is another trial
            return self._model(stimuli, layers=list(layers), number_of_trials=number_of_trials, require_variance=False)
        columns = np.concatenate([_positions(one.columns[layer]) for layer in layers])
        rows = np.asarray([one.rows[str(path)] for path in paths])
        part = one.answer.isel(presentation=rows, neuroid=columns)
        return add_presentation_coords(part, {str(name): stimuli[name].to_numpy() for name in stimuli.columns})

    def values(self, stimuli: StimulusSet, layer: str) -> Array | None:
        """Return the activations (stimulus, unit) of one layer.

        None if the model has its own time bins, its trials differ, or these stimuli were not shown.
        """
        paths = list(_paths_of(stimuli).values())
        one = self._find(paths)
        if one is None or one.answer.dims != ("presentation", "neuroid"):
            return None
        rows = [one.rows[path] for path in paths]
        values: Array = one.answer.values[:, one.columns[layer]]
        return values if rows == list(range(len(values))) else values[rows]

    def _find(self, paths: Sequence[str]) -> _Pass | None:
        return next((one for one in self._passes if all(path in one.rows for path in paths)), None)

    def _remember(self, stimuli: StimulusSet, number_of_trials: int) -> _Pass | None:
        answer = self._model(stimuli, layers=self.layers, number_of_trials=number_of_trials, require_variance=False)
        if answer.sizes["presentation"] != len(stimuli):
            self._repeats = True
            return None
        one = _Pass.of(answer, list(_paths_of(stimuli).values()), self.layers)
        self._passes.append(one)
        return one


def _paths_of(stimuli: StimulusSet) -> dict[Any, str]:
    return {stimulus_id: str(stimuli.get_stimulus(stimulus_id)) for stimulus_id in stimuli["stimulus_id"].tolist()}


def _unions(sets: Sequence[dict[Any, str]]) -> list[dict[Any, str]]:
    unions: list[dict[Any, str]] = []
    for paths in sets:
        for union in unions:
            if all(union.get(stimulus_id, path) == path for stimulus_id, path in paths.items()):
                union.update(paths)
                break
        else:
            unions.append(dict(paths))
    return unions


def _as_slice(positions: Array) -> slice | Array:
    if not len(positions):
        return positions
    first, last = int(positions[0]), int(positions[-1])
    return slice(first, last + 1) if last - first < len(positions) else positions


def _positions(columns: slice | Array) -> Array:
    return np.arange(columns.start, columns.stop) if isinstance(columns, slice) else columns


# -- scores of layers --------------------------------------------------------------------------------------------------


class LayerScores:
    """Score every layer of a model on a benchmark."""

    def __init__(
        self, model_identifier: str, activations_model: Callable[..., NeuroidAssembly], visual_degrees: float
    ) -> None:
        self.model_identifier = model_identifier
        self.activations_model = activations_model
        self.visual_degrees = visual_degrees

    def __call__(
        self, benchmark: Benchmark, layers: Sequence[str], benchmark_identifier: str | None = None, prerun: bool = False
    ) -> Score:
        """Score layers; the attribute ``raw`` of the Score (layer) lists the scores.

        Parameters
        ----------
        benchmark
            With an attribute ``region``, or a region as ``parent``.
        benchmark_identifier
            Ignored; a cache entry in the published system.
        prerun
            Whether the model runs once for all layers.
        """
        del benchmark_identifier
        model = OnePass(self.activations_model, layers) if prerun else self.activations_model
        region = region_recorded(benchmark)
        scores = [
            benchmark(model_of_layer(self.model_identifier, model, region, layer, self.visual_degrees))
            for layer in layers
        ]
        stacked = stack([Score(float(score)) for score in scores], [{"layer": layer} for layer in layers])
        stacked = stacked.sel(layer=list(layers))
        stacked.attrs["raw"] = scores
        return stacked


def model_of_layer(
    identifier: str, activations_model: Callable[..., NeuroidAssembly], region: str, layer: str, visual_degrees: float
) -> TemporalAligned:
    """Return a model with one layer for one region."""
    return TemporalAligned(
        LayerMappedModel(f"{identifier}-{layer}", activations_model, {region: layer}, visual_degrees=visual_degrees)
    )


def region_recorded(benchmark: Any) -> str:  # any benchmark of a plugin
    """Return a benchmark's ``region``, or its parent; ValueError if it has neither."""
    region = getattr(benchmark, "region", None) or getattr(benchmark, "parent", None)
    if not region:
        raise ValueError(
            f"Benchmark {getattr(benchmark, 'identifier', benchmark)!r} does not state its region; expected "
            "an attribute region such as 'IT'."
        )
    return str(region)
