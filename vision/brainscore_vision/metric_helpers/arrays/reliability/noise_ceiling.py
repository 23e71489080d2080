r"""Divide the variance of repeated measurements into signal and noise, and compare subjects with each other.

A measurement of stimulus :math:`i` in repetition :math:`k` is :math:`y_{ik} = \mu + s_i + e_{ik}`. The mean over
:math:`n_i` repetitions varies over stimuli with :math:`V = \sigma_s^2 + \overline{\sigma_i^2 / n_i}`, hence

.. math:: \sigma_s^2 = V - \overline{\sigma_i^2 / n_i}, \qquad \rho = \sigma_s^2 / V

where the reliability :math:`\rho` is the highest expected squared correlation of any prediction with the mean.

Differences :math:`r_k` between whole repetitions, such as drift, are not noise where every stimulus was in each: they
shift all means equally. Where presentations are missing, least squares for the unbalanced two-way table
:math:`y_{ik} = \mu + s_i + r_k + e_{ik}` separate both (Searle 1987, chapter 4). With the incidence :math:`N` (1 where
stimulus i was in repetition k), the shares :math:`P_{ik} = N_{ik} / n_i` and the deviations :math:`\epsilon` from
stimulus means, absorbing stimuli leaves

.. math:: A = \operatorname{diag}(N^T 1) - N^T P, \quad \hat r_k = \sum_l A^+_{kl} \sum_i \epsilon_{il}, \quad
    f_i = n_i - 1 - \sum_k N_{ik} A^+_{kk} + \sum_{kl} N_{ik} A^+_{kl} P_{il}

where :math:`f_i`, the degrees of freedom of the residuals of stimulus i, sum to the cells less the stimuli less the
repetitions plus 1 if the design is connected. Means over different repetitions differ by :math:`c = (P - \bar P) r`,
which no model predicts: its unbiased square, :math:`\hat c_i^2 - \hat\sigma^2 (P_i - \bar P) A^+ (P_i - \bar P)^T`, is
noise of the means that scores and their ceilings are over. Metrics on single repetitions subtract :math:`\hat c`.

References
----------
Searle (1987), Linear Models for Unbalanced Data, Wiley.
Sahani & Linden (2003), NIPS 15. Hsu et al. (2004), doi:10.1088/0954-898X_15_2_002. Schoppe et al. (2016),
doi:10.3389/fncom.2016.00010. Allen et al. (2022), doi:10.1038/s41593-021-00962-x. Cronbach (1951),
doi:10.1007/BF02310555. Nili et al. (2014), doi:10.1371/journal.pcbi.1003553.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from brainscore_vision.metric_helpers.arrays.correlation import ROUNDING, pearson_columns
from brainscore_vision.metric_helpers.arrays.reliability.split_half import spearman_brown, step_up

if TYPE_CHECKING:
    from brainscore_vision.metric_helpers.arrays.types import ArrayLike, Floats, Indices

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


_LEAST_FREEDOM = 1e-6  # of a stimulus; below, up to rounding, its only further presentation is alone in a repetition
_CONNECTED = 1e-9  # smaller eigenvalues, as a share of their sum, are 0: a part of the design is not connected


@dataclass(frozen=True)
class RepeatedResponses:
    """Mean and noise of each stimulus and neuroid: all that noise ceilings need.

    Attributes
    ----------
    means, noise : ndarray, shape (n_stimuli, n_neuroids)
        Means over repetitions, and the unbiased variance of a single one; the pooled variance for stimuli shown once.
    counts : ndarray, shape (n_stimuli,)
        Repetitions of each stimulus.
    shifts, noise_of_shifts : ndarray, shape (n_stimuli, n_neuroids)
        Shift of each mean by the repetitions that it lacks, and the variance of this estimate; 0 otherwise.
    design
        ``'crossed'``: every repetition showed every stimulus once, and differences between whole repetitions are not in
        the noise; ``'incomplete'``: the same with missing or repeated cells; ``'nested'``: they are noise.
    """

    means: Floats
    noise: Floats
    counts: Floats
    shifts: Floats
    noise_of_shifts: Floats
    design: Literal["crossed", "incomplete", "nested"]

    @property
    def noise_of_means(self) -> Floats:
        """Variance of each mean around its noise-free value, shape (n_stimuli, n_neuroids); unbiased, as for shifts."""
        n = len(self.counts)
        drift = (self.shifts**2 - self.noise_of_shifts) * (n / max(n - 1, 1))
        return self.noise / self.counts[:, None] + drift

    def without_drift(self) -> tuple[Floats, Floats]:
        """Return the means as if every repetition had shown every stimulus, and the variance of each."""
        return self.means - self.shifts, self.noise / self.counts[:, None] + self.noise_of_shifts


def repeated_responses(
    responses: ArrayLike, stimulus: ArrayLike, repetition: ArrayLike | None = None
) -> RepeatedResponses:
    """Compute mean and noise variance of each stimulus and neuroid from finite single repetitions.

    Differences between whole repetitions (drift, arousal) are removed as in a two-way analysis of variance; if every
    repetition showed every stimulus once, the reliability is Cronbach's alpha (Sahani & Linden 2003). Drift is noise
    without `repetition`, in designs that are not connected (some stimuli share no repetition with others, even by way
    of third ones, which makes drift and signal inseparable), and where repetitions take more than half of the degrees
    of freedom, as where presentations are numbered throughout.

    Stimuli and repetitions of presentations are numbered from 0. ValueError if no stimulus was shown twice. Time is
    O(presentations x neuroids) and, for k repetitions, O(k^3).
    """
    values = np.asarray(responses, dtype=np.float64)
    index = np.asarray(stimulus)
    counts = np.bincount(index).astype(np.float64)
    if counts.max(initial=0) < 2:
        raise ValueError("Noise and signal can be separated only where a stimulus was shown at least twice.")
    order = np.argsort(index, kind="stable")
    starts = np.concatenate(([0], np.cumsum(counts[:-1]))).astype(np.intp)
    ordered = values[order]
    means = np.add.reduceat(ordered, starts, axis=0) / counts[:, None]
    residuals = ordered - np.repeat(means, counts.astype(np.intp), axis=0)
    freedom = counts - 1
    table = None if repetition is None else _TwoWay.of(index, np.asarray(repetition), counts)
    shifts, leverage = np.zeros_like(means), np.zeros(len(means))
    if table is not None:
        which = np.asarray(repetition)[order]
        effects = table.inverse @ [residuals[which == number].sum(axis=0) for number in range(len(table.inverse))]
        residuals -= effects[which]
        if table.design == "incomplete":
            expected = table.share @ effects
            residuals += np.repeat(expected, counts.astype(np.intp), axis=0)
            shifts = expected - expected.mean(axis=0)
        freedom, leverage = table.freedom, table.leverage
    squares = np.add.reduceat(residuals**2, starts, axis=0)
    pooled = squares.sum(axis=0) / freedom.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        noise = np.where(freedom[:, None] > _LEAST_FREEDOM, squares / freedom[:, None], pooled)
    design = "nested" if table is None else table.design
    return RepeatedResponses(means, noise, counts, shifts, np.outer(leverage, pooled), design)


@dataclass(frozen=True)
class _TwoWay:
    """Least squares of stimuli and repetitions, see the module; the same for all neuroids."""

    share: Floats  # (n_stimuli, n_repetitions), part of a stimulus's presentations in each repetition
    inverse: Floats  # (n_repetitions, n_repetitions), of the normal equations of repetitions
    freedom: Floats  # (n_stimuli,), degrees of freedom of residuals
    leverage: Floats  # (n_stimuli,), variance of the estimated shift of each mean, in units of the noise
    design: Literal["crossed", "incomplete"]

    @classmethod
    def of(cls, stimulus: Indices, repetition: Indices, counts: Floats) -> _TwoWay | None:
        """Solve the normal equations; None if drift is noise, see `repeated_responses`."""
        n_repetitions = int(repetition.max()) + 1
        if n_repetitions < 2 or 2 * (n_repetitions - 1) > (counts - 1).sum():
            return None
        cells = np.zeros((len(counts), n_repetitions))
        np.add.at(cells, (stimulus, repetition), 1.0)
        share = cells / counts[:, None]
        normal = np.diag(cells.sum(axis=0)) - cells.T @ share
        if np.linalg.matrix_rank(normal, tol=_CONNECTED * normal.trace(), hermitian=True) < n_repetitions - 1:
            return None
        # Lifting the eigenvalue 0 of equal effects adds a constant, which cancels in every contrast.
        inverse = np.linalg.inv(normal + normal.trace() / n_repetitions**2)
        taken = cells @ inverse.diagonal() - np.einsum("ik,ik->i", cells @ inverse, share)
        unlike = share - share.mean(axis=0)
        leverage = np.einsum("ik,ik->i", unlike @ inverse, unlike)
        design: Literal["crossed", "incomplete"] = "crossed" if (cells == 1).all() else "incomplete"
        return cls(share, inverse, counts - 1 - taken, leverage, design)


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
