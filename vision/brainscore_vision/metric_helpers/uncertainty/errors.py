"""Estimate standard errors without draws, over one kind of units or two, and write them into scores.

References
----------
Tukey (1958), Bias and confidence in not-quite large samples, Annals of Mathematical Statistics 29:614. Efron & Stein
(1981), The jackknife estimate of variance, doi:10.1214/aos/1176345462.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from brainscore_core.metrics.errors import attach_influence
from brainscore_core.statistics.influence import (
    LEVEL,
    TAIL_FACTOR,
    Influence,
    Interval,
    Scale,
    t_quantile,
    tail_freedom,
)
from brainscore_core.supported_data_standards.brainio.assemblies import walk_coords
from brainscore_vision.metric_helpers.arrays.influence import median_freedom, median_influence, order_weights

if TYPE_CHECKING:
    from collections.abc import Sequence

    from brainscore_core.metrics import Score
    from brainscore_vision.metric_helpers.arrays.influence import Influences, OnMedians
    from brainscore_vision.metric_helpers.arrays.types import ArrayLike, Floats, Labels

__all__ = [
    "Spread",
    "attach_geometry_error",
    "attach_split_error",
    "attach_spread",
    "attach_standard_error",
    "attach_to_bins",
    "crossed_influence",
    "crossed_median_spread",
    "crossed_spread",
    "declare_no_error",
    "influence_on_medians",
    "jackknife_error",
    "jackknife_spread",
    "note_error",
    "on_both_sides",
    "proportion_interval",
    "shaped_like",
    "spread_of_sum",
    "spread_of_units",
    "standard_error",
    "standard_error_of_median",
    "standard_errors",
    "t_interval",
    "unique_names",
]


def standard_errors(values: ArrayLike, axis: int = 0) -> Floats:
    """Compute standard errors of means along an axis of independent units, ``std(values, ddof=1) / sqrt(n)``.

    NaN does not count; the result is NaN for fewer than two values.
    """
    array = np.asarray(values, dtype=np.float64)
    defined = ~np.isnan(array)
    n = defined.sum(axis=axis, keepdims=True)
    mean = np.where(defined, array, 0.0).sum(axis=axis, keepdims=True) / np.maximum(n, 1)
    squares = np.where(defined, (array - mean) ** 2, 0.0).sum(axis=axis, keepdims=True)
    variance = np.divide(squares, (n - 1) * n, out=np.full(n.shape, np.nan), where=n > 1)
    return np.asarray(np.sqrt(variance).squeeze(axis))


def standard_error(values: ArrayLike) -> float:
    """Compute the standard error of one mean; see `standard_errors`.

    Examples
    --------
    >>> standard_error([1.0, 3.0])
    1.0
    """
    return float(standard_errors(values))


def standard_error_of_median(values: ArrayLike) -> float:
    """Return the bootstrap standard error of the median of values that are not NaN, without drawing.

    It is the standard deviation of the values with their probabilities of being the median of a sample with replacement
    (`order_weights`; Maritz & Jarrett 1978, doi:10.1080/01621459.1978.10480027). For odd n this is the limit of the
    bootstrap. NaN for fewer than two values.

    Examples
    --------
    >>> round(standard_error_of_median([1., 2., 3.]), 4)
    0.7201
    """
    array = np.asarray(values, dtype=np.float64)
    ordered = np.sort(array[~np.isnan(array)])
    n = len(ordered)
    if n < 2:
        return float("nan")
    probability = order_weights(n)
    deviation = ordered - probability @ ordered
    return float(np.sqrt(probability @ deviation**2))


def jackknife_error(left_out: ArrayLike) -> float:
    """Compute the standard error of a statistic from its values without each unit.

    ``error = sqrt((n - 1) / n * sum_i (t_i - mean(t))^2)`` equals `standard_error` for a mean. NaN for fewer than two
    values, or if one is NaN.
    """
    values = np.asarray(left_out, dtype=np.float64)
    if len(values) < 2:
        return float("nan")
    return float(np.sqrt((len(values) - 1) * values.var()))


def attach_standard_error(score: Score, values: ArrayLike, over: str) -> Score:
    """Write the standard error of a mean of `values` along their first axis into its attributes.

    These are ``error``, a float, or a Score like the score if that has dimensions, ``error_over``, and
    ``error_nan_reason`` if the error is NaN throughout.
    """
    return note_error(score, standard_errors(values), over=over, n=len(np.asarray(values)))


def attach_split_error(score: Score, values: ArrayLike) -> Score:
    """Write the standard error of a mean over splits into the attribute ``split_error``.

    It is much smaller than the score's error, since splits share data.
    """
    errors = np.where(np.isnan(score.values), np.nan, standard_errors(values))
    score.attrs["split_error"] = shaped_like(score, errors)
    return score


def note_error(score: Score, error: float | Floats, *, over: str, n: int) -> Score:
    """Write a standard error of the score's shape into its attributes, or the reason for its absence."""
    # An undefined score has no error.
    errors = np.where(np.isnan(score.values), np.nan, error)
    score.attrs["error"] = shaped_like(score, errors)
    score.attrs["error_over"] = [over]
    if np.isnan(errors).all():
        few = f"a single {over}: fewer than two {over}s leave nothing to resample"
        score.attrs["error_nan_reason"] = few if n < 2 else f"undefined for the {n} {over}s"
    return score


def shaped_like(score: Score, values: ArrayLike) -> float | Score:
    """Label values of a score's shape like the score, without attributes; return a float for a 0-d score."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim == 0:
        return float(array)
    shaped = score.copy(deep=False, data=array)
    shaped.attrs = {}
    return shaped


def declare_no_error(score: Score, reason: str) -> Score:
    """Set a score's error to NaN with a reason, such as ``'one subject'``; raise ValueError without a reason."""
    if not reason:
        raise ValueError("A score without an error needs a reason, such as 'a single subject: nothing to resample'.")
    score.attrs["error"] = float("nan")
    score.attrs["error_nan_reason"] = reason
    return score


# Estimate the standard error of a statistic of answers, over new subjects and new stimuli.
#
# With the influence :math:`x_{si}` of each answer (see `arrays.influence`),
#
# .. math:: V = \frac{S}{S-1} \sum_s x_{s\cdot}^2 + \frac{N}{N-1} \sum_i x_{\cdot i}^2 - I, \qquad
# I = \frac{\sum_{si} x_{si}^2 - \sum_s x_{s\cdot}^2 / n - \sum_i x_{\cdot i}^2 / m}{(1 - 1/n)(1 - 1/m)},
#
# where a subject gives :math:`n` answers and a stimulus gets :math:`m`: the two-way cluster formula with the
# expectations of the analysis of variance. :math:`I`, the squares of single answers without subject and stimulus
# effects, counts once.
#
# References
# ----------
# Cameron et al. (2011), doi:10.1198/jbes.2010.07136; Satterthwaite (1946), doi:10.2307/3002019; Brown et al. (2001),
# section 3.1.1, doi:10.1214/ss/1009213286; Hall (1992), doi:10.1111/j.2517-6161.1992.tb01876.x.


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

    The error of a skewed estimate depends on it, so :math:`T = (\hat\theta - \theta) / \text{error}` is skewed the
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


# Write errors and intervals from influences into scores.


def attach_to_bins(score: Score, influences: Sequence[Influence]) -> Score:
    """Write error and interval of every time bin into a score's attributes, on Fisher's scale.

    Influences are given per bin, in the order of the score. Attributes are ``error`` (Score, dims (time_bin)),
    ``interval`` (Score, dims (time_bin, bound)), ``influence`` (tuple), ``error_over``, and ``error_nan_reason`` if
    some bins have no error.
    """
    coords = {name: (dims, values) for name, dims, values in walk_coords(score) if tuple(dims) == ("time_bin",)}
    pairs = zip(influences, score.values, strict=True)
    intervals = [influence.interval(float(value), scale="fisher") for influence, value in pairs]
    score.attrs["error"] = shaped_like(score, [influence.error for influence in influences])
    score.attrs["interval"] = type(score)(
        np.array(intervals), coords={**coords, "bound": ("bound", ["low", "high"])}, dims=["time_bin", "bound"]
    )
    score.attrs.pop("error_nan_reason", None)
    reasons = {influence.why_unknown for influence in influences} - {None}
    if reasons:
        score.attrs["error_nan_reason"] = "; ".join(sorted(str(reason) for reason in reasons))
    score.attrs.update(error_over=["stimulus", "neuroid"], influence=tuple(influences))
    return score


def influence_on_medians(influence: OnMedians, stimuli: Labels, neuroids: Labels) -> Influence:
    """Label the result of `median_of_columns` or `median_of_correlations`."""
    names = unique_names(neuroids)
    return Influence(
        influence.cells, stimuli, names, "neuroid", influence.columns, influence.of_neuroids, influence.freedom
    )


def unique_names(names: Labels) -> Labels:
    """Return names, or positions if one occurs twice: they identify influences."""
    return names if len(set(names.tolist())) == len(names) else np.arange(len(names))


def attach_geometry_error(
    score: Score,
    influences: Influences | None,
    stimuli: Labels,
    neuroids: Labels,
    *,
    scale: Scale,
    tails: float = TAIL_FACTOR,
) -> Score:
    """Write a standard error and an interval into a 0-d score as `attach_influence`, or the reason for their absence.

    The interval is symmetric on the given scale; `tails` is the factor of `tail_freedom`. Without influences, the score
    is undefined without some stimulus or neuroid.
    """
    if np.isnan(score.item()):
        return declare_no_error(score, "the score is undefined")
    if influences is None:
        return declare_no_error(score, "the score is undefined without some stimulus or neuroid")
    names = unique_names(neuroids) if influences.chosen is None else unique_names(neuroids)[influences.chosen]
    influence = Influence.of_margins(
        unique_names(stimuli), names, influences.stimuli, influences.neuroids, influences.cells
    )
    return attach_influence(
        score, replace(influence, interval_freedom=tail_freedom(influence.by_unit, tails)), scale=scale
    )


def on_both_sides(influence: Influence) -> Influence:
    """Return the influences on a comparison of two measurements of the same neuroids, given those of the second side.

    Over randomly drawn halves, neuroids move both sides of symmetric metrics equally. Stimuli already are those of
    both.
    """
    return Influence.of_margins(
        influence.stimuli,
        influence.units,
        influence.by_stimulus,
        2 * influence.by_unit,
        2 * influence.cells,
        unit=influence.unit,
    )
