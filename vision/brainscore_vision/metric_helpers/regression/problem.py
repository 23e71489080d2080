"""State a regression problem on arrays, and solve it for all splits at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from brainscore_core.metrics.errors import attach_influence
from brainscore_vision.metric_helpers import Defaults
from brainscore_vision.metric_helpers.arrays.column_blocks import ColumnBlocks
from brainscore_vision.metric_helpers.arrays.correlation import constant_columns, correlate_parts, hold_constants
from brainscore_vision.metric_helpers.arrays.influence import median_of_correlations
from brainscore_vision.metric_helpers.arrays.reliability.held_out import in_own_spread
from brainscore_vision.metric_helpers.labelled.slices import PerTime
from brainscore_vision.metric_helpers.regression.estimators import (
    BlockPredictor,
    PearsonR,
    SplitPredictor,
    predict_splits,
)
from brainscore_vision.metric_helpers.regression.on_assemblies import (
    PerTimeRegression,
    SpanTimeRegression,
    XarrayCorrelation,
    XarrayRegression,
)
from brainscore_vision.metric_helpers.regression.sides import Matrix, as_array, take_rows
from brainscore_vision.metric_helpers.uncertainty.errors import attach_to_bins, declare_no_error, influence_on_medians

if TYPE_CHECKING:
    from brainscore_core.metrics import Score
    from brainscore_core.statistics.influence import Influence
    from brainscore_vision.metric_helpers.arrays.types import Floats, Indices, Labels, NDArray

__all__ = [
    "Engine",
    "Pair",
    "RegressionProblem",
    "Rows",
    "is_constant",
    "nan_if_constant",
    "note_uncertainty",
    "say_why_undefined",
]

Rows = Sequence[tuple["Indices", "Indices"]]
Pair = tuple["Floats", "Floats"]


@dataclass(frozen=True)
class Engine:
    """Array kernels behind a regression and a correlation on assemblies.

    Time bins are fitted ``'together'``, by one regression, or ``'apart'``; None: there are none.
    """

    estimator: SplitPredictor
    correlation: PearsonR
    stimulus_coord: str
    bins: str | None = None

    @classmethod
    def of(cls, regression: object, correlation: object) -> Engine | None:
        """Return the kernels, or None if a part is not the library's own, with unknown computations."""
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
        """Predict the test stimuli of every split, shape (n_test, n_neuroids) or (n_bins, n_test, n_neuroids)."""
        if self.bins is None:
            return predict_splits(self.estimator, source, target, splits)
        solve = self._predict_together if self.bins == "together" else self._predict_apart
        return solve(as_array(source), target, splits)

    def _predict_together(self, source: NDArray[Any], target: Floats, splits: Rows) -> list[Floats]:
        n_bins, n_stimuli, n_neuroids = target.shape
        starts = n_stimuli * np.arange(n_bins)[:, None]
        spans = [((starts + train).ravel(), (starts + test).ravel()) for train, test in splits]
        rows = source.reshape(-1, source.shape[2]), target.reshape(-1, n_neuroids)
        flat = predict_splits(self.estimator, *rows, spans)
        return [prediction.reshape(n_bins, -1, n_neuroids) for prediction in flat]

    def _predict_apart(self, source: NDArray[Any], target: Floats, splits: Rows) -> list[Floats]:
        results = [np.full((len(target), len(test), target.shape[2]), np.nan) for _, test in splits]
        for index, (features, responses) in enumerate(zip(source, target, strict=True)):
            missing = np.isnan(responses[0])
            used = ~missing & ~constant_columns(np.where(missing, 0.0, responses))
            if not used.any():
                continue
            predictions = predict_splits(self.estimator, features, responses[:, used], splits)
            for result, prediction in zip(results, predictions, strict=True):
                result[index][:, used] = prediction
        return results


@dataclass(frozen=True)
class RegressionProblem:
    """Aligned source and target, shape ([n_bins,] n_stimuli, n_columns), with splits as positions of their rows.

    If `is_pooled`, predictions of all (small) test sets are correlated together, less their mean and divided by their
    spread (`in_own_spread`).
    """

    engine: Engine
    source: Matrix
    target: Matrix
    splits: Rows
    stimuli: NDArray[Any]
    notes: Mapping[str, object]
    is_pooled: bool = False

    @property
    def tests(self) -> list[Indices]:
        """Test stimuli correlated together: of each split, or of all."""
        tests = [test for _, test in self.splits]
        return [np.concatenate(tests)] if self.is_pooled else tests

    def aligned(self, place: Indices) -> RegressionProblem:
        """Align target and source, where source row ``place[i]`` belongs to target row i."""
        if np.array_equal(place, np.arange(len(place))):
            return self
        if isinstance(self.target, ColumnBlocks) or isinstance(self.source, ColumnBlocks):
            return replace(self, source=take_rows(self.source, place))
        # Reorder the target: the source is large.
        target, stimuli = np.empty_like(self.target), np.empty_like(self.stimuli)
        target[..., place, :], stimuli[place] = self.target, self.stimuli
        splits = [(place[train], place[test]) for train, test in self.splits]
        return replace(self, target=target, splits=splits, stimuli=stimuli)

    def responses(self) -> Floats:
        """Return the target as an array."""
        return as_array(self.target)

    def say_why_undefined(self, score: Score) -> None:
        """See the function of this name."""
        say_why_undefined(score, self.source, self.engine.estimator)

    def predictions(self) -> list[Floats]:
        """Fit and predict each of `tests`; see `Engine.predict`."""
        responses = self.responses()
        parts = self.engine.predict(self.source, responses, self._predicted)
        return [self._together(parts, responses)] if self.is_pooled else parts

    @property
    def _predicted(self) -> Rows:
        """Training stimuli, and those to predict: training stimuli too if their spread is needed."""
        if not self.is_pooled:
            return self.splits
        return [(train, np.concatenate([test, train])) for train, test in self.splits]

    def _together(self, predictions: Sequence[Floats], responses: Floats) -> Floats:
        parts = zip(predictions, self.splits, strict=True)
        return np.concatenate([in_own_spread(part, responses, len(test)) for part, (_, test) in parts], axis=-2)

    def _correlated_blocks(self, estimator: BlockPredictor, target: ColumnBlocks) -> Floats:
        parts = estimator.predict_blocks(self.source, target, self._predicted)
        if not self.is_pooled:
            return correlate_parts(parts, target, self.splits)
        r = np.full((1, target.shape[1]), np.nan)
        waiting: dict[int, dict[int, Floats]] = {}
        (tested,) = self.tests
        for index, columns, prediction in parts:
            of_block = waiting.setdefault(columns.start, {})
            of_block[index] = prediction
            if len(of_block) == len(self.splits):
                del waiting[columns.start]
                y = np.asarray(target.columns(np.arange(columns.start, columns.stop)), dtype=np.float64)
                held = [hold_constants(of_block[number], y, train) for number, (train, _) in enumerate(self.splits)]
                both = self._together(held, y)
                r[0, columns] = self.engine.correlation.columns(y[tested], both)
        return r

    def correlations(self) -> tuple[Floats, list[Pair] | None]:
        """Fit, predict and correlate.

        Returns
        -------
        r : ndarray, shape (n_tests, [n_bins,] n_neuroids)
            All NaN if the source is the same for all stimuli.
        pairs : list of (ndarray, ndarray), shape ([n_bins,] n_test, n_neuroids), or None
            Measurements and predictions of every split; None where they are too large to keep.
        """
        estimator, columns = self.engine.estimator, self.engine.correlation.columns
        if isinstance(self.target, ColumnBlocks) and isinstance(estimator, BlockPredictor):
            return nan_if_constant(self._correlated_blocks(estimator, self.target), self.source), None
        y = self.responses()
        pairs = [(y[..., test, :], part) for test, part in zip(self.tests, self.predictions(), strict=True)]
        if self.engine.bins is None:
            r = np.stack([columns(*pair) for pair in pairs])
        else:
            # One call correlates the neuroids of all bins, side by side.
            flat = ([part.transpose(1, 0, 2).reshape(part.shape[1], -1) for part in pair] for pair in pairs)
            r = np.stack([columns(*pair).reshape(len(y), -1) for pair in flat])
        return nan_if_constant(r, self.source), pairs


def say_why_undefined(score: Score, source: Matrix, estimator: object) -> None:
    """Write the reason for a NaN score into its attribute ``not_applicable``."""
    if not np.isnan(score.values).all():
        return
    kind = type(estimator).__name__
    reason = f"No prediction of the regression {kind} varies over the stimuli of a test set beyond rounding."
    if "source" not in getattr(estimator, "of_any_unit", ()) and not isinstance(source, ColumnBlocks):
        reason += (
            f" The largest of the features is {float(np.abs(source).max()):.2g}, and penalties are meant for features "
            "of about 1: divide them by their standard deviation."
        )
    score.attrs["not_applicable"] = reason


def nan_if_constant(r: Floats, source: Matrix) -> Floats:
    """Set all correlations to NaN, in place, if their source, read only if some are, is the same for all stimuli.

    Predictions from a constant differ only by rounding, which `constant_columns` misses where responses average about
    0.
    """
    if np.isnan(r).any() and is_constant(source):
        r[...] = np.nan
    return r


def is_constant(source: Matrix) -> bool:
    """Return whether all stimuli have the same features; reads blocks until one varies."""
    blocks = (block for _, block in source.placed()) if isinstance(source, ColumnBlocks) else iter([source])
    return all((block == block[..., :1, :]).all() for block in blocks)


NOT_KEPT = "predictions are too large to keep: half_sample_interval of uncertainty.intervals estimates an error"


def note_uncertainty(
    score: Score,
    pairs: Sequence[Pair] | None,
    r: Floats,
    *,
    tests: Sequence[Indices],
    stimuli: Labels,
    neuroids: Labels,
    bins: Indices | None = None,
) -> Score:
    """Write error, interval and influences into the attributes of a mean over splits of the median over neuroids.

    Pairs and r are results of `RegressionProblem.correlations`; without pairs, the error is NaN. `tests` are the tested
    presentations of every split; those of one stimulus count as one. `bins` holds the measurement bin of each score
    bin.
    """
    if pairs is None:
        return declare_no_error(score, NOT_KEPT)
    names, place = np.unique(stimuli, return_inverse=True)
    rows = [place[test] for test in tests]

    def influence(bin_: int | None) -> Influence:
        bin_pairs = [pair if bin_ is None else (pair[0][bin_], pair[1][bin_]) for pair in pairs]
        parts = ((*pair, row) for pair, row in zip(bin_pairs, rows, strict=True))
        medians = median_of_correlations(parts, len(names), r if bin_ is None else r[:, bin_])
        return influence_on_medians(medians, names, neuroids)

    if score.ndim == 0:
        return attach_influence(score, influence(None), scale="fisher")
    order = range(len(score)) if bins is None else bins
    return attach_to_bins(score, [influence(int(index)) for index in order])
