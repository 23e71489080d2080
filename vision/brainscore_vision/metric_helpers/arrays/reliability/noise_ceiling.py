r"""Divide the variance of repeated measurements into signal and noise, and compare subjects with each other.

A measurement of stimulus :math:`i` in repetition :math:`k` is :math:`y_{ik} = \mu + s_i + e_{ik}`. The mean over
:math:`n_i` repetitions varies over stimuli with :math:`V = \sigma_s^2 + \overline{\sigma_i^2 / n_i}`, hence

.. math:: \sigma_s^2 = V - \overline{\sigma_i^2 / n_i}, \qquad \rho = \sigma_s^2 / V

where the reliability :math:`\rho` is the highest expected squared correlation of any prediction with the mean.

References
----------
Sahani & Linden (2003), NIPS 15. Hsu et al. (2004), doi:10.1088/0954-898X_15_2_002. Schoppe et al. (2016),
doi:10.3389/fncom.2016.00010. Allen et al. (2022), doi:10.1038/s41593-021-00962-x. Cronbach (1951),
doi:10.1007/BF02310555. Nili et al. (2014), doi:10.1371/journal.pcbi.1003553.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from brainscore_vision.metric_helpers.arrays.correlation import ROUNDING, pearson_columns
from brainscore_vision.metric_helpers.arrays.reliability.split_half import spearman_brown, step_up

if TYPE_CHECKING:
    from brainscore_vision.metric_helpers.arrays.types import ArrayLike, Floats

__all__ = [
    "RepeatedResponses",
    "VarianceComponents",
    "leave_one_out_correlations",
    "ncsnr",
    "reliability_influence",
    "repeated_responses",
    "single_reliability",
    "variance_components",
]


@dataclass(frozen=True)
class RepeatedResponses:
    """Mean and noise of each stimulus and neuroid: all that noise ceilings need.

    Attributes
    ----------
    means, noise : ndarray, shape (n_stimuli, n_neuroids)
        Means over repetitions, and the unbiased variance of a single one; the pooled variance for stimuli shown once.
    counts : ndarray, shape (n_stimuli,)
        Repetitions of each stimulus.
    crossed
        Whether differences between whole repetitions were removed from the noise.
    """

    means: Floats
    noise: Floats
    counts: Floats
    crossed: bool

    @property
    def noise_of_means(self) -> Floats:
        """Variance of each mean around its noise-free value, shape (n_stimuli, n_neuroids)."""
        return self.noise / self.counts[:, None]


def repeated_responses(
    responses: ArrayLike, stimulus: ArrayLike, repetition: ArrayLike | None = None
) -> RepeatedResponses:
    """Compute mean and noise variance of each stimulus and neuroid from finite single repetitions.

    If every repetition showed every stimulus once, differences between whole repetitions (drift, arousal) are removed
    as in a two-way analysis of variance, since they shift all means alike (Sahani & Linden 2003; the reliability is
    Cronbach's alpha). In other designs, or without `repetition`, drift is noise.

    Stimuli and repetitions of presentations are numbered from 0. ValueError if no stimulus was shown twice.
    """
    values = np.asarray(responses, dtype=np.float64)
    index = np.asarray(stimulus)
    counts = np.bincount(index).astype(np.float64)
    if counts.max(initial=0) < 2:
        raise ValueError("Noise can be told from signal only where a stimulus was shown at least twice.")
    order = np.argsort(index, kind="stable")
    starts = np.concatenate(([0], np.cumsum(counts[:-1]))).astype(np.intp)
    ordered = values[order]
    means = np.add.reduceat(ordered, starts, axis=0) / counts[:, None]
    residuals = ordered - np.repeat(means, counts.astype(np.intp), axis=0)
    freedom = counts - 1
    n_repetitions = 0 if repetition is None else int(np.max(repetition)) + 1
    crossed = len(counts) > 1 and bool((counts == n_repetitions).all())
    if crossed:
        seen = np.zeros((len(counts), n_repetitions), dtype=bool)
        seen[index, np.asarray(repetition)] = True
        crossed = bool(seen.all())
    if crossed:
        which = np.asarray(repetition)[order]
        shift = np.zeros((int(counts[0]), values.shape[1]))
        np.add.at(shift, which, residuals)
        residuals -= (shift / len(counts))[which]
        # Shifts estimated from the same residuals leave (stimuli - 1) / stimuli of the freedom.
        freedom = freedom * (1 - 1 / len(counts))
    squares = np.add.reduceat(residuals**2, starts, axis=0)
    pooled = squares.sum(axis=0) / freedom.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        noise = np.where(freedom[:, None] > 0, squares / freedom[:, None], pooled)
    return RepeatedResponses(means=means, noise=noise, counts=counts, crossed=crossed)


@dataclass(frozen=True)
class VarianceComponents:
    """Signal and noise of each neuroid, shape (n_neuroids,) or (n_resamples, n_neuroids).

    `signal` is the noise-free variance over stimuli, unbiased, hence sometimes negative; `noise` the variance of a
    single repetition, averaged over stimuli; `total` the variance over stimuli of the means over repetitions.
    """

    signal: Floats
    noise: Floats
    total: Floats

    @property
    def reliability(self) -> Floats:
        """Share of the variance of the means that is signal; at most 1; NaN for constant responses."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.total > 0, self.signal / self.total, np.nan)


def variance_components(responses: RepeatedResponses, weights: ArrayLike | None = None) -> VarianceComponents:
    """Estimate signal and noise of each neuroid from at least two stimuli.

    Weights of stimuli, shape (n_resamples, n_stimuli), have rows with equal sums; None: each once.
    """
    centred = responses.means - responses.means.mean(axis=0)
    w = np.ones((1, len(centred))) if weights is None else np.asarray(weights, dtype=np.float64)
    n = w.sum(axis=1, keepdims=True)
    total = (w @ centred**2 - (w @ centred) ** 2 / n) / (n - 1)
    total[total <= ROUNDING**2 * np.mean(responses.means**2, axis=0)] = 0.0
    noise_of_means = w @ responses.noise_of_means / n
    noise = w @ responses.noise / n
    parts = [total - noise_of_means, noise, total]
    return VarianceComponents(*(part[0] if weights is None else part for part in parts))


def reliability_influence(responses: RepeatedResponses, n_averaged: int | None = None) -> Floats:
    r"""Return how each of at least two stimuli moves the reliability of each neuroid over `n_averaged` repetitions.

    The derivatives by the weight of stimulus :math:`i` of the parts of :math:`\rho = 1 - N / V` are :math:`c_i^2 - V`
    for :math:`V` and :math:`\sigma_i^2 / n_i - N` for :math:`N`, with the centred mean :math:`c_i`. Each column sums to
    0, and its squares to about the variance of the reliability; NaN for constant responses.
    """
    n = len(responses.counts)
    components = variance_components(responses)
    means = responses.means - responses.means.mean(axis=0)
    of_total = means**2 * (n / (n - 1)) - components.total
    of_rest = responses.noise_of_means - (components.total - components.signal)
    with np.errstate(divide="ignore", invalid="ignore"):
        if n_averaged is None:
            influence = ((1 - components.reliability) * of_total - of_rest) / components.total
        else:
            noise, of_noise = components.noise / n_averaged, (responses.noise - components.noise) / n_averaged
            influence = (noise * (of_total - of_rest) - components.signal * of_noise) / (components.signal + noise) ** 2
        influence = np.where(components.total > 0, influence, np.nan)
    return np.asarray(influence / np.sqrt(n * (n - 1.0)), dtype=np.float64)


def ncsnr(components: VarianceComponents) -> Floats:
    r"""Compute the noise-ceiling signal-to-noise ratio :math:`\hat\sigma_s / \sigma_n` (Allen et al. 2022).

    A mean over n repetitions then has the reliability :math:`ncsnr^2 / (ncsnr^2 + 1/n)`. At least 0 (negative signal
    variances count as 0); infinite without noise.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.sqrt(np.maximum(components.signal, 0.0) / components.noise)


def leave_one_out_correlations(responses: ArrayLike, present: ArrayLike | None = None) -> tuple[Floats, Floats]:
    """Correlate each subject with the mean over the others, and with the mean over all (Nili et al. 2014).

    Responses, shape (n_subjects, n_stimuli, n_columns), are finite where present. Stimuli count if another subject has
    them too. Both results, shape (n_subjects, n_columns), are NaN where a side is constant.
    """
    values = np.asarray(responses, dtype=np.float64)
    recorded = np.ones(values.shape[:2], dtype=bool) if present is None else np.asarray(present, dtype=bool)
    values = np.where(recorded[:, :, None], values, 0.0)
    total, count = values.sum(axis=0), recorded.sum(axis=0)
    lower, upper = np.empty((2, len(values), values.shape[2]))
    for subject, own in enumerate(values):
        used = recorded[subject] & (count > 1)
        mine, ours, n = own[used], total[used], count[used][:, None]
        lower[subject] = pearson_columns(mine, (ours - mine) / (n - 1))
        upper[subject] = pearson_columns(mine, ours / n)
    return lower, upper


def single_reliability(correlation: ArrayLike, n_first: float, n_second: float) -> Floats:
    """Infer the reliability of one measurement from the correlation of the means over two sets of them, as `step_up`.

    ``spearman_brown(single_reliability(r, a, b), n)`` is the reliability of the mean over n measurements.
    """
    together = step_up(correlation, n_first, n_second)
    return spearman_brown(together, 1 / (n_first + n_second))
