"""Divide the values of a coordinate into training and test values, and cross-validate on them.

Distinct values are divided in sorted order, so splits do not depend on the presentations. The published system divides
positions of presentations, as does ``compat=True``, but with repeated values once: no stimulus is used for both
training and testing.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
import xarray as xr

from brainscore_core.errors import AssemblyError
from brainscore_core.supported_data_standards.brainio.transform import subset
from brainscore_vision.metric_helpers import Defaults
from brainscore_vision.metric_helpers.labelled.alignment import (
    Attrs,
    as_score,
    coordinate,
    has_coordinate,
    matching_order,
    stack,
)
from brainscore_vision.metric_helpers.uncertainty.errors import attach_split_error, declare_no_error, standard_errors

if TYPE_CHECKING:
    from brainscore_core.metrics import Score
    from brainscore_vision.metric_helpers.arrays.types import Indices, NDArray

__all__ = [
    "NO_ERROR_OF_SPLITS",
    "Alignment",
    "CartesianProduct",
    "CrossValidation",
    "CrossValidationSingle",
    "Split",
    "SplitPlan",
    "TestOnlyCrossValidation",
    "TestOnlyCrossValidationSingle",
    "Transformation",
    "apply_aggregate",
    "enumerate_done",
    "expand",
    "extract_coord",
    "standard_error_of_the_mean",
]

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
        """Divide an assembly in the same way; return positions in each fold."""
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


# Split assemblies into parts, apply a function to every part and gather the results in one Score.
#
# Metrics call ``transformation(*assemblies, apply=function, aggregate=function)``. Results of `apply`, which gets one
# part of every assembly, are stacked along a new dimension; `aggregate` reduces the others; then the transformation
# reduces its own.


Apply = Callable[..., "Score | xr.DataArray | float"]
Aggregate = Callable[["Score"], "Score"]
Label = dict[str, object]
Part = tuple[Label, Sequence["xr.DataArray"]]  # labels of the new dimensions, arguments for apply
Item = TypeVar("Item")
Assembly = TypeVar("Assembly", bound="xr.DataArray")


def apply_aggregate(aggregate_fnc: Aggregate, values: Score) -> Score:
    """Reduce scores by a function such as ``lambda scores: scores.median('neuroid')`` and keep the originals as `raw`.

    A `raw` of the result or of `values` stays.
    """
    score = aggregate_fnc(values)
    if score is values:  # nothing was reduced; a score must not hold itself
        score = values.copy(deep=False)
    if "raw" not in score.attrs:
        score.attrs["raw"] = values.attrs.get("raw", values)
    return score


class Transformation:
    """Apply a function to parts of assemblies; subclasses define parts and how to gather results.

    They override `parts` or, as published code does, `pipe`.
    """

    def __call__(
        self, *args: xr.DataArray, apply: Apply, aggregate: Aggregate | None = None, **kwargs: Any
    ) -> Score:  # Any: for `apply`
        """Apply to every part; the Score has the stacked results in ``attrs['raw']``.

        `apply` takes the parts and returns a Score, an assembly or a number.
        """
        steps = self.pipe(*args)
        for parts in steps:
            result = apply(*parts, **kwargs)
            del parts  # free memory before the next ones are made
            if steps.send(result):
                break
        score = as_score(next(steps))
        notes = {name: score.attrs.pop(name) for name in list(score.attrs) if name != "raw"}
        if aggregate is not None:
            score = apply_aggregate(aggregate, score)
        score = apply_aggregate(self.aggregate, score)
        for name, value in notes.items():
            score.attrs.setdefault(name, value)
        return score

    def pipe(self, *args: xr.DataArray) -> Generator[Any, Any, None]:  # Any: see below
        """Yield the parts of each step to callers that send the results; then the stacked Score.

        `send` returns whether the step was the last.

        Examples
        --------
        >>> import xarray as xr
        >>> steps = CartesianProduct(["region"]).pipe(xr.DataArray([1., 2.], {"region": ["IT", "V4"]}, ["region"]))
        >>> for (part,) in steps:
        ...     if steps.send(float(part) * 10):
        ...         break
        >>> next(steps).values
        array([10., 20.])
        """
        labels: list[Label] = []
        results: list[Score] = []
        notes: Attrs = {}
        steps = self.parts(*args, notes=notes)
        step = next(steps, None)
        if step is None:
            raise AssemblyError("Nothing to compare: the assembly has no parts.")
        while step is not None:
            labels.append(step[0])
            parts, step = tuple(step[1]), None
            result = yield parts
            del parts
            results.append(as_score(result))
            step = next(steps, None)
            yield step is None
        score = stack(results, labels)
        score.attrs.update(notes)
        yield score

    def parts(self, *args: xr.DataArray, notes: Attrs) -> Iterator[Part]:
        """Yield ``(labels of the new dimensions, arguments for apply)``; may write `notes` for the score's attrs."""
        raise NotImplementedError(f"{type(self).__name__} does not define `parts`.")

    def aggregate(self, score: Score) -> Score:
        """Reduce the transformation's own dimensions."""
        return score.copy()


class Alignment(Transformation):
    """Bring two assemblies into the same order: ``apply(source, target)``, once.

    Source entries that the target lacks are dropped. Both are sorted by the key, the coordinate `alignment_dim`. Target
    keys that the source lacks raise AssemblyError; with `repeat`, source entries are repeated as often as the target
    has their key. The source starts with `order_dimensions`.
    """

    class Defaults:
        """Default arguments."""

        order_dimensions = Defaults.expected_dims
        alignment_dim = Defaults.stimulus_coord
        repeat = False

    def __init__(
        self,
        order_dimensions: Sequence[str] = Defaults.order_dimensions,
        alignment_dim: str = Defaults.alignment_dim,
        repeat: bool = Defaults.repeat,
    ) -> None:
        self._order_dimensions = tuple(order_dimensions)
        self._alignment_dim = alignment_dim
        self._repeat = repeat

    def parts(self, *args: xr.DataArray, notes: Attrs) -> Iterator[Part]:  # noqa: ARG002 -- the signature is the base's
        """Yield both assemblies, aligned."""
        source, target = args
        yield {}, [self.sort(self.align(source, target)), self.sort(target)]

    def align(self, source_assembly: xr.DataArray, target_assembly: xr.DataArray) -> xr.DataArray:
        """Return the part of the source that the target has."""
        source = source_assembly.transpose(*self._order_dimensions, ...)
        return subset(source, target_assembly, subset_dims=[self._alignment_dim], repeat=self._repeat)

    def sort(self, assembly: xr.DataArray) -> xr.DataArray:
        """Return an assembly sorted by the key; equal keys keep their order."""
        keys = coordinate(assembly, self._alignment_dim)
        return assembly.isel({assembly[self._alignment_dim].dims[0]: np.argsort(keys, kind="stable")})


class CrossValidation(Transformation):
    """Split two assemblies, with the same values of `split_coord` equally often, by the splits of the target.

    Called as ``apply(source_train, target_train, source_test, target_test)``. Parts keep the order of their assembly.
    Parameters as for `Split`.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # Any: passed on to `Split`
        self._split = Split(*args, **kwargs)

    @property
    def compat(self) -> bool:
        """Whether splits are the published ones, see `Split`."""
        return self._split.compat

    def plan(self, target: xr.DataArray) -> SplitPlan:
        """See `Split.plan`."""
        return self._split.plan(target)

    def folds(self, target: xr.DataArray, n_folds: int, random_state: int) -> list[Indices]:
        """See `Split.folds`."""
        return self._split.folds(target, n_folds, random_state)

    def parts(self, *args: xr.DataArray, notes: Attrs) -> Iterator[Part]:
        """Yield training and test parts of both, for every split."""
        *sources, target = args
        coord = self._split.split_coord
        for source in sources:
            matching_order(
                *(coordinate(side, self._split.split_coord) for side in (target, source)), what=self._split.split_coord
            )
        plan = self._split.plan(target)
        notes.update(plan.notes)
        for index, split in enumerate(plan.splits):
            values = [plan.values.values[part] for part in split]
            yield ({"split": index}, [_having(side, coord, part_values) for part_values in values for side in args])

    def aggregate(self, score: Score) -> Score:
        """See `Split.aggregate`."""
        return self._split.aggregate(score)


class CrossValidationSingle(CrossValidation):
    """Split one assembly: ``apply(train, test)``. Parameters as for `Split`."""


class TestOnlyCrossValidation:
    """`CrossValidation` for metrics without training: ``apply(source_test, target_test)``."""

    __test__ = False  # not a pytest class
    kind: ClassVar[type[CrossValidation]] = CrossValidation

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # Any: passed on
        self._cross_validation = self.kind(*args, **kwargs)

    def __call__(self, *args: xr.DataArray, apply: Apply, **kwargs: Any) -> Score:
        """Apply to the test parts."""
        return self._cross_validation(*args, apply=lambda *parts: apply(*parts[len(parts) // 2 :]), **kwargs)


class TestOnlyCrossValidationSingle(TestOnlyCrossValidation):
    """`CrossValidationSingle` for functions without training: ``apply(test)``."""

    kind = CrossValidationSingle


class CartesianProduct(Transformation):
    """Apply to every combination of the values of some coordinates: ``apply(part)``.

    The result has a dimension for each of these dividers, of its sorted distinct values. Missing combinations are NaN.
    If one entry remains along the dimension of a divider, the part loses that dimension. Results whose `raw` has the
    dividers as coordinates along one dimension are joined along it.
    """

    def __init__(self, dividers: Sequence[str] = ()) -> None:
        self._dividers = tuple(dividers)

    def parts(self, *args: xr.DataArray, notes: Attrs) -> Iterator[Part]:  # noqa: ARG002 -- the signature is the base's
        """Yield the part of the assembly for every existing combination."""
        (assembly,) = args
        levels = [np.unique(coordinate(assembly, name)) for name in self._dividers]
        for values in itertools.product(*levels):
            part = assembly
            for name, value in zip(self._dividers, values, strict=True):
                part = _having(part, name, np.asarray([value]))
            if not all(part.shape):
                continue
            single = {dim for name in self._dividers for dim in assembly[name].dims if part.sizes[dim] == 1}
            yield dict(zip(self._dividers, values, strict=True)), [part.isel(dict.fromkeys(single, 0))]


def expand(assembly: Assembly, target_dims: Sequence[str]) -> Assembly:
    """Turn scalar coordinates, with or without a suffix ``_source`` or ``_target``, into last dimensions of length one.

    Attrs are dropped.

    Examples
    --------
    >>> from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly
    >>> regions = DataAssembly([.5, .4], coords={"region": ("region", ["V4", "IT"]), "layer": "pool"}, dims=["region"])
    >>> dict(expand(regions, ["region", "layer"]).sizes)
    {'region': 2, 'layer': 1}
    """
    scalars = [str(name) for name, coord in assembly.coords.items() if coord.ndim == 0]
    names = [name for name in scalars if name.removesuffix("_source").removesuffix("_target") in target_dims]
    expanded = assembly.expand_dims(names).transpose(*assembly.dims, *names)
    expanded.attrs = {}
    return expanded


def enumerate_done(values: Iterable[Item]) -> Iterator[tuple[int, Item, bool]]:
    """Yield ``(index, value, whether it is the last)``.

    Examples
    --------
    >>> list(enumerate_done("ab"))
    [(0, 'a', False), (1, 'b', True)]
    """
    waiting: list[Item] = []
    index = -1
    for index, value in enumerate(values):
        if waiting:
            yield index - 1, waiting.pop(), False
        waiting.append(value)
    if waiting:
        yield index, waiting.pop(), True


def _having(assembly: xr.DataArray, coord: str, values: NDArray[Any]) -> xr.DataArray:
    (dim,) = assembly[coord].dims
    return assembly.isel({dim: np.flatnonzero(np.isin(assembly[coord].values, values))})
