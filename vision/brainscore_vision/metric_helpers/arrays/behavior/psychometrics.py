"""Fit psychometric functions to shares of right answers, and read thresholds from them.

References
----------
Wichmann & Hill (2001), doi:10.3758/BF03194544, equation 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import minimize
from scipy.special import ndtr, ndtri

if TYPE_CHECKING:
    from brainscore_vision.metric_helpers.arrays.types import ArrayLike, Floats, Integers

__all__ = [
    "PsychometricFit",
    "cumulative_gaussian",
    "fit_cumulative_gaussian",
    "inverse_cumulative_gaussian",
    "rising_part",
    "shares_right",
]

_GUESS = 0.5  # share of right answers among two choices without a stimulus
_LAPSES = (0.03, 0.5)  # bounds of the share of errors for the strongest stimulus
_MEAN_RANGE = (-2.0, 3.0)  # bounds of the Gaussian's mean; the measured range is 0 to 1
_STEEPEST = 20.0  # most standard deviations between the two nearest levels
_MEANS_BELOW, _MEANS_ABOVE = (-1.5, -0.5, -0.2), (1.2, 1.5, 2.5)
_GRID_LAPSES = 7
_GRID_SLOPES = 18
_MOST_STARTS = 10


def cumulative_gaussian(x: ArrayLike, slope: float, mean: float, lapse: float) -> Floats:
    """Compute the psychometric function ``0.5 + (0.5 - lapse) Phi(slope (x - mean))`` of two choices.

    This is the share of right answers at strength x: 0.5 without a stimulus, ``1 - lapse`` for the strongest. The slope
    is the inverse of the standard deviation.

    Examples
    --------
    >>> float(cumulative_gaussian(2.0, slope=1.0, mean=2.0, lapse=0.1))
    0.7
    """
    values: Floats = _GUESS + (1 - _GUESS - lapse) * ndtr(slope * (np.asarray(x, dtype=np.float64) - mean))
    return values


def inverse_cumulative_gaussian(share: ArrayLike, slope: float, mean: float, lapse: float) -> Floats:
    """Compute the strength where `cumulative_gaussian` reaches a share of right answers; NaN where it never does."""
    with np.errstate(invalid="ignore", divide="ignore"):
        height = (np.asarray(share, dtype=np.float64) - _GUESS) / (1 - _GUESS - lapse)
        strength: Floats = mean + ndtri(height) / slope
    return strength


@dataclass(frozen=True)
class PsychometricFit:
    """Parameters of a fitted `cumulative_gaussian`, and the share of variance that it explains (or NaN)."""

    slope: float
    mean: float
    lapse: float
    r2: float

    @property
    def parameters(self) -> tuple[float, float, float]:
        """Slope, mean and lapse, in the order of `cumulative_gaussian`."""
        return self.slope, self.mean, self.lapse


def shares_right(x: ArrayLike, right: ArrayLike) -> tuple[Floats, Floats, Integers]:
    """Compute the share of right answers at each level of trials; return levels, shares and numbers of trials.

    Examples
    --------
    >>> [side.tolist() for side in shares_right([2, 1, 2], [True, True, False])]
    [[1.0, 2.0], [1.0, 0.5], [1, 2]]
    """
    levels, level = np.unique(np.asarray(x, dtype=np.float64), return_inverse=True)
    n_trials = np.bincount(level, minlength=len(levels))
    hits = np.bincount(level, weights=np.asarray(right, dtype=np.float64), minlength=len(levels))
    return levels, hits / n_trials, n_trials


def rising_part(shares: ArrayLike) -> int:
    """Count the leading levels, at least one, before a share falls for good; levels ascend.

    It has fallen for good where, after its first maximum, this and all later shares are at least one standard deviation
    (of all shares) below it.

    Examples
    --------
    >>> rising_part([0.5, 0.7, 0.9, 0.6, 0.5])
    3
    """
    values = np.asarray(shares, dtype=np.float64)
    peak = int(np.argmax(values))
    spread = values.std() if np.ptp(values) > 0 else 0.0  # ignores rounding of equal shares
    fallen = np.abs(values - values[peak]) >= spread
    fallen[: peak + 1] = False
    for_good = np.logical_and.accumulate(fallen[::-1])[::-1]
    return int(np.argmax(for_good)) if for_good.any() else len(values)


def fit_cumulative_gaussian(
    x: ArrayLike,
    shares: ArrayLike,
    n_trials: ArrayLike | None = None,
    *,
    near: tuple[float, float, float] | None = None,
) -> PsychometricFit:
    """Fit `cumulative_gaussian` by maximum binomial likelihood.

    L-BFGS-B with exact derivatives starts from the best step and up to 20 points of a grid.

    Parameters
    ----------
    x, shares : array-like, shape (n_levels,)
        At least two different stimulus levels, and the share of right answers at each; finite, otherwise ValueError.
    n_trials : array-like, shape (n_levels,), or None
        None: equal weights.
    near
        Slope, mean and lapse of a fit to similar data: the only start, ten times as fast.

    Returns
    -------
    PsychometricFit
        Slope not negative, mean within two ranges of the measured one. For a step the slope is 20 standard deviations
        per smallest gap, the mean mid-gap.
    """
    order = np.argsort(x, kind="stable")
    levels, observed = np.asarray(x, dtype=np.float64)[order], np.asarray(shares, dtype=np.float64)[order]
    weights = np.ones(len(levels)) if n_trials is None else np.asarray(n_trials, dtype=np.float64)[order]
    gaps = np.diff(np.unique(levels))
    if len(gaps) == 0 or not (np.isfinite(levels).all() and np.isfinite(observed).all()):
        raise ValueError(f"A psychometric fit needs finite shares at two levels or more, got {len(gaps) + 1} levels.")
    low, span = levels.min(), np.ptp(levels)
    unit = (levels - low) / span
    steepest = _STEEPEST * span / gaps.min()
    arguments = (unit, observed, weights / weights.sum())
    if near is None:
        starts = _starts(*arguments, steepest)
    else:
        starts = np.clip([(near[0] * span, (near[1] - low) / span, near[2])], 0.0, [steepest, np.inf, np.inf])
    slope, mean, lapse = _optimum(starts, arguments, ((0.0, steepest), _MEAN_RANGE, _LAPSES))
    fit = (float(slope / span), float(low + mean * span), float(lapse))
    residual = weights @ (observed - cumulative_gaussian(levels, *fit)) ** 2
    spread = weights @ (observed - weights @ observed / weights.sum()) ** 2
    return PsychometricFit(*fit, r2=float(1 - residual / spread) if spread > 0 else float("nan"))


def _optimum(starts: Floats, arguments: tuple[Floats, Floats, Floats], bounds: Sequence[tuple[float, float]]) -> Floats:
    options = {"ftol": 1e-15, "gtol": 1e-10, "maxiter": 1000}
    results = [
        minimize(_negative_log_likelihood, start, arguments, "L-BFGS-B", jac=True, bounds=bounds, options=options)
        for start in starts
    ]
    enough = min(float(result.fun) for result in results) + 1e-12
    best: Floats = next(result.x for result in results if result.fun <= enough)
    return best


def _starts(unit: Floats, shares: Floats, weights: Floats, steepest: float) -> Floats:
    """Return the best step, and the best points of a grid for each mean and for each slope, shape (n_starts, 3).

    Steep functions have an optimum in every gap between levels, far from shallow ones.
    """
    lapses = _LAPSES[0] + np.ptp(_LAPSES) * np.linspace(0, 1, _GRID_LAPSES) ** 2  # most lapses are small
    slopes = np.geomspace(0.25, max(steepest, 10.0), _GRID_SLOPES).clip(max=steepest)
    inside = np.unique(unit)
    means = np.concatenate([_MEANS_BELOW, inside, (inside[1:] + inside[:-1]) / 2, _MEANS_ABOVE])
    risen = ndtr(slopes[:, None, None] * (unit - means[:, None, None, None]))
    p = _GUESS + (1 - _GUESS - lapses[:, None]) * risen
    # Shares are constant over the grid: two products give the likelihood of all points.
    loss = -(np.log(p) @ (weights * shares) + np.log1p(-p) @ (weights * (1 - shares)))
    loss = loss.reshape(len(means), len(slopes), len(lapses))
    points = np.arange(loss.size).reshape(loss.shape)
    candidates: list[int] = []
    for axis in (0, 1):
        losses, numbers = (np.moveaxis(grid, axis, 0).reshape(loss.shape[axis], -1) for grid in (loss, points))
        best = losses.argmin(axis=1)
        order = np.argsort(losses.min(axis=1), kind="stable")[:_MOST_STARTS]
        candidates += numbers[order, best[order]].tolist()
    mean, slope, lapse = np.unravel_index(list(dict.fromkeys(candidates)), loss.shape)
    step = _best_step(unit, shares, weights, steepest)
    return np.vstack([step, np.column_stack([slopes[slope], means[mean], lapses[lapse]])])


def _best_step(unit: Floats, shares: Floats, weights: Floats, steepest: float) -> Floats:
    """Return the best function of infinite slope: guesses below one level, any share at it, lapses above.

    Searches do not find it: derivatives vanish almost everywhere around it.
    """

    def cost(p: Floats) -> Floats:
        loss: Floats = -weights * (shares * np.log(p) + (1 - shares) * np.log1p(-p))
        return loss

    number = np.cumsum(weights[::-1])[::-1] - weights
    hits = np.cumsum((weights * shares)[::-1])[::-1] - weights * shares
    lapse = np.clip(1 - np.divide(hits, number, out=np.ones_like(hits), where=number > 0), *_LAPSES)
    room = np.maximum(1 - _GUESS - lapse, 1e-9)
    height = np.clip((shares - _GUESS) / room, 1e-6, 1 - 1e-6)
    below = np.cumsum(cost(np.full(len(unit), _GUESS)))
    at = cost(_GUESS + (1 - _GUESS - lapse) * height)
    above = np.where(np.arange(len(unit)) > np.arange(len(unit))[:, None], cost(1 - lapse[:, None]), 0.0).sum(axis=1)
    best = int(np.argmin(np.concatenate([[0.0], below[:-1]]) + at + above))
    if height[best] <= 1e-6 and best + 1 < len(unit):
        mean = (unit[best] + unit[best + 1]) / 2  # this level is still at the guesses
    elif height[best] >= 1 - 1e-6 and best > 0:
        mean = (unit[best] + unit[best - 1]) / 2
    else:
        mean = unit[best] - ndtri(height[best]) / steepest
    return np.array([steepest, mean, lapse[best]])


def _negative_log_likelihood(parameters: Floats, unit: Floats, shares: Floats, weights: Floats) -> tuple[float, Floats]:
    slope, mean, lapse = parameters
    z = slope * (unit - mean)
    risen, density = ndtr(z), np.exp(-z * z / 2) / np.sqrt(2 * np.pi)
    height = 1 - _GUESS - lapse
    p = _GUESS + height * risen
    loss = -(weights @ (shares * np.log(p) + (1 - shares) * np.log1p(-p)))
    by_p = -weights * (shares / p - (1 - shares) / (1 - p))
    by_z = by_p * height * density
    return float(loss), np.array([by_z @ (unit - mean), -slope * by_z.sum(), -(by_p @ risen)])
