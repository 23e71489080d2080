"""Score how near the psychometric threshold of a model is to the thresholds of people.

A cumulative Gaussian with a lapse of at least 0.03 is fitted, by the highest likelihood, to the shares of right answers
at the levels of the independent variable; the threshold ``s`` is where it reaches a given accuracy. With the thresholds
``t_i`` of people,

    ``score = mean_i max(1 - |s - t_i| / t_i, 0)``

`threshold_elevation` compares ratios of thresholds in a test and a baseline condition.

- Input: source, probabilities, dims (presentation, choice), with `image_label` (the right answer) and the independent
  variable, or the threshold itself; target, positive thresholds of people, dims (subject).
- Output: Score in [0, 1]; ``raw`` has dim (subject), attrs hold the ``threshold`` or ``elevation``. 0 with ``failure``
  in attrs if the model has no threshold.
- Invariances: order of trials and subjects; unit of the independent variable (and of thresholds).
- Error: over new people and new stimuli of the model, whose threshold is refitted without each twentieth of them (over
  people alone, if the threshold is given).
- With `compat=True` levels have equal weights, and persons are drawn with replacement for the ceiling.
- When: thresholds of people are known for a task with a stimulus strength.

References
----------
Wichmann & Hill (2001), doi:10.3758/BF03194544; for elevations Malania et al. (2007), doi:10.1167/7.2.1.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Literal, TypeVar, cast

import numpy as np
from scipy.optimize import minimize
from scipy.special import ndtr, ndtri

from brainscore_core.errors import AssemblyError
from brainscore_vision.metric_helpers.labelled.alignment import coordinate, has_coordinate, require_assembly
from brainscore_vision.metric_helpers.labelled.judgements import most_probable, same_label

from .people import ClosenessToPeople, NoThresholdError, People, elevations_of, thresholds_of

if TYPE_CHECKING:
    from xarray import DataArray

    from brainscore_core.metrics import Score
    from brainscore_vision.metric_helpers.arrays.types import ArrayLike, Floats, Integers, Labels

# Fit psychometric functions to shares of right answers, and read thresholds from them.
#
# References
# ----------
# Wichmann & Hill (2001), doi:10.3758/BF03194544, equation 1.


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
        raise ValueError(f"A psychometric fit needs finite shares at two or more levels, got {len(gaps) + 1} levels.")
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


Accuracy = float | Literal["inflection"]

LEAST_R2 = 0.4  # of a fit that counts
MOST_GROUPS = 20  # of stimuli left out for the error
LEAST_PART = 1 / 3  # of the levels, before the answers get worse for good


class Threshold(ClosenessToPeople):
    """Distance of a model's threshold from those of people, relative to theirs.

    Parameters
    ----------
    independent_variable
        Coordinate with the strength of the stimulus.
    fit_function, fit_inverse_function
        ``f(x, slope, mean, lapse)``, the psychometric function at the fitted parameters; ``f(accuracy, slope, mean,
        lapse)``.
    threshold_accuracy : float or 'inflection'
        Share of right answers at the threshold; ``'inflection'``: the middle between the function's extremes.
    required_accuracy
        Share of right answers; below it, the threshold is undefined.
    """

    def __init__(
        self,
        independent_variable: str,
        fit_function: Callable[..., Floats] = cumulative_gaussian,
        fit_inverse_function: Callable[..., Floats] = inverse_cumulative_gaussian,
        threshold_accuracy: Accuracy = "inflection",
        required_accuracy: float = 0.6,
        *,
        compat: bool = False,
    ) -> None:
        if not (
            threshold_accuracy == "inflection" or (isinstance(threshold_accuracy, Real) and 0 < threshold_accuracy < 1)
        ):
            raise ValueError(
                f"threshold_accuracy must be 'inflection' or a number between 0 and 1; got {threshold_accuracy!r}."
            )
        self._independent_variable = independent_variable
        self._function = fit_function
        self._inverse = fit_inverse_function
        self._threshold_accuracy = threshold_accuracy
        self._required_accuracy = required_accuracy
        super().__init__(compat=compat)

    def __call__(self, source: DataArray | float, target: People) -> Score:
        """Compare; a mapping as target holds the thresholds as ``'baseline_assembly'``."""
        left_out = None if isinstance(source, Real) else lambda: self._thresholds_without(source)
        return self._compared("threshold", lambda: _number_or(self._threshold, source), target, left_out)

    def compute_threshold(self, source: DataArray, independent_variable: str) -> float | Literal["fit_fail"]:
        """Read the threshold of a model for published code: ``'fit_fail'`` if there is none."""
        metric = copy.copy(self)
        metric._independent_variable = independent_variable  # noqa: SLF001 -- of the same class
        try:
            return metric.read_threshold(source)[0]
        except NoThresholdError:
            return "fit_fail"

    def _values(self, target: People) -> tuple[Floats, Labels]:
        return thresholds_of(target)

    def _threshold(self, source: DataArray) -> float:
        return self.read_threshold(source)[0]

    def _thresholds_without(self, source: DataArray) -> Floats:
        return np.array([threshold for threshold, _ in self.read_without_groups(source)])

    def read_without_groups(
        self, source: DataArray, accuracies: Iterable[float] | None = None
    ) -> Iterator[tuple[float, float]]:
        """Read the threshold without each group of stimuli, at accuracies of their own if given."""
        *_, near = self._read(source)
        parts = self._without_each_group(source)
        levels = itertools.repeat(None) if accuracies is None else accuracies
        for part, accuracy in zip(parts, levels, strict=False):  # fewer stimuli, fewer groups
            yield self._read(part, accuracy, near)[:2]

    def _without_each_group(self, source: DataArray) -> Iterator[DataArray]:
        """Yield a model's answers without a twentieth of its stimuli each, or without one if there are fewer."""
        ids = np.arange(source.sizes["presentation"])
        if has_coordinate(source, "stimulus_id"):
            ids = coordinate(source, "stimulus_id").astype(str)
        strengths = self._strengths(source)
        names, stimulus = np.unique(ids, return_inverse=True)
        strength = np.bincount(stimulus, weights=strengths) / np.bincount(stimulus)
        rank = np.empty(len(names), dtype=np.intp)
        rank[np.argsort(strength, kind="stable")] = np.arange(len(names))
        group = (rank % MOST_GROUPS)[stimulus]
        for number in range(min(MOST_GROUPS, len(names))):
            yield source[{"presentation": np.flatnonzero(group != number)}]

    def read_threshold(self, source: DataArray, accuracy: Accuracy | None = None) -> tuple[float, float]:
        """Return the threshold of a model, and the accuracy there; `NoThresholdError` explains why it is undefined."""
        threshold, reached, _ = self._read(source, accuracy)
        return threshold, reached

    def _read(
        self, source: DataArray, accuracy: Accuracy | None = None, near: tuple[float, float, float] | None = None
    ) -> tuple[float, float, tuple[float, float, float]]:
        accuracy = self._threshold_accuracy if accuracy is None else accuracy
        require_assembly(source)
        right = same_label(most_probable(source), coordinate(source, "image_label"))
        if right.mean() < self._required_accuracy:
            raise NoThresholdError(
                f"The accuracy {right.mean():.3f} is below the required {self._required_accuracy:.3f}."
            )
        x = self._strengths(source)
        levels, shares, n_trials = shares_right(x, right)
        n_rising = rising_part(shares)
        if n_rising < LEAST_PART * len(levels):
            raise NoThresholdError(f"Answers get worse for good after {n_rising} of {len(levels)} levels.")
        if n_rising < 2:
            raise NoThresholdError(f"There is only one level of {self._independent_variable!r} to fit.")
        fit = fit_cumulative_gaussian(
            levels[:n_rising], shares[:n_rising], None if self._compat else n_trials[:n_rising], near=near
        )
        if not fit.r2 >= LEAST_R2:
            raise NoThresholdError(f"The fit explains {fit.r2:.3f} of the variance, less than {LEAST_R2}.")
        if accuracy == "inflection":
            ends = self._function(np.array([x.min(), x.max()]), *fit.parameters)
            accuracy = float(np.mean(ends))
        threshold = float(self._inverse(accuracy, *fit.parameters))
        if not threshold <= levels[n_rising - 1]:
            raise NoThresholdError(f"The threshold {threshold} is not within the levels up to {levels[n_rising - 1]}.")
        return threshold, float(accuracy), fit.parameters

    def _strengths(self, source: DataArray) -> Floats:
        values = coordinate(source, self._independent_variable)
        try:
            strengths = values.astype(np.float64)
        except (TypeError, ValueError):
            strengths = np.full(len(values), np.nan)
        if not np.isfinite(strengths).all():
            raise AssemblyError(
                f"The independent variable {self._independent_variable!r} has the value {str(values[0])!r}; a "
                "psychometric function needs finite numbers. Name the coordinate of the stimulus strength."
            )
        return strengths


class ThresholdElevation(ClosenessToPeople):
    """Distance of a model's ratio of two thresholds from those of people; other parameters as for `Threshold`.

    The conditions are keys of the model's answers; ``'inflection'`` takes the baseline's for both.
    """

    def __init__(
        self,
        independent_variable: str,
        baseline_condition: str,
        test_condition: str,
        threshold_accuracy: Accuracy = "inflection",
        required_baseline_accuracy: float = 0.6,
        required_test_accuracy: float = 0.6,
        *,
        compat: bool = False,
    ) -> None:
        super().__init__(compat=compat)
        self._baseline, self._test = (
            Threshold(
                independent_variable, threshold_accuracy=threshold_accuracy, required_accuracy=required, compat=compat
            )
            for required in (required_baseline_accuracy, required_test_accuracy)
        )
        self._conditions = (baseline_condition, test_condition)

    def __call__(self, source: Mapping[str, DataArray] | float, target: People) -> Score:
        """Compare the probabilities in both conditions, or the elevation, with people's.

        People's thresholds may be given as ``{'baseline_assembly': ..., 'condition_assembly': ...}``.
        """
        left_out = None if isinstance(source, Real) else lambda: self._elevations_without(source)
        return self._compared("elevation", lambda: _number_or(self._elevation, source), target, left_out)

    def _values(self, target: People) -> tuple[Floats, Labels]:
        return elevations_of(target)

    def _elevation(self, source: Mapping[str, DataArray]) -> float:
        missing = [name for name in self._conditions if not isinstance(source, Mapping) or name not in source]
        if missing:
            present = sorted(map(str, source)) if isinstance(source, Mapping) else type(source).__name__
            raise AssemblyError(
                f"The source of threshold_elevation must map conditions to assemblies; {missing} missing, found "
                f"{present}."
            )
        baseline_condition, test_condition = self._conditions
        baseline, accuracy = self._baseline.read_threshold(source[baseline_condition])
        test, _ = self._test.read_threshold(source[test_condition], accuracy)
        return test / baseline

    def _elevations_without(self, source: Mapping[str, DataArray]) -> Floats:
        baseline, test = self._conditions
        baselines, accuracies = np.array(list(self._baseline.read_without_groups(source[baseline]))).T
        tests = np.array(
            [threshold for threshold, _ in self._test.read_without_groups(source[test], accuracies.tolist())]
        )
        return tests / baselines[: len(tests)]


Source = TypeVar("Source")


def _number_or(read: Callable[[Source], float], source: Source | float) -> float:
    return float(source) if isinstance(source, Real) else read(cast("Source", source))
