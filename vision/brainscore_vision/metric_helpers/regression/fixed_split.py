"""Regress on given training stimuli and correlate on given test stimuli."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from brainscore_core.errors import AssemblyError
from brainscore_core.metrics import Score
from brainscore_vision.metric_helpers import Defaults
from brainscore_vision.metric_helpers.arrays.column_blocks import ColumnBlocks, stack_rows
from brainscore_vision.metric_helpers.arrays.correlation import median_known
from brainscore_vision.metric_helpers.labelled.alignment import Neuroids, coordinate, matching_order
from brainscore_vision.metric_helpers.labelled.splits import NO_ERROR_OF_SPLITS, apply_aggregate
from brainscore_vision.metric_helpers.regression.metrics import RegressedCorrelation, note_alpha
from brainscore_vision.metric_helpers.regression.problem import (
    Engine,
    Pair,
    RegressionProblem,
    nan_if_constant,
    note_uncertainty,
    say_why_undefined,
)
from brainscore_vision.metric_helpers.regression.sides import (
    Side,
    as_array,
    check_same_features,
    in_ordinary_units,
    stacked,
    take_rows,
)
from brainscore_vision.metric_helpers.uncertainty.errors import declare_no_error

if TYPE_CHECKING:
    from brainscore_vision.metric_helpers.arrays.types import Indices, NDArray
    from brainscore_vision.metric_helpers.regression.sides import Features

__all__ = ["ReverseTrainTestSplitCorrelation", "TrainTestSplitCorrelation"]

Sides = Sequence[Side]


class TrainTestSplitCorrelation(RegressedCorrelation):
    """Regression on given training data, then correlation per neuroid on given test data."""

    _model_side: ClassVar = 0  # the model's features are the source

    def __call__(  # type: ignore[override] # a given split takes four assemblies
        self, source_train: Features, source_test: Features, target_train: Features, target_test: Features
    ) -> Score:
        """Compare; neuroids that are constant or NaN throughout, in either part, do not count.

        Attributes are those of `CrossRegressedCorrelation`, with ``raw`` (Score, dims (neuroid)), ``n_stimuli``
        (tested), ``n_train_stimuli``, ``alpha`` if the regression selected one, and ``n_tested_in_training`` if test
        stimuli have name and features of a training stimulus, with a warning. An equal name is not enough: parts may
        each number their stimuli from 0.
        """
        sources = [Side.of(part, "source") for part in (source_train, source_test)]
        targets = [Side.of(part, "target") for part in (target_train, target_test)]
        check_same_features(*sources)
        both = _in_both_parts(*(sources, targets)[self._model_side])
        train, test = (part.neuroids() for part in targets)
        order = matching_order(train.names, test.names, what="neuroid_id")
        neuroids = Neuroids(used=train.used & test.used[order], names=train.names)
        if not neuroids.used.any():
            raise AssemblyError("No neuroid of the target assembly varies over both training and test stimuli.")
        engine = self._engine()
        if engine is not None and np.array_equal(order, np.arange(len(order))):
            score = self._at_once(engine, sources, targets, neuroids)
        else:
            score = self._by_assemblies(sources, targets, neuroids, order)
        score.attrs.update(neuroids.attrs)
        score.attrs["n_stimuli"] = targets[1].shape[0]
        score.attrs["n_train_stimuli"] = targets[0].shape[0]
        score.attrs["quantity"] = self.quantity
        if len(both):
            score.attrs["n_tested_in_training"] = len(both)
            warnings.warn(
                f"{len(both)} of {targets[1].shape[0]} test stimuli, such as {str(both[0])!r}, are also training "
                "stimuli, with the same stimulus_id and features, so the score would reward memory. Leave them out "
                "of one part.",
                stacklevel=2,
            )
        return score

    def _engine(self) -> Engine | None:
        engine = super()._engine()
        return None if engine is None or engine.bins else engine  # a fixed split has no time bins

    def _at_once(self, engine: Engine, sources: Sides, targets: Sides, neuroids: Neuroids) -> Score:
        coord = engine.stimulus_coord
        ids = [coordinate(part.labels, coord) for part in targets]
        places = [
            matching_order(target_ids, coordinate(part.labels, coord), what=coord)
            for target_ids, part in zip(ids, sources, strict=True)
        ]
        x = [take_rows(part.finite(), place) for part, place in zip(sources, places, strict=True)]
        y = [part.columns(neuroids.used) for part in targets]
        x, y = (in_ordinary_units(*side, engine.estimator) for side in ((x, "source"), (y, "target")))
        alpha = None
        if hasattr(engine.estimator, "alpha_"):  # a copy is fitted, to report its alpha
            chooser: Any = copy.copy(engine.estimator)  # Any: not every predictor of splits has alpha_ and fit
            fitted = chooser.fit(x[0], y[0])
            pair, alpha = (as_array(y[1]), fitted.predict(x[1])), fitted.alpha_
            r = nan_if_constant(engine.correlation.columns(*pair), stacked(x))
            pairs: list[Pair] | None = [pair]
        else:
            rows = np.arange(len(ids[0]) + len(ids[1]))
            split = rows[: len(ids[0])], rows[len(ids[0]) :]
            problem = RegressionProblem(engine, stacked(x), stacked(y), [split], np.concatenate(ids), {})
            (r,), pairs = problem.correlations()
        score = Score(median_known(r))
        score.attrs["raw"] = targets[0].labelled(r, neuroids)
        names = neuroids.names[neuroids.used]
        note_uncertainty(score, pairs, r[None], tests=[np.arange(len(ids[1]))], stimuli=ids[1], neuroids=names)
        say_why_undefined(score, stacked(x), engine.estimator)
        note_alpha(score, alpha)
        return score

    def _by_assemblies(self, sources: Sides, targets: Sides, neuroids: Neuroids, order: Indices) -> Score:
        (source_train, source_test), (target_train, target_test) = (
            [part.assembly() for part in parts] for parts in (sources, targets)
        )
        if not neuroids.used.all():
            used = np.flatnonzero(neuroids.used)
            target_train, target_test = target_train.isel(neuroid=used), target_test.isel(neuroid=order[used])
        correlations = self.apply(source_train, target_train, source_test, target_test)
        score: Score = apply_aggregate(self.aggregate, correlations)
        declare_no_error(score, NO_ERROR_OF_SPLITS)
        if "alpha" in correlations.attrs:
            score.attrs["alpha"] = correlations.attrs["alpha"]
        return score


class ReverseTrainTestSplitCorrelation(TrainTestSplitCorrelation):
    """Regression from measurements to features, then correlation per feature.

    Called with the model's features as source; see `metrics.ReverseCrossRegressedCorrelation`.
    """

    _model_side: ClassVar = 1  # `__call__` exchanges the sides

    def __call__(  # type: ignore[override] # a given split takes four assemblies
        self, source_train: Features, source_test: Features, target_train: Features, target_test: Features
    ) -> Score:
        """Compare as `TrainTestSplitCorrelation`, with features as neuroids."""
        return super().__call__(target_train, target_test, source_train, source_test)


def _in_both_parts(train: Side, test: Side) -> NDArray[Any]:
    """Return the names of test stimuli that are in the training part too, with bit-equal features."""
    trained, tested = (coordinate(part.labels, Defaults.stimulus_coord) for part in (train, test))
    names, *places = np.intersect1d(trained, tested, return_indices=True)
    same = np.full(len(names), True)
    if len(names):  # otherwise features are not read once more
        sides = zip((train, test), places, strict=True)
        for block in stack_rows(*(ColumnBlocks.of(part.values).rows(rows) for part, rows in sides)):
            same &= (block[: len(names)] == block[len(names) :]).all(axis=1)
    shared: NDArray[Any] = names[same]
    return shared
