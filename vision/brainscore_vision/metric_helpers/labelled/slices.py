"""Apply a callable to slices of assemblies, or once to stacked dimensions."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import xarray as xr

from brainscore_core.errors import AssemblyError
from brainscore_core.metrics import Score
from brainscore_vision.metric_helpers.labelled.alignment import (
    Coords,
    as_score,
    coordinate,
    coords_along,
    matching_order,
    same_labels,
)

__all__ = ["PerNeuroid", "PerOps", "PerPresentation", "PerTime", "SpanOps", "SpanTime"]

Applied = Callable[..., Any]  # Any: results of any type


class PerOps:
    """Apply a callable to every slice along some dimensions and stack the results.

    ``callable(*slices)`` takes one slice of each assembly and returns an assembly, a Score or a number; or None for
    every slice. Coordinates of `check_coords` sort the assemblies, which must hold the same values.
    """

    def __init__(self, callable: Applied, dims: Sequence[str], check_coords: Sequence[str] = ()) -> None:  # noqa: A002 -- the documented name
        self.callable = callable
        self.dims = tuple(dims)
        self.check_coords = tuple(check_coords)

    def __call__(self, *asms: xr.DataArray) -> Any:
        """Apply to every slice.

        The result has the class of the first one, dims ``(*dims, *result.dims)``, and the coordinates of the first
        assembly along `dims`; it is None if the callable returns None. Attrs that are assemblies, and numbers named
        ``error``, are stacked too; attrs equal in all results stay, others become lists.
        """
        aligned = self._aligned(asms)
        sizes = [aligned[0].sizes[dim] for dim in self.dims]
        slices = (dict(zip(self.dims, where, strict=True)) for where in itertools.product(*map(range, sizes)))
        results = [self.callable(*(asm.isel(where) for asm in aligned)) for where in slices]
        if all(result is None for result in results):
            return None
        outer: Coords = {}
        for dim in self.dims:
            outer.update(coords_along(aligned[0], dim))
        arrays = [result if isinstance(result, xr.DataArray) else as_score(result) for result in results]
        return _stacked(arrays, self.dims, sizes, outer)

    def _aligned(self, asms: Sequence[xr.DataArray]) -> list[xr.DataArray]:
        for position, asm in enumerate(asms):
            missing = [dim for dim in self.dims if dim not in asm.dims]
            if missing:
                raise AssemblyError(
                    f"Assembly {position} has dimensions {tuple(asm.dims)}; {type(self).__name__} slices along "
                    f"{', '.join(map(repr, missing))}, which is missing."
                )
        aligned = list(asms)
        for coord in self.check_coords:
            order = np.argsort(coordinate(asms[0], coord), kind="stable")
            reference = coordinate(asms[0], coord)[order]
            for position, asm in enumerate(aligned):
                (dim,) = asm[coord].dims
                rows = matching_order(reference, coordinate(asm, coord), what=coord)
                aligned[position] = asm.isel({dim: rows})
        for dim in self.dims:
            if len({asm.sizes[dim] for asm in aligned}) > 1:
                raise AssemblyError(f"The assemblies differ in size along {dim!r}: {[a.sizes[dim] for a in aligned]}.")
        return aligned


class PerTime(PerOps):
    """Apply a callable to every time bin; see `PerOps`."""

    def __init__(
        self,
        callable: Applied,  # noqa: A002 -- the documented name
        time_dim: str = "time_bin",
        check_coord: str = "time_bin_start",
    ) -> None:
        super().__init__(callable, dims=[time_dim], check_coords=[check_coord])


class PerPresentation(PerOps):
    """Apply a callable to every presentation; see `PerOps`."""

    def __init__(
        self,
        callable: Applied,  # noqa: A002 -- the documented name
        presentation_dim: str = "presentation",
        check_coord: str = "stimulus_id",
    ) -> None:
        super().__init__(callable, dims=[presentation_dim], check_coords=[check_coord])


class PerNeuroid(PerOps):
    """Apply a callable to every neuroid; see `PerOps`."""

    def __init__(
        self,
        callable: Applied,  # noqa: A002 -- the documented name
        neuroid_dim: str = "neuroid",
        check_coord: str = "neuroid_id",
    ) -> None:
        super().__init__(callable, dims=[neuroid_dim], check_coords=[check_coord])


class SpanOps:
    """Stack dimensions into one, the last varying fastest, and apply a callable once.

    The new dimension, one of `source_dims` or a new name, has the repeated coordinates of all stacked ones. With
    `resample`, its entries are drawn with replacement, as many as `aggregated_dim` had; the same in all assemblies.
    """

    def __init__(
        self,
        callable: Applied,  # noqa: A002 -- the documented name
        source_dims: Sequence[str],
        aggregated_dim: str,
        resample: bool = False,
        *,
        seed: int = 0,
    ) -> None:
        self.callable = callable
        self.source_dims = tuple(source_dims)
        self.aggregated_dim = aggregated_dim
        self.resample = resample
        self.seed = seed

    def __call__(self, *asms: xr.DataArray) -> Any:
        """Apply once, to the stacked assemblies."""
        stacked = [self.stack(asm) for asm in asms]
        if self.resample:
            stacked = [self._resampled(asm, original) for asm, original in zip(stacked, asms, strict=True)]
        return self.callable(*stacked)

    def stack(self, assembly: xr.DataArray) -> xr.DataArray:
        """Return an assembly of the same class, dims ``(aggregated_dim, *others)``, in a new array."""
        missing = [dim for dim in self.source_dims if dim not in assembly.dims]
        if missing:
            raise AssemblyError(
                f"The assembly has dimensions {tuple(assembly.dims)}; stacking into {self.aggregated_dim!r} also needs "
                f"{', '.join(map(repr, missing))}."
            )
        others = [str(dim) for dim in assembly.dims if dim not in self.source_dims]
        values = assembly.transpose(*self.source_dims, *others).values
        sizes = values.shape[: len(self.source_dims)]
        places = np.indices(sizes).reshape(len(sizes), -1)
        coords: Coords = {}
        for dim in others:
            coords.update(coords_along(assembly, dim))
        for dim, place in zip(self.source_dims, places, strict=True):
            along = coords_along(assembly, dim)
            coords.update({name: (self.aggregated_dim, labels[place]) for name, (_, labels) in along.items()})
        stacked = values.reshape(-1, *values.shape[len(sizes) :])
        if np.may_share_memory(stacked, values):  # contiguous dimensions
            stacked = stacked.copy()
        result = type(assembly)(stacked, coords=coords, dims=[self.aggregated_dim, *others])
        result.attrs = dict(assembly.attrs)
        return result

    def _resampled(self, stacked: xr.DataArray, original: xr.DataArray) -> xr.DataArray:
        total = stacked.sizes[self.aggregated_dim]
        size = original.sizes.get(self.aggregated_dim, total)
        rows = np.random.default_rng(self.seed).integers(0, total, size)
        return stacked.isel({self.aggregated_dim: rows})


class SpanTime(SpanOps):
    """Stack time bins into presentations; see `SpanOps`."""

    def __init__(
        self,
        callable: Applied,  # noqa: A002 -- the documented name
        time_dim: str = "time_bin",
        presentation_dim: str = "presentation",
        resample: bool = False,
        *,
        seed: int = 0,
    ) -> None:
        super().__init__(callable, [time_dim, presentation_dim], presentation_dim, resample, seed=seed)


def _stacked(results: Sequence[xr.DataArray], dims: Sequence[str], sizes: Sequence[int], outer: Coords) -> xr.DataArray:
    inner_dims = [str(dim) for dim in results[0].dims]
    placed, inner = same_labels(results, inner_dims)
    values = np.stack([result.values for result in placed])
    stacked = type(results[0])(
        values.reshape(*sizes, *values.shape[1:]), coords={**outer, **inner}, dims=[*dims, *inner_dims]
    )
    stacked.attrs = {}
    shared = [name for name in results[0].attrs if all(name in result.attrs for result in results)]
    for name in shared:
        entries = [result.attrs[name] for result in results]
        if name == "error" and all(np.ndim(entry) == 0 for entry in entries):
            entries = [Score(entry) for entry in entries]
        if all(isinstance(entry, xr.DataArray) for entry in entries):
            stacked.attrs[name] = _stacked(entries, dims, sizes, outer)
        else:
            first = entries[0]
            same = all(
                first is entry or (type(first) is type(entry) and np.array_equal(first, entry)) for entry in entries
            )
            stacked.attrs[name] = first if same else entries
    return stacked
