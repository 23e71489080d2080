"""Predict responses by a regression on training stimuli, correlate on others, and summarise: as metrics of assemblies.

`CrossRegressedCorrelation` splits the stimuli itself, `TrainTestSplitCorrelation` is given the split; the reverse ones
predict the source from the target. Which regression they use is the business of metric plugins.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from brainscore_core.errors import AssemblyError
from brainscore_core.metrics import Metric, Score
from brainscore_vision.metric_helpers import Defaults
from brainscore_vision.metric_helpers.arrays.column_blocks import ColumnBlocks
from brainscore_vision.metric_helpers.labelled.alignment import (
    Neuroids,
    coordinate,
    coords_along,
    matching_order,
)
from brainscore_vision.metric_helpers.labelled.cross_validation import CrossValidation, apply_aggregate
from brainscore_vision.metric_helpers.regression.estimators import PearsonR, SplitPredictor
from brainscore_vision.metric_helpers.regression.on_assemblies import XarrayCorrelation, XarrayRegression, neuroid_order
from brainscore_vision.metric_helpers.regression.sides import (
    Problem,
    Side,
    as_array,
    check_same_features,
    stacked,
    take_rows,
    usable_over_all_dims,
    whole_assembly,
)
from brainscore_vision.metric_helpers.uncertainty.errors import (
    attach_standard_error,
    declare_no_error,
    standard_error_of_median,
)
from brainscore_vision.metric_helpers.uncertainty.intervals import HeldOut

if TYPE_CHECKING:
    from brainscore_core.metrics import Quantity
    from brainscore_vision.metric_helpers.arrays.types import Floats, Indices

__all__ = [
    "CrossRegressedCorrelation",
    "ReverseCrossRegressedCorrelation",
    "ReverseTrainTestSplitCorrelation",
    "TrainTestSplitCorrelation",
]


class CrossRegressedCorrelation(Metric):
    """Cross-validated regression, then correlation per neuroid.

    Parameters
    ----------
    regression : object with ``fit(source, target)`` and ``predict(source)`` on assemblies
        Such as `pls_regression()`.
    correlation : callable
        ``correlation(prediction, target)`` returns a Score along neuroid; such as `pearsonr_correlation()`.
    crossvalidation_kwargs : dict or None
        Arguments of `CrossValidation`; by default 10 splits with 90 % training stimuli, stratified by `object_name`.

    Notes
    -----
    Override `apply` (one split) or `aggregate` (over neuroids) to make a metric of another kind.
    """

    quantity: ClassVar[Quantity | None] = "correlation"

    def __init__(
        self, regression: Any, correlation: Any, crossvalidation_kwargs: Mapping[str, Any] | None = None
    ) -> None:
        kwargs = {"train_size": 0.9, "test_size": None, **(crossvalidation_kwargs or {})}
        self.cross_validation = CrossValidation(**kwargs)
        self.regression = regression
        self.correlation = correlation

    def __call__(self, source: Any, target: Any) -> Score:
        """Compare.

        Parameters
        ----------
        source : NeuroidAssembly, dims (presentation, neuroid), as float; or StreamedFeatures
            Model features.
        target : NeuroidAssembly, dims (presentation, neuroid), as float
            Measurements of the same stimuli.

        Returns
        -------
        Score
            0-d, in [-1, 1]. Attrs: ``raw`` (Score, dims (split, neuroid); NaN where a correlation is undefined),
            ``error`` (standard error of the mean over splits), ``n_stimuli``, ``n_neuroids``, ``seed``,
            ``stratified_by``, and ``stratification`` with the reason if the splits could not be stratified. Neuroids
            of the target that are constant or NaN throughout do not count; ``neuroids_left_out`` names them.

        Raises
        ------
        AssemblyError
            If stimuli differ, dimensions are others, or values are NaN otherwise.
        ValueError
            If the regression cannot be fitted, for instance PLS with fewer features than components.
        """
        if self._runs_together():
            sides = Side.of(source, "source"), Side.of(target, "target")
            neuroids, labels = sides[1].neuroids(), sides[1].labels
            score = self._all_splits(*sides, neuroids)
        else:
            source, labels = whole_assembly(source, "source"), whole_assembly(target, "target")
            neuroids = usable_over_all_dims(labels)
            used = labels if neuroids.used.all() else labels.isel(neuroid=np.flatnonzero(neuroids.used))
            score = self.cross_validation(source, used, apply=self.apply, aggregate=self.aggregate)
        score.attrs.update(neuroids.attrs)
        score.attrs["error_over"] = ["split"]
        score.attrs["n_stimuli"] = len(np.unique(coordinate(labels, Defaults.stimulus_coord)))
        score.attrs["quantity"] = self.quantity
        return score

    def held_out(self, source: Any, target: Any) -> list[HeldOut]:
        """Return predictions and measurements of the test stimuli of every split; see `intervals.HoldsOut`.

        Raises
        ------
        NotImplementedError
            If a part of the metric was replaced, so that what it predicts is not known.
        """
        if not self._runs_together():
            raise NotImplementedError(
                f"{type(self).__name__} replaces the splits, the regression or the correlation by its own, and does "
                "not say what it predicts for held-out stimuli."
            )
        source, target = Side.of(source, "source"), Side.of(target, "target")
        problem = self._problem(source, target, target.neuroids())
        y = problem.responses()
        predictions = self.regression.estimator.predict_splits(problem.source, y, problem.splits)
        return [
            HeldOut(prediction, y[test], problem.stimuli[test])
            for prediction, (_, test) in zip(predictions, problem.splits, strict=True)
        ]

    def apply(self, source_train: Any, target_train: Any, source_test: Any, target_test: Any) -> Score:
        """Fit on the training part, predict the test part, correlate; returns a Score along neuroid."""
        self.regression.fit(source_train, target_train)
        correlations: Score = self.correlation(self.regression.predict(source_test), target_test)
        return correlations

    def aggregate(self, scores: Score) -> Score:
        """Take the median over neuroids, which disregards undefined ones."""
        medians: Score = scores.median(dim="neuroid")
        return medians

    def _runs_together(self) -> bool:
        """Whether all splits can be computed by one call of an array kernel: nothing that others replaced is used."""
        return _is_standard(self, CrossRegressedCorrelation) and type(self.cross_validation) is CrossValidation

    def _problem(self, source: Side, target: Side, neuroids: Neuroids) -> Problem:
        coord = self.regression.stimulus_coord
        plan = self.cross_validation.plan(target.labels)
        splits = plan.presentations(target.labels)
        stimuli = coordinate(target.labels, coord)
        problem = Problem(source.finite(), target.columns(neuroids.used), splits, stimuli, plan.notes)
        return problem.aligned(matching_order(stimuli, coordinate(source.labels, coord), what=coord))

    def _all_splits(self, source: Side, target: Side, neuroids: Neuroids) -> Score:
        problem = self._problem(source, target, neuroids)
        r = problem.correlations(self.regression.estimator, self.correlation.function)
        medians = _median(r)
        score = attach_standard_error(Score(medians.mean()), medians, over="split")
        score.attrs.update(
            raw=_labelled(r, target, neuroids, {"split": np.arange(len(r))}),
            **problem.notes,
        )
        if np.isnan(r).any():
            score.attrs["n_undefined"] = int(np.isnan(r).sum())
        return score


class ReverseCrossRegressedCorrelation(CrossRegressedCorrelation):
    """Cross-validated regression from measurements to features, which tells what of a model the neuroids predict.

    Called like `CrossRegressedCorrelation`, with the model's features as source. These are what is predicted, so that
    the splits are made from them, the median is over features, and features that are constant do not count. They may
    be many: they are read in blocks, and neither predictions nor coefficients of all are ever in memory.

    Parameters
    ----------
    regression, correlation, crossvalidation_kwargs
        As for `CrossRegressedCorrelation`.
    """

    def __call__(self, source: Any, target: Any) -> Score:
        """Compare; parameters, result and errors as for `CrossRegressedCorrelation`, neuroids being features."""
        return super().__call__(target, source)

    def held_out(self, source: Any, target: Any) -> list[HeldOut]:
        """Return predictions of the features and the features for the test stimuli of every split."""
        return super().held_out(target, source)


class TrainTestSplitCorrelation(Metric):
    """Regression on given training data, then correlation per neuroid on given test data.

    Parameters
    ----------
    regression, correlation
        As for `CrossRegressedCorrelation`.
    """

    quantity: ClassVar[Quantity | None] = "correlation"

    def __init__(self, regression: Any, correlation: Any) -> None:
        self.regression = regression
        self.correlation = correlation

    def __call__(  # type: ignore[override] # a given split takes four assemblies
        self, source_train: Any, source_test: Any, target_train: Any, target_test: Any
    ) -> Score:
        """Compare.

        Parameters
        ----------
        source_train, source_test : NeuroidAssembly, dims (presentation, neuroid); or StreamedFeatures
            Model features for the training and the test stimuli.
        target_train, target_test : NeuroidAssembly, dims (presentation, neuroid)
            Measurements of the same stimuli and of the same neuroids, in any order.

        Returns
        -------
        Score
            0-d, in [-1, 1]. Attrs: ``raw`` (Score, dims (neuroid)), ``error`` (bootstrap standard error of the median
            over neuroids, see `standard_error_of_median`; it does not cover the choice of stimuli), ``n_stimuli``
            (tested), ``n_train_stimuli``, ``n_neuroids``; ``alpha`` if the regression chose one. Neuroids that are
            constant or NaN throughout, in either part, do not count.

        Raises
        ------
        AssemblyError
            If stimuli or neuroids differ, dimensions are others, or values are NaN otherwise.
        """
        sources = [Side.of(part, "source") for part in (source_train, source_test)]
        targets = [Side.of(part, "target") for part in (target_train, target_test)]
        check_same_features(*sources)
        train, test = (part.neuroids() for part in targets)
        order = matching_order(train.names, test.names, what="neuroid_id")
        neuroids = Neuroids(used=train.used & test.used[order], names=train.names)
        if not neuroids.used.any():
            raise AssemblyError("No neuroid of the target assembly varies over both training and test stimuli.")
        if _is_standard(self, TrainTestSplitCorrelation) and np.array_equal(order, np.arange(len(order))):
            score = self._at_once(sources, targets, neuroids)
        else:
            score = self._by_assemblies(sources, targets, neuroids, order)
        score.attrs.update(neuroids.attrs)
        if type(self).aggregate is TrainTestSplitCorrelation.aggregate:
            _attach_median_error(score)
        score.attrs["n_stimuli"] = targets[1].shape[0]
        score.attrs["n_train_stimuli"] = targets[0].shape[0]
        score.attrs["quantity"] = self.quantity
        return score

    def apply(self, source_train: Any, target_train: Any, source_test: Any, target_test: Any) -> Score:
        """Fit on the training part, predict the test part, correlate; returns a Score along neuroid."""
        self.regression.fit(source_train, target_train)
        correlations: Score = self.correlation(self.regression.predict(source_test), target_test)
        _note_alpha(correlations, getattr(getattr(self.regression, "estimator", None), "alpha_", None))
        return correlations

    def aggregate(self, scores: Score) -> Score:
        """Take the median over neuroids, which disregards undefined ones."""
        medians: Score = scores.median(dim="neuroid")
        return medians

    def _at_once(self, sources: Sequence[Side], targets: Sequence[Side], neuroids: Neuroids) -> Score:
        coord = self.regression.stimulus_coord
        ids = [coordinate(part.labels, coord) for part in targets]
        places = [
            matching_order(wanted, coordinate(part.labels, coord), what=coord)
            for wanted, part in zip(ids, sources, strict=True)
        ]
        x = [take_rows(part.finite(), place) for part, place in zip(sources, places, strict=True)]
        y = [part.columns(neuroids.used) for part in targets]
        estimator, alpha = self.regression.estimator, None
        if hasattr(estimator, "alpha_"):  # what it chooses while fitting is told, so that it is fitted; as a copy
            fitted = copy.copy(estimator).fit(x[0], y[0])
            r, alpha = self.correlation.function.columns(as_array(y[1]), fitted.predict(x[1]))[None], fitted.alpha_
        else:
            rows = np.arange(len(ids[0]) + len(ids[1]))
            split = rows[: len(ids[0])], rows[len(ids[0]) :]
            problem = Problem(stacked(x), stacked(y), [split], np.concatenate(ids), {})
            r = problem.correlations(estimator, self.correlation.function)
        score = Score(_median(r)[0])
        score.attrs["raw"] = _labelled(r, targets[0], neuroids, {})
        _note_alpha(score, alpha)
        return score

    def _by_assemblies(
        self, sources: Sequence[Side], targets: Sequence[Side], neuroids: Neuroids, order: Indices
    ) -> Score:
        (source_train, source_test), (target_train, target_test) = (
            [part.assembly() for part in parts] for parts in (sources, targets)
        )
        if not neuroids.used.all():
            kept = np.flatnonzero(neuroids.used)
            target_train, target_test = target_train.isel(neuroid=kept), target_test.isel(neuroid=order[kept])
        correlations = self.apply(source_train, target_train, source_test, target_test)
        score: Score = apply_aggregate(self.aggregate, correlations)
        if "alpha" in correlations.attrs:
            score.attrs["alpha"] = correlations.attrs["alpha"]
        return score


class ReverseTrainTestSplitCorrelation(TrainTestSplitCorrelation):
    """Regression from measurements to features on given training data, then correlation per feature on test data.

    Called like `TrainTestSplitCorrelation`, with the model's features as source; see
    `ReverseCrossRegressedCorrelation`.

    Parameters
    ----------
    regression, correlation
        As for `CrossRegressedCorrelation`.
    """

    def __call__(  # type: ignore[override] # a given split takes four assemblies
        self, source_train: Any, source_test: Any, target_train: Any, target_test: Any
    ) -> Score:
        """Compare; parameters, result and errors as for `TrainTestSplitCorrelation`, neuroids being features."""
        return super().__call__(target_train, target_test, source_train, source_test)


def _is_standard(metric: Any, own: type) -> bool:
    """Whether nothing that others may replace was replaced, so that array kernels can compute it."""
    return (
        type(metric).apply is own.apply  # type: ignore[attr-defined] # both metrics of this module have it
        and type(metric).aggregate is own.aggregate  # type: ignore[attr-defined] # the same
        and type(metric.regression) is XarrayRegression
        and metric.regression.expected_dims == Defaults.expected_dims
        and isinstance(metric.regression.estimator, SplitPredictor)
        and type(metric.correlation) is XarrayCorrelation
        and isinstance(metric.correlation.function, PearsonR)
    )


def _note_alpha(score: Score, alpha: Any) -> None:
    if alpha is not None:
        score.attrs["alpha"] = float(alpha) if np.ndim(alpha) == 0 else np.asarray(alpha).tolist()


def _median(r: Floats) -> Floats:
    """Median over neuroids of each split, over those defined; NaN if none is."""
    return np.array([np.median(row[~np.isnan(row)]) if not np.isnan(row).all() else np.nan for row in r])


def _attach_median_error(score: Score) -> None:
    error = standard_error_of_median(score.attrs["raw"].values)
    if np.isnan(error):
        declare_no_error(score, "fewer than two neuroids: there is nothing to resample")
    else:
        score.attrs.update(error=error, error_over=["neuroid"])


def _labelled(r: Floats, target: Side, neuroids: Neuroids, splits: Mapping[str, Any]) -> Score:
    """Return correlations with the neuroids' coordinates, sorted by their key; dims (split, neuroid) or (neuroid)."""
    labels = target.labels
    order = np.arange(target.shape[1]) if isinstance(target.values, ColumnBlocks) else neuroid_order(labels)
    values = np.full((len(r), len(order)), np.nan)
    values[:, neuroids.used] = r
    values = values[:, order] if splits else values[0, order]
    coords = {name: (dim, named[order]) for name, (dim, named) in coords_along(labels, "neuroid").items()}
    coords.update({name: (name, named) for name, named in splits.items()})
    return Score(values, coords=coords, dims=[*splits, "neuroid"])
