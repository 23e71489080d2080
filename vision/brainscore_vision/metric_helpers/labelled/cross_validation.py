"""Split assemblies into parts, apply a function to every part and gather the results in one Score.

Metrics call ``transformation(*assemblies, apply=function, aggregate=function)``. Results of `apply`, which gets one
part of every assembly, are stacked along a new dimension; `aggregate` reduces the others; then the transformation
reduces its own.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from brainscore_core.errors import AssemblyError
from brainscore_core.supported_data_standards.brainio.transform import subset
from brainscore_vision.metric_helpers import Defaults
from brainscore_vision.metric_helpers.labelled.alignment import Attrs, coordinate, matching_order
from brainscore_vision.metric_helpers.labelled.gather import as_score, stack
from brainscore_vision.metric_helpers.labelled.splits import Split, SplitPlan

if TYPE_CHECKING:
    import xarray as xr

    from brainscore_core.metrics import Score
    from brainscore_vision.metric_helpers.arrays.types import Indices, NDArray

__all__ = [
    "Alignment",
    "CartesianProduct",
    "CrossValidation",
    "CrossValidationSingle",
    "TestOnlyCrossValidation",
    "TestOnlyCrossValidationSingle",
    "Transformation",
    "apply_aggregate",
    "enumerate_done",
    "expand",
]

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
            raise AssemblyError("Nothing to apply to: the assembly has no parts.")
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
    """Split two assemblies, with the same values of `split_coord` equally often, alike, depending on the target.

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
