"""Divide the values of a coordinate into training and test values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from brainscore_core.errors import AssemblyError
from brainscore_vision.metric_helpers.labelled.alignment import coordinate, has_coordinate
from brainscore_vision.metric_helpers.uncertainty.errors import attach_standard_error, standard_errors

if TYPE_CHECKING:
    from brainscore_core.metrics import Score
    from brainscore_vision.metric_helpers.arrays.types import Indices, NDArray

__all__ = ["Split", "SplitPlan", "extract_coord", "standard_error_of_the_mean"]


def standard_error_of_the_mean(values: xr.DataArray, dim: str) -> xr.DataArray:
    """Compute the standard error of the mean along a dimension; see `standard_errors`."""
    return values.reduce(standard_errors, dim)


def extract_coord(assembly: xr.DataArray, coord: str, unique: bool = False) -> xr.DataArray:
    """Return a coordinate as an array of its own.

    Returns
    -------
    DataArray
        Along the coordinate's dimension, with the values as a coordinate too.
    """
    values = coordinate(assembly, coord)
    if unique:
        values = np.unique(values)
    dim = assembly[coord].dims[0]
    return xr.DataArray(values, coords={coord: (dim, values)}, dims=[dim])


@dataclass(frozen=True)
class SplitPlan:
    """Which values of a coordinate train and test in each split."""

    values: xr.DataArray  # (n_values,), of the split coordinate, each once if any repeats in the assembly
    splits: list[tuple[Indices, Indices]]  # positions in `values`: train, test
    notes: Mapping[str, object]  # for `Score.attrs`: seed, stratified_by, and why it could not be stratified

    def presentations(self, assembly: xr.DataArray) -> list[tuple[Indices, Indices]]:
        """Return the positions in an assembly that train and test; each presentation of a value goes with it."""
        (coord,) = self.values.coords
        present = coordinate(assembly, str(coord))
        chosen = self.values.values
        if np.array_equal(present, chosen):
            return self.splits
        return [
            (np.flatnonzero(np.isin(present, chosen[train])), np.flatnonzero(np.isin(present, chosen[test])))
            for train, test in self.splits
        ]


class Split:
    """Divide the values of a coordinate into training and test values, several times.

    Parameters
    ----------
    train_size, test_size : float, int or None
        Part or number of values; without both, 90 % train.
    split_coord : str
        The coordinate whose values are divided.
    stratification_coord : str or None
        Coordinate whose classes are kept in proportion; None (or '') for none. Where the assembly lacks it, or it
        has classes too small, values are shuffled plainly and ``Score.attrs['stratification']`` says why.
    kfold : bool
        Use every value once for testing, in `splits` folds.
    unique_split_values : bool
        Divide distinct values. This is also done, whatever the flag, where values repeat, since otherwise repetitions
        of a stimulus would be in both training and test.
    preprocess_indices : callable or None
        ``f(train, test, assembly) -> (train, test)``, changes the indices of every split.
    """

    class Defaults:
        """What is used unless told otherwise."""

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

    @property
    def do_stratify(self) -> bool:
        """Whether a stratification coordinate is wanted."""
        return bool(self._stratification_coord)

    def plan(self, assembly: xr.DataArray) -> SplitPlan:
        """Divide the values of an assembly's split coordinate.

        Raises
        ------
        AssemblyError
            If the coordinate is missing or has too few values.
        """
        values = coordinate(assembly, self.split_coord)
        distinct, first = np.unique(values, return_index=True)
        unique = self._unique_split_values or len(distinct) < len(values)
        positions = first if unique else np.arange(len(values))
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
            splits = [self._preprocess_indices(train, test, assembly) for train, test in splits]
        dim = assembly[self.split_coord].dims[0]
        chosen = values[positions]
        return SplitPlan(xr.DataArray(chosen, coords={self.split_coord: (dim, chosen)}, dims=[dim]), splits, notes)

    def build_splits(self, assembly: xr.DataArray) -> tuple[xr.DataArray, list[tuple[Indices, Indices]]]:
        """Return the values of the split coordinate and the positions in them that train and test."""
        plan = self.plan(assembly)
        return plan.values, plan.splits

    @classmethod
    def aggregate(cls, values: Score) -> Score:
        """Take the mean over splits, with the standard error of that mean; see `attach_standard_error`."""
        return attach_standard_error(values.mean("split"), values.transpose("split", ...).values, over="split")

    def _classes(self, assembly: xr.DataArray, positions: Indices) -> tuple[NDArray[Any] | None, str]:
        name = self._stratification_coord
        if not name:
            return None, ""
        if not has_coordinate(assembly, name) or assembly[name].dims != assembly[self.split_coord].dims:
            return None, f"shuffled plainly: the assembly has no coordinate {name!r} beside {self.split_coord!r}"
        return assembly[name].values[positions].astype(str), ""

    def _stratified(self, classes: NDArray[Any]) -> tuple[list[tuple[Indices, Indices]], str]:
        try:
            return list(self._splitter(stratified=True).split(np.zeros(len(classes)), classes)), ""
        except ValueError as error:  # scikit-learn's answer to classes that are too small or too many
            return [], f"shuffled plainly: {self._stratification_coord!r} does not allow stratified splits ({error})"

    def _splitter(self, *, stratified: bool) -> Any:
        from sklearn import model_selection  # loading it takes longer than most metrics

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
