"""Predict responses by a regression on training stimuli, correlate on others, and summarise: as metrics of assemblies.

These split the stimuli themselves; those of `fixed_split` are given the split. The reverse ones predict the source from
the target; those over time have a score for each time bin. Which regression they use is the business of metric plugins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from brainscore_core.metrics import Metric, Score
from brainscore_vision.metric_helpers import Defaults
from brainscore_vision.metric_helpers.arrays.summaries import median_known
from brainscore_vision.metric_helpers.labelled.alignment import (
    coordinate,
    coords_along,
    matching_order,
    squeeze_time_bin,
)
from brainscore_vision.metric_helpers.labelled.cross_validation import CrossValidation
from brainscore_vision.metric_helpers.labelled.gather import bin_order
from brainscore_vision.metric_helpers.labelled.slices import PerTime
from brainscore_vision.metric_helpers.regression.estimators import OfInnerProducts
from brainscore_vision.metric_helpers.regression.over_time import PerTimeRegression, SpanTimeRegression, with_bins_of
from brainscore_vision.metric_helpers.regression.problem import Engine, Problem, Rows
from brainscore_vision.metric_helpers.regression.sides import (
    Options,
    Side,
    in_ordinary_units,
    usable_over_all_dims,
    whole_assembly,
)
from brainscore_vision.metric_helpers.regression.streamed_features import StreamedFeatures
from brainscore_vision.metric_helpers.regression.uncertainty import note_uncertainty
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
"""Below so many test stimuli a correlation says little: that of two is 1 or -1 whatever they are."""
_SMALL = "The smallest test set has {} stimuli, too few for a correlation of their own: "
_POOLED = _SMALL + "predictions of all test sets are correlated together, one value in place of one for each split."
_NOT_POOLED = (
    _SMALL + "take a metric named *_kfold, or more stimuli. {} cannot be correlated over all test sets together."
)


class RegressedCorrelation(Metric):
    """What metrics that regress and correlate have in common: their parts, and the steps that others may replace.

    Parameters
    ----------
    regression : object with ``fit(source, target)`` and ``predict(source)`` on assemblies
        Such as `pls_regression()`.
    correlation : callable
        ``correlation(prediction, target)`` returns a Score along neuroid; such as `pearsonr_correlation()`.
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
        """Fit on the training part, predict the test part, correlate; returns a Score along neuroid."""
        self.regression.fit(source_train, target_train)
        correlations = self.correlation(self.regression.predict(source_test), target_test)
        note_alpha(correlations, getattr(getattr(self.regression, "estimator", None), "alpha_", None))
        return correlations

    def aggregate(self, scores: Score) -> Score:
        """Take the median over neuroids, which disregards undefined ones."""
        medians: Score = scores.median(dim="neuroid")
        return medians

    def _engine(self) -> Engine | None:
        """Return what computes all splits by one call, if nothing that others may replace was replaced."""
        own = RegressedCorrelation
        if type(self).apply is not own.apply or type(self).aggregate is not own.aggregate:
            return None
        return Engine.of(self.regression, self.correlation)


class CrossRegressedCorrelation(RegressedCorrelation):
    """Cross-validated regression, then correlation per neuroid.

    Parameters
    ----------
    regression, correlation
        As for `RegressedCorrelation`.
    crossvalidation_kwargs : dict or None
        Arguments of `CrossValidation`; by default 10 splits with 90 % training stimuli, stratified by `object_name`.

    Notes
    -----
    Where a test set has fewer than ten stimuli, the predictions of all test sets are correlated together (see
    `Problem.is_pooled`), unless the splits are `compat`: ``raw`` then has one split, and ``split_error`` is NaN. Not so
    where predictions are in no common unit, as those of ``neuron_to_neuron``, or a part of the metric was replaced.
    ``attrs['small_test_sets']`` says which.

    Override `apply` (one split) or `aggregate` (over neuroids) to make a metric of another kind.
    """

    def __init__(
        self, regression: Regression, correlation: Correlation, crossvalidation_kwargs: Options = None
    ) -> None:
        super().__init__(regression, correlation)
        kwargs = {"train_size": 0.9, "test_size": None, **(crossvalidation_kwargs or {})}
        self.cross_validation = CrossValidation(**kwargs)

    def __call__(self, source: Features, target: Features) -> Score:
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
            ``error`` and ``interval`` (over new stimuli and new neuroids, see `brainscore_core.statistics.influence`),
            ``split_error`` (standard error of the mean over splits), ``n_stimuli``, ``n_neuroids``, ``seed``,
            ``stratified_by``, and ``stratification`` with the reason if the splits could not be stratified. Neuroids
            of the target that are constant or NaN throughout do not count; ``neuroids_left_out`` names them. A score
            that is NaN says why in ``not_applicable``.

        Raises
        ------
        AssemblyError
            If stimuli differ, dimensions are others, or values are NaN otherwise.
        ValueError
            If the regression cannot be fitted, for instance PLS with fewer features than components.
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
        """Whether the score depends on the source only through the inner products of its centred stimuli."""
        if type(self).__call__ is not CrossRegressedCorrelation.__call__:  # a subclass that adds to it
            return False
        engine = self._engine()
        return engine is not None and engine.bins is None and isinstance(engine.estimator, OfInnerProducts)

    def splits(self, target: xr.DataArray) -> Rows:
        """Return the positions of the target's presentations that train and test, for every split."""
        return self.cross_validation.plan(target).presentations(target)

    def held_out(self, source: Features, target: Features, *, splits: Rows | None = None) -> list[HeldOut]:
        """Return predictions and measurements of the test stimuli of every split; see `intervals.HoldsOut`.

        Parameters
        ----------
        splits : sequence of (train, test), optional
            Positions of the target's presentations, instead of the metric's own `splits`.

        Raises
        ------
        NotImplementedError
            If a part of the metric was replaced, so that what it predicts is not known.
        """
        engine = self._engine()
        if engine is None:
            raise NotImplementedError(
                f"{type(self).__name__} replaces the splits, the regression or the correlation by its own, and does "
                "not say what it predicts for held-out stimuli."
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
    ) -> tuple[Problem, Side, Neuroids]:
        if engine.bins is None:
            x, y = Side.of(source, "source"), Side.of(target, "target")
        else:
            measured = whole_assembly(target, "target")
            x = Side.over_time(with_bins_of(whole_assembly(source, "source"), measured), "source")
            y = Side.over_time(measured, "target")
        neuroids = y.neuroids(apart=engine.bins == "apart")
        stimuli, given = (coordinate(side.labels, engine.stimulus_coord) for side in (y, x))
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
        problem = Problem(engine, features, responses, splits, stimuli, notes, is_pooled)
        return problem.aligned(matching_order(stimuli, given, what=engine.stimulus_coord)), y, neuroids

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
    """Cross-validated regression from measurements to features, which tells what of a model the neuroids predict.

    Called like `CrossRegressedCorrelation`, with the model's features as source. These are what is predicted, so that
    the splits are made from them, the median is over features, and features that are constant do not count. They may
    be many: they are read in blocks, and neither predictions nor coefficients of all are ever in memory.

    Parameters
    ----------
    regression, correlation, crossvalidation_kwargs
        As for `CrossRegressedCorrelation`.
    """

    def __call__(self, source: Features, target: Features) -> Score:
        """Compare; parameters, result and errors as for `CrossRegressedCorrelation`, neuroids being features."""
        return super().__call__(target, source)

    def held_out(self, source: Features, target: Features, *, splits: Rows | None = None) -> list[HeldOut]:
        """Return predictions of the features and the features for the test stimuli of every split."""
        return super().held_out(target, source, splits=splits)


class _OverTime(CrossRegressedCorrelation):
    """Score every time bin; a single one, or none, as `CrossRegressedCorrelation` does."""

    extension: ClassVar[type[SpanTimeRegression | PerTimeRegression]]

    def __init__(
        self, regression: Regression, correlation: Correlation, crossvalidation_kwargs: Options = None
    ) -> None:
        super().__init__(self.extension(regression), PerTime(correlation), crossvalidation_kwargs)
        self._single = CrossRegressedCorrelation(regression, correlation, crossvalidation_kwargs)

    def __call__(self, source: Features, target: Features) -> Score:
        """Compare.

        Parameters
        ----------
        source, target : NeuroidAssembly, dims (presentation, neuroid, time_bin), as float
            Model features and measurements of the same stimuli in the same time bins.

        Returns
        -------
        Score, dims (time_bin)
            In [-1, 1], sorted by `time_bin_start`. Attrs: ``raw`` (Score, dims (split, time_bin, neuroid); NaN where a
            correlation is undefined), ``error``, ``split_error`` (Scores, dims (time_bin)) and ``influence`` (one for
            each bin), as for a single bin, ``n_stimuli``, ``n_neuroids``, ``seed``, ``stratified_by``, and
            ``stratification`` with the reason if the splits could not be stratified. Neuroids of the target that are
            constant or NaN throughout all bins do not count; ``neuroids_left_out`` names them. With a single time bin,
            or none, the score is that of `CrossRegressedCorrelation`.

        Raises
        ------
        AssemblyError
            If stimuli or time bins differ, dimensions are others, or values are NaN otherwise.
        """
        source, target = _without_single_bin(source), _without_single_bin(target)
        if "time_bin" not in target.dims and "time_bin" not in source.dims:
            return self._single(source, target)
        return super().__call__(source, target)

    def held_out(self, source: Features, target: Features, *, splits: Rows | None = None) -> list[HeldOut]:
        """Return predictions and measurements of the test stimuli of every split, for a single time bin.

        Raises
        ------
        NotImplementedError
            With several time bins, which have no single score to which predictions could belong.
        """
        source, target = _without_single_bin(source), _without_single_bin(target)
        if "time_bin" in target.dims or "time_bin" in source.dims:
            raise NotImplementedError(
                f"{type(self).__name__} has a score for each time bin. Select one: assembly.isel(time_bin=[0])."
            )
        return self._single.held_out(source, target, splits=splits)


class SpanTimeCrossRegressedCorrelation(_OverTime):
    """Cross-validated regression with weights shared by all time bins, then correlation per neuroid and bin.

    For every split one regression is fitted on all training stimuli in all bins, each presentation in each bin being
    one observation; a stimulus is in training in all bins or in none. The score of a bin is the median over neuroids,
    then the mean over splits.

    Parameters
    ----------
    regression, correlation, crossvalidation_kwargs
        As for `CrossRegressedCorrelation`, for assemblies without time bins.
    """

    extension = SpanTimeRegression


class PerTimeCrossRegressedCorrelation(_OverTime):
    """Cross-validated regression with weights of its own for every time bin, then correlation per neuroid and bin.

    The score of a bin is what `CrossRegressedCorrelation` gives for that bin alone, with the same splits in all bins.
    Neuroids that are constant or NaN throughout a bin do not count in that bin; a bin without any other is NaN.

    Parameters
    ----------
    regression, correlation, crossvalidation_kwargs
        As for `CrossRegressedCorrelation`, for assemblies without time bins.
    """

    extension = PerTimeRegression


def _without_single_bin(given: Features) -> Features:
    return given if isinstance(given, StreamedFeatures) else squeeze_time_bin(given)


def note_alpha(score: Score, alpha: float | Floats | None) -> None:
    """Write the penalty that a regression chose into a score's attributes, if it chose one."""
    if alpha is not None:
        score.attrs["alpha"] = float(alpha) if np.ndim(alpha) == 0 else np.asarray(alpha).tolist()
