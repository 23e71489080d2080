r"""Estimate the standard error of a statistic of answers, over new subjects and new stimuli.

With the influence :math:`x_{si}` of each answer (see `arrays.behavior.influence`),

.. math:: V = \frac{S}{S-1} \sum_s x_{s\cdot}^2 + \frac{N}{N-1} \sum_i x_{\cdot i}^2 - I, \qquad
    I = \frac{\sum_{si} x_{si}^2 - \sum_s x_{s\cdot}^2 / n - \sum_i x_{\cdot i}^2 / m}{(1 - 1/n)(1 - 1/m)},

where a subject gives :math:`n` answers and a stimulus gets :math:`m`: the two-way cluster formula with the
expectations of the analysis of variance. :math:`I`, the squares of single answers without subject and stimulus
effects, counts once.

References
----------
Cameron et al. (2011), doi:10.1198/jbes.2010.07136; Satterthwaite (1946), doi:10.2307/3002019; Brown
et al. (2001), section 3.1.1, doi:10.1214/ss/1009213286; Hall (1992), doi:10.1111/j.2517-6161.1992.tb01876.x.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from brainscore_core.statistics.influence import LEVEL, Influence, Interval, t_quantile
from brainscore_vision.metric_helpers.arrays.influence import median_freedom, median_influence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from brainscore_core.metrics import Score
    from brainscore_vision.metric_helpers.arrays.types import ArrayLike, Labels

__all__ = [
    "Spread",
    "attach_spread",
    "crossed_influence",
    "crossed_median_spread",
    "crossed_spread",
    "jackknife_spread",
    "proportion_interval",
    "spread_of_sum",
    "spread_of_units",
    "t_interval",
]

ROUNDING = 1e-12  # of scores of about 1


class Spread(NamedTuple):
    """Uncertainty of an estimate."""

    error: float  # standard error
    df: float  # degrees of freedom of the squared error
    skewness: float = 0.0  # of the estimate, the third cumulant over the cube of the error


def spread_of_units(influences: ArrayLike) -> Spread:
    """Estimate the standard error over one kind of units from their influences, ``(value - mean) / n`` for a mean.

    NaN for fewer than two units.
    """
    x = np.asarray(influences, dtype=np.float64)
    n = len(x)
    if n < 2:
        return Spread(float("nan"), float("nan"))
    error = float(np.sqrt(n / (n - 1) * (x**2).sum()))
    return Spread(error, n - 1.0, _ratio((x**3).sum(), error**3))


def jackknife_spread(left_out: ArrayLike) -> Spread:
    """Estimate the jackknife standard error from values without one unit or group of units each, shape (n_units,).

    NaN for fewer than two units, or if a value is NaN.
    """
    values = np.asarray(left_out, dtype=np.float64)
    n = len(values)
    return spread_of_units((values.mean() - values) * (n - 1) / n) if n else spread_of_units([])


def spread_of_sum(*parts: Spread) -> Spread:
    """Combine the spreads of independent terms; degrees of freedom by Welch and Satterthwaite.

    Examples
    --------
    >>> spread_of_sum(Spread(3.0, 5.0), Spread(4.0, 5.0)).error
    5.0
    """
    variance = sum(part.error**2 for part in parts)
    uncertainty = sum(part.error**4 / part.df for part in parts)
    skewness = sum(part.skewness * part.error**3 for part in parts)
    if not variance > 0:
        return Spread(variance, float("nan"))
    df = variance**2 / uncertainty if uncertainty != 0 else float("inf")
    return Spread(float(np.sqrt(variance)), df, skewness / variance**1.5)


def crossed_spread(influences: ArrayLike, counted: ArrayLike | None = None) -> Spread:
    """Estimate the standard error over new subjects and new stimuli, at least that over either alone.

    Degrees of freedom are Satterthwaite's. NaN for fewer than two subjects or two stimuli. With fewer than two answers
    per stimulus, effects of answers and stimuli are inseparable: I is the plain sum of squares.

    Influences of answers have the shape (n_subjects, n_stimuli); `counted` is positive where there is an answer.
    """
    x = np.asarray(influences, dtype=np.float64)
    present = np.ones(x.shape, dtype=bool) if counted is None else np.asarray(counted) > 0
    x = x[present.any(axis=1)][:, present.any(axis=0)]
    n_subjects, n_stimuli = x.shape
    if n_subjects < 2 or n_stimuli < 2:
        return Spread(float("nan"), float("nan"))
    sums = x.sum(axis=1), x.sum(axis=0), x
    by_subject, by_stimulus, single = (float((part**2).sum()) for part in sums)
    third = [float((part**3).sum()) for part in sums]
    n, m = present.sum() / n_subjects, present.sum() / n_stimuli
    if m >= 2:
        single = (single - by_subject / n - by_stimulus / m) / ((1 - 1 / n) * (1 - 1 / m))
    by_subject *= n_subjects / (n_subjects - 1)
    by_stimulus *= n_stimuli / (n_stimuli - 1)
    single = float(np.clip(single, 0.0, min(by_subject, by_stimulus)))
    variance = by_subject + by_stimulus - single
    parts = [(by_subject, n_subjects - 1), (by_stimulus, n_stimuli - 1), (single, (n_subjects - 1) * (n_stimuli - 1))]
    uncertainty = sum(part**2 / df for part, df in parts)
    skewness = _ratio(third[0] + third[1] - third[2], variance**1.5)
    return Spread(float(np.sqrt(variance)), _ratio(variance**2, uncertainty), skewness)


def crossed_median_spread(values: ArrayLike, influences: ArrayLike, counted: ArrayLike | None = None) -> Spread:
    r"""Estimate the standard error of a median, over new subjects, stimuli and variables.

    Answers move a median by :math:`x = \sum_j w_j x_j`, with the derivative :math:`w_j` by variable j. Effects specific
    to variables are also in the variance over variables, :math:`\sum_j d_j^2` with the influence :math:`d_j` of a whole
    variable, and count once: with V of `crossed_spread`

    .. math:: V_{all} = \max\Big(0, V(x) - \frac{\sum_j V(w_j (x_j - x))}{1 - \sum_j w_j^2}\Big) + \sum_j d_j^2

    The at least two values are finite; `influences` of every answer on each have the shape (n_variables, n_subjects,
    n_stimuli).
    """
    x = np.asarray(influences, dtype=np.float64)
    of_each, weights = median_influence(np.asarray(values, dtype=np.float64))
    together = np.tensordot(weights, x, axes=1)
    deviations = (
        crossed_spread(weight * (variable - together), counted) for weight, variable in zip(weights, x, strict=True)
    )
    own = sum(spread.error**2 for spread in deviations) / (1 - float(weights @ weights))
    answers = crossed_spread(together, counted)
    shared = answers._replace(error=float(np.sqrt(max(0.0, answers.error**2 - own))))
    return spread_of_sum(shared, Spread(float(np.sqrt(of_each @ of_each)), median_freedom(len(x))))


def crossed_influence(influences: ArrayLike, stimuli: Labels, subjects: Labels) -> Influence:
    """Label influences, shape (n_subjects, n_stimuli), to combine scores with common subjects and stimuli.

    Margins and rest are enlarged for their estimated means, as in `crossed_spread`.
    """
    x = np.asarray(influences, dtype=np.float64)
    of_subjects, of_stimuli = (np.sqrt(n / max(n - 1, 1)) for n in x.shape)
    return Influence.of_margins(
        stimuli,
        subjects,
        of_stimuli * x.sum(axis=0),
        of_subjects * x.sum(axis=1),
        of_stimuli * of_subjects * x.T,
        unit="subject",
    )


def t_interval(value: float, spread: Spread) -> Interval:
    r"""Return an estimate's interval by Student's t, corrected for skewness; NaN where the error is.

    The error of a skewed estimate depends on it, so that :math:`T = (\hat\theta - \theta) / \text{error}` is skewed the
    other way. Hall's transformation is symmetric; with the skewness :math:`k` of the estimate it is

    .. math:: g(T) = T + \tfrac{k}{3} T^2 + \tfrac{k^2}{27} T^3 + \tfrac{k}{6}
    """
    t = t_quantile(spread.df)
    third = spread.skewness / 3
    if abs(third) < 1e-8:
        return value - t * spread.error, value + t * spread.error
    low, high = ((np.cbrt(1 + 3 * third * (end - third / 2)) - 1) / third for end in (-t, t))
    return float(value - high * spread.error), float(value - low * spread.error)


def proportion_interval(value: float, spread: Spread, n: int) -> Interval:
    r"""Return the interval of a share of answers by Wilson's formula, for the number of answers with this error.

    .. math:: \frac{p + t^2/2n \pm t \sqrt{p(1-p)/n + t^2/4n^2}}{1 + t^2/n}, \qquad n = p (1 - p) / V

    `n`, the number of independent units, is used for shares of 0 or 1, which have no spread.
    """
    enough = 0 < value < 1 and spread.error > 0
    number = value * (1 - value) / spread.error**2 if enough else float(n)
    t2 = t_quantile(spread.df if enough else n - 1.0) ** 2
    middle = (value + t2 / (2 * number)) / (1 + t2 / number)
    half = np.sqrt(t2 * (value * (1 - value) / number + t2 / (4 * number**2))) / (1 + t2 / number)
    return max(0.0, float(middle - half)), min(1.0, float(middle + half))


def attach_spread(
    score: Score, spread: Spread, *, over: Sequence[str], interval: Interval, missing: str | None = None
) -> Score:
    """Write the uncertainty of a 0-d score, over units such as ``['stimulus', 'subject']``, into its attributes.

    These are ``error`` (NaN with an ``error_nan_reason`` unless larger than rounding), ``error_over``, ``error_df``,
    ``interval`` (low, high), ``interval_level`` and ``interval_method``.
    """
    defined = bool(np.isfinite(spread.error) and spread.error > ROUNDING and np.isfinite(score.item()))
    score.attrs.update(error=spread.error if defined else float("nan"), error_over=list(over), error_df=spread.df)
    if not defined:
        score.attrs["error_nan_reason"] = missing or "no spread between what there is, so that none can be estimated"
    if np.isfinite(interval).all():
        method = "influence of single answers"
        score.attrs.update(interval=interval, interval_level=LEVEL, interval_method=method)
    return score


def _ratio(part: float, whole: float) -> float:
    return float(part / whole) if whole > 0 else float("nan")
