r"""Compare predictions of held-out responses with the responses, unbiased by few stimuli and much noise.

Each of k folds is predicted from the others. Without signal, predictions and responses of different folds correlate
negatively (by -1 for folds of one stimulus). Removing every fold's mean from both sides gives :math:`E[\sum_i f_i y_i]
= 0` without signal. Dividing by :math:`\sqrt{\sum_i f_i^2}` keeps that only if predictions spread equally in all folds
(see `in_own_spread`). Arrays have the shape (n_stimuli, n_neuroids).

References
----------
Spearman (1904), doi:10.2307/1412159 (products between measurements with independent noise). Sahani & Linden (2003),
NIPS 15 (signal power explained). Schoppe et al. (2016), doi:10.3389/fncom.2016.00010. Pospisil & Bair (2021),
doi:10.1371/journal.pcbi.1009212.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from brainscore_vision.metric_helpers.arrays.types import ArrayLike, Floats, Indices

__all__ = [
    "Shares",
    "explained_share",
    "in_own_spread",
    "pooled_correlation",
    "r2_er",
    "signal_products",
    "within_folds",
]

ROUNDING = 1e-26  # share of all squares below which a centred constant is rounding


class Shares(NamedTuple):
    """Explained and total signal, for each stimulus and neuroid or for each neuroid."""

    explained: Floats
    signal: Floats


def within_folds(values: ArrayLike, folds: Sequence[Indices]) -> Floats:
    """Remove the mean of each fold; folds hold positions of stimuli, together each once.

    Examples
    --------
    >>> within_folds([[1.0], [3.0], [8.0], [6.0]], [np.array([0, 1]), np.array([2, 3])])[:, 0]
    array([-1.,  1.,  1., -1.])
    """
    centred = np.array(values, dtype=np.float64)
    for fold in folds:
        centred[fold] -= centred[fold].mean(axis=0)
    return centred


def in_own_spread(prediction: Floats, responses: Floats, n_test: int) -> Floats:
    r"""Return the predictions of the first `n_test` stimuli less their mean, over their standard deviation.

    Both are over all stimuli, training ones included. Where each training set has its own penalty, one that correlates
    by chance predicts widely, and its test set is then likely to correlate in reverse: without the division, these few
    fits dominate, and models of noise score below 0.

    Shapes are (..., n_stimuli, n_neuroids). Predictions equal up to rounding, judged by the `responses`, become 0.
    """
    deviations = prediction - prediction.mean(axis=-2, keepdims=True)
    variance = (deviations**2).mean(axis=-2, keepdims=True)
    varies = variance > ROUNDING * (responses**2).max(axis=-2, keepdims=True)
    result: Floats = deviations[..., :n_test, :] / np.sqrt(np.where(varies, variance, np.inf))
    return result


def pooled_correlation(prediction: ArrayLike, response: ArrayLike, folds: Sequence[Indices]) -> tuple[Floats, Floats]:
    r"""Correlate over the stimuli of all folds together, within folds (see `within_folds`).

    :math:`r = \sum_i f_i y_i / \sqrt{\sum_i f_i^2 \sum_i y_i^2}` after removing the means of folds; NaN where either
    side is constant within all. The influence is the derivative of r by the weight of each stimulus, with fixed fits:
    ``z_f z_y - r (z_f^2 + z_y^2) / 2`` with both sides of unit length.

    Examples
    --------
    >>> folds = [np.array([0, 1]), np.array([2, 3])]
    >>> pooled_correlation([[1.0], [3.0], [9.0], [7.0]], [[5.0], [7.0], [2.0], [0.0]], folds)[0]
    array([1.])
    """
    sides = []
    for values in (prediction, response):
        centred, length = within_folds(values, folds), np.einsum("ij,ij->j", *[np.asarray(values, dtype=float)] * 2)
        squares = np.einsum("ij,ij->j", centred, centred)
        with np.errstate(divide="ignore", invalid="ignore"):
            sides.append(np.where(squares > ROUNDING * length, centred / np.sqrt(squares), np.nan))
    f, y = sides
    r = np.clip(np.einsum("ij,ij->j", f, y), -1.0, 1.0)
    return r, f * y - r / 2 * (f**2 + y**2)


def signal_products(
    predictions: tuple[ArrayLike, ArrayLike], responses: tuple[ArrayLike, ArrayLike], folds: Sequence[Indices]
) -> Shares:
    r"""Estimate the explained signal by products of measurements with independent noise.

    With halves A and B of the repetitions, and :math:`f_A` predicted from the responses :math:`y_A` to other stimuli,

    .. math:: e_i = f_{Ai} y_{Bi} + f_{Bi} y_{Ai} - f_{Ai} f_{Bi}, \qquad s_i = y_{Ai} y_{Bi}

    whose sums have the expected values :math:`\sum_i s_i^2 - \sum_i (s_i - g_i)^2` and :math:`\sum_i s_i^2`, with the
    signal :math:`s` and the mean prediction :math:`g` over training noise, for any regression. Fold means are removed
    from each (see `within_folds`); only sums of the result over stimuli are meaningful.
    """
    f_a, f_b, y_a, y_b = (within_folds(values, folds) for values in (*predictions, *responses))
    return Shares(f_a * y_b + f_b * y_a - f_a * f_b, y_a * y_b)


def explained_share(products: Shares, means: ArrayLike) -> tuple[float, Shares]:
    r"""Divide the summed explained signal by the summed signal, without the bias of a ratio.

    .. math:: R = \frac{\sum_j w_j \sum_i e_{ij}}{\sum_j w_j \sum_i s_{ij}}, \qquad
        \text{share} = n R - (n - 1) \overline{R_{-i}}

    with :math:`w_j` one over the variance of a neuroid's mean responses, so :math:`w_j \sum_i s_{ij}` is its
    reliability. With little signal R is too high, since :math:`E[1/x] > 1 / E[x]`; the jackknife over stimuli
    (:math:`R_{-i}`, with weights, omits stimulus i) removes the bias of order 1/n (Quenouille 1956,
    doi:10.1093/biomet/43.3-4.353).

    Products are those of `signal_products`, divided by the degrees of freedom; `means` are over repetitions of at least
    three stimuli. The share is NaN where the summed signal, with or without each stimulus, is not positive. Sums of
    weighted signal are reliabilities, too low by about 1/n.
    """
    y = np.asarray(means, dtype=np.float64)
    n = len(y)
    centred = y - y.mean(axis=0)
    squares = (centred**2).sum(axis=0)
    without = (squares - centred**2 * n / (n - 1)) / (n - 2)
    variance = squares / (n - 1)
    explained, signal = (part.sum(axis=0) for part in products)
    partial = [
        ((whole - part) / without).sum(axis=1) for whole, part in zip((explained, signal), products, strict=True)
    ]
    weighted = Shares(products.explained / variance, products.signal / variance)
    total = float(weighted.signal.sum())
    if total <= 0 or not (partial[1] > 0).all():
        return float("nan"), weighted
    share = n * float(weighted.explained.sum()) / total - (n - 1) * float((partial[0] / partial[1]).mean())
    return share, weighted


def r2_er(
    prediction: ArrayLike, means: ArrayLike, noise_of_means: ArrayLike, folds: Sequence[Indices]
) -> tuple[Shares, Shares]:
    r"""Estimate the squared correlation of predictions with expected responses (Pospisil & Bair 2021).

    .. math:: r^2_{ER} = \frac{(\sum_i f_i y_i)^2 / \sum_i f_i^2 - \sum_i f_i^2 v_i / \sum_i f_i^2}
        {\sum_i y_i^2 - \sum_i (1 - 1/m_i) v_i}

    with the noise variance :math:`v_i` of the mean response :math:`y_i` (see `RepeatedResponses`), and the size
    :math:`m_i` of the fold of stimulus i (see `within_folds`): the published formula for one fold and equal :math:`v`.
    Here the numerator has the sign of :math:`\sum_i f_i y_i`, so anticorrelated predictions are not rewarded.

    Returned are numerator and denominator for each neuroid (NaN where the prediction is constant), and the contribution
    of each stimulus, to first order, with fixed fits.

    Examples
    --------
    >>> f, y = np.array([[1.0], [2.0], [3.0]]), np.array([[2.0], [4.0], [6.0]])
    >>> total, _ = r2_er(f, y, np.zeros((3, 1)), [np.arange(3)])
    >>> total.explained / total.signal
    array([1.])
    """
    f, y = within_folds(prediction, folds), within_folds(means, folds)
    noise = np.asarray(noise_of_means, dtype=np.float64)
    unbiased = np.empty(len(f))
    for fold in folds:
        unbiased[fold] = 1 - 1 / len(fold)
    squares = np.einsum("ij,ij->j", f, f)
    whole = np.einsum("ij,ij->j", *[np.asarray(prediction, dtype=np.float64)] * 2)
    squares = np.where(squares > ROUNDING * whole, squares, np.nan)
    product = np.einsum("ij,ij->j", f, y)
    sign = np.sign(product)
    explained = sign * (product**2 - np.einsum("ij,ij->j", f**2, noise)) / squares
    of_stimuli = (sign * (2 * product * f * y - f**2 * noise) - explained * f**2) / squares
    signal = y**2 - unbiased[:, None] * noise
    return Shares(explained, signal.sum(axis=0)), Shares(of_stimuli, signal)
