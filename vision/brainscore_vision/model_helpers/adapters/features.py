"""Adapt precomputed features, by stimulus_id."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from brainscore_core.errors import AssemblyError, LayerNotFoundError, count, did_you_mean
from brainscore_core.identity.digest import content_digest
from brainscore_vision.model_helpers.activations.packaging import add_presentation_coords, package_layers
from brainscore_vision.model_helpers.adapters.adapted import Adapted, Request, check_layers, classes_of, identifier_for

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
    from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
    from brainscore_vision.model_helpers.activations.cache.layout import Array

__all__ = ["FEATURES", "FeatureTables", "adapt", "is_features"]

FEATURES = "features"
"""Name of the layer of unnamed features."""

_EXPECTED = (
    "expected a pandas DataFrame with the index (or a column) stimulus_id, an xarray DataArray with the coordinate "
    "stimulus_id, a dict of stimulus_id to array, a pair (array, stimulus_ids), or a dict of names of layers to these"
)


class FeatureTables:
    """An activations model of precomputed features: by layer, arrays (stimulus, ...) and their `stimulus_id`."""

    def __init__(self, layers: Mapping[str, tuple[Array, list[str]]], identifier: str) -> None:
        self.identifier = identifier
        self._layers = dict(layers)
        self._rows = {
            name: {stimulus_id: row for row, stimulus_id in enumerate(ids)} for name, (_, ids) in layers.items()
        }

    def __call__(
        self,
        stimuli: StimulusSet,
        layers: Sequence[str],
        stimuli_identifier: str | bool | None = None,  # noqa: ARG002 - nothing is cached
        number_of_trials: int = 1,  # noqa: ARG002 - features do not vary
        require_variance: bool = False,
    ) -> NeuroidAssembly:
        """Return the features of stimuli, in their order, with all their columns.

        Raises
        ------
        AssemblyError
            Some stimuli have no features.
        LayerNotFoundError
            There is no such layer (``'logits'`` included).
        NotImplementedError
            `require_variance` is True.
        """
        if require_variance:
            raise NotImplementedError("Features that were computed elsewhere do not vary from trial to trial.")
        unknown = [layer for layer in layers if layer not in self._layers]
        if unknown:
            raise LayerNotFoundError(
                f"Model {self.identifier!r} is made of features and has no layer {unknown[0]!r}; it has "
                f"{', '.join(self._layers)}.{did_you_mean(unknown[0], self._layers)}"
            )
        stimulus_ids = [str(stimulus_id) for stimulus_id in stimuli["stimulus_id"]]
        values = {layer: self._layers[layer][0][self._find(layer, stimulus_ids)] for layer in layers}
        assembly = package_layers(values, stimulus_ids, self.identifier)
        return add_presentation_coords(assembly, {str(name): stimuli[name].to_numpy() for name in stimuli.columns})

    def _find(self, layer: str, stimulus_ids: Sequence[str]) -> Array:
        rows = self._rows[layer]
        absent = [stimulus_id for stimulus_id in stimulus_ids if stimulus_id not in rows]
        if absent:
            ids = list(rows)
            raise AssemblyError(
                f"Model {self.identifier!r} has no features in {layer!r} for {len(absent)} of {len(stimulus_ids)} "
                f"stimuli (first: {', '.join(map(repr, absent[:3]))}); it has them for {len(ids)}, such as "
                f"{', '.join(map(repr, ids[:3]))}.{did_you_mean(absent[0], ids[:1000])} Features are found by "
                "stimulus_id."
            )
        return np.asarray([rows[stimulus_id] for stimulus_id in stimulus_ids])


def is_features(model: object) -> bool:
    """Tell whether a model is a table, an array, or may hold some."""
    return (
        isinstance(model, (np.ndarray, Mapping, tuple, list))
        or classes_of(model, "pandas")
        or classes_of(model, "xarray")
    )


def adapt(features: object, request: Request) -> Adapted:
    """Wrap features; `AssemblyError` if they are of another kind, repeat a stimulus, or are not finite numbers.

    Parameters
    ----------
    features : DataFrame, DataArray, mapping or pair
        A pandas DataFrame (stimulus, feature) with the index or a column ``stimulus_id``; an xarray DataArray with the
        coordinate ``stimulus_id`` on one dimension; a mapping of `stimulus_id` to array; a pair of an array (stimulus,
        ...) and the list of `stimulus_id`; or a mapping of names of layers to any of these.
    """
    layers = _layers(features)
    identifier = request.identifier or identifier_for(
        FEATURES, lambda: content_digest([[name, *parts] for name, parts in layers.items()])
    )
    if request.preprocessing is not None:
        raise AssemblyError(f"Model {identifier!r} is made of features, which need no preprocessing; leave it out.")
    return Adapted(
        identifier=identifier,
        activations_model=FeatureTables(layers, identifier),
        layers=list(layers) if request.layers is None else check_layers(request.layers, list(layers), identifier),
    )


def _layers(features: object) -> dict[str, tuple[Array, list[str]]]:
    tables = dict(features) if isinstance(features, Mapping) else {}
    if tables and all(
        isinstance(table, (tuple, Mapping)) or classes_of(table, "pandas") or classes_of(table, "xarray")
        for table in tables.values()
    ):
        return {str(name): _table(table, str(name)) for name, table in tables.items()}
    return {FEATURES: _table(features, FEATURES)}


def _table(table: Any, name: str) -> tuple[Array, list[str]]:
    values, stimulus_ids = _parts(table, name)
    try:
        array = np.asarray(values)
    except ValueError:  # rows of unequal lengths
        array = np.empty(0, dtype=object)
    ids = [str(stimulus_id) for stimulus_id in stimulus_ids]
    if array.dtype.kind not in "fiub":
        raise AssemblyError(
            f"The features {name!r} have dtype {array.dtype}; expected numbers, as many for each stimulus."
        )
    if array.ndim < 2 or len(array) != len(ids):
        raise AssemblyError(
            f"The features {name!r} have shape {array.shape} for {len(ids)} stimuli; expected one row for each "
            "stimulus (stimulus, feature, ...)."
        )
    twice = sorted(name for name, count in Counter(ids).items() if count > 1)
    if twice:
        raise AssemblyError(
            f"The features {name!r} name {count(len(twice), 'stimulus', 'stimuli')} more than once (first: "
            f"{', '.join(map(repr, twice[:3]))}); expected each once. Average or choose first."
        )
    bad = np.flatnonzero(~np.isfinite(array.reshape(len(array), -1)).all(axis=1))
    if len(bad):
        raise AssemblyError(
            f"The features {name!r} of {len(bad)} stimuli are NaN or infinite (first: {ids[bad[0]]!r}); "
            "expected numbers."
        )
    return array, ids


def _parts(table: Any, name: str) -> tuple[Any, Sequence[object]]:
    if classes_of(table, "pandas") and hasattr(table, "columns"):
        if "stimulus_id" in table.columns:
            table = table.set_index("stimulus_id")
        return table.to_numpy(), list(table.index)
    if classes_of(table, "xarray") and "stimulus_id" in getattr(table, "coords", {}) and hasattr(table, "dims"):
        (dim,) = table["stimulus_id"].dims
        return table.transpose(dim, ...).to_numpy(), list(table["stimulus_id"].to_numpy())
    if isinstance(table, Mapping) and table:
        return list(table.values()), list(table)
    if isinstance(table, (tuple, list)) and len(table) == 2 and np.ndim(table[1]) == 1:
        return table[0], list(table[1])
    kind = (
        f"an array of shape {table.shape} without them"
        if isinstance(table, np.ndarray)
        else f"a {type(table).__qualname__}"
    )
    raise AssemblyError(f"The features {name!r} need the stimulus_id of each row; got {kind}, {_EXPECTED}.")
