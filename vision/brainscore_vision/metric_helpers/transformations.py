"""Split assemblies into parts, apply a function to every part and gather the results in one Score.

Metrics call ``transformation(*assemblies, apply=function, aggregate=function)``. `apply` sees one part of every
assembly; what it returns is stacked along a new dimension; `aggregate`, if given, reduces what is left (the median over
neuroids, say), then the transformation reduces its own dimension.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from brainscore_core.errors import AssemblyError
from brainscore_vision.metric_helpers._gather import as_score, stack
from brainscore_vision.metric_helpers.alignment import coordinate, matching_order
from brainscore_vision.metric_helpers.splits import Split, SplitPlan, extract_coord, standard_error_of_the_mean

if TYPE_CHECKING:
    import xarray as xr

    from brainscore_core.metrics import Score

__all__ = [
    "CartesianProduct",
    "CrossValidation",
    "CrossValidationSingle",
    "Split",
    "SplitPlan",
    "TestOnlyCrossValidation",
    "TestOnlyCrossValidationSingle",
    "Transformation",
    "apply_aggregate",
    "extract_coord",
    "standard_error_of_the_mean",
]

Indices = NDArray[np.intp]
Apply = Callable[..., Any]
Aggregate = Callable[[Any], Any]


def apply_aggregate(aggregate_fnc: Aggregate, values: Any) -> Any:
    """Reduce scores and keep what they were before.

    Parameters
    ----------
    aggregate_fnc : callable
        Score -> Score, such as ``lambda scores: scores.median('neuroid')``.
    values : Score

    Returns
    -------
    Score
        ``aggregate_fnc(values)``; unless it has an ``attrs['raw']`` already, that becomes the `raw` of `values`, or
        `values` if there is none.
    """
    score = aggregate_fnc(values)
    if "raw" not in score.attrs:
        score.attrs["raw"] = values.attrs.get("raw", values)
    return score


class Transformation:
    """Apply a function to parts of assemblies; subclasses say what the parts are and how to gather results."""

    def __call__(self, *args: xr.DataArray, apply: Apply, aggregate: Aggregate | None = None, **kwargs: Any) -> Any:
        """Apply to every part.

        Parameters
        ----------
        *args : DataAssembly
            What to split.
        apply : callable
            Called with the parts, returns a Score, an assembly or a number.
        aggregate : callable or None
            Applied to the stacked results before the transformation reduces its own dimension.
        **kwargs
            Passed to `apply`.

        Returns
        -------
        Score
            With ``attrs['raw']``, the stacked results.
        """
        labels: list[dict[str, Any]] = []
        results: list[Score] = []
        notes: dict[str, Any] = {}
        for label, parts in self.parts(*args, notes=notes):
            labels.append(label)
            results.append(as_score(apply(*parts, **kwargs)))
        if not results:
            raise AssemblyError("There is nothing to apply to: the assembly has no parts.")
        score = stack(results, labels)
        if aggregate is not None:
            score = apply_aggregate(aggregate, score)
        score = apply_aggregate(self.aggregate, score)
        for name, value in notes.items():
            score.attrs.setdefault(name, value)
        return score

    def parts(self, *args: Any, notes: dict[str, Any]) -> Iterator[tuple[dict[str, Any], Sequence[Any]]]:
        """Yield ``(labels of the new dimensions, arguments for apply)``; may write `notes` for the score's attrs."""
        raise NotImplementedError(f"{type(self).__name__} does not say what its parts are.")

    def aggregate(self, score: Any) -> Any:
        """Reduce the transformation's own dimensions; here, not at all."""
        return score.copy()  # the copy is given `raw`, which must not be the score itself


class CrossValidationSingle(Transformation):
    """Split one assembly: ``apply(train, test)``. Parameters as for `Split`."""

    def __init__(
        self,
        splits: int = Split.Defaults.splits,
        train_size: float | None = None,
        test_size: float | None = None,
        split_coord: str = Split.Defaults.split_coord,
        stratification_coord: str | None = Split.Defaults.stratification_coord,
        unique_split_values: bool = Split.Defaults.unique_split_values,
        random_state: int = Split.Defaults.random_state,
    ) -> None:
        self._split = Split(
            splits=splits,
            train_size=train_size,
            test_size=test_size,
            split_coord=split_coord,
            stratification_coord=stratification_coord,
            unique_split_values=unique_split_values,
            random_state=random_state,
        )
        self._split_coord = split_coord

    def parts(self, *args: Any, notes: dict[str, Any]) -> Iterator[tuple[dict[str, Any], Sequence[Any]]]:
        """Yield the training and the test part of the assembly for every split."""
        (assembly,) = args
        plan = self._split.plan(assembly)
        notes.update(plan.notes)
        for index, (train, test) in enumerate(plan.splits):
            yield (
                {"split": index},
                [_having(assembly, self._split_coord, plan.values.values[part]) for part in (train, test)],
            )

    def aggregate(self, score: Any) -> Any:
        """Take the mean over splits, see `Split.aggregate`."""
        return self._split.aggregate(score)


class CrossValidation(Transformation):
    """Split two assemblies alike: ``apply(source_train, target_train, source_test, target_test)``.

    Splits are made from the target, in the order of its presentations. Parts keep the order of their assembly.

    Parameters
    ----------
    *args, **kwargs
        As for `Split`.
    split_coord, stratification_coord, preprocess_indices
        As for `Split`.

    Raises
    ------
    AssemblyError
        When called with assemblies that do not hold the same values of `split_coord` equally often.
    """

    def __init__(
        self,
        *args: Any,
        split_coord: str = Split.Defaults.split_coord,
        stratification_coord: str | None = Split.Defaults.stratification_coord,
        preprocess_indices: Callable[..., tuple[Indices, Indices]] | None = None,
        **kwargs: Any,
    ) -> None:
        self._split_coord = split_coord
        self._stratification_coord = stratification_coord
        self._preprocess_indices = preprocess_indices
        named: dict[str, Any] = {
            **kwargs,
            "split_coord": split_coord,
            "stratification_coord": stratification_coord,
            "preprocess_indices": preprocess_indices,
        }
        self._split = Split(*args, **named)

    def plan(self, target: xr.DataArray) -> SplitPlan:
        """Return the splits that would be used for a target; see `Split.plan`."""
        return self._split.plan(target)

    def parts(self, *args: Any, notes: dict[str, Any]) -> Iterator[tuple[dict[str, Any], Sequence[Any]]]:
        """Yield source and target for training, then for testing, for every split."""
        source, target = args
        matching_order(
            coordinate(target, self._split_coord), coordinate(source, self._split_coord), what=self._split_coord
        )
        plan = self._split.plan(target)
        notes.update(plan.notes)
        for index, (train, test) in enumerate(plan.splits):
            yield (
                {"split": index},
                [
                    _having(assembly, self._split_coord, plan.values.values[part])
                    for part in (train, test)
                    for assembly in (source, target)
                ],
            )

    def aggregate(self, score: Any) -> Any:
        """Take the mean over splits, see `Split.aggregate`."""
        return self._split.aggregate(score)


class TestOnlyCrossValidation:
    """`CrossValidation` for metrics without training: ``apply(source_test, target_test)``."""

    __test__ = False  # a name that starts with Test is no test

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._cross_validation = CrossValidation(*args, **kwargs)

    def __call__(self, *args: xr.DataArray, apply: Apply, **kwargs: Any) -> Any:
        """Apply to the test parts; arguments as for `Transformation`."""
        return self._cross_validation(
            *args, apply=lambda _source, _target, source_test, target_test: apply(source_test, target_test), **kwargs
        )


class TestOnlyCrossValidationSingle:
    """`CrossValidationSingle` for functions without training: ``apply(test)``."""

    __test__ = False  # a name that starts with Test is no test

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._cross_validation = CrossValidationSingle(*args, **kwargs)

    def __call__(self, *args: xr.DataArray, apply: Apply, **kwargs: Any) -> Any:
        """Apply to the test parts; arguments as for `Transformation`."""
        return self._cross_validation(*args, apply=lambda _train, test: apply(test), **kwargs)


class CartesianProduct(Transformation):
    """Apply to every combination of the values of some coordinates: ``apply(part)``.

    Parameters
    ----------
    dividers : sequence of str
        Coordinates; the result has a dimension for each, of their sorted distinct values. Combinations that do not
        occur are NaN.
    """

    def __init__(self, dividers: Sequence[str] = ()) -> None:
        self._dividers = tuple(dividers)

    def parts(self, *args: Any, notes: dict[str, Any]) -> Iterator[tuple[dict[str, Any], Sequence[Any]]]:  # noqa: ARG002 -- the signature is the base's
        """Yield the part of the assembly for every combination that occurs."""
        (assembly,) = args
        levels = [np.unique(coordinate(assembly, name)) for name in self._dividers]
        for values in itertools.product(*levels):
            part = assembly
            for name, value in zip(self._dividers, values, strict=True):
                part = _having(part, name, np.asarray([value]))
            if all(part.shape):
                yield dict(zip(self._dividers, values, strict=True)), [part]


def _having(assembly: xr.DataArray, coord: str, values: NDArray[Any]) -> xr.DataArray:
    """Select where a coordinate has one of some values; order and class stay."""
    (dim,) = assembly[coord].dims
    return assembly.isel({dim: np.flatnonzero(np.isin(assembly[coord].values, values))})
