"""Label arrays, tensors and tables as assemblies for every metric and ceiling.

Labels are made up from positions: stimulus ``'000007'`` is the eighth row of every argument. Rows of tables and of
labelled arrays already have names, and the metric aligns them by name; an argument without names takes the names of one
that has them, by position. Numeric names are padded with zeros: they then sort like the rows of an array, and the same
stimuli are used for training.

Tensors are recognised by their methods, so torch is not imported.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd
import xarray as xr

from brainscore_core.errors import AssemblyError, BrainScoreError
from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly, NeuroidAssembly

if TYPE_CHECKING:
    import numpy.typing as npt

    from brainscore_core.metrics._score import Score

    Labels = npt.NDArray[Any]
    Responses: TypeAlias = DataAssembly | xr.DataArray | pd.DataFrame | npt.ArrayLike
    Repetitions: TypeAlias = int | Sequence[object] | npt.NDArray[Any]

__all__ = ["takes_arrays"]

_ROW, _STIMULUS, _COLUMN, _UNIT, _BIN = "presentation", "stimulus_id", "neuroid", "neuroid_id", "time_bin"
_PLACE = "place"  # coordinate of rows while they have no names: position of the stimulus
_SECTION = re.compile(r"\n\n(?=\w+\n-+\n)")  # of a docstring
_EXPECTED = "expected n_stimuli x n_units, or n_stimuli x n_units x n_{}s"
_NOTE = (
    "{} had no labels, so stimuli and units were numbered. If this metric needs other labels (repetition, object, "
    "choice), pass tables whose index and columns have levels of these names, or assemblies; if it needs one row for "
    "each stimulus, average the repetitions: Y.mean(axis=2)."
)


def takes_arrays(call: Callable[..., Score], documented: str) -> Callable[..., Score]:
    """Return the ``__call__`` of a metric or ceiling that also takes arrays, see `brainscore_core.metrics.Metric`.

    `documented`: docstring of the base class; the result has its sections where the method's own are missing.
    """
    signature = inspect.signature(call)
    if "repetitions" in signature.parameters:  # wrapped already, or the metric's own argument
        return call

    # The closure holds only this function: the keys of caches cover the closures of a metric's methods.
    @functools.wraps(call)
    def call_with_arrays(self: Any, *args: Any, repetitions: Repetitions | None = None, **kwargs: Any) -> Score:
        if repetitions is None and not any(_is_bare(value) for value in (*args, *kwargs.values())):
            return call(self, *args, **kwargs)
        bound = inspect.signature(call).bind(self, *args, **kwargs)
        given = dict([*bound.arguments.items()][1:])
        labelled = _labelled(given, repetitions, *self.third_axis)
        bound.arguments.update(labelled)
        try:
            return call(*bound.args, **bound.kwargs)
        except BrainScoreError as error:
            error.add_note(_NOTE.format(" and ".join(name for name in given if labelled[name] is not given[name])))
            raise

    base = documented.replace("assembly1, assembly2", ", ".join([*signature.parameters][1:]))
    _, *of_base = _SECTION.split(inspect.cleandoc(base))
    summary, *own = _SECTION.split(inspect.cleandoc(call.__doc__ or ""))
    sections = {section.partition("\n")[0]: section for section in (*of_base, *own)}
    call_with_arrays.__doc__ = "\n\n".join([summary, *sections.values()])
    named = inspect.Parameter("repetitions", inspect.Parameter.KEYWORD_ONLY, default=None)
    call_with_arrays.__signature__ = signature.replace(  # type: ignore[attr-defined] # of functions, see `inspect`
        parameters=sorted([*signature.parameters.values(), named], key=lambda parameter: parameter.kind)
    )
    return call_with_arrays


def _is_bare(value: object) -> bool:
    """Return whether an argument of a metric is a matrix that is not labelled as an assembly."""
    if isinstance(value, xr.DataArray):
        is_labelled = isinstance(value, DataAssembly) or (_STIMULUS in value.coords and _ROW in value.dims)
        return value.ndim > 1 and not is_labelled
    return hasattr(value, "__array__") and getattr(value, "ndim", 0) > 1


def _labelled(given: Mapping[str, Any], repetitions: Repetitions | None, third: str, along: str) -> dict[str, Any]:
    """Return the arguments of a metric with an assembly for every matrix, see `Metric.third_axis`.

    Arguments named ``*test*`` have other stimuli than the rest.
    """
    bare = [name for name, value in given.items() if _is_bare(value)]
    for name, value in given.items():
        if bare and name not in bare and hasattr(value, "__array__") and not isinstance(value, xr.DataArray):
            shape = f"The argument {name!r} has shape {np.shape(value)}; {_EXPECTED.format(third)}."
            raise AssemblyError(f"{shape} A single unit is one column: {name}[:, None].")
    tables = {name: _read(name, given[name], third, along) for name in bare}
    if repetitions is not None:
        tables = _repeated(tables, repetitions, third)
    for is_tested in (False, True):
        part = {name: tables.get(name, value) for name, value in given.items() if ("test" in name) is is_tested}
        _name_stimuli({name: value for name, value in part.items() if isinstance(value, xr.DataArray)}, tables, third)
    return {**given, **{name: _assembly(table) for name, table in tables.items()}}


def _read(name: str, value: Any, third: str, along: str) -> xr.DataArray:
    """Return an array, tensor or table with dims (presentation, neuroid[, time_bin]) and any labels it has."""
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        value = np.asarray(value.float() if "bfloat16" in str(value.dtype) else value)  # which NumPy lacks
    array = value if isinstance(value, xr.DataArray) else xr.DataArray(value)
    first = [dim for dim in (_ROW, _COLUMN) if {_ROW, _COLUMN} <= {*array.dims}]
    array = array.transpose(*first, ..., *[dim for dim in (_BIN,) if dim in array.dims])
    names = dict(zip([dim for dim in array.dims if dim != _BIN], (_ROW, _COLUMN, third), strict=False))
    if array.dtype.kind not in "biuf" or not 2 <= array.ndim - (_BIN in array.dims) <= 3:
        raise AssemblyError(
            f"The argument {name!r} has shape {array.shape} and type {array.dtype}; {_EXPECTED.format(third)}, of real "
            "numbers."
        )
    coords: dict[str, tuple[str, Labels]] = {}
    for dim, key in zip(array.dims, (_STIMULUS, _UNIT), strict=False):
        index = array.indexes.get(dim)
        levels = [*index.names] if isinstance(index, pd.MultiIndex) else []
        if None in levels or (levels and key == _STIMULUS not in levels):
            raise AssemblyError(
                f"The index of {name!r} has levels {levels}; expected a name for each level, and {_STIMULUS!r} for the "
                "stimuli of the rows: table.index.names = [...]."
            )
        of = {str(each): coord.values for each, coord in array.coords.items() if coord.dims == (dim,) and each != dim}
        of |= {} if index is None or levels else {key: index.to_numpy()}
        coords |= {each: (names[dim], _numbered(labels) if each == key else labels) for each, labels in of.items()}
    coords |= {str(each): (_BIN, coord.values) for each, coord in array.coords.items() if coord.dims == (_BIN,)}
    dims = [names.get(dim, str(dim)) for dim in array.dims]
    array = xr.DataArray(
        array.values, coords | {_PLACE: (_ROW, np.arange(len(array)))}, dims, attrs={"shape": array.shape}
    )
    if third not in dims:
        return array
    if along == _COLUMN:  # each part has separate units
        array = array.drop_vars(_UNIT, errors="ignore")
    numbers = [np.full(array.sizes[along], number) for number in range(array.sizes[third])]
    parts = [array.isel({third: at}).assign_coords({third: (along, labels)}) for at, labels in enumerate(numbers)]
    stacked = xr.concat(parts, along, coords="minimal", compat="override", combine_attrs="override")
    return stacked.dropna(_ROW, how="all") if along == _ROW else stacked


def _numbered(labels: Any) -> Labels:
    values = np.asarray(labels)
    is_number = values.dtype.kind in "iu" and values.min(initial=0) >= 0
    return np.array([f"{label:06d}" for label in values.tolist()], dtype=str) if is_number else values.astype(str)


def _repeated(tables: Mapping[str, xr.DataArray], repetitions: Repetitions, third: str) -> dict[str, xr.DataArray]:
    """Label the repetitions in the rows of each table with as many rows as the last."""
    last = [*tables][-1] if tables else ""
    n = len(tables[last]) if tables else 0
    labels = np.asarray(repetitions)
    if labels.ndim == 0:
        labels = np.repeat(np.arange(int(labels)), n // max(int(labels), 1))
    places = pd.Series(labels).groupby(labels).cumcount().to_numpy()  # of each row within its repetition
    sizes = np.unique(labels, return_counts=True)[1]
    if not tables or len(labels) != n or third in tables[last].coords or (sizes != sizes[0]).any():
        shape = f"{last!r} of shape {tables[last].attrs['shape']}" if tables else "an assembly"
        raise AssemblyError(
            f"repetitions={np.asarray(repetitions).tolist()!s:.60} does not fit {shape}; expected an array with two "
            "axes, and the number of repetitions or the repetition of each row; every repetition has all stimuli in "
            "the same order. Otherwise pass a table with the index levels 'stimulus_id' and 'repetition', or an "
            "assembly with these coordinates."
        )
    labelled = {_PLACE: (_ROW, places), third: (_ROW, labels)}
    return {name: table.assign_coords(labelled) if len(table) == n else table for name, table in tables.items()}


def _name_stimuli(part: Mapping[str, xr.DataArray], tables: dict[str, xr.DataArray], third: str) -> None:
    """Name the stimuli of tables without stimulus names, like the other arguments or by position."""
    names = {name: value[_STIMULUS].values for name, value in part.items() if _STIMULUS in value.coords}
    bare = [name for name in part if name in tables and name not in names]
    places = {name: part[name][_PLACE].values for name in bare}
    sizes = {name: len(np.unique((names | places)[name])) for name in part if name in names or name in bare}
    if bare and len({*sizes.values()}) > 1:
        raise AssemblyError(_mismatch({name: part[name] for name in bare}, sizes, third))
    single = [labels for labels in names.values() if len(np.unique(labels)) == len(labels)]
    if bare and names and not single:
        raise AssemblyError(
            f"The rows of {bare[0]!r} have no labels, and the labels of {' and '.join(map(repr, names))} repeat. Pass "
            "a table with the stimuli as index: pandas.DataFrame(values, index=stimulus_ids)."
        )
    for name, at in places.items():
        labels = single[0] if single else _numbered(np.arange(at.max(initial=-1) + 1))
        tables[name] = part[name].assign_coords({_STIMULUS: (_ROW, labels[at])})


def _mismatch(bare: Mapping[str, xr.DataArray], sizes: Mapping[str, int], third: str) -> str:
    """Describe arguments with different numbers of stimuli, and what would make them fit."""
    shapes = {name: table.attrs["shape"] for name, table in bare.items()}
    found = [f"{name!r} has {f'{shapes[name]}, so ' if name in bare else ''}{sizes[name]} stimuli" for name in sizes]
    hints = []
    for name, shape in shapes.items():
        for n in {size for other, size in sizes.items() if other != name and size in shape[1:]}:
            order = {1: "(1, 2, 0)", 2: "(2, 1, 0)"}[shape.index(n, 1)]
            hints.append(f"{name}.T" if len(shape) == 2 else f"{name}.transpose{order}")
    last, fewest = [*bare][-1], min(sizes.values()) or 1
    if not hints and len(shapes[last]) == 2 and sizes[last] > fewest and sizes[last] % fewest == 0:
        hints = [f"repetitions={sizes[last] // fewest}, if the rows of {last} repeat all stimuli"]
    remedy = f" This would fit: {' or '.join(hints)}." if hints else ""
    return f"The arguments differ in the number of stimuli: {'; '.join(found)}; {_EXPECTED.format(third)}.{remedy}"


def _assembly(table: xr.DataArray) -> NeuroidAssembly:
    coords = {str(name): (str(coord.dims[0]), coord.values) for name, coord in table.coords.items() if name != _PLACE}
    made_up = {_UNIT: (_COLUMN, _numbered(np.arange(table.sizes[_COLUMN])))}
    return NeuroidAssembly(table.values, coords=made_up | coords, dims=table.dims)
