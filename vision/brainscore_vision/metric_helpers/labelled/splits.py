"""Divide the values of a coordinate into training and test values.

Distinct values are divided in sorted order, so splits do not depend on the presentations. The published system divides
positions of presentations, as does ``compat=True``, but with repeated values once, so that no stimulus both trains and
tests.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from brainscore_core.errors import AssemblyError
from brainscore_vision.metric_helpers.labelled.alignment import coordinate, has_coordinate
from brainscore_vision.metric_helpers.uncertainty.errors import attach_split_error, declare_no_error, standard_errors

if TYPE_CHECKING:
    from brainscore_core.metrics import Score
    from brainscore_vision.metric_helpers.arrays.types import Indices, NDArray

__all__ = ["NO_ERROR_OF_SPLITS", "Split", "SplitPlan", "extract_coord", "standard_error_of_the_mean"]

NO_ERROR_OF_SPLITS = (
    "the influences of stimuli and neuroids on this result are unknown: half_sample_interval of uncertainty.intervals "
    "estimates an error"
)


def standard_error_of_the_mean(values: xr.DataArray, dim: str) -> xr.DataArray:
    """Compute the standard error of the mean along a dimension; see `standard_errors`."""
    return values.reduce(standard_errors, dim)


def extract_coord(assembly: xr.DataArray, coord: str, unique: bool = False) -> xr.DataArray:
    """Return a coordinate, labelled by itself, optionally its distinct values."""
    values = coordinate(assembly, coord)
    if unique:
        values = np.unique(values)
    dim = assembly[coord].dims[0]
    return xr.DataArray(values, coords={coord: (dim, values)}, dims=[dim])


@dataclass(frozen=True)
class SplitPlan:
    """Values of a coordinate that train and test in each split."""

    values: xr.DataArray  # (n_values,), distinct and sorted; with `compat` in order of rows
    splits: list[tuple[Indices, Indices]]  # positions in `values`: train, test
    notes: Mapping[str, object]  # for `Score.attrs`: seed, stratified_by, and why not

    @property
    def smallest_test(self) -> int:
        """Fewest test values of a split."""
        return min(len(test) for _, test in self.splits)

    def presentations(self, assembly: xr.DataArray) -> list[tuple[Indices, Indices]]:
        """Return the positions in an assembly that train and test; a value's presentations stay together."""
        (coord,) = self.values.coords
        present, divided = coordinate(assembly, str(coord)), self.values.values
        if np.array_equal(present, divided):
            return self.splits
        names, of_divided = np.unique(divided, return_inverse=True)
        of_present = np.minimum(np.searchsorted(names, present), len(names) - 1)
        of_present[names[of_present] != present] = len(names)  # a value outside the plan
        rows = np.argsort(of_present, kind="stable")
        starts = np.searchsorted(of_present[rows], np.arange(len(names) + 1))
        groups = np.split(rows, starts[1:])[: len(names)]

        def rows_of(part: Indices) -> Indices:
            return np.concatenate([groups[name] for name in of_divided[part]]) if len(part) else part

        return [(rows_of(train), rows_of(test)) for train, test in self.splits]


class Split:
    """Divide the values of a coordinate several times.

    Parameters
    ----------
    train_size, test_size : float, int or None
        Share or number of values; 90 % train by default.
    stratification_coord
        Coordinate whose classes are kept in proportion. If it is missing or classes are too small, values are shuffled
        plainly, with the reason in ``Score.attrs['stratification']``.
    kfold
        Use every value once for testing, in `splits` folds.
    preprocess_indices
        ``f(train, test, assembly) -> (train, test)``, changes every split: positions in the assembly of each value's
        first presentation.
    compat
        Divide values in the order of the assembly, as published; with `unique_split_values`, distinct ones in sorted
        order.
    """

    class Defaults:
        """Default arguments."""

        splits = 10
        train_size = 0.9
        split_coord = "stimulus_id"
        stratification_coord = "object_name"
        unique_split_values = False
        random_state = 1

    def __init__(
        self,
        splits: int = Defaults.splits,
        train_size: float | None = None,
        test_size: float | None = None,
        split_coord: str = Defaults.split_coord,
        stratification_coord: str | None = Defaults.stratification_coord,
        kfold: bool = False,
        unique_split_values: bool = Defaults.unique_split_values,
        random_state: int = Defaults.random_state,
        preprocess_indices: Callable[..., tuple[Indices, Indices]] | None = None,
        *,
        compat: bool = False,
    ) -> None:
        if train_size is None and test_size is None:
            train_size = self.Defaults.train_size
        self._splits = splits
        self._train_size = train_size
        self._test_size = test_size
        self.split_coord = split_coord
        self._stratification_coord = stratification_coord
        self._kfold = kfold
        self._unique_split_values = unique_split_values
        self._random_state = random_state
        self._preprocess_indices = preprocess_indices
        self.compat = compat

    @property
    def do_stratify(self) -> bool:
        """Whether to stratify."""
        return bool(self._stratification_coord)

    def plan(self, assembly: xr.DataArray) -> SplitPlan:
        """Divide the values of an assembly's split coordinate."""
        values = coordinate(assembly, self.split_coord)
        positions, number = self._divided(assembly, values)
        classes, reason = self._classes(assembly, positions)
        notes: dict[str, object] = {"seed": self._random_state}
        try:
            if classes is not None:
                splits, reason = self._stratified(classes)
            if classes is None or reason:
                splits = list(self._splitter(stratified=False).split(np.zeros(len(positions))))
        except ValueError as error:
            raise AssemblyError(
                f"{len(positions)} values of {self.split_coord!r} cannot be divided into {self._splits} splits "
                f"(train_size={self._train_size}, test_size={self._test_size}, kfold={self._kfold}): {error}"
            ) from error
        notes["stratified_by"] = None if classes is None or reason else self._stratification_coord
        if reason:
            notes["stratification"] = reason
        if self._preprocess_indices is not None:
            first_positions = [(positions[train], positions[test]) for train, test in splits]
            changed = [self._preprocess_indices(train, test, assembly) for train, test in first_positions]
            splits = [(number[np.asarray(train)], number[np.asarray(test)]) for train, test in changed]
        dim = assembly[self.split_coord].dims[0]
        divided = values[positions]
        return SplitPlan(xr.DataArray(divided, coords={self.split_coord: (dim, divided)}, dims=[dim]), splits, notes)

    def folds(self, assembly: xr.DataArray, n_folds: int, random_state: int) -> list[Indices]:
        """Divide an assembly alike; return positions in each fold."""
        divided = Split(
            splits=n_folds,
            split_coord=self.split_coord,
            stratification_coord=self._stratification_coord,
            kfold=True,
            unique_split_values=self._unique_split_values,
            random_state=random_state,
            compat=self.compat,
        )
        return [test for _, test in divided.plan(assembly).presentations(assembly)]

    def build_splits(self, assembly: xr.DataArray) -> tuple[xr.DataArray, list[tuple[Indices, Indices]]]:
        """Return the values of the split coordinate and positions in them."""
        plan = self.plan(assembly)
        return plan.values, plan.splits

    @classmethod
    def aggregate(cls, values: Score) -> Score:
        """Take the mean over splits, with its scatter as ``split_error``; see `attach_split_error`."""
        score = attach_split_error(values.mean("split"), values.transpose("split", ...).values)
        return declare_no_error(score, NO_ERROR_OF_SPLITS)

    def _divided(self, assembly: xr.DataArray, values: NDArray[Any]) -> tuple[Indices, Indices]:
        """Return each divided value's position, and each presentation's value number."""
        distinct, number = np.unique(values, return_inverse=True)
        if self.compat and not self._unique_split_values and len(distinct) == len(values):
            return np.arange(len(values)), np.arange(len(values))
        keys, name = [number], self._stratification_coord
        if name and self._beside(assembly, name):  # presentations of a value may have several classes
            keys.insert(0, assembly[name].values.astype(str))
        order = np.lexsort(keys)
        return order[np.searchsorted(number[order], np.arange(len(distinct)))], number

    def _beside(self, assembly: xr.DataArray, name: str) -> bool:
        return has_coordinate(assembly, name) and assembly[name].dims == assembly[self.split_coord].dims

    def _classes(self, assembly: xr.DataArray, positions: Indices) -> tuple[NDArray[Any] | None, str]:
        name = self._stratification_coord
        if not name:
            return None, ""
        if not self._beside(assembly, name):
            return None, f"shuffled plainly: the assembly has no coordinate {name!r} beside {self.split_coord!r}"
        return assembly[name].values[positions].astype(str), ""

    def _stratified(self, classes: NDArray[Any]) -> tuple[list[tuple[Indices, Indices]], str]:
        try:
            return list(self._splitter(stratified=True).split(np.zeros(len(classes)), classes)), ""
        except ValueError as error:  # scikit-learn: classes too small or too many
            return [], f"shuffled plainly: {self._stratification_coord!r} does not allow stratified splits ({error})"

    def _splitter(self, *, stratified: bool) -> Any:
        from sklearn import model_selection  # sklearn is heavy

        if self._kfold:
            kind = model_selection.StratifiedKFold if stratified else model_selection.KFold
            return kind(n_splits=self._splits, shuffle=True, random_state=self._random_state)
        kind = model_selection.StratifiedShuffleSplit if stratified else model_selection.ShuffleSplit
        return kind(
            n_splits=self._splits,
            train_size=self._train_size,
            test_size=self._test_size,
            random_state=self._random_state,
        )
