"""Represent predictions of wide targets by what is small: the weights of the training responses.

A linear regression predicts each neuroid by the same weighted sums of its training responses, so that predictions of
any number of neuroids, and the targets they come from, need only be in memory a block at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from brainscore_vision.metric_helpers.arrays.column_blocks import ColumnBlocks
from brainscore_vision.metric_helpers.arrays.correlation import pearson_columns

if TYPE_CHECKING:
    from brainscore_vision.metric_helpers.arrays.types import ArrayLike, Floats, NDArray

__all__ = ["LinearSmoother", "correlate_parts"]


@dataclass(frozen=True)
class LinearSmoother:
    """The prediction of test responses as weighted sums of training responses, ``left @ (right.T @ target)``.

    Attributes
    ----------
    left : ndarray, shape (n_test, k), or None
        None: the identity.
    right : ndarray, shape (n_stimuli, k)
        Zero for stimuli that do not train. The weights of each test stimulus sum to one.
    """

    left: Floats | None
    right: Floats

    def predict(self, target: ArrayLike) -> Floats:
        """Predict some neuroids from their responses to all stimuli, shape (n_stimuli, width) to (n_test, width)."""
        values = np.array(target, dtype=np.float64)
        mean = values.mean(axis=0)
        values -= mean  # a large mean would cost digits
        prediction: Floats = self.right.T @ values
        if self.left is not None:
            prediction = self.left @ prediction
        prediction += mean
        return prediction


def correlate_parts(
    parts: Iterable[tuple[int, slice, Floats]], target: ArrayLike | ColumnBlocks, tests: Sequence[ArrayLike]
) -> Floats:
    """Correlate predictions that come part by part with the responses.

    Parameters
    ----------
    parts : iterable of (index of the split, columns, prediction of shape (n_test, width))
        As a `BlockPredictor` yields them: columns are those of the blocks of `target`.
    target : array-like or ColumnBlocks, shape (n_stimuli, n_neuroids)
        Read in one pass if all splits come for one block after the other, else in one for each split.
    tests : sequence of array-like of int
        Positions of the test stimuli of each split.

    Returns
    -------
    ndarray, shape (n_splits, n_neuroids)
        Pearson's r; NaN where undefined.
    """
    blocks = ColumnBlocks.of(target)
    rows = [np.asarray(test, dtype=np.intp) for test in tests]
    r = np.full((len(rows), blocks.shape[1]), np.nan)
    passing = _pass(blocks)
    first, block = next(passing)
    for index, columns, prediction in parts:
        if columns.start < first:
            passing = _pass(blocks)
            first, block = next(passing)
        while first < columns.start:
            first, block = next(passing)
        r[index, columns] = pearson_columns(block[rows[index]], prediction)
    return r


def _pass(blocks: ColumnBlocks) -> Iterator[tuple[int, NDArray[Any]]]:
    first = 0
    for block in blocks:
        yield first, block
        first += block.shape[1]
