"""Predict responses by a regression on training stimuli, correlate on others, and summarise: as metrics of assemblies.

`CrossRegressedCorrelation` splits the stimuli itself, `TrainTestSplitCorrelation` is given the split. Which regression
they use is the business of metric plugins.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from brainscore_core.errors import AssemblyError
from brainscore_core.metrics import Metric, Score
from brainscore_vision.metric_helpers import Defaults
from brainscore_vision.metric_helpers.alignment import (
    Neuroids,
    coordinate,
    coords_along,
    has_coordinate,
    matching_order,
    matrix,
    squeeze_time_bin,
    usable_neuroids,
)
from brainscore_vision.metric_helpers.regressions import PearsonR, SplitPredictor
from brainscore_vision.metric_helpers.transformations import CrossValidation, apply_aggregate
from brainscore_vision.metric_helpers.xarray_utils import XarrayCorrelation, XarrayRegression, neuroid_order

__all__ = ["CrossRegressedCorrelation", "TrainTestSplitCorrelation"]


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
        source, target : NeuroidAssembly, dims (presentation, neuroid), as float
            Model features and measurements of the same stimuli.

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
        source, target = squeeze_time_bin(source), squeeze_time_bin(target)
        neuroids = _neuroids(target)
        if self._runs_together():
            score = self._all_splits(source, target, neuroids)
        else:
            used = target if neuroids.used.all() else target.isel(neuroid=np.flatnonzero(neuroids.used))
            score = self.cross_validation(source, used, apply=self.apply, aggregate=self.aggregate)
        score.attrs.update(neuroids.attrs)
        score.attrs["n_stimuli"] = len(np.unique(coordinate(target, Defaults.stimulus_coord)))
        return score

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
        own = CrossRegressedCorrelation
        return (
            type(self).apply is own.apply
            and type(self).aggregate is own.aggregate
            and type(self.cross_validation) is CrossValidation
            and type(self.regression) is XarrayRegression
            and self.regression.expected_dims == Defaults.expected_dims
            and isinstance(self.regression.estimator, SplitPredictor)
            and type(self.correlation) is XarrayCorrelation
            and isinstance(self.correlation.function, PearsonR)
        )

    def _all_splits(self, source: Any, target: Any, neuroids: Neuroids) -> Score:
        x = _finite(matrix(source, Defaults.expected_dims, role="source"))
        y = matrix(target, Defaults.expected_dims, role="target")
        coord = self.regression.stimulus_coord
        # Positions of the target's stimuli in the source: the target moves, since the source is large.
        place = matching_order(coordinate(target, coord), coordinate(source, coord), what=coord)
        # Neuroids stay in the order of the target while fitting, since PLS starts from the first of them.
        moved = np.empty((len(y), int(neuroids.used.sum())))
        moved[place] = y[:, neuroids.used]
        plan = self.cross_validation.plan(target)
        splits = [tuple(place[part] for part in pair) for pair in plan.presentations(target)]
        predictions = self.regression.estimator.predict_splits(x, moved, splits)
        correlate = self.correlation.function.columns
        tested = [moved[test] for _, test in splits]
        r = np.stack([correlate(*pair) for pair in zip(tested, predictions, strict=True)])
        raw = _labelled(r, target, neuroids)
        medians = _median(r)
        score = Score(medians.mean())
        score.attrs.update(
            raw=raw,
            error=float(medians.std() / np.sqrt(len(medians))),
            **plan.notes,
        )
        if np.isnan(r).any():
            score.attrs["n_undefined"] = int(np.isnan(r).sum())
        return score


class TrainTestSplitCorrelation(Metric):
    """Regression on given training data, then correlation per neuroid on given test data.

    Parameters
    ----------
    regression, correlation
        As for `CrossRegressedCorrelation`.
    """

    def __init__(self, regression: Any, correlation: Any) -> None:
        self.regression = regression
        self.correlation = correlation

    def __call__(  # type: ignore[override] # a given split takes four assemblies
        self, source_train: Any, source_test: Any, target_train: Any, target_test: Any
    ) -> Score:
        """Compare.

        Parameters
        ----------
        source_train, source_test : NeuroidAssembly, dims (presentation, neuroid)
            Model features for the training and the test stimuli.
        target_train, target_test : NeuroidAssembly, dims (presentation, neuroid)
            Measurements of the same stimuli and of the same neuroids in the same order.

        Returns
        -------
        Score
            0-d, in [-1, 1]. Attrs: ``raw`` (Score, dims (neuroid)), ``n_stimuli`` (tested), ``n_train_stimuli``,
            ``n_neuroids``. Neuroids that are constant or NaN throughout, in either part, do not count.

        Raises
        ------
        AssemblyError
            If stimuli differ, dimensions are others, or values are NaN otherwise.
        """
        parts = [squeeze_time_bin(part) for part in (source_train, source_test, target_train, target_test)]
        source_train, source_test, target_train, target_test = parts
        train, test = _neuroids(target_train), _neuroids(target_test)
        matching_order(train.names, test.names, what="neuroid_id")
        neuroids = Neuroids(used=train.used & test.used, names=train.names)
        kept = np.flatnonzero(neuroids.used)
        if len(kept) < len(neuroids.used):
            target_train, target_test = target_train.isel(neuroid=kept), target_test.isel(neuroid=kept)
        score: Score = apply_aggregate(self.aggregate, self.apply(source_train, target_train, source_test, target_test))
        score.attrs.update(neuroids.attrs)
        score.attrs["n_stimuli"] = target_test.sizes["presentation"]
        score.attrs["n_train_stimuli"] = target_train.sizes["presentation"]
        return score

    def apply(self, source_train: Any, target_train: Any, source_test: Any, target_test: Any) -> Score:
        """Fit on the training part, predict the test part, correlate; returns a Score along neuroid."""
        self.regression.fit(source_train, target_train)
        correlations: Score = self.correlation(self.regression.predict(source_test), target_test)
        return correlations

    def aggregate(self, scores: Score) -> Score:
        """Take the median over neuroids, which disregards undefined ones."""
        medians: Score = scores.median(dim="neuroid")
        return medians


def _neuroids(target: Any) -> Neuroids:
    values = matrix(target, Defaults.expected_dims, role="target")
    named = has_coordinate(target, Defaults.neuroid_coord)
    names = coordinate(target, Defaults.neuroid_coord) if named else np.arange(values.shape[1])
    return usable_neuroids(values, names)


def _finite(values: Any) -> Any:
    # A sum is not finite if any value is not, and needs no copy; overflow alone is told apart below.
    if not np.isfinite(values.sum()) and not np.isfinite(values).all():
        bad = ~np.isfinite(values)
        raise AssemblyError(
            f"The source assembly has {int(bad.sum())} NaN or infinite values, in {int(bad.any(axis=0).sum())} of "
            f"{values.shape[1]} neuroids. A model's activations must be finite."
        )
    return values


def _median(r: Any) -> Any:
    """Median over neuroids of each split, over those defined; NaN if none is."""
    return np.array([np.median(row[~np.isnan(row)]) if not np.isnan(row).all() else np.nan for row in r])


def _labelled(r: Any, target: Any, neuroids: Neuroids) -> Score:
    order = neuroid_order(target)
    values = np.full((len(r), len(order)), np.nan)
    values[:, neuroids.used] = r
    values = values[:, order]
    coords = {name: (dim, labels[order]) for name, (dim, labels) in coords_along(target, "neuroid").items()}
    return Score(values, coords={"split": ("split", np.arange(len(r))), **coords}, dims=["split", "neuroid"])
