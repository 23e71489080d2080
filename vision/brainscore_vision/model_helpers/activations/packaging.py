"""Label activations: turn arrays into a `NeuroidAssembly`."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr
from xarray.indexes import PandasMultiIndex

from brainscore_core.errors import AssemblyError, StimulusError
from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly, NeuroidAssembly
from brainscore_vision.model_helpers.activations.cache.layout import Recorded
from brainscore_vision.model_helpers.activations.trials import TRIAL_COORDS

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
    from brainscore_vision.model_helpers.activations.cache.layout import Array

__all__ = [
    "add_presentation_coords",
    "attach_stimulus_set_meta",
    "package",
    "package_layers",
    "require_ids",
]

Assembly = TypeVar("Assembly", bound=DataAssembly)

# Names of the axes after the first one, by their number. A fully connected layer has positions too (NaN), as one
# assembly may hold it together with convolutions.
_AXES: dict[int, tuple[str, ...]] = {
    1: ("channel", "channel_x", "channel_y"),
    2: ("channel", "embedding"),
    3: ("channel", "channel_x", "channel_y"),
    4: ("channel_temporal", "channel_x", "channel_y", "channel"),
}


def package_layers(
    layer_activations: Mapping[str, Array], stimuli_paths: Sequence[str], identifier: str
) -> NeuroidAssembly:
    """Package layers' arrays (stimulus, ...); see `package`."""
    layers = {name: np.asarray(values) for name, values in layer_activations.items()}
    for name, values in layers.items():
        if values.ndim < 1 or values.shape[0] != len(stimuli_paths):
            raise AssemblyError(
                f"Layer {name!r} of model {identifier!r} gave activations of shape {values.shape} for "
                f"{len(stimuli_paths)} stimuli; expected the stimuli on the first axis."
            )
    return package(Recorded.of(layers), stimuli_paths, identifier)


def package(recorded: Recorded, stimuli_paths: Sequence[str], identifier: str) -> NeuroidAssembly:
    """Label the activations of layers, without copying values.

    Parameters
    ----------
    stimuli_paths
                In the order of the first axis.


    Returns
    -------
    NeuroidAssembly (presentation, neuroid)
        Units in C order, layers one after the other. Coordinates: ``stimulus_path`` on presentation; ``neuroid_num``
        (from 0 in each layer), ``model``, ``layer``, the position of each unit in its layer (NaN
        if the layer lacks the axis) and ``neuroid_id`` (``<model>.<layer>.<neuroid_num>``) on neuroid. The positions
        are, by the shape of a layer for one stimulus, (n,): ``channel``, and ``channel_x``, ``channel_y`` with NaN;
        (t, e): ``channel``, ``embedding``; (c, x, y): ``channel``, ``channel_x``, ``channel_y``; (t, x, y, c):
        ``channel_temporal``, ``channel_x``, ``channel_y``, ``channel``. There are none for other numbers of axes.
    """
    dims = ("presentation", "neuroid")
    empty = NeuroidAssembly(
        np.empty((len(stimuli_paths), 0)), coords={"stimulus_path": (dims[0], np.asarray(stimuli_paths))}, dims=dims
    )
    units = _unit_index(identifier, tuple(recorded.shapes.items()))
    labels = units.create_variables()
    variables, indexes = {**empty.coords.variables, **labels}, {**empty.xindexes, **dict.fromkeys(labels, units)}
    # The public constructor of xarray copies half a million names.
    return NeuroidAssembly(xr.Variable(dims, recorded.matrix), variables, indexes=indexes, fastpath=True)


@lru_cache(maxsize=2)
def _unit_index(identifier: str, shapes: tuple[tuple[str, tuple[int, ...]], ...]) -> PandasMultiIndex:
    """Return the units' index; cached, as half a million names take long."""
    widths = [int(np.prod(shape, dtype=np.int64)) for _, shape in shapes]
    layers = [layer for layer, _ in shapes]
    levels: dict[str, tuple[Array, Array]] = {}  # sorted values, place of each unit among them
    levels["neuroid_num"] = np.arange(max(widths)), np.concatenate([np.arange(width) for width in widths])
    levels["model"] = np.array([identifier]), np.zeros(sum(widths), np.intp)
    names, places = np.unique(layers, return_inverse=True)
    levels["layer"] = names, np.repeat(places, widths)
    levels.update(_place_levels([shape for _, shape in shapes], widths))
    levels["neuroid_id"] = _name_level([f"{identifier}.{layer}." for layer in layers], widths)
    uniques: list[Any] = [pd.Index(values) for values, _ in levels.values()]  # pandas' types do not allow an index
    codes: list[Any] = [codes for _, codes in levels.values()]
    index = pd.MultiIndex(levels=uniques, codes=codes, names=list(levels), verify_integrity=False)
    dtypes = {name: values.dtype for name, (values, _) in levels.items()}
    dtypes["neuroid_id"] = np.dtype(f"U{max(map(len, levels['neuroid_id'][0]), default=1)}")
    return PandasMultiIndex(index, "neuroid", dtypes)


def _place_levels(shapes: Sequence[tuple[int, ...]], widths: Sequence[int]) -> dict[str, tuple[Array, Array]]:
    """Return the levels of the units' positions, see `package`; code -1 is NaN."""
    axes = [dict(zip(_AXES.get(len(shape), ()), range(len(shape)), strict=False)) for shape in shapes]
    levels = {}
    for name in dict.fromkeys(name for shape in shapes for name in _AXES.get(len(shape), ())):
        sizes = [shape[own[name]] if name in own else 0 for shape, own in zip(shapes, axes, strict=True)]
        codes = [
            _positions(shape, own[name]) if name in own else np.full(width, -1)
            for shape, own, width in zip(shapes, axes, widths, strict=True)
        ]
        dtype = np.intp if all(name in own for own in axes) else np.float64
        levels[name] = np.arange(max(sizes), dtype=dtype), np.concatenate(codes)
    return levels


def _positions(shape: tuple[int, ...], axis: int) -> Array:
    counts = np.arange(shape[axis]).reshape([-1 if other == axis else 1 for other in range(len(shape))])
    return np.broadcast_to(counts, shape).ravel()


def _name_level(prefixes: Sequence[str], widths: Sequence[int]) -> tuple[Array, Array]:
    """Return all units' sorted names ``<prefix><number>``, and ranks."""
    if not any(one.startswith(other) for one, other in itertools.permutations(prefixes, 2)):
        # Layers stay together, and only the numbers are sorted, as 0, 1, 10, 100, 11, ...
        starts = np.concatenate([[0], np.cumsum(widths)])
        layers = sorted(range(len(prefixes)), key=prefixes.__getitem__)
        numbers = {layer: _as_text_sorts(widths[layer]) for layer in layers}
        names = [f"{prefixes[layer]}{number}" for layer in layers for number in numbers[layer].tolist()]
        order = np.concatenate([starts[layer] + numbers[layer] for layer in layers])
    else:
        unsorted = [
            f"{prefix}{number}" for prefix, width in zip(prefixes, widths, strict=True) for number in range(width)
        ]
        order = np.asarray(sorted(range(len(unsorted)), key=unsorted.__getitem__), dtype=np.intp)
        names = [unsorted[unit] for unit in order]
    places = np.empty(len(order), dtype=np.intp)
    places[order] = np.arange(len(order))
    return np.array(names, dtype=object), places


def _as_text_sorts(count: int) -> Array:
    numbers = np.arange(count)
    digits = len(str(max(count - 1, 0))) - np.floor(np.log10(np.maximum(numbers, 1))).astype(int) - 1
    return np.lexsort((numbers, numbers * 10**digits))  # 1, 10 and 100 differ only in length


def add_presentation_coords(assembly: Assembly, columns: Mapping[str, npt.ArrayLike]) -> Assembly:
    """Replace the coordinates of the presentations; all others stay, attributes don't."""
    # Variables, because coordinates create their values: half a million names for the units.
    replaced = [name for name, variable in assembly.coords.variables.items() if "presentation" in variable.dims]
    new = {name: ("presentation", np.asarray(values)) for name, values in columns.items()}
    labelled = assembly.drop_vars(replaced).assign_coords(new)
    labelled.attrs = {}
    return labelled


def attach_stimulus_set_meta(
    assembly: NeuroidAssembly, stimulus_set: StimulusSet, number_of_trials: int = 1
) -> NeuroidAssembly:
    """Replace ``stimulus_path`` by the columns of a stimulus set; attributes are dropped.

    Parameters
    ----------
    assembly : NeuroidAssembly (presentation, ...)
        One presentation for each trial of each row of the stimulus set, in order, with coordinate ``stimulus_path``;
        `TRIAL_COORDS` stay.
    number_of_trials
        Trials of each stimulus.

    Raises
    ------
    AssemblyError
        The presentations are not those of the stimulus set, or a column is named as one of `TRIAL_COORDS`.
    """
    paths = [str(stimulus_set.get_stimulus(stimulus_id)) for stimulus_id in stimulus_set["stimulus_id"]]
    expected = [path for path in paths for _ in range(number_of_trials)]
    actual = [str(path) for path in assembly["stimulus_path"].values]
    if expected != actual:
        raise AssemblyError(
            f"The activations are for {len(actual)} files and the stimulus set lists {len(expected)}; expected the "
            "same files in the same order."
        )
    trials = {name: assembly[name].values for name in TRIAL_COORDS if name in assembly.coords}
    columns = {str(name): stimulus_set[name].to_numpy().repeat(number_of_trials) for name in stimulus_set.columns}
    if taken := trials.keys() & columns.keys():
        raise AssemblyError(
            f"The stimulus set has columns {sorted(taken)}, which distinguish the trials of a model; rename them."
        )
    return add_presentation_coords(assembly, {**columns, **trials})


def require_ids(stimulus_set: StimulusSet) -> None:
    """Raise `StimulusError` if a stimulus set lacks the column ``stimulus_id``."""
    if "stimulus_id" not in stimulus_set.columns:
        columns = ", ".join(map(str, stimulus_set.columns)) or "none"
        raise StimulusError(
            "The stimulus set has no column 'stimulus_id', which identifies its pictures; its columns: "
            f"{columns}. Add it, with a unique text for each stimulus."
        )
