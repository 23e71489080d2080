"""Bring the source and the target of a regression metric to arrays whose rows belong together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from brainscore_core.errors import AssemblyError
from brainscore_vision.metric_helpers import Defaults
from brainscore_vision.metric_helpers.arrays.column_blocks import ColumnBlocks, stack_rows
from brainscore_vision.metric_helpers.arrays.correlation import correlate_parts
from brainscore_vision.metric_helpers.labelled.alignment import (
    Neuroids,
    coordinate,
    has_coordinate,
    matrix,
    squeeze_time_bin,
    usable_neuroids,
)
from brainscore_vision.metric_helpers.regression.estimators import BlockPredictor
from brainscore_vision.metric_helpers.regression.streamed_features import StreamedFeatures

if TYPE_CHECKING:
    from brainscore_vision.metric_helpers.arrays.types import Floats, Indices
    from brainscore_vision.metric_helpers.regression.estimators import PearsonR

__all__ = [
    "Problem",
    "Side",
    "as_array",
    "check_same_features",
    "stacked",
    "take_rows",
    "usable_over_all_dims",
    "whole_assembly",
]

Matrix = NDArray[Any] | ColumnBlocks

WIDE_BYTES = 512 * 2**20  # a target, and what is predicted of it, may be in memory as a whole up to this size


@dataclass(frozen=True)
class Side:
    """Source or target: values of stimuli x neuroids and what has their labels.

    Attributes
    ----------
    values : ndarray or ColumnBlocks, shape (n_presentations, n_neuroids)
        In the type they come in; a memory map is not read.
    labels : NeuroidAssembly or Dataset
        With the coordinates.
    """

    values: Matrix
    labels: Any
    role: str

    @classmethod
    def of(cls, given: Any, role: str) -> Side:
        """Read an assembly, dims (presentation, neuroid), or a stream of features; `role` is how errors call it."""
        if isinstance(given, StreamedFeatures):
            return cls(given.blocks, given.labels, role)
        assembly = squeeze_time_bin(given)
        return cls(matrix(assembly, Defaults.expected_dims, role=role, dtype=None), assembly, role)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of presentations and of neuroids."""
        n, p = self.values.shape
        return n, p

    def assembly(self) -> Any:
        """Return the assembly; raise for a stream of features."""
        return whole_assembly(self.labels if not isinstance(self.values, ColumnBlocks) else self.values, self.role)

    def neuroids(self) -> Neuroids:
        """Decide which neuroids count; named by their `neuroid_id`, or their positions without one."""
        named = has_coordinate(self.labels, Defaults.neuroid_coord)
        names = coordinate(self.labels, Defaults.neuroid_coord) if named else np.arange(self.shape[1])
        return usable_neuroids(self.values, names, role=self.role)

    def finite(self) -> Matrix:
        """Return the values, or a view that is checked while it is read; raise if they are not finite."""
        if isinstance(self.values, ColumnBlocks):
            return self.values.checked(self._check)
        if _is_mapped(self.values):
            return ColumnBlocks.of(self.values).checked(self._check)
        self._check(self.values)
        return self.values

    def columns(self, used: NDArray[np.bool_]) -> Matrix:
        """Return the neuroids that count; wide ones as a view."""
        n, q = self.shape
        if isinstance(self.values, ColumnBlocks) or 8 * n * q > WIDE_BYTES:
            blocks = ColumnBlocks.of(self.values)
            return blocks if used.all() else blocks.keep(used)
        values = self.values if used.all() else self.values[:, used]
        return values.astype(np.float64, copy=False)

    def _check(self, values: NDArray[Any]) -> None:
        # A sum is not finite if any value is not, and needs no copy; overflow alone is told apart below.
        if not np.isfinite(values.sum()) and not np.isfinite(values).all():
            bad = ~np.isfinite(values)
            whole = values.shape == self.shape
            raise AssemblyError(
                f"The {self.role} assembly has {int(bad.sum())} NaN or infinite values, in "
                f"{int(bad.any(axis=0).sum())} of {values.shape[1]} neuroids{'' if whole else ' of a block'}. "
                "What predicts must be finite, such as a model's activations."
            )


def whole_assembly(given: Any, role: str) -> Any:
    """Return an assembly without a `time_bin` of length one; raise for a stream."""
    if isinstance(given, (ColumnBlocks, StreamedFeatures)):
        raise AssemblyError(
            f"The {role} is a stream of features, which only regressions on blocks can use: those of this "
            "library, with all splits computed together. Give an assembly instead."
        )
    return squeeze_time_bin(given)


def usable_over_all_dims(target: Any) -> Neuroids:
    """Decide which neuroids of a target count whose regression takes more dimensions, such as time bins."""
    neuroid = Defaults.neuroid_dim
    if set(target.dims) <= set(Defaults.expected_dims):
        return Side.of(target, "target").neuroids()
    if neuroid not in target.dims:
        raise AssemblyError(f"The target assembly has no dimension {neuroid!r}; it has {tuple(target.dims)}.")
    named = has_coordinate(target, Defaults.neuroid_coord)
    names = coordinate(target, Defaults.neuroid_coord) if named else np.arange(target.sizes[neuroid])
    values = target.transpose(..., neuroid).values.reshape(-1, target.sizes[neuroid])
    return usable_neuroids(values.astype(np.float64, copy=False), names, role="target")


@dataclass(frozen=True)
class Problem:
    """Arrays to fit and to test: rows of source and target belong together, and splits are positions of rows."""

    source: Matrix
    target: Matrix
    splits: Sequence[tuple[Indices, Indices]]
    stimuli: NDArray[Any]
    notes: Mapping[str, Any]

    def aligned(self, place: Indices) -> Problem:
        """Bring target and source, whose row ``place[i]`` goes with row i of the target, into the same order."""
        if np.array_equal(place, np.arange(len(place))):
            return self
        if isinstance(self.target, ColumnBlocks) or isinstance(self.source, ColumnBlocks):
            return Problem(take_rows(self.source, place), self.target, self.splits, self.stimuli, self.notes)
        # The target moves, since the source is large.
        target, stimuli = np.empty_like(self.target), np.empty_like(self.stimuli)
        target[place], stimuli[place] = self.target, self.stimuli
        splits = [(place[train], place[test]) for train, test in self.splits]
        return Problem(self.source, target, splits, stimuli, self.notes)

    def responses(self) -> Floats:
        """Return the target as an array."""
        return as_array(self.target)

    def correlations(self, estimator: Any, correlation: PearsonR) -> Floats:
        """Fit, predict and correlate; returns shape (n_splits, n_neuroids)."""
        tests = [test for _, test in self.splits]
        if isinstance(self.target, ColumnBlocks) and isinstance(estimator, BlockPredictor):
            parts = estimator.predict_blocks(self.source, self.target, self.splits)
            return correlate_parts(parts, self.target, tests)
        y = self.responses()
        predictions = estimator.predict_splits(self.source, y, self.splits)
        return np.stack([correlation.columns(y[test], part) for test, part in zip(tests, predictions, strict=True)])


def stacked(parts: Sequence[Matrix]) -> Matrix:
    """Put the stimuli of several parts one below the other; large ones as a view."""
    arrays = [part for part in parts if not isinstance(part, ColumnBlocks)]
    if len(arrays) < len(parts) or 8 * sum(part.size for part in arrays) > WIDE_BYTES:
        return stack_rows(*parts)
    return np.concatenate(arrays, axis=0)


def check_same_features(train: Side, test: Side) -> None:
    """Raise if what is fitted is not what predicts."""
    coord = Defaults.neuroid_coord
    same = train.shape[1] == test.shape[1]
    if same and all(has_coordinate(part.labels, coord) for part in (train, test)):
        same = np.array_equal(coordinate(train.labels, coord), coordinate(test.labels, coord))
    if not same:
        raise AssemblyError(
            f"The {train.role} assemblies for training and testing have {train.shape[1]} and {test.shape[1]} neuroids "
            f"that differ, or differ in order, by their {coord}. Record both from the same layer."
        )


def take_rows(values: Matrix, order: Indices) -> Matrix:
    """Return stimuli in some order; large ones as a view."""
    if np.array_equal(order, np.arange(values.shape[0])):
        return values
    if isinstance(values, ColumnBlocks) or 8 * values.size > WIDE_BYTES:
        return ColumnBlocks.of(values).rows(order)
    return values[order]


def as_array(values: Matrix) -> NDArray[Any]:
    """Return a matrix as an array."""
    return values.to_array() if isinstance(values, ColumnBlocks) else values


def _is_mapped(values: NDArray[Any]) -> bool:
    """Whether an array lies in a file."""
    base: Any = values
    while isinstance(base, np.ndarray) and not isinstance(base, np.memmap):
        base = base.base
    return isinstance(base, np.memmap)
