"""Predict responses by a regression on training stimuli, correlate on others, and summarise."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from brainscore_core.metrics import Metric, Score
from brainscore_vision.metric_helpers import Defaults
from brainscore_vision.metric_helpers.arrays.correlation import median_known
from brainscore_vision.metric_helpers.labelled.alignment import (
    bin_order,
    coordinate,
    coords_along,
    matching_order,
    squeeze_time_bin,
)
from brainscore_vision.metric_helpers.labelled.slices import PerTime
from brainscore_vision.metric_helpers.labelled.splits import CrossValidation
from brainscore_vision.metric_helpers.regression.estimators import OfInnerProducts
from brainscore_vision.metric_helpers.regression.on_assemblies import (
    PerTimeRegression,
    SpanTimeRegression,
    with_bins_of,
)
from brainscore_vision.metric_helpers.regression.problem import Engine, RegressionProblem, Rows, note_uncertainty
from brainscore_vision.metric_helpers.regression.sides import (
    Options,
    Side,
    StreamedFeatures,
    in_ordinary_units,
    usable_over_all_dims,
    whole_assembly,
)
from brainscore_vision.metric_helpers.uncertainty.errors import attach_split_error
from brainscore_vision.metric_helpers.uncertainty.intervals import HeldOut

if TYPE_CHECKING:
    from collections.abc import Mapping

    import xarray as xr

    from brainscore_core.metrics import Quantity
    from brainscore_vision.metric_helpers.arrays.types import Floats
    from brainscore_vision.metric_helpers.labelled.alignment import Neuroids
    from brainscore_vision.metric_helpers.regression.on_assemblies import Correlation, Regression
    from brainscore_vision.metric_helpers.regression.sides import Features

__all__ = [
    "CrossRegressedCorrelation",
    "PerTimeCrossRegressedCorrelation",
    "RegressedCorrelation",
    "ReverseCrossRegressedCorrelation",
    "SpanTimeCrossRegressedCorrelation",
    "note_alpha",
]


SMALLEST_TEST = 10
"""Smallest informative test set: the correlation of two stimuli is always 1 or -1."""
_SMALL = "The smallest test set has {} stimuli, too few for a correlation of their own: "
_POOLED = _SMALL + "predictions of all test sets are correlated together, one value in place of one for each split."
_NOT_POOLED = (
    _SMALL + "take a metric named *_kfold, or more stimuli. {} cannot be correlated over all test sets together."
)


class RegressedCorrelation(Metric):
    """Steps of metrics that regress and correlate, which subclasses may override.

    The regression has ``fit(source, target)`` and ``predict(source)`` on assemblies, such as `pls_regression()`;
    ``correlation(prediction, target)`` returns a Score along neuroid, such as `pearsonr_correlation()`.

    Examples
    --------
    Subclass `CrossRegressedCorrelation` or a relative of it; with a step overridden, splits are fitted one by one, and
    ``error`` is NaN (see `half_sample_interval`):

    >>> class MeanOverNeuroids(CrossRegressedCorrelation):
    ...     def aggregate(self, scores):
    ...         return scores.mean(dim='neuroid')
    """

    quantity: ClassVar[Quantity | None] = "correlation"

    def __init__(self, regression: Regression, correlation: Correlation) -> None:
        self.regression = regression
        self.correlation = correlation

    def apply(
        self,
        source_train: xr.DataArray,
        target_train: xr.DataArray,
        source_test: xr.DataArray,
        target_test: xr.DataArray,
    ) -> Score:
        """Fit, predict the test part, correlate; returns a Score along neuroid."""
        self.regression.fit(source_train, target_train)
        correlations = self.correlation(self.regression.predict(source_test), target_test)
        note_alpha(correlations, getattr(getattr(self.regression, "estimator", None), "alpha_", None))
        return correlations

    def aggregate(self, scores: Score) -> Score:
        """Take the median over neuroids, ignoring undefined ones."""
        medians: Score = scores.median(dim="neuroid")
        return medians

    def _engine(self) -> Engine | None:
        """Return the engine for all splits at once; None if a subclass overrides a step."""
        own = RegressedCorrelation
        if type(self).apply is not own.apply or type(self).aggregate is not own.aggregate:
            return None
        return Engine.of(self.regression, self.correlation)


class CrossRegressedCorrelation(RegressedCorrelation):
    """Cross-validated regression, then correlation per neuroid.

    If a test set has fewer than ten stimuli, predictions of all test sets are correlated together (see
    `RegressionProblem.is_pooled`), unless splits are `compat`, predictions have no common unit (``neuron_to_neuron``)
    or a step is overridden: ``raw`` then has one split, ``split_error`` is NaN, and ``attrs['small_test_sets']``
    reports it.
    """

    def __init__(
        self, regression: Regression, correlation: Correlation, crossvalidation_kwargs: Options = None
    ) -> None:
        super().__init__(regression, correlation)
        kwargs = {"train_size": 0.9, "test_size": None, **(crossvalidation_kwargs or {})}
        self.cross_validation = CrossValidation(**kwargs)

    def __call__(self, source: Features, target: Features) -> Score:
        """Compare.

        Returns
        -------
        Score
            0-d, in [-1, 1]. Attrs: ``raw`` (Score, dims (split, neuroid); NaN where undefined), ``error`` and
            ``interval`` (over new stimuli and new neuroids, see `brainscore_core.statistics.influence`),
            ``split_error`` (standard error of the mean over splits), ``n_stimuli``, ``n_neuroids``, ``seed``,
            ``stratified_by``, and ``stratification`` with the reason for unstratified splits; ``neuroids_left_out``
            names those that do not count. ``not_applicable`` explains a NaN score.
        """
        engine = self._engine()
        if engine is not None:
            score, neuroids, labels = self._at_once(engine, source, target)
        else:
            labels = whole_assembly(target, "target")
            neuroids = usable_over_all_dims(labels)
            used = labels if neuroids.used.all() else labels.isel(neuroid=np.flatnonzero(neuroids.used))
            score = self.cross_validation(
                whole_assembly(source, "source"), used, apply=self.apply, aggregate=self.aggregate
            )
            smallest = self.cross_validation.plan(used).smallest_test
            if smallest < SMALLEST_TEST and not self.cross_validation.compat:
                score.attrs["small_test_sets"] = _NOT_POOLED.format(smallest, type(self).__name__)
        score.attrs.update(neuroids.attrs)
        score.attrs["n_stimuli"] = len(np.unique(coordinate(labels, Defaults.stimulus_coord)))
        score.attrs["quantity"] = self.quantity
        return score

    @property
    def of_inner_products(self) -> bool:
        """Whether only inner products of the source's centred stimuli matter."""
        if type(self).__call__ is not CrossRegressedCorrelation.__call__:  # overridden by a subclass
            return False
        engine = self._engine()
        return engine is not None and engine.bins is None and isinstance(engine.estimator, OfInnerProducts)

    def splits(self, target: xr.DataArray) -> Rows:
        """Return the positions of the target's presentations that train and test, for every split."""
        return self.cross_validation.plan(target).presentations(target)

    def held_out(self, source: Features, target: Features, *, splits: Rows | None = None) -> list[HeldOut]:
        """Return predictions and measurements of the test stimuli of every split.

        `splits` are positions of the target's presentations, instead of the metric's own. Overridden steps, whose
        predictions are unknown, raise NotImplementedError.
        """
        engine = self._engine()
        if engine is None:
            raise NotImplementedError(
                f"{type(self).__name__} overrides the splits, the regression or the correlation: its predictions for "
                "held-out stimuli are unknown."
            )
        problem, _, _ = self._problem(engine, source, target, splits)
        y = problem.responses()
        return [
            HeldOut(prediction, y[test], problem.stimuli[test])
            for prediction, test in zip(problem.predictions(), problem.tests, strict=True)
        ]

    def _engine(self) -> Engine | None:
        return super()._engine() if type(self.cross_validation) is CrossValidation else None

    def _problem(
        self, engine: Engine, source: Features, target: Features, splits: Rows | None = None
    ) -> tuple[RegressionProblem, Side, Neuroids]:
        if engine.bins is None:
            x, y = Side.of(source, "source"), Side.of(target, "target")
        else:
            measured = whole_assembly(target, "target")
            x = Side.over_time(with_bins_of(whole_assembly(source, "source"), measured), "source")
            y = Side.over_time(measured, "target")
        neuroids = y.neuroids(apart=engine.bins == "apart")
        stimuli, source_stimuli = (coordinate(side.labels, engine.stimulus_coord) for side in (y, x))
        notes: Mapping[str, object] = {}
        is_pooled = False
        if splits is None:
            plan = self.cross_validation.plan(y.labels)
            splits, notes = plan.presentations(y.labels), plan.notes
            smallest = plan.smallest_test
            if smallest < SMALLEST_TEST and not self.cross_validation.compat:
                is_pooled = bool(getattr(engine.estimator, "adds_mean", False)) and len(splits) > 1
                how = (_POOLED if is_pooled else _NOT_POOLED).format(smallest, type(engine.estimator).__name__)
                notes = {**notes, "small_test_sets": how}
        (features,) = in_ordinary_units([x.finite()], "source", engine.estimator)
        (responses,) = in_ordinary_units([y.columns(neuroids.used)], "target", engine.estimator)
        problem = RegressionProblem(engine, features, responses, splits, stimuli, notes, is_pooled)
        return problem.aligned(matching_order(stimuli, source_stimuli, what=engine.stimulus_coord)), y, neuroids

    def _at_once(self, engine: Engine, source: Features, target: Features) -> tuple[Score, Neuroids, xr.DataArray]:
        problem, side, neuroids = self._problem(engine, source, target)
        r, pairs = problem.correlations()
        raw = side.labelled(r, neuroids)
        medians = median_known(raw.values)
        score = Score(medians.mean(axis=0), coords=coords_along(raw, "time_bin"), dims=raw.dims[1:-1])
        attach_split_error(score, medians).attrs.update(raw=raw, **problem.notes)
        note_uncertainty(
            score,
            pairs,
            r,
            tests=problem.tests,
            stimuli=problem.stimuli,
            neuroids=neuroids.names[neuroids.used],
            bins=bin_order(side.labels) if score.ndim else None,
        )
        if np.isnan(r).any():
            score.attrs["n_undefined"] = int(np.isnan(r).sum())
        problem.say_why_undefined(score)
        return score, neuroids, side.labels


class ReverseCrossRegressedCorrelation(CrossRegressedCorrelation):
    """Cross-validated regression from measurements to features: how well the neuroids predict a model.

    The model's features are the source: splits depend on them, the median is over them, and constant ones do not count.
    """

    def __call__(self, source: Features, target: Features) -> Score:
        """Compare as `CrossRegressedCorrelation`, with features as neuroids."""
        return super().__call__(target, source)

    def held_out(self, source: Features, target: Features, *, splits: Rows | None = None) -> list[HeldOut]:
        """Return predicted and actual features of the test stimuli of every split."""
        return super().held_out(target, source, splits=splits)


class _OverTime(CrossRegressedCorrelation):
    """Score every time bin; without several bins like `CrossRegressedCorrelation`."""

    extension: ClassVar[type[SpanTimeRegression | PerTimeRegression]]
    scores_time_bins: ClassVar = True

    def __init__(
        self, regression: Regression, correlation: Correlation, crossvalidation_kwargs: Options = None
    ) -> None:
        super().__init__(self.extension(regression), PerTime(correlation), crossvalidation_kwargs)
        self._single = CrossRegressedCorrelation(regression, correlation, crossvalidation_kwargs)

    def __call__(self, source: Features, target: Features) -> Score:
        """Compare assemblies with dims (presentation, neuroid, time_bin) in the same time bins.

        Returns
        -------
        Score, dims (time_bin)
            In [-1, 1], sorted by `time_bin_start`. Attrs as for `CrossRegressedCorrelation`, with ``raw`` (Score, dims
            (split, time_bin, neuroid)), ``error``, ``split_error`` (Scores, dims (time_bin)) and ``influence`` (one for
            each bin).
        """
        source, target = _without_single_bin(source), _without_single_bin(target)
        if "time_bin" not in target.dims and "time_bin" not in source.dims:
            return self._single(source, target)
        return super().__call__(source, target)

    def held_out(self, source: Features, target: Features, *, splits: Rows | None = None) -> list[HeldOut]:
        """Return predictions and measurements of every split, for a single time bin."""
        source, target = _without_single_bin(source), _without_single_bin(target)
        if "time_bin" in target.dims or "time_bin" in source.dims:
            raise NotImplementedError(
                f"{type(self).__name__} has a score for each time bin. Select one: assembly.isel(time_bin=[0])."
            )
        return self._single.held_out(source, target, splits=splits)


class SpanTimeCrossRegressedCorrelation(_OverTime):
    """Cross-validated regression with weights shared by all time bins, then correlation per neuroid and bin.

    A presentation in a bin is one observation; a stimulus trains in all bins or in none.
    """

    extension = SpanTimeRegression


class PerTimeCrossRegressedCorrelation(_OverTime):
    """Cross-validated regression with separate weights for every time bin, then correlation per neuroid and bin.

    A bin scores as by `CrossRegressedCorrelation` alone, with the same splits in all bins.
    """

    extension = PerTimeRegression


def _without_single_bin(given: Features) -> Features:
    return given if isinstance(given, StreamedFeatures) else squeeze_time_bin(given)


def note_alpha(score: Score, alpha: float | Floats | None) -> None:
    """Write the penalty that a regression selected, if any, into a score's attributes."""
    if alpha is not None:
        score.attrs["alpha"] = float(alpha) if np.ndim(alpha) == 0 else np.asarray(alpha).tolist()
