"""Label the activations of layers: arrays in, a `NeuroidAssembly` out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from brainscore_core.errors import AssemblyError
from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly, NeuroidAssembly

__all__ = ["Array", "add_presentation_coords", "package_layers", "unit_coords"]

Array = npt.NDArray[Any]  # of the dtype that the model gives
Assembly = TypeVar("Assembly", bound=DataAssembly)

# What the axes after the first one mean, by their number. A fully connected layer has positions too (not a number),
# so that it can stand in one assembly with convolutions.
_AXES: dict[int, tuple[str, ...]] = {
    1: ("channel", "channel_x", "channel_y"),
    2: ("channel", "embedding"),
    3: ("channel", "channel_x", "channel_y"),
    4: ("channel_temporal", "channel_x", "channel_y", "channel"),
}


def unit_coords(shape: Sequence[int]) -> dict[str, Array]:
    """Return where each unit of a layer lies.

    Parameters
    ----------
    shape : sequence of int
        Of the activations of one stimulus, such as (channel, x, y).

    Returns
    -------
    dict of str to array (unit,)
        In C order. (n,): ``channel``, and ``channel_x``, ``channel_y`` that are not a number; (t, e): ``channel``,
        ``embedding``; (c, x, y): ``channel``, ``channel_x``, ``channel_y``; (t, x, y, c): ``channel_temporal``,
        ``channel_x``, ``channel_y``, ``channel``. Empty for other numbers of axes.
    """
    n_units = int(np.prod(shape))
    names = _AXES.get(len(shape), ())
    positions = np.unravel_index(np.arange(n_units), tuple(shape)) if names else ()
    coords: dict[str, Array] = dict(zip(names, positions, strict=False))
    for name in names[len(positions) :]:
        coords[name] = np.full(n_units, np.nan)
    return coords


def package_layers(
    layer_activations: Mapping[str, Array], stimuli_paths: Sequence[str], identifier: str
) -> NeuroidAssembly:
    """Put the activations of layers side by side in one assembly.

    Parameters
    ----------
    layer_activations : mapping of str to array (stimulus, ...)
        Activations of each layer, any number of further axes.
    stimuli_paths : sequence of str
        File of each stimulus, in the order of the first axis.

    Returns
    -------
    NeuroidAssembly (presentation, neuroid)
        Units in C order, layers one after the other. Coordinates: ``stimulus_path`` on presentation; ``neuroid_num``
        (from 0 in each layer), ``model``, ``layer``, those of `unit_coords` (not a number where a layer has none)
        and ``neuroid_id`` (``<model>.<layer>.<neuroid_num>``) on neuroid.
    """
    layers = {name: np.asarray(values) for name, values in layer_activations.items()}
    for name, values in layers.items():
        if values.ndim < 1 or values.shape[0] != len(stimuli_paths):
            raise AssemblyError(
                f"Layer {name!r} of model {identifier!r} gave activations of shape {values.shape} for "
                f"{len(stimuli_paths)} stimuli; expected the stimuli on the first axis."
            )
    coords = [_layer_coords(name, values.shape[1:], identifier) for name, values in layers.items()]
    others = dict.fromkeys(key for layer in coords for key in layer if key != "neuroid_id")
    merged = {key: np.concatenate([_or_nan(layer, key) for layer in coords]) for key in (*others, "neuroid_id")}
    flat = [values.reshape(values.shape[0], int(np.prod(values.shape[1:]))) for values in layers.values()]
    return NeuroidAssembly(
        flat[0] if len(flat) == 1 else np.concatenate(flat, axis=1),
        coords={
            "stimulus_path": ("presentation", np.asarray(stimuli_paths)),
            **{name: ("neuroid", values) for name, values in merged.items()},
        },
        dims=["presentation", "neuroid"],
    )


def _layer_coords(layer: str, shape: Sequence[int], identifier: str) -> dict[str, Array]:
    n_units = int(np.prod(shape))
    numbers = np.arange(n_units)
    return {
        "neuroid_num": numbers,
        "model": np.full(n_units, identifier),
        "layer": np.full(n_units, layer),
        **unit_coords(shape),
        "neuroid_id": np.char.add(f"{identifier}.{layer}.", numbers.astype(str)),
    }


def _or_nan(coords: Mapping[str, Array], name: str) -> Array:
    return coords[name] if name in coords else np.full(len(coords["neuroid_id"]), np.nan)


def add_presentation_coords(assembly: Assembly, columns: Mapping[str, npt.ArrayLike]) -> Assembly:
    """Replace the coordinates of the presentations.

    Parameters
    ----------
    assembly : DataAssembly (presentation, ...)
        Its coordinates on the other dimensions are kept.
    columns : mapping of str to sequence
        One value for each presentation.

    Returns
    -------
    DataAssembly
        Of the same class, in the same order, without attributes.
    """
    replaced = [name for name, coord in assembly.coords.items() if "presentation" in coord.dims]
    new = {name: ("presentation", np.asarray(values)) for name, values in columns.items()}
    labelled = assembly.drop_vars(replaced).assign_coords(new)
    labelled.attrs = {}
    return labelled
