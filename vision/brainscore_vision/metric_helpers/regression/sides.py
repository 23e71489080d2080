"""Turn source and target of a regression metric into arrays with matching rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from brainscore_core.errors import AssemblyError
from brainscore_vision.metric_helpers import Defaults
from brainscore_vision.metric_helpers.arrays.column_blocks import ColumnBlocks, is_mapped, stack_rows
from brainscore_vision.metric_helpers.arrays.correlation import extreme_exponent, ordinary
from brainscore_vision.metric_helpers.labelled.alignment import (
    Neuroids,
    coordinate,
    has_coordinate,
    labelled,
    matrix,
    neuroid_names,
    squeeze_time_bin,
    usable_neuroids,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from brainscore_core.metrics import Score
    from brainscore_vision.metric_helpers.arrays.types import Floats, Indices

__all__ = [
    "Features",
    "Matrix",
    "Options",
    "Side",
    "StreamedFeatures",
    "as_array",
    "check_same_features",
    "in_ordinary_units",
    "stacked",
    "take_rows",
    "usable_over_all_dims",
    "whole_assembly",
]

Matrix = NDArray[Any] | ColumnBlocks
Options = Mapping[str, Any] | None  # Any: keywords of a constructor


class StreamedFeatures:
    """Features of stimuli as a stream of blocks of columns, with the names of the stimuli.

    Parameters
    ----------
    features : ColumnBlocks, memory map or array, shape (n_stimuli, n_features)
        Finite.
    coords
        Further coordinates of the stimuli, name -> values, such as `object_name`, which stratify the splits of reverse
        metrics.

    Examples
    --------
    >>> features = StreamedFeatures(["a", "b"], np.eye(2, 5))
    >>> features.shape
    (2, 5)
    """

    dims = Defaults.expected_dims

    def __init__(
        self,
        stimulus_ids: ArrayLike,
        features: ArrayLike | ColumnBlocks,
        *,
        coords: Mapping[str, ArrayLike] | None = None,
    ) -> None:
        self.blocks = ColumnBlocks.of(features)
        self.shape = self.blocks.shape
        presentation, neuroid = self.dims
        named = {Defaults.stimulus_coord: (presentation, np.asarray(stimulus_ids))}
        named.update({name: (presentation, np.asarray(values)) for name, values in (coords or {}).items()})
        named[Defaults.neuroid_coord] = (neuroid, np.arange(self.shape[1]))
        sizes = dict(zip(self.dims, self.shape, strict=True))
        wrong = [f"{name}: {len(values)}" for name, (dim, values) in named.items() if len(values) != sizes[dim]]
        if wrong:
            raise AssemblyError(f"Features of shape {self.shape} do not match their labels ({', '.join(wrong)}).")
        # Takes no memory.
        self.labels = xr.DataArray(np.broadcast_to(np.nan, self.shape), coords=named, dims=self.dims)

    def __repr__(self) -> str:
        """Return the numbers of stimuli and features."""
        return f"StreamedFeatures({self.shape[0]} stimuli x {self.shape[1]} features)"


Features = xr.DataArray | StreamedFeatures

_SQUARES_OVERFLOW = 480  # largest exponent with finite sums of squares over millions of features
WIDE_BYTES = 512 * 2**20  # largest target held in memory as a whole, with its predictions


@dataclass(frozen=True)
class Side:
    """Source or target: values, shape ([n_bins,] n_presentations, n_neuroids), in their own type, with labels.

    Labels hold the coordinates.
    """

    values: Matrix
    labels: xr.DataArray
    role: str

    @classmethod
    def of(cls, given: Features, role: str) -> Side:
        """Read an assembly, dims (presentation, neuroid), or a stream of features; errors mention its `role`."""
        if isinstance(given, StreamedFeatures):
            return cls(given.blocks, given.labels, role)
        assembly = squeeze_time_bin(given)
        return cls(matrix(assembly, Defaults.expected_dims, role=role, dtype=None), assembly, role)

    @classmethod
    def over_time(cls, assembly: xr.DataArray, role: str) -> Side:
        """Read an assembly, dims (presentation, neuroid, time_bin)."""
        return cls(matrix(assembly, ("time_bin", *Defaults.expected_dims), role=role), assembly, role)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of presentations and of neuroids."""
        n, p = self.values.shape[-2:]
        return n, p

    def assembly(self) -> xr.DataArray:
        """Return the assembly; raise for a stream of features."""
        return whole_assembly(self.values if isinstance(self.values, ColumnBlocks) else self.labels, self.role)

    def neuroids(self, *, apart: bool = False) -> Neuroids:
        """Determine neuroids that vary, over all time bins together or (`apart`) within any."""
        names = neuroid_names(self.labels)
        if isinstance(self.values, ColumnBlocks) or self.values.ndim == 2:
            return usable_neuroids(self.values, names, role=self.role)
        if not apart:
            return usable_neuroids(self.values.reshape(-1, self.shape[1]), names, role=self.role)
        bins = len(self.values)
        side_by_side = self.values.transpose(1, 0, 2).reshape(self.shape[0], -1)
        used = usable_neuroids(side_by_side, np.tile(names, bins), role=self.role).used.reshape(bins, -1)
        return Neuroids(used=np.asarray(used.any(axis=0)), names=names)

    def finite(self) -> Matrix:
        """Return the values, or a view checked while read; raise if not finite."""
        if isinstance(self.values, ColumnBlocks):
            return self.values.checked(self._check)
        if is_mapped(self.values) and self.values.ndim == 2:
            return ColumnBlocks.of(self.values).checked(self._check)
        self._check(self.values)
        return self.values

    def columns(self, used: NDArray[np.bool_]) -> Matrix:
        """Return the used neuroids; wide ones as a view."""
        n, q = self.shape
        if not isinstance(self.values, ColumnBlocks) and self.values.ndim == 3:
            return np.ascontiguousarray(self.values[..., used])
        if isinstance(self.values, ColumnBlocks) or 8 * n * q > WIDE_BYTES:
            blocks = ColumnBlocks.of(self.values)
            return blocks if used.all() else blocks.keep(used)
        values = self.values if used.all() else self.values[:, used]
        return values.astype(np.float64, copy=False)

    def labelled(self, r: Floats, neuroids: Neuroids) -> Score:
        """Label correlations, shape ([n_splits,] [n_bins,] n_used).

        Neuroids are sorted by their key, time bins by their start; unused neuroids are NaN.
        """
        inner = ["neuroid"] if self.values.ndim == 2 else ["time_bin", "neuroid"]
        return labelled(r, self.labels, inner if r.ndim == len(inner) else ["split", *inner], neuroids.used)

    def _check(self, values: NDArray[Any]) -> None:
        # A finite sum implies finite values and needs no copy; the second test excludes mere overflow.
        if not np.isfinite(values.sum()) and not np.isfinite(values).all():
            bad = ~np.isfinite(values).reshape(-1, values.shape[-1])
            whole = values.shape[-2:] == self.shape
            raise AssemblyError(
                f"The {self.role} assembly has {int(bad.sum())} NaN or infinite values, in "
                f"{int(bad.any(axis=0).sum())} of {bad.shape[1]} neuroids{'' if whole else ' of a block'}. "
                "Predictors, such as a model's activations, must be finite."
            )


def whole_assembly(given: xr.DataArray | StreamedFeatures | ColumnBlocks, role: str) -> xr.DataArray:
    """Return an assembly without a `time_bin` of length one; raise AssemblyError for a stream."""
    if isinstance(given, (ColumnBlocks, StreamedFeatures)):
        raise AssemblyError(
            f"The {role} is a stream of features, which only this library's regressions can use, with all splits "
            "computed together. Pass an assembly instead."
        )
    return squeeze_time_bin(given)


def usable_over_all_dims(target: xr.DataArray) -> Neuroids:
    """Determine the usable neuroids of a target with further dimensions, such as time bins."""
    neuroid = Defaults.neuroid_dim
    if set(target.dims) <= set(Defaults.expected_dims):
        return Side.of(target, "target").neuroids()
    if neuroid not in target.dims:
        raise AssemblyError(f"The target assembly has no dimension {neuroid!r}; it has {tuple(target.dims)}.")
    values = target.transpose(..., neuroid).values.reshape(-1, target.sizes[neuroid])
    return usable_neuroids(values.astype(np.float64, copy=False), neuroid_names(target), role="target")


def check_same_features(train: Side, test: Side) -> None:
    """Raise AssemblyError unless training and test features match."""
    coord = Defaults.neuroid_coord
    same = train.shape[1] == test.shape[1]
    if same and all(has_coordinate(part.labels, coord) for part in (train, test)):
        same = np.array_equal(coordinate(train.labels, coord), coordinate(test.labels, coord))
    if not same:
        raise AssemblyError(
            f"The {train.role} assemblies for training ({train.shape[1]} neuroids) and testing ({test.shape[1]} "
            f"neuroids) differ in the values or order of {coord}. Record both from the same layer."
        )


def stacked(parts: Sequence[Matrix]) -> Matrix:
    """Stack the stimuli of several parts; large ones as a view."""
    arrays = [part for part in parts if not isinstance(part, ColumnBlocks)]
    if len(arrays) < len(parts) or 8 * sum(part.size for part in arrays) > WIDE_BYTES:
        return stack_rows(*parts)
    return np.concatenate(arrays, axis=0)


def take_rows(values: Matrix, order: Indices) -> Matrix:
    """Return stimuli in another order; large ones as a view."""
    if np.array_equal(order, np.arange(values.shape[0])):
        return values
    if isinstance(values, ColumnBlocks) or 8 * values.size > WIDE_BYTES:
        return ColumnBlocks.of(values).rows(order)
    return values[order]


def in_ordinary_units(
    parts: Sequence[Matrix], side: str, estimator: object, *, allow_small: bool = True
) -> list[Matrix]:
    """Rescale parts of one side and unit to ordinary numbers (see `arrays.correlation`), if the unit changes no score.

    These sides are listed in ``of_any_unit`` of the estimator. For others, numbers whose squares overflow are refused
    and, unless `allow_small`, numbers too small relative to a penalty. Blocks are not rescaled.
    """
    arrays = [part for part in parts if not isinstance(part, ColumnBlocks)]
    if len(arrays) < len(parts):
        return list(parts)
    if side in getattr(estimator, "of_any_unit", ()):
        return [*ordinary(*arrays)]
    exponent = extreme_exponent(*arrays)
    if exponent > _SQUARES_OVERFLOW or (exponent < 0 and not allow_small):
        largest = max(float(np.abs(array).max()) for array in arrays)
        raise AssemblyError(
            f"The largest number of the {side} is {largest:.2g}: its square "
            f"{'overflows' if exponent > 0 else 'is lost next to a penalty'}, and {type(estimator).__name__} is not "
            f"the same for a {side} in another unit. Divide it by its standard deviation."
        )
    return list(parts)


def as_array(values: Matrix) -> NDArray[Any]:
    """Return a matrix as an array."""
    return values.to_array() if isinstance(values, ColumnBlocks) else values
