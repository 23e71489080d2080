"""Represent fitted linear regressions by coefficients or by weights of training responses, whichever are fewer."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from brainscore_vision.metric_helpers.arrays.column_blocks import ColumnBlocks, stack_rows

if TYPE_CHECKING:
    from brainscore_vision.metric_helpers.arrays.types import ArrayLike, Floats, NDArray

__all__ = ["DualMap", "LinearMap", "LinearSmoother", "across"]


@dataclass(frozen=True)
class LinearMap:
    """A fitted linear regression, ``prediction = (source - source_mean) @ coefficients + target_mean``."""

    coefficients: Floats
    source_mean: Floats
    target_mean: Floats

    def predict(self, source: ArrayLike | ColumnBlocks) -> Floats:
        """Predict responses of shape (n_stimuli, n_neuroids)."""
        blocks = ColumnBlocks.of(source)
        prediction = np.tile(self.target_mean, (len(blocks), 1))
        for here, block in blocks.placed():
            prediction += (block.astype(np.float64, copy=False) - self.source_mean[here]) @ self.coefficients[here]
        return prediction


@dataclass(frozen=True)
class DualMap:
    """A fitted linear regression in terms of its training stimuli: ``coefficients = source^T dual``.

    Attributes
    ----------
    source : array-like or ColumnBlocks, shape (n_train, n_features)
        Features of the training stimuli, by reference: do not change them.
    dual : ndarray, shape (n_train, n_neuroids)
        Each column sums to zero.
    target_mean : ndarray, shape (n_neuroids,)
    """

    source: Any
    dual: Floats
    target_mean: Floats

    @cached_property
    def source_mean(self) -> Floats:
        """Means of the features over the training stimuli."""
        return np.concatenate([np.asarray(block, np.float64).mean(axis=0) for block in ColumnBlocks.of(self.source)])

    @cached_property
    def coefficients(self) -> Floats:
        """Coefficients, shape (n_features, n_neuroids)."""
        return np.concatenate([block.T @ self.dual for block in ColumnBlocks.of(self.source).centred()])

    def predict(self, source: ArrayLike | ColumnBlocks) -> Floats:
        """Predict responses of shape (n_stimuli, n_neuroids)."""
        tested = ColumnBlocks.of(source)
        m, (p, (n, q)) = len(tested), (tested.shape[1], self.dual.shape)
        if p * q * (n + m) < n * m * (p + q):  # few neuroids: coefficients are less work than inner products
            result = np.zeros((m, q))
            for block in stack_rows(self.source, tested):
                train, test = _centred_on_first(block, n)
                result += test @ (train.T @ self.dual)
        else:
            result = across(self.source, tested) @ self.dual
        result += self.target_mean
        return result


@dataclass(frozen=True)
class LinearSmoother:
    """Prediction of test responses as weighted sums of training responses, ``left @ (right.T @ target)``.

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
        """Predict neuroids from their responses to all stimuli, shape (n_stimuli, width) to (n_test, width)."""
        values = np.array(target, dtype=np.float64)
        mean = values.mean(axis=0)
        values -= mean  # a large mean would cost digits
        prediction: Floats = self.right.T @ values
        if self.left is not None:
            prediction = self.left @ prediction
        prediction += mean
        return prediction


def across(train: ArrayLike | ColumnBlocks, test: ArrayLike | ColumnBlocks) -> Floats:
    """Return inner products (n_test, n_train) of test with training stimuli, centred on the mean of the latter."""
    n = np.shape(train)[0] if not isinstance(train, ColumnBlocks) else len(train)
    result: Floats | float = 0.0
    for block in stack_rows(train, test):
        first, second = _centred_on_first(block, n)
        result = result + second @ first.T
    return np.asarray(result, dtype=np.float64)


def _centred_on_first(block: NDArray[Any], n: int) -> tuple[Floats, Floats]:
    """Subtract the mean of the first `n` rows, in float64; return these and the others."""
    values = np.array(block, dtype=np.float64)
    values -= values[:n].mean(axis=0)
    return values[:n], values[n:]
