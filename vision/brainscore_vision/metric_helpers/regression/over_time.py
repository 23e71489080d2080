"""Extend regressions and their metrics to measurements with several time bins.

`SpanTimeRegression` shares one regression between all bins, `PerTimeRegression` has one for each;
`SpanTimeCrossRegressedCorrelation` and `PerTimeCrossRegressedCorrelation` are the cross-validated metrics that go with
them. The operations they are made of, such as `PerTime`, are those of `labelled.slices`.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from brainscore_core.errors import AssemblyError
from brainscore_core.metrics import Score
from brainscore_vision.metric_helpers import Defaults
from brainscore_vision.metric_helpers.arrays.correlation import constant_columns
from brainscore_vision.metric_helpers.labelled.alignment import (
    Neuroids,
    coordinate,
    coords_along,
    has_coordinate,
    matching_order,
    matrix,
    squeeze_time_bin,
    usable_neuroids,
)
from brainscore_vision.metric_helpers.labelled.cross_validation import CrossValidation
from brainscore_vision.metric_helpers.labelled.slices import PerOps, PerTime, SpanTime
from brainscore_vision.metric_helpers.regression.estimators import PearsonR, SplitPredictor
from brainscore_vision.metric_helpers.regression.metrics import CrossRegressedCorrelation
from brainscore_vision.metric_helpers.regression.on_assemblies import XarrayCorrelation, XarrayRegression, neuroid_order
from brainscore_vision.metric_helpers.uncertainty.errors import attach_standard_error

if TYPE_CHECKING:
    import xarray as xr

    from brainscore_core.metrics._metric import Quantity
    from brainscore_vision.metric_helpers.arrays.types import Floats, Indices, NDArray
    from brainscore_vision.metric_helpers.uncertainty.intervals import HeldOut

__all__ = [
    "PerTimeCrossRegressedCorrelation",
    "PerTimeRegression",
    "SpanTimeCrossRegressedCorrelation",
    "SpanTimeRegression",
    "average_over_presentation",
]

_DIMS = ("time_bin", *Defaults.expected_dims)


def average_over_presentation(score: Score) -> Score:
    """Take the mean over `presentation`; the score before is ``attrs['raw']`` of the result."""
    average: Score = score.mean("presentation")
    average.attrs["raw"] = score
    return average


class SpanTimeRegression:
    """Fit one regression to all time bins together: a presentation in a bin is one more stimulus.

    Parameters
    ----------
    regression : object with ``fit(source, target)`` and ``predict(source)`` on assemblies
        Such as `XarrayRegression`. ``predict`` keeps the order of presentations.
    """

    def __init__(self, regression: Any) -> None:
        self._regression = regression

    def fit(self, source: xr.DataArray, target: xr.DataArray) -> None:
        """Fit to assemblies with dims (presentation, neuroid, time_bin), in any order.

        Raises
        ------
        AssemblyError
            If the time bins of the two are not the same.
        """
        SpanTime(self._regression.fit)(_with_bins_of(source, target), target)

    def predict(self, source: xr.DataArray) -> Any:
        """Predict responses in every time bin.

        Returns
        -------
        NeuroidAssembly, dims (time_bin, presentation, neuroid)
            In the order of time bins and presentations of `source`.
        """
        stacked = SpanTime(self._regression.predict)(source)
        dims = [*(str(dim) for dim in stacked.dims if dim != "presentation")]
        values = stacked.transpose("presentation", *dims).values
        shape = (source.sizes["time_bin"], source.sizes["presentation"])
        coords: dict[str, Any] = {}
        for dim in ("time_bin", "presentation"):
            coords.update(coords_along(source, dim))
        for dim in dims:
            coords.update(coords_along(stacked, dim))
        return type(stacked)(
            values.reshape(*shape, *values.shape[1:]), coords=coords, dims=["time_bin", "presentation", *dims]
        )


class PerTimeRegression:
    """Fit a regression of its own to every time bin.

    Parameters
    ----------
    regression : object with ``fit(source, target)`` and ``predict(source)`` on assemblies
        Such as `XarrayRegression`; it is copied for every bin and not fitted itself.
    """

    def __init__(self, regression: Any) -> None:
        self._regression = regression
        self._fitted: list[Any] = []
        self._bins: Any = None

    def fit(self, source: xr.DataArray, target: xr.DataArray) -> None:
        """Fit to assemblies with dims (presentation, neuroid, time_bin), in any order.

        Raises
        ------
        AssemblyError
            If the time bins of the two are not the same.
        """
        source = _with_bins_of(source, target)
        fitted = []
        for index in range(target.sizes["time_bin"]):
            regression = copy.deepcopy(self._regression)
            regression.fit(source.isel(time_bin=index), target.isel(time_bin=index))
            fitted.append(regression)
        self._fitted, self._bins = fitted, _bins(target)

    def predict(self, source: xr.DataArray) -> Any:
        """Predict responses in every time bin, each with its own regression.

        Returns
        -------
        NeuroidAssembly, dims (time_bin, presentation, neuroid)
            Time bins as they were in the target of `fit`.

        Raises
        ------
        RuntimeError
            Before `fit`.
        AssemblyError
            If the time bins are not those of `fit`.
        """
        if not self._fitted:
            raise RuntimeError("The regression has not been fitted yet: call fit(source, target) first.")
        source = source.isel(time_bin=matching_order(self._bins, _bins(source), what="time_bin"))
        regressions = iter(self._fitted)
        return PerOps(lambda part: next(regressions).predict(part), dims=["time_bin"])(source)


class _TemporalRegressedCorrelation(CrossRegressedCorrelation):
    """What the two metrics share: bringing time bins together, and labels."""

    quantity: ClassVar[Quantity | None] = "correlation"

    def __init__(
        self, regression: Any, correlation: Any, crossvalidation_kwargs: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(self._over_time(regression), PerTime(correlation), crossvalidation_kwargs)
        self._single = CrossRegressedCorrelation(regression, correlation, crossvalidation_kwargs)

    def __call__(self, source: Any, target: Any) -> Score:
        """Compare.

        Parameters
        ----------
        source, target : NeuroidAssembly, dims (presentation, neuroid, time_bin), as float
            Model features and measurements of the same stimuli in the same time bins.

        Returns
        -------
        Score, dims (time_bin)
            In [-1, 1], sorted by `time_bin_start`. Attrs: ``raw`` (Score, dims (split, time_bin, neuroid); NaN where a
            correlation is undefined), ``error`` (Score, dims (time_bin): standard error of the mean over splits),
            ``n_stimuli``, ``n_neuroids``, ``seed``, ``stratified_by``, and ``stratification`` with the reason if the
            splits could not be stratified. Neuroids of the target that are constant or NaN throughout all bins do not
            count; ``neuroids_left_out`` names them. With a single time bin, or none, the score is that of
            `CrossRegressedCorrelation`.

        Raises
        ------
        AssemblyError
            If stimuli or time bins differ, dimensions are others, or values are NaN otherwise.
        """
        source, target = squeeze_time_bin(source), squeeze_time_bin(target)
        if "time_bin" not in target.dims and "time_bin" not in source.dims:
            return self._single(source, target)
        source = _with_bins_of(source, target)
        values = matrix(target, _DIMS, role="target")
        named = has_coordinate(target, Defaults.neuroid_coord)
        names = coordinate(target, Defaults.neuroid_coord) if named else np.arange(values.shape[2])
        neuroids = self._neuroids(values, names)
        if self._kernels_suffice():
            score = self._all_splits(source, target, neuroids)
        else:
            used = target if neuroids.used.all() else target.isel(neuroid=np.flatnonzero(neuroids.used))
            score = self.cross_validation(source, used, apply=self.apply, aggregate=self.aggregate)
        score.attrs.update(neuroids.attrs)
        score.attrs["error_over"] = ["split"]
        score.attrs["n_stimuli"] = len(np.unique(coordinate(target, Defaults.stimulus_coord)))
        score.attrs["quantity"] = self.quantity
        return score

    def held_out(self, source: Any, target: Any) -> list[HeldOut]:
        """Return predictions and measurements of the test stimuli of every split, for a single time bin.

        Raises
        ------
        NotImplementedError
            With several time bins, which have no single score to which predictions could belong.
        """
        source, target = squeeze_time_bin(source), squeeze_time_bin(target)
        if "time_bin" in target.dims or "time_bin" in source.dims:
            raise NotImplementedError(
                f"{type(self).__name__} has a score for each time bin. Select one: assembly.isel(time_bin=[0])."
            )
        return self._single.held_out(source, target)

    def _over_time(self, regression: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not say how its regression treats time bins.")

    def _predictions(
        self, estimator: SplitPredictor, x: Floats, y: Floats, splits: list[tuple[Any, Any]]
    ) -> list[Floats]:
        """Predict x (bins, stimuli, features) -> y (bins, stimuli, neuroids) for every split."""
        raise NotImplementedError(f"{type(self).__name__} does not say how to predict.")

    def _neuroids(self, values: Floats, names: NDArray[Any]) -> Neuroids:
        return usable_neuroids(values.reshape(-1, values.shape[2]), names)

    def _kernels_suffice(self) -> bool:
        """Whether array kernels compute the same: nothing that others replaced is used."""
        own, single = CrossRegressedCorrelation, self._single
        return (
            type(self).apply is own.apply
            and type(self).aggregate is own.aggregate
            and type(self.cross_validation) is CrossValidation
            and type(single.regression) is XarrayRegression
            and single.regression.expected_dims == Defaults.expected_dims
            and isinstance(single.regression.estimator, SplitPredictor)
            and type(single.correlation) is XarrayCorrelation
            and isinstance(single.correlation.function, PearsonR)
        )

    def _all_splits(self, source: Any, target: Any, neuroids: Neuroids) -> Score:
        coord = self._single.regression.stimulus_coord
        # Positions of the target's stimuli in the source: the target moves, since the source is large.
        place = matching_order(coordinate(target, coord), coordinate(source, coord), what=coord)
        x = _finite(matrix(source, _DIMS, role="source"))
        y = np.empty((*x.shape[:2], int(neuroids.used.sum())))
        y[:, place] = matrix(target, _DIMS, role="target")[:, :, neuroids.used]
        plan = self.cross_validation.plan(target)
        splits = [(place[train], place[test]) for train, test in plan.presentations(target)]
        correlate = self._single.correlation.function.columns
        order = np.argsort(_starts(target), kind="stable")
        r = np.full((len(splits), len(order), len(neuroids.used)), np.nan)
        predictions = self._predictions(self._single.regression.estimator, x, y, splits)
        for row, (_, test), prediction in zip(r, splits, predictions, strict=True):
            # Neuroids of all bins side by side: one call for all correlations of a split.
            pair = [part.transpose(1, 0, 2).reshape(len(test), -1) for part in (y[:, test], prediction)]
            row[:, neuroids.used] = correlate(*pair).reshape(len(order), -1)
        return _summarised(r[:, order], target, order, {**plan.notes})


class SpanTimeCrossRegressedCorrelation(_TemporalRegressedCorrelation):
    """Cross-validated regression with weights shared by all time bins, then correlation per neuroid and bin.

    For every split one regression is fitted on all training stimuli in all bins, each presentation in each bin being
    one observation; a stimulus is in training in all bins or in none. The score of a bin is the median over neuroids,
    then the mean over splits.

    Parameters
    ----------
    regression, correlation, crossvalidation_kwargs
        As for `CrossRegressedCorrelation`, for assemblies without time bins.
    """

    def _over_time(self, regression: Any) -> Any:
        return SpanTimeRegression(regression)

    def _predictions(
        self, estimator: SplitPredictor, x: Floats, y: Floats, splits: list[tuple[Any, Any]]
    ) -> list[Floats]:
        n_bins, n_stimuli, n_neuroids = y.shape
        starts = n_stimuli * np.arange(n_bins)[:, None]
        spans = [((starts + train).ravel(), (starts + test).ravel()) for train, test in splits]
        flat = estimator.predict_splits(x.reshape(-1, x.shape[2]), y.reshape(-1, n_neuroids), spans)
        return [prediction.reshape(n_bins, -1, n_neuroids) for prediction in flat]


class PerTimeCrossRegressedCorrelation(_TemporalRegressedCorrelation):
    """Cross-validated regression with weights of its own for every time bin, then correlation per neuroid and bin.

    The score of a bin is what `CrossRegressedCorrelation` gives for that bin alone, with the same splits in all bins.
    Neuroids that are constant or NaN throughout a bin do not count in that bin; a bin without any other is NaN.

    Parameters
    ----------
    regression, correlation, crossvalidation_kwargs
        As for `CrossRegressedCorrelation`, for assemblies without time bins.
    """

    def _over_time(self, regression: Any) -> Any:
        return PerTimeRegression(regression)

    def _neuroids(self, values: Floats, names: NDArray[Any]) -> Neuroids:
        n_bins, n_presentations, n_neuroids = values.shape
        bins = values.transpose(1, 0, 2).reshape(n_presentations, -1)
        labels = np.repeat(np.asarray(names)[None], n_bins, axis=0).ravel()
        used = usable_neuroids(bins, labels).used.reshape(n_bins, n_neuroids)
        return Neuroids(used=np.asarray(used.any(axis=0)), names=np.asarray(names))

    def _predictions(
        self, estimator: SplitPredictor, x: Floats, y: Floats, splits: list[tuple[Any, Any]]
    ) -> list[Floats]:
        results = [np.full((len(y), len(test), y.shape[2]), np.nan) for _, test in splits]
        for index, (features, responses) in enumerate(zip(x, y, strict=True)):
            missing = np.isnan(responses[0])
            used = ~missing & ~constant_columns(np.where(missing, 0.0, responses))
            if not used.any():
                continue
            predictions = estimator.predict_splits(features, responses[:, used], splits)
            for result, prediction in zip(results, predictions, strict=True):
                result[index][:, used] = prediction
        return results


def _with_bins_of(source: Any, target: Any) -> Any:
    """Return the source with its time bins in the order of the target's."""
    for role, assembly in (("source", source), ("target", target)):
        if "time_bin" not in assembly.dims:
            raise AssemblyError(
                f"The {role} assembly has dimensions {tuple(assembly.dims)} and the other one several time bins. "
                "Record both in the same time bins: candidate.start_recording(region, time_bins=[(start, end), ...])."
            )
    order = matching_order(_bins(target), _bins(source), what="time_bin")
    return source if np.array_equal(order, np.arange(len(order))) else source.isel(time_bin=order)


def _bins(assembly: xr.DataArray) -> NDArray[Any]:
    """Name time bins by their edges as far as they are known, else by position."""
    edges = [name for name in ("time_bin_start", "time_bin_end") if has_coordinate(assembly, name)]
    if not edges:
        return np.arange(assembly.sizes["time_bin"])
    values = [coordinate(assembly, name).astype(float) for name in edges]
    return np.array([" to ".join(f"{edge:g}" for edge in bin_edges) for bin_edges in zip(*values, strict=True)])


def _starts(assembly: xr.DataArray) -> NDArray[Any]:
    named = has_coordinate(assembly, "time_bin_start")
    return coordinate(assembly, "time_bin_start") if named else np.arange(assembly.sizes["time_bin"])


def _finite(values: Floats) -> Floats:
    # A sum is not finite if any value is not, and needs no copy; overflow alone is told apart below.
    if not np.isfinite(values.sum()) and not np.isfinite(values).all():
        raise AssemblyError(
            f"The source assembly has {int((~np.isfinite(values)).sum())} NaN or infinite values among {values.size}. "
            "A model's activations must be finite."
        )
    return values


def _summarised(r: Floats, target: Any, bins: Indices, notes: dict[str, Any]) -> Score:
    """Label correlations (splits, bins, neuroids) and take the median over neuroids, the mean over splits."""
    neuroids = neuroid_order(target)
    time = {name: (dim, labels[bins]) for name, (dim, labels) in coords_along(target, "time_bin").items()}
    who = {name: (dim, labels[neuroids]) for name, (dim, labels) in coords_along(target, "neuroid").items()}
    split = {"split": ("split", np.arange(len(r)))}
    dims = ["split", "time_bin", "neuroid"]
    raw = Score(r[:, :, neuroids], coords={**split, **time, **who}, dims=dims)
    medians = raw.median("neuroid").values
    score = Score(medians.mean(axis=0), coords=time, dims=["time_bin"])
    attach_standard_error(score, medians, over="split").attrs.update(raw=raw, **notes)
    return score
