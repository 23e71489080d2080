"""Compute ridge regression for many cross-validation splits from one factorisation.

Ridge regression with an unpenalised intercept is a linear smoother, ``fit = H y``. What it predicts for stimuli that
were left out follows from the smoother of all stimuli, without fitting again:

    ``y_out - prediction_out = [(I - H)_out,out]^-1 [(I - H) y]_out``

so that every split costs one small solve. ``H`` comes from a Cholesky factorisation over features, or over stimuli
where features outnumber them. (For one penalty this is some ten times less work than an eigendecomposition.)

References
----------
Hoerl & Kennard (1970), Ridge regression, doi:10.1080/00401706.1970.10488634.
Cook & Weisberg (1982), Residuals and Influence in Regression, section 3.2: the deletion formula for several cases.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brainscore_vision.metric_helpers.arrays.pls import LinearMap

__all__ = ["ridge_fit", "ridge_predict_splits"]

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


def ridge_fit(source: ArrayLike, target: ArrayLike, alpha: float = 1.0) -> LinearMap:
    """Minimise ``||target - source W - b||^2 + alpha ||W||^2``.

    Parameters
    ----------
    source : array-like, shape (n_stimuli, n_features)
    target : array-like, shape (n_stimuli, n_neuroids)
    alpha : float
        Penalty, larger than zero, in squared units of `source`.

    Returns
    -------
    LinearMap

    Raises
    ------
    ValueError
        If `alpha` is not larger than zero.
    """
    from scipy.linalg import cho_factor, cho_solve  # scipy is loaded by those who use it

    _check_alpha(alpha)
    x, x_mean = _centred(source)
    y, y_mean = _centred(target)
    n, p = x.shape
    if p > n:
        gram = x @ x.T
        gram.flat[:: n + 1] += alpha
        coefficients = x.T @ cho_solve(cho_factor(gram, overwrite_a=True), y)
    else:
        gram = x.T @ x
        gram.flat[:: p + 1] += alpha
        coefficients = cho_solve(cho_factor(gram, overwrite_a=True), x.T @ y)
    return LinearMap(coefficients=coefficients, source_mean=x_mean, target_mean=y_mean)


def ridge_predict_splits(
    source: ArrayLike,
    target: ArrayLike,
    splits: Sequence[tuple[ArrayLike, ArrayLike]],
    alpha: float = 1.0,
) -> list[Floats]:
    """Predict held-out responses by ridge regression, for every split.

    Parameters
    ----------
    source : array-like, shape (n_stimuli, n_features)
        Predictors, finite.
    target : array-like, shape (n_stimuli, n_neuroids)
        Responses to the same stimuli in the same order, finite.
    splits : sequence of (train, test)
        Indices of stimuli; a split's stimuli may be neither in train nor in test, but not in both.
    alpha : float
        Penalty, larger than zero, in squared units of `source`.

    Returns
    -------
    list of ndarray, shape (n_test, n_neuroids)
        Predictions for the test stimuli of each split, in the order of its test indices.

    Raises
    ------
    ValueError
        If `alpha` is not larger than zero or a training set is empty.
    """
    _check_alpha(alpha)
    pairs = [(np.asarray(train, dtype=np.intp), np.asarray(test, dtype=np.intp)) for train, test in splits]
    n = len(np.asarray(source))
    left_out = [np.setdiff1d(np.arange(n), train) for train, _ in pairs]
    if any(_needs_own_fit(train, test, out, n) for (train, test), out in zip(pairs, left_out, strict=True)):
        x, y = np.asarray(source), np.asarray(target)
        return [ridge_fit(x[train], y[train], alpha).predict(x[test]) for train, test in pairs]
    x, _ = _centred(source)
    y, y_mean = _centred(target)
    blocks, residual = (_smoother_dual if x.shape[1] > n else _smoother_primal)(x, y, left_out, alpha)
    predictions = []
    for (_, test), out, block in zip(pairs, left_out, blocks, strict=True):
        held_out = y[out] - np.linalg.solve(block, residual[out])
        predictions.append(held_out[np.searchsorted(out, test)] + y_mean)
    return predictions


def _needs_own_fit(train: Indices, test: Indices, out: Indices, n: int) -> bool:
    if len(train) == 0:
        raise ValueError("A split has no training stimuli.")
    repeated = len(np.unique(train)) != len(train)
    return repeated or 2 * len(out) > n or bool(np.isin(test, train).any())


def _smoother_primal(x: Floats, y: Floats, left_out: Sequence[Indices], alpha: float) -> tuple[list[Floats], Floats]:
    """Blocks of I - H and (I - H) y, by a factorisation of features x features."""
    from scipy.linalg import cholesky, solve_triangular  # scipy is loaded by those who use it

    n, p = x.shape
    gram = x.T @ x
    gram.flat[:: p + 1] += alpha
    factor = cholesky(gram, lower=True, overwrite_a=True)
    whitened = solve_triangular(factor, x.T, lower=True)
    blocks = []
    for out in left_out:
        part = whitened[:, out]
        block = part.T @ part
        block += 1.0 / n
        np.negative(block, out=block)
        block.flat[:: len(out) + 1] += 1.0
        blocks.append(block)
    return blocks, y - whitened.T @ (whitened @ y)


def _smoother_dual(x: Floats, y: Floats, left_out: Sequence[Indices], alpha: float) -> tuple[list[Floats], Floats]:
    """Blocks of I - H and (I - H) y, by a factorisation of stimuli x stimuli.

    ``I - H = alpha (G + alpha I)^-1 - 1 1^T / n``. The constant is an eigenvector of the centred G with eigenvalue
    zero; lifting that eigenvalue first avoids the cancellation of the two terms.
    """
    from scipy.linalg import cho_solve, cholesky, solve_triangular  # scipy is loaded by those who use it

    n = len(x)
    gram = x @ x.T
    lift = max(float(np.trace(gram)), alpha)
    gram += lift / n
    gram.flat[:: n + 1] += alpha
    factor = cholesky(gram, lower=True, overwrite_a=True)
    residual = alpha * cho_solve((factor, True), y)
    remainder = alpha / ((alpha + lift) * n)
    blocks = []
    for out in left_out:
        unit = np.zeros((n, len(out)))
        unit[out, np.arange(len(out))] = 1.0
        part = solve_triangular(factor, unit, lower=True, overwrite_b=True)
        blocks.append(alpha * (part.T @ part) - remainder)
    return blocks, residual


def _centred(values: ArrayLike) -> tuple[Floats, Floats]:
    result = np.array(values, dtype=np.float64)
    if result.ndim != 2:
        raise ValueError(f"Expected an array of shape (n_stimuli, n_columns), got shape {result.shape}.")
    mean = result.mean(axis=0)
    result -= mean
    return result, mean


def _check_alpha(alpha: float) -> None:
    if not alpha > 0:
        raise ValueError(f"The ridge penalty alpha is {alpha!r}; it must be larger than zero.")
