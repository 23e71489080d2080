"""Predict left-out stimuli for many cross-validation splits from fits that know no target yet.

Least-squares fits with an unpenalised intercept are linear smoothers: what they predict is a matrix times the training
responses. That matrix depends on the source alone, so that it is made once and applied to targets block by block.

Two forms are used. With ``H`` the smoother of all stimuli, the prediction for stimuli that are then left out is

    ``prediction_out = y_out - [(I - H)_out,out]^-1 [(I - H) y]_out``       (`DeletionFits`)

which costs one small solve for a split. Where this does not apply (training stimuli that repeat, a fit of all stimuli
that is singular though those of the parts are not) every split has its own matrix:

    ``prediction_test = mean(y_train) + T (y_train - mean(y_train))``       (`ProjectionFits`)

References
----------
Cook & Weisberg (1982), Residuals and Influence in Regression, section 3.2: the deletion formula for several cases.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from brainscore_vision.metric_helpers.arrays.column_blocks import centred
from brainscore_vision.metric_helpers.arrays.regression.factorisation import solve_factorised

if TYPE_CHECKING:
    from brainscore_vision.metric_helpers.arrays.types import ArrayLike, Floats, Indices, Splits

__all__ = ["DeletionFits", "ProjectionFits", "Split", "SplitFits", "as_splits"]


@dataclass(frozen=True)
class Split:
    """Positions of the stimuli of one split.

    Attributes
    ----------
    train, test : ndarray of int
        In the caller's order.
    left_out : ndarray of int
        All stimuli that are not in `train`, sorted.
    n : int
        Number of all stimuli.
    """

    train: Indices
    test: Indices
    left_out: Indices
    n: int

    @property
    def by_deletion(self) -> bool:
        """Whether deleting the left-out stimuli from a fit of all gives this split, for less than a fit of its own."""
        once = len(self.train) + len(self.left_out) == self.n
        return once and 2 * len(self.left_out) <= self.n and not np.isin(self.test, self.train).any()


def as_splits(splits: Splits, n: int) -> list[Split]:
    """Turn pairs of indices into splits of `n` stimuli.

    Raises
    ------
    ValueError
        If a training set is empty.
    """
    result = []
    for number, (train, test) in enumerate(splits):
        rows = np.asarray(train, dtype=np.intp)
        if len(rows) == 0:
            raise ValueError(f"Split {number} of {len(splits)} has no training stimuli.")
        left_out = np.setdiff1d(np.arange(n), rows)
        result.append(Split(rows, np.asarray(test, dtype=np.intp), left_out, n))
    return result


class SplitFits(Protocol):
    """Fits on the training stimuli of several splits, before any target is known."""

    def predict(self, target: ArrayLike) -> list[Floats]:
        """Predict the test stimuli of each split.

        Parameters
        ----------
        target : array-like, shape (n_stimuli, n_neuroids)
            Responses to all stimuli; a block of the neuroids is enough.

        Returns
        -------
        list of ndarray, shape (n_test, n_neuroids)
        """
        ...


@dataclass(frozen=True)
class DeletionFits:
    """Fits that follow from the smoother of all stimuli by deletion.

    Attributes
    ----------
    splits : list of Split
    factors : list of ndarray, shape (n_left_out, n_left_out)
        Lower Cholesky factors of the blocks of ``I - H``, or of a multiple of it.
    residual : callable
        Maps centred responses to the same multiple of ``(I - H) y``.
    """

    splits: Sequence[Split]
    factors: Sequence[Floats]
    residual: Callable[[Floats], Floats]

    def predict(self, target: ArrayLike) -> list[Floats]:
        """Predict the test stimuli of each split; see `SplitFits`."""
        y, mean = centred(target)
        residual = self.residual(y)
        predictions = []
        for split, factor in zip(self.splits, self.factors, strict=True):
            rows = np.searchsorted(split.left_out, split.test)
            missed = solve_factorised(factor, residual[split.left_out])[rows]
            np.subtract(y[split.test], missed, out=missed)
            missed += mean
            predictions.append(missed)
        return predictions


@dataclass(frozen=True)
class ProjectionFits:
    """Fits of each split on its own.

    Attributes
    ----------
    splits : list of Split
    projections : list of ndarray, shape (n_test, n_train)
    """

    splits: Sequence[Split]
    projections: Sequence[Floats]

    def predict(self, target: ArrayLike) -> list[Floats]:
        """Predict the test stimuli of each split; see `SplitFits`."""
        values = np.asarray(target, dtype=np.float64)
        predictions = []
        for split, projection in zip(self.splits, self.projections, strict=True):
            y, mean = centred(values[split.train])
            predictions.append(projection @ y + mean)
        return predictions
