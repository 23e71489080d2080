"""State a regression problem on arrays, and solve it for all splits at once.

This is the only place where a regression metric is computed on arrays. Time bins, where there are any, are the first
axis of source and target: one fit serves them all, or each has its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from brainscore_vision.metric_helpers import Defaults
from brainscore_vision.metric_helpers.arrays.column_blocks import ColumnBlocks
from brainscore_vision.metric_helpers.arrays.correlation import constant_columns, correlate_parts
from brainscore_vision.metric_helpers.labelled.slices import PerTime
from brainscore_vision.metric_helpers.regression.estimators import BlockPredictor, PearsonR, SplitPredictor
from brainscore_vision.metric_helpers.regression.on_assemblies import XarrayCorrelation, XarrayRegression
from brainscore_vision.metric_helpers.regression.over_time import PerTimeRegression, SpanTimeRegression
from brainscore_vision.metric_helpers.regression.sides import Matrix, as_array, take_rows

if TYPE_CHECKING:
    from brainscore_vision.metric_helpers.arrays.types import Floats, Indices, NDArray

__all__ = ["Engine", "Problem"]

Rows = Sequence[tuple["Indices", "Indices"]]


@dataclass(frozen=True)
class Engine:
    """The array kernels that a regression and a correlation on assemblies stand for.

    Attributes
    ----------
    estimator : SplitPredictor
        Fits and predicts many splits in one call.
    correlation : PearsonR
    stimulus_coord : str
        Coordinate by which source and target are aligned.
    bins : str or None
        ``'together'``: one fit for all time bins; ``'apart'``: each has its own; None: there are none.
    """

    estimator: SplitPredictor
    correlation: PearsonR
    stimulus_coord: str
    bins: str | None = None

    @classmethod
    def of(cls, regression: object, correlation: object) -> Engine | None:
        """Return the kernels, or None if a part is not the library's own, so that only it knows what it computes."""
        bins = {SpanTimeRegression: "together", PerTimeRegression: "apart"}.get(type(regression))
        if isinstance(regression, (SpanTimeRegression, PerTimeRegression)) and bins:
            if type(correlation) is not PerTime or correlation.dims != ("time_bin",):
                return None
            regression, correlation = regression.regression, correlation.callable
        if type(regression) is not XarrayRegression or type(correlation) is not XarrayCorrelation:
            return None
        estimator, function = regression.estimator, correlation.function
        usual = regression.expected_dims == Defaults.expected_dims
        if not usual or not isinstance(estimator, SplitPredictor) or not isinstance(function, PearsonR):
            return None
        return cls(estimator, function, regression.stimulus_coord, bins)

    def predict(self, source: Matrix, target: Floats, splits: Rows) -> list[Floats]:
        """Predict the test stimuli of every split.

        Parameters
        ----------
        source : ndarray or ColumnBlocks, shape (n_stimuli, n_features), or ndarray (n_bins, n_stimuli, n_features)
        target : ndarray, shape (n_stimuli, n_neuroids) or (n_bins, n_stimuli, n_neuroids)
        splits : sequence of (train, test)
            Positions of stimuli.

        Returns
        -------
        list of ndarray, shape (n_test, n_neuroids) or (n_bins, n_test, n_neuroids)
        """
        if self.bins is None:
            return self.estimator.predict_splits(source, target, splits)
        solve = self._predict_together if self.bins == "together" else self._predict_apart
        return solve(as_array(source), target, splits)

    def _predict_together(self, source: NDArray[Any], target: Floats, splits: Rows) -> list[Floats]:
        n_bins, n_stimuli, n_neuroids = target.shape
        starts = n_stimuli * np.arange(n_bins)[:, None]
        spans = [((starts + train).ravel(), (starts + test).ravel()) for train, test in splits]
        flat = self.estimator.predict_splits(source.reshape(-1, source.shape[2]), target.reshape(-1, n_neuroids), spans)
        return [prediction.reshape(n_bins, -1, n_neuroids) for prediction in flat]

    def _predict_apart(self, source: NDArray[Any], target: Floats, splits: Rows) -> list[Floats]:
        results = [np.full((len(target), len(test), target.shape[2]), np.nan) for _, test in splits]
        for index, (features, responses) in enumerate(zip(source, target, strict=True)):
            missing = np.isnan(responses[0])
            used = ~missing & ~constant_columns(np.where(missing, 0.0, responses))
            if not used.any():
                continue
            predictions = self.estimator.predict_splits(features, responses[:, used], splits)
            for result, prediction in zip(results, predictions, strict=True):
                result[index][:, used] = prediction
        return results


@dataclass(frozen=True)
class Problem:
    """Arrays to fit and to test: rows of source and target belong together, and splits are positions of rows.

    Attributes
    ----------
    engine : Engine
        What solves it.
    source, target : ndarray or ColumnBlocks, shape (n_stimuli, n_columns), or ndarray (n_bins, n_stimuli, n_columns)
    splits : sequence of (train, test)
    stimuli : ndarray, shape (n_stimuli,)
        Their `stimulus_id`.
    notes : mapping
        Entries for ``Score.attrs`` about the splits.
    """

    engine: Engine
    source: Matrix
    target: Matrix
    splits: Rows
    stimuli: NDArray[Any]
    notes: Mapping[str, object]

    def aligned(self, place: Indices) -> Problem:
        """Bring target and source, whose row ``place[i]`` goes with row i of the target, into the same order."""
        if np.array_equal(place, np.arange(len(place))):
            return self
        if isinstance(self.target, ColumnBlocks) or isinstance(self.source, ColumnBlocks):
            return replace(self, source=take_rows(self.source, place))
        # The target moves, since the source is large.
        target, stimuli = np.empty_like(self.target), np.empty_like(self.stimuli)
        target[..., place, :], stimuli[place] = self.target, self.stimuli
        splits = [(place[train], place[test]) for train, test in self.splits]
        return replace(self, target=target, splits=splits, stimuli=stimuli)

    def responses(self) -> Floats:
        """Return the target as an array."""
        return as_array(self.target)

    def predictions(self) -> list[Floats]:
        """Fit and predict; see `Engine.predict`."""
        return self.engine.predict(self.source, self.responses(), self.splits)

    def correlations(self) -> Floats:
        """Fit, predict and correlate; returns shape (n_splits, n_neuroids) or (n_splits, n_bins, n_neuroids)."""
        tests = [test for _, test in self.splits]
        estimator, columns = self.engine.estimator, self.engine.correlation.columns
        if isinstance(self.target, ColumnBlocks) and isinstance(estimator, BlockPredictor):
            parts = estimator.predict_blocks(self.source, self.target, self.splits)
            return correlate_parts(parts, self.target, tests)
        y = self.responses()
        pairs = ((y[..., test, :], part) for test, part in zip(tests, self.predictions(), strict=True))
        if self.engine.bins is None:
            return np.stack([columns(*pair) for pair in pairs])
        # Neuroids of all bins side by side: one call for all correlations of a split.
        side_by_side = ([part.transpose(1, 0, 2).reshape(part.shape[1], -1) for part in pair] for pair in pairs)
        return np.stack([columns(*pair).reshape(len(y), -1) for pair in side_by_side])
