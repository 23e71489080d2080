"""Show stimuli to a model once, and answer for any of its layers and any of the stimuli from that."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from brainscore_core.errors import LayerNotFoundError, did_you_mean
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
from brainscore_vision.model_helpers.activations.packaging import add_presentation_coords

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
    from brainscore_vision.model_helpers.activations.cache.layout import Array

__all__ = ["OnePass"]


@dataclass(frozen=True)
class _Shown:
    """What a model answered for all layers, and where each stimulus and each layer is in it."""

    answer: NeuroidAssembly
    rows: dict[str, int]
    columns: dict[str, slice | Array]

    @classmethod
    def of(cls, answer: NeuroidAssembly, paths: Sequence[str], layers: Sequence[str]) -> _Shown:
        names = answer["layer"].values
        columns = {layer: _as_slice(np.flatnonzero(names == layer)) for layer in layers}
        missing = [layer for layer, found in columns.items() if not isinstance(found, slice) and not len(found)]
        if missing:
            hint = did_you_mean(missing[0], np.unique(names))
            raise LayerNotFoundError(f"The model gave no activations for layer {missing[0]!r}.{hint}")
        return cls(answer, {path: row for row, path in enumerate(paths)}, columns)


class OnePass:
    """An activations model that remembers what it was shown, for all layers at once.

    Parameters
    ----------
    activations_model : callable
        ``activations_model(stimuli, layers=[...], number_of_trials=..., require_variance=...)`` returns a
        `NeuroidAssembly` with level ``layer``.
    layers : sequence of str
        All layers that will be asked for.
    """

    def __init__(self, activations_model: Callable[..., NeuroidAssembly], layers: Sequence[str]) -> None:
        self._model = activations_model
        self.layers = list(dict.fromkeys(layers))
        self._shown: list[_Shown] = []
        self._repeats = False  # whether the model answers every trial anew, so that nothing can be shared

    def show(self, stimulus_sets: Sequence[StimulusSet], number_of_trials: int = 1) -> None:
        """Show every stimulus of some sets once.

        Sets are shown together, as one set without repetitions. Only where sets give the same `stimulus_id` to
        different files they are shown one after the other.
        """
        for paths in _unions([_paths_of(each) for each in stimulus_sets]):
            stimuli = StimulusSet({"stimulus_id": list(paths)})
            stimuli.stimulus_paths = paths
            stimuli.identifier = "stimuli-of-the-layer-atlas"
            self._remember(stimuli, number_of_trials)

    def __call__(
        self,
        stimuli: StimulusSet,
        layers: Sequence[str],
        number_of_trials: int = 1,
        require_variance: bool = False,
    ) -> NeuroidAssembly:
        """Return the activations of layers; stimuli that were not shown yet are shown now, to all layers."""
        own = require_variance or self._repeats or not set(layers) <= set(self.layers)
        if own or not isinstance(stimuli, StimulusSet):
            return self._model(
                stimuli, layers=list(layers), number_of_trials=number_of_trials, require_variance=require_variance
            )
        paths = list(_paths_of(stimuli).values())
        shown = self._find(paths)
        if shown is None:
            shown = self._remember(stimuli, number_of_trials)
        if shown is None:  # every presentation is another trial
            return self._model(stimuli, layers=list(layers), number_of_trials=number_of_trials, require_variance=False)
        columns = np.concatenate([_positions(shown.columns[layer]) for layer in layers])
        rows = np.asarray([shown.rows[str(path)] for path in paths])
        part = shown.answer.isel(presentation=rows, neuroid=columns)
        return add_presentation_coords(part, {str(name): stimuli[name].to_numpy() for name in stimuli.columns})

    def values(self, stimuli: StimulusSet, layer: str) -> Array | None:
        """Return the activations of one layer as they are, shape (n_stimuli, n_units).

        None if the model has time bins of its own, answers every trial anew, or was not shown these stimuli.
        """
        paths = list(_paths_of(stimuli).values())
        shown = self._find(paths)
        if shown is None or shown.answer.dims != ("presentation", "neuroid"):
            return None
        rows = [shown.rows[path] for path in paths]
        values: Array = shown.answer.values[:, shown.columns[layer]]
        return values if rows == list(range(len(values))) else values[rows]

    def _find(self, paths: Sequence[str]) -> _Shown | None:
        return next((each for each in self._shown if all(path in each.rows for path in paths)), None)

    def _remember(self, stimuli: StimulusSet, number_of_trials: int) -> _Shown | None:
        """Run the model; None if it answers with other presentations than the stimuli."""
        answer = self._model(stimuli, layers=self.layers, number_of_trials=number_of_trials, require_variance=False)
        if answer.sizes["presentation"] != len(stimuli):
            self._repeats = True
            return None
        shown = _Shown.of(answer, list(_paths_of(stimuli).values()), self.layers)
        self._shown.append(shown)
        return shown


def _paths_of(stimuli: StimulusSet) -> dict[Any, str]:
    return {each: str(stimuli.get_stimulus(each)) for each in stimuli["stimulus_id"].tolist()}


def _unions(sets: Sequence[dict[Any, str]]) -> list[dict[Any, str]]:
    """Join what names the same stimuli alike."""
    unions: list[dict[Any, str]] = []
    for paths in sets:
        for union in unions:
            if all(union.get(each, path) == path for each, path in paths.items()):
                union.update(paths)
                break
        else:
            unions.append(dict(paths))
    return unions


def _as_slice(positions: Array) -> slice | Array:
    """Return neighbours as a slice, which reads them without a copy."""
    if not len(positions):
        return positions
    first, last = int(positions[0]), int(positions[-1])
    return slice(first, last + 1) if last - first < len(positions) else positions


def _positions(columns: slice | Array) -> Array:
    return np.arange(columns.start, columns.stop) if isinstance(columns, slice) else columns
