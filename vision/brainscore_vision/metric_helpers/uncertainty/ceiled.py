"""Estimate how uncertain a ceiled neural score is, by resampling neuroids and splits."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from brainscore_core.benchmarks import explained_variance_ratio
from brainscore_vision.metric_helpers.uncertainty.resampling import means_of_drawn_splits
from brainscore_vision.metric_helpers.uncertainty.seeds import generator

if TYPE_CHECKING:
    from brainscore_core.metrics import Score
    from brainscore_vision.metric_helpers.arrays.types import Floats

__all__ = ["bootstrap_ceiled", "ceiled_interval"]


def bootstrap_ceiled(
    raw: np.ndarray,
    ceiling: np.ndarray | None,
    formula: Callable[[np.ndarray, np.ndarray], np.ndarray],
    *,
    constant_ceiling: float = 1.0,
    test_to_train: float = 1 / 9,
    n_resamples: int = 1000,
    seed: int = 0,
) -> np.ndarray:
    r"""Resample neuroids and splits with replacement and return the ceiled scores.

    The statistic is that of the neural metrics: median over neuroids, then mean over splits. One draw of neuroids
    serves raw score and ceiling alike, because the same neuroids are in both; their splits are drawn independently.
    Neuroids carry the variance between cells; splits of a cross-validation carry that of which stimuli are predicted,
    splits of a reliability that of which repetitions are compared.

    Splits of a cross-validation share most of their training stimuli, hence the mean of :math:`J` of them varies more
    than that of independent values: by :math:`1/J + n_{test}/n_{train}` instead of :math:`1/J` times their variance
    (Nadeau and Bengio 2003). Each sample therefore draws :math:`1 / (1/J + n_{test}/n_{train})` splits, rounded.

    Parameters
    ----------
    raw : array of shape (n_splits, n_neuroids)
        Raw score of each neuroid in each split.
    ceiling : array of shape (n_ceiling_splits, n_neuroids), optional
        Ceiling of the same neuroids in the same order; None: it is the constant.
    formula : callable
        ``formula(raw, ceiling)``, element-wise, such as ``explained_variance_ratio``.
    test_to_train : float
        Stimuli tested divided by stimuli trained on in a split; 1/9 in the standard cross-validation.
    seed : int
        Root of the draws, see `brainscore_vision.metric_helpers.uncertainty.seeds`.

    Returns
    -------
    array of shape (n_resamples,)
        NaN entries of the input are left out of the medians.

    References
    ----------
    Efron and Tibshirani (1993), An Introduction to the Bootstrap, section 13.3 (percentile interval),
    doi:10.1201/9780429246593. Nadeau and Bengio (2003), Inference for the generalization error, Machine Learning 52,
    equation 9, doi:10.1023/A:1024068626366.
    """
    n_splits, n_neuroids = raw.shape
    n_drawn = max(1, round(1 / (1 / n_splits + test_to_train)))
    neuroids = generator(seed, "interval", "neuroid").integers(n_neuroids, size=(n_resamples, n_neuroids))
    raw_scores = means_of_drawn_splits(raw, neuroids, n_drawn, generator(seed, "interval", "split"))
    ceilings = np.full(n_resamples, constant_ceiling, dtype=float)
    if ceiling is not None:
        ceilings = means_of_drawn_splits(ceiling, neuroids, len(ceiling), generator(seed, "interval", "ceiling split"))
    return formula(raw_scores, ceilings)


def ceiled_interval(
    raw: Score,
    ceiling: Score,
    formula: Callable[[Floats, Floats], Floats] = explained_variance_ratio,
    *,
    n_resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> tuple[float, float] | None:
    """Return the percentile bootstrap interval of a ceiled score, or None if it cannot be estimated.

    Parameters
    ----------
    raw : Score
        0-d, with an attribute ``raw`` of dims (split, neuroid) or (neuroid) of which it is the mean over splits of the
        median over neuroids.
    ceiling : Score
        0-d; with such an attribute, or one of dims (neuroid), its uncertainty is included; without it the ceiling
        counts as exact.
    formula : callable
        ``formula(raw, ceiling)``, element-wise on arrays.
    confidence : float
        Coverage aimed at, between 0 and 1.

    Returns
    -------
    (float, float) or None
        Low and high end. None if the metric keeps no values for each split and neuroid, or summarises them
        in another way: an interval of another statistic would mislead.
    """
    values = _by_split_and_neuroid(raw)
    if values is None:
        return None
    ceiling_values = _by_split_and_neuroid(ceiling)
    if ceiling_values is not None:
        ceiling_values = _in_order_of(raw, ceiling, ceiling_values)
    samples = bootstrap_ceiled(
        values,
        ceiling_values,
        formula,
        constant_ceiling=float(ceiling),
        n_resamples=n_resamples,
        seed=seed,
    )
    tail = (1 - confidence) / 2
    low, high = np.nanquantile(samples, [tail, 1 - tail])
    return float(low), float(high)


def _by_split_and_neuroid(score: Score) -> np.ndarray | None:
    """Return (split, neuroid) values whose mean of medians is the score; None if there are none."""
    raw = score.attrs.get("raw")
    if raw is None or score.ndim or set(getattr(raw, "dims", ())) not in ({"split", "neuroid"}, {"neuroid"}):
        return None
    values = np.atleast_2d(np.asarray(raw.transpose(..., "neuroid").values, dtype=float))
    if np.isnan(values).all(axis=1).any():
        return None
    same = np.isclose(np.nanmedian(values, axis=1).mean(), float(score), rtol=1e-6, atol=1e-9)
    return values if same else None


def _in_order_of(raw: Score, ceiling: Score, ceiling_values: np.ndarray) -> np.ndarray | None:
    """Sort the ceiling's neuroids like those of the raw score; None (ceiling taken as exact) if they differ."""
    try:
        wanted = list(raw.attrs["raw"]["neuroid_id"].values)
        found = list(ceiling.attrs["raw"]["neuroid_id"].values)
    except KeyError:
        return None
    position = {neuroid_id: index for index, neuroid_id in enumerate(found)}
    if len(position) != len(found) or set(position) != set(wanted):
        return None
    return ceiling_values[:, [position[neuroid_id] for neuroid_id in wanted]]
