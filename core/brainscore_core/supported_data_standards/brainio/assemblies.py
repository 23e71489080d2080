"""Define the assemblies: labelled arrays of measurements whose coordinates can be selected and grouped by name."""

# xarray leaves __init_subclass__ and get_options without types.
# mypy: allow-untyped-calls

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, cast

import xarray as xr

from brainscore_core.errors import AssemblyError
from brainscore_core.supported_data_standards.brainio import _coordinates, _selection
from brainscore_core.supported_data_standards.brainio._coordinates import (
    coords_for_dim,
    gather_indexes,
    get_levels,
    get_metadata,
    walk_coords,
)
from brainscore_core.supported_data_standards.brainio._selection import (
    GroupbyBridge,
    GroupbyError,
    multi_dim_apply,
)
from brainscore_core.supported_data_standards.brainio.netcdf import (
    AssemblyLoader,
    StimulusMergeAssemblyLoader,
    StimulusReferenceAssemblyLoader,
)
from brainscore_core.supported_data_standards.brainio.transform import average_repetition, merge_data_arrays
from brainscore_core.validation.standards import REPETITION

if TYPE_CHECKING:
    from types import NotImplementedType

    import numpy as np

__all__ = [
    "BRAINIO_CHUNKS",
    "AssemblyLoader",
    "BehavioralAssembly",
    "DataAssembly",
    "DataPoint",
    "GroupAppendAssemblyLoader",
    "GroupbyBridge",
    "GroupbyError",
    "MetadataAssembly",
    "ModelFeaturesAssembly",
    "NeuroidAssembly",
    "NeuronRecordingAssembly",
    "PropertiesAssembly",
    "PropertyAssembly",
    "SpikeTimesAssembly",
    "StimulusMergeAssemblyLoader",
    "StimulusReferenceAssemblyLoader",
    "array_is_element",
    "coords_for_dim",
    "gather_indexes",
    "get_levels",
    "get_metadata",
    "is_fastpath",
    "merge_data_arrays",
    "walk_coords",
]

BRAINIO_CHUNKS = "BRAINIO_CHUNKS"
"""Environment variable by which the published loader reads parts of a file with dask; it changes nothing here."""

DataPoint = namedtuple("DataPoint", ["stimulus_id", "neuroid_id"])
_FEW_VALUES = 6  # shown in ``repr``


class DataAssembly(xr.DataArray):
    """A labelled array whose coordinates can all be selected, grouped and sorted by name.

    All coordinates along a dimension, as in ``assembly['x'] = 'neuroid', values``, become levels of one index (a single
    one keeps its name). Arithmetic, comparison and reductions drop ``attrs``; selecting, ordering and masking keep
    them.

    Parameters
    ----------
    data, dims, name, attrs, indexes, fastpath
        As for `xarray.DataArray`. Attrs can be read as attributes: ``assembly.identifier``.
    coords : mapping, optional
        Coordinate name -> (dimension, values).

    Examples
    --------
    >>> assembly = DataAssembly([1.0, 2.0, 4.0], dims=['presentation'], coords={
    ...     'stimulus_id': ('presentation', ['a', 'a', 'b']), 'repetition': ('presentation', [0, 1, 0])})
    >>> assembly.sel(stimulus_id='a').values
    array([1., 2.])
    >>> assembly.mean(dim='repetition').values
    array([1.5, 4. ])

    A subclass only needs ``__slots__``, as in xarray, and stays itself when selected from:

    >>> class Choices(DataAssembly):
    ...     __slots__ = ()
    >>> type(Choices(assembly)[:1]).__name__
    'Choices'
    """

    __slots__ = ()
    _loader_class: ClassVar[type[AssemblyLoader]] = StimulusMergeAssemblyLoader

    def __init__(
        self,
        data: Any = xr.core.dtypes.NA,
        coords: Any = None,
        dims: Any = None,
        name: Hashable | None = None,
        attrs: Mapping[Any, Any] | None = None,
        indexes: Mapping[Any, Any] | None = None,
        fastpath: bool = False,
    ) -> None:
        if fastpath:
            super().__init__(data, coords, dims, name, attrs, indexes, fastpath)
            return
        coords = _coordinates.prepared(coords, dims)
        rest, aside = _coordinates.set_aside(data, coords, dims)
        super().__init__(data, rest, dims, name, attrs, indexes)
        if not _coordinates.fits(self, aside):
            super().__init__(data, coords, dims, name, attrs, indexes)  # raises xarray's error
        folded = _coordinates.fold(self, aside, coords if aside else ())
        if folded is not None:
            variables, folded_indexes = dict(folded.variables), dict(folded.xindexes)
            super().__init__(self.variable, variables, name=self.name, indexes=folded_indexes, fastpath=True)

    # --- display -----------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        """Return one line: identifier, dimensions, few values, and coordinates by dimension; ``print`` shows all."""
        name = self.attrs.get("identifier")
        sizes = ", ".join(f"{dim}: {size}" for dim, size in self.sizes.items())
        head = f"{type(self).__name__}{f' {name!r}' if isinstance(name, str) else ''} ({sizes}) {self.dtype}"
        values = f" {self.values.tolist()}" if self.size <= _FEW_VALUES else ""
        along: dict[Hashable, list[str]] = {}
        for coordinate, variable in self.coords.items():
            if coordinate not in self.dims:
                along.setdefault(" and ".join(map(str, variable.dims)), []).append(str(coordinate))
        named = "".join(f"; {f'{dim}: ' if dim else ''}{', '.join(names)}" for dim, names in along.items())
        return f"<{head}{values}{named}>"

    def __str__(self) -> str:
        return super().__repr__()

    # --- coordinates -------------------------------------------------------------------------------------------

    def _getitem_coord(self, key: Any) -> Any:
        # An index of one level gives its values, not tuples of one; levels are read from the index, as xarray's view
        # is slow. All access to coordinates passes this hook of xarray.
        coord = super()._getitem_coord(key)
        level = _coordinates.only_level(self, key)
        if level is None and coord.ndim == 1 and key in _coordinates.level_names(self, coord.dims[0]):
            level = key
        if level is None:
            return coord
        values = xr.Variable(coord.dims, _coordinates.values_of(self, level))
        variables, indexes = dict(coord.coords.variables), dict(coord.xindexes)
        return type(self)(values, variables, name=key, indexes=indexes, fastpath=True)

    def __setitem__(self, key: Any, value: Any) -> None:
        """Assign values, or a coordinate if the key is text: it joins the index of its dimension."""
        if not isinstance(key, str):
            super().__setitem__(key, value)
            return
        assigned = self.assign_coords({key: value})
        variables, indexes = dict(assigned.coords.variables), dict(assigned.xindexes)
        xr.DataArray.__init__(self, self.variable, variables, name=self.name, indexes=indexes, fastpath=True)

    def assign_coords(self, coords: Mapping[Any, Any] | None = None, **coords_kwargs: Any) -> Self:
        """Return an assembly with coordinates, each (dimension, values), array or scalar, added or replaced.

        Raises `AssemblyError` if the values come from an assembly whose entries are in another order.
        """
        if isinstance(coords, xr.Coordinates):
            result = super().assign_coords(coords, **coords_kwargs)
        else:
            added = {
                name: _coordinates.detached(self, name, value)
                for name, value in {**(coords or {}), **coords_kwargs}.items()
            }
            replaced = [name for name in added if name in self.coords and name not in self.dims]
            result = xr.DataArray.assign_coords(_coordinates.drop_coordinates(self, replaced), added)
        folded = _coordinates.fold(result)
        if folded is None:
            return result
        return _coordinates.reorder_levels(
            _coordinates.rebuilt(type(self), result, folded), _coordinates.all_levels(self)
        )

    def drop_vars(self, names: Any, *, errors: Literal["raise", "ignore"] = "raise") -> Self:
        """Return an assembly without coordinates (all of a dimension by its name); dimensions and other levels stay."""
        requested = names(self) if callable(names) else names
        listed = {requested} if isinstance(requested, str) else set(requested)
        levels: set[Hashable] = set()
        for dim, own in _coordinates.levels_by_dim(self).items():
            levels.update(own if dim in listed else listed.intersection(own))
            listed.discard(dim)
        rest = listed - levels
        return xr.DataArray.drop_vars(_coordinates.drop_coordinates(self, levels), rest, errors=errors)

    def sel(
        self,
        indexers: Mapping[Any, Any] | None = None,
        method: str | None = None,
        tolerance: Any = None,
        drop: bool = False,
        **indexers_kwargs: Any,
    ) -> Self:
        """Select by labels of dimensions or of any coordinate.

        Parameters
        ----------
        indexers, **indexers_kwargs : mapping, optional
            Name -> label. For a coordinate: one value, several, or a slice of values (both ends included), which
            selects in the assembly's order. For a dimension: a boolean mask, or any indexer of xarray.
        method, tolerance
            For inexact matches, see `xarray.DataArray.sel`; the values of a coordinate must be sorted and unique.
        drop
            Whether scalar coordinates of dimensions that vanish are dropped.

        Returns
        -------
        DataAssembly
            Same class and attrs. One value for a coordinate keeps the dimension, even with a single entry, and removes
            the now constant coordinate. One value for every level, or a tuple of labels, removes the dimension if it
            names exactly one entry.

        Raises
        ------
        KeyError
            If there is no such coordinate or no entry with the label; near names are suggested.
        """
        labels = {**(indexers or {}), **indexers_kwargs}
        return _selection.select(self, labels, method, tolerance, drop=drop)

    def multisel(
        self,
        indexers: Mapping[Any, Any] | None = None,
        method: str | None = None,
        tolerance: Any = None,
        drop: bool = False,
        **indexers_kwargs: Any,
    ) -> Self:
        """Select like `sel` and keep the coordinates that were selected by one value, unless ``drop``."""
        labels = {**(indexers or {}), **indexers_kwargs}
        return _selection.multiselect(self, labels, method, tolerance, drop=drop)

    def stack(
        self,
        dim: Mapping[Any, Any] | None = None,
        create_index: bool | None = True,
        index_cls: Any = xr.core.indexes.PandasMultiIndex,
        **dim_kwargs: Any,
    ) -> Self:
        """Stack dimensions into one, as xarray does.

        Coordinates of one dimension, as in ``assembly.stack(neuroid=['neuroid_id'])``, are its index already: it is
        renamed and keeps all coordinates.
        """
        apart: dict[Any, Any] = {}
        renamed: dict[Any, Any] = {}
        for new, names in {**(dim or {}), **dim_kwargs}.items():
            levels_of = _coordinates.levels_by_dim(self).items()
            old = next((old for old, levels in levels_of if names and {*names} <= {*levels}), None)
            if old is None:
                apart[new] = names
            elif old != new:
                renamed[old] = new
        result = self.rename(renamed) if renamed else self
        return xr.DataArray.stack(result, apart, create_index, index_cls) if apart else result

    # --- class and attrs ---------------------------------------------------------------------------------------

    def where(self, cond: Any, other: Any = xr.core.dtypes.NA, drop: bool = False) -> Self:
        """Mask values; see `xarray.DataArray.where`. Class and attrs stay, as in the next three methods."""
        return self._in_class(super().where(cond, other, drop))

    def fillna(self, value: Any) -> Self:
        """Fill missing values; see `xarray.DataArray.fillna`."""
        return self._in_class(super().fillna(value))

    def clip(self, *args: Any, **kwargs: Any) -> Self:
        """Limit values; see `xarray.DataArray.clip`."""
        return self._in_class(super().clip(*args, **kwargs))

    def astype(self, *args: Any, **kwargs: Any) -> Self:
        """Convert values; see `xarray.DataArray.astype`."""
        return self._in_class(super().astype(*args, **kwargs))

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """Apply a NumPy function; the class stays."""
        result = super().__array_ufunc__(ufunc, method, *inputs, **kwargs)
        return self._in_class(result) if isinstance(result, xr.DataArray) else result

    def _in_class(self, result: xr.DataArray) -> Self:
        if isinstance(result, type(self)):
            return result
        return _coordinates.rebuilt(type(self), result, result.coords)

    def _binary_op(self, other: Any, f: Callable[..., Any], reflexive: bool = False) -> Self:
        # All operators of two operands pass this hook of xarray.
        result: Self | NotImplementedType = super()._binary_op(other, f, reflexive)
        if result is not NotImplemented and not _attrs_wanted(None):
            result.attrs = {}
        return cast("Self", result)

    def reduce(
        self,
        func: Callable[..., Any],
        dim: Any = None,
        *,
        axis: int | Sequence[int] | None = None,
        keep_attrs: bool | None = None,
        keepdims: bool = False,
        **kwargs: Any,
    ) -> Self:
        """Reduce dimensions with a function; see `xarray.DataArray.reduce`. Attrs go unless asked for."""
        keep = _attrs_wanted(keep_attrs)
        return super().reduce(func, dim, axis=axis, keep_attrs=keep, keepdims=keepdims, **kwargs)

    def quantile(self, q: Any, dim: Any = None, *, keep_attrs: bool | None = None, **kwargs: Any) -> Self:
        """Take quantiles; see `xarray.DataArray.quantile`. Attrs go unless asked for."""
        result = super().quantile(q, dim, **kwargs)
        result.attrs = dict(self.attrs) if _attrs_wanted(keep_attrs) else {}
        return result

    def mean(
        self, dim: Any = None, *, skipna: bool | None = None, keep_attrs: bool | None = None, **kwargs: Any
    ) -> Self:
        """Take the mean; see `xarray.DataArray.mean`.

        ``dim='repetition'`` averages the repetitions of each stimulus and keeps attrs, see
        `transform.average_repetition`.
        """
        if dim in (REPETITION, [REPETITION], (REPETITION,)):
            keep_attrs = True if keep_attrs is None else keep_attrs
            if REPETITION not in self.dims and REPETITION in self.coords:
                result = average_repetition(self)
                result.attrs = dict(self.attrs) if keep_attrs else {}
                return result
        return super().mean(dim, skipna=skipna, keep_attrs=keep_attrs, **kwargs)

    # --- groups ------------------------------------------------------------------------------------------------

    def multi_groupby(self, group_coord_names: Sequence[str], *args: Any, **kwargs: Any) -> GroupbyBridge:  # noqa: ARG002  # kept for callers that pass xarray's options
        """Group the entries of a dimension by the values of one or more of its coordinates.

        The result has the methods ``mean sum min max prod var std count median reduce map``.
        """
        return GroupbyBridge(self, group_coord_names)

    def multi_dim_apply(self, groups: Sequence[str], apply: Callable[..., Any]) -> Self:
        """Apply a function to every combination of the values of some coordinates, one per dimension.

        Parameters
        ----------
        groups
            Coordinates or dimensions that together name every dimension exactly once; `GroupbyError` otherwise.
        apply
            ``apply(cells, **coords)``: ``cells`` is an array with one axis per group (a scalar if it is one value),
            ``coords`` the coordinates of these cells (scalars where there is one value). Its result is broadcast to
            the cells.

        Returns
        -------
        DataAssembly
            float64; same class, coordinates and order of entries.
        """
        return cast("Self", multi_dim_apply(self, groups, apply))

    # --- files and checks --------------------------------------------------------------------------------------

    def validate(self, *, allow_nan: bool = True) -> None:
        """Raise an `AssemblyError` that lists all problems found by `check_assembly`, if any."""
        from brainscore_core.supported_data_standards.brainio.conventions import check_assembly  # rarely needed

        problems = check_assembly(self, allow_nan=allow_nan)
        if problems:
            listed = "\n".join(f"- {problem}" for problem in problems)
            raise AssemblyError(f"This {type(self).__name__} breaks the data standard:\n{listed}")

    @classmethod
    def get_loader_class(cls) -> type[AssemblyLoader]:
        """Return the class that reads files of this kind of assembly."""
        return cls._loader_class

    @classmethod
    def from_files(cls, file_path: str | Path, **kwargs: Any) -> Self:
        """Read an assembly from a netCDF file; see `get_loader_class` for parameters, `read_netcdf` for errors."""
        loader = cls.get_loader_class()(cls=cls, file_path=file_path, **kwargs)
        return cast("Self", loader.load())


class BehavioralAssembly(DataAssembly):
    """Behaviour: choices, probabilities (presentation, choice) or reaction times."""

    __slots__ = ()


class PropertyAssembly(DataAssembly):
    """Properties derived from measurements, such as one tuning width per neuroid."""

    __slots__ = ()
    _loader_class = StimulusReferenceAssemblyLoader


PropertiesAssembly = PropertyAssembly  # its name in older tutorials


class MetadataAssembly(DataAssembly):
    """Information about another assembly, such as the events of its sessions."""

    __slots__ = ()
    _loader_class = StimulusReferenceAssemblyLoader


class GroupAppendAssemblyLoader(StimulusReferenceAssemblyLoader):
    """Read one assembly and the other groups of its file."""

    def load(self) -> xr.DataArray:
        """Return the assembly with the other groups, as metadata assemblies with its stimulus set, in ``attrs``."""
        assembly = super().load()
        for group in self.other_groups():
            assembly.attrs[group] = MetadataAssembly.from_files(
                self.file_path,
                group=group,
                stimulus_set=self.stimulus_set,
                stimulus_set_identifier=self.stimulus_set_identifier,
            )
        return assembly


class NeuroidAssembly(DataAssembly):
    """Responses of neuroids, dims (presentation, neuroid) or (presentation, neuroid, time_bin)."""

    __slots__ = ()


class NeuronRecordingAssembly(NeuroidAssembly):
    """Responses of recorded neurons, sites or voxels."""

    __slots__ = ()


class ModelFeaturesAssembly(NeuroidAssembly):
    """Activations of model units."""

    __slots__ = ()


class SpikeTimesAssembly(NeuronRecordingAssembly):
    """Times of spikes, dims (event,)."""

    __slots__ = ()
    _loader_class = GroupAppendAssemblyLoader


def _attrs_wanted(keep_attrs: bool | None) -> bool:
    if keep_attrs is not None:
        return keep_attrs
    return bool(xr.get_options()["keep_attrs"] is True)


def array_is_element(arr: Sequence[Any], element: Any) -> bool:
    """Return whether a sequence holds exactly one element, the given one."""
    return len(arr) == 1 and bool(arr[0] == element)


def is_fastpath(*args: Any, **kwargs: Any) -> bool:
    """Return whether the constructor's arguments ask for no folding of coordinates."""
    position = 6
    return bool(kwargs.get("fastpath", args[position] if len(args) > position else False))
