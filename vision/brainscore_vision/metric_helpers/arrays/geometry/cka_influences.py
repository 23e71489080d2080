"""Compute how centered kernel alignment moves with stimuli, with neuroids of the second side, and with both.

With the (U-)centred Gram matrix K~ of a side, its product with the second side is a sum over responses, ``z_ij = y_ij
(K~ y_j)_i``. The length of the second side is its product with itself, where each term holds two neuroids.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from brainscore_vision.metric_helpers.arrays.geometry.cka import (
    GramPair,
    GramSide,
    centre_columns,
    column_hsic,
    evenly,
    paired_sides,
)
from brainscore_vision.metric_helpers.arrays.geometry.influences import Influences, counted_once, effect_of_pairs
from brainscore_vision.metric_helpers.arrays.influence import left_out_influences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from brainscore_vision.metric_helpers.arrays.types import ArrayLike, Floats, Indices

__all__ = ["cka_influences", "joint_effect", "spread_neuroids", "weighted_neuroids"]

_TAKEN = 0.75  # share of a neuroid's weight that is removed
_PAIRED = 256  # stimuli, evenly spread, whose pairs estimate the joint effect of two
_STANDING = 512  # neuroids that represent all where neuroids outnumber stimuli


def cka_influences(first: ArrayLike, second: ArrayLike, *, unbiased: bool = True) -> tuple[float, Influences | None]:
    """Compute centered kernel alignment, and how it moves with stimuli and with neuroids of the second side.

    Stimuli are left out one at a time; the joint effect of two counts once (`counted_once`). For neuroids see
    `weighted_neuroids`; up to 512, evenly spread, represent all if neuroids outnumber stimuli.

    Influences are None for fewer than five stimuli (biased: three), or if alignment is undefined without some stimulus.
    """
    one, two = paired_sides(first, second)
    pairs = [GramPair.of(*sides) for sides in ((one, two), (one, one), (two, two))]
    xy, xx, yy = (pair.hsic(unbiased=unbiased) for pair in pairs)
    if not (xx > 0 and yy > 0):
        return float("nan"), None
    value, n, q = float(np.clip(xy / np.sqrt(xx) / np.sqrt(yy), -1.0, 1.0)), one.n, np.asarray(second).shape[1]
    if n < (5 if unbiased else 3):
        return value, None
    representatives = spread_neuroids(q) if two.is_gram else None
    columns = two.matrix if representatives is None else centre_columns(np.asarray(second)[:, representatives])
    if two.is_gram:
        applied = [side.apply(columns) for side in (one, two)]
    else:
        applied = [pairs[0].cross if one.is_gram else one.matrix @ pairs[0].cross, two.matrix @ pairs[2].cross]
    rows = [None if two.is_gram else np.einsum("ij,ij->i", term, columns) for term in applied]
    stimuli = _of_stimuli(pairs, (rows[0], None, rows[1]), unbiased=unbiased)
    if stimuli is None:
        return value, None
    scale = n * (n - 3) if unbiased else 1.0
    sizes = xy * scale, xx * scale, yy * scale
    if unbiased:
        applied = [side.apply_unbiased(columns, term) for side, term in zip((one, two), applied, strict=True)]
    product, length = (columns * term for term in applied)
    parts = product.sum(axis=0), length.sum(axis=0), column_hsic(columns, columns, unbiased=unbiased)
    cells = 2.0 * (product / np.sqrt(sizes[1]) / np.sqrt(sizes[2]) - value * length / sizes[2])
    together = joint_effect(one, two, value, sizes[1:], unbiased=unbiased)
    return value, Influences(
        stimuli=counted_once(stimuli, together),
        neuroids=weighted_neuroids(*parts, sizes=sizes, n_neuroids=q),
        cells=np.sqrt(q / columns.shape[1]) * counted_once(cells, together),
        chosen=representatives,
    )


def spread_neuroids(number: int) -> Indices:
    """Return the positions of up to 512 evenly spread neuroids."""
    return np.unique(np.linspace(0, number - 1, min(number, _STANDING)).astype(np.intp))


def weighted_neuroids(
    product: Floats, length: Floats, alone: Floats, *, sizes: tuple[float, float, float], n_neuroids: int
) -> Floats:
    """Compute how alignment moves with each neuroid of the second side, by removing three quarters of its weight.

    Alignment is far from linear in dominant neuroids. In simulations (``perf/coverage.py``) these intervals cover the
    mean in 94 to 97 %, from leaving neuroids out in 88 to 97 %, from the derivative in 90 to 100 %.

    Neuroids contribute `product` to the sides' product, `length` to the second side's length, and have the length
    `alone` by themselves. `sizes` are the product and both lengths. Squares of the result sum to the variance over new
    neuroids; it is 0 for a single one of `n_neuroids`, NaN where no length remains.
    """
    if n_neuroids < 2:
        return np.zeros(n_neuroids)
    rest = 1 - 2 * _TAKEN * length / sizes[2] + _TAKEN**2 * alone / sizes[2]
    with np.errstate(invalid="ignore", divide="ignore"):
        moved = (sizes[0] - _TAKEN * product) / np.sqrt(sizes[1]) / np.sqrt(sizes[2]) / np.sqrt(rest)
    factor = (n_neuroids - _TAKEN) / _TAKEN / np.sqrt((n_neuroids - 1) * len(moved))
    scaled: Floats = factor * (moved.mean() - moved)
    return scaled


def _of_stimuli(
    pairs: list[GramPair], rows: tuple[Floats | None, Floats | None, Floats | None], *, unbiased: bool
) -> Floats | None:
    everyone = np.arange(pairs[0].one.n)
    both = zip(pairs, rows, strict=True)
    xy, xx, yy = (pair.leave_one_out(everyone, unbiased=unbiased, rows=row) for pair, row in both)
    if not ((xx > 0) & (yy > 0)).all():
        return None
    return left_out_influences(xy / np.sqrt(xx) / np.sqrt(yy))


def joint_effect(
    one: GramSide,
    two: GramSide,
    value: float,
    lengths: tuple[float, ...],
    *,
    unbiased: bool,
    sides: Sequence[Sequence[tuple[GramSide, GramSide]]] = (),
) -> float:
    """Estimate the sum of squares, over pairs of stimuli, of their joint effect on alignment.

    The mean product of `sides` is each of the `lengths`; none: each side with itself.
    """
    n = one.n
    rows = evenly(one.norms * two.norms, _PAIRED)
    m = len(rows)

    @cache
    def gram(side: GramSide) -> Floats:
        within = side.matrix[np.ix_(rows, rows)] if side.is_gram else side.matrix[rows] @ side.matrix[rows].T
        if unbiased:
            norms = side.norms / (n - 2)
            within += norms[rows] + norms[rows][:, None] - side.norms.sum() / ((n - 1) * (n - 2))
        return within

    moved = 2 * gram(one) * gram(two) / (np.sqrt(lengths[0]) * np.sqrt(lengths[1]))
    for pairs, length in zip(sides or ([(one, one)], [(two, two)]), lengths, strict=True):
        moved -= value / length * np.mean([gram(a) * gram(b) for a, b in pairs], axis=0)
    return effect_of_pairs(moved) * (n * (n - 1)) / (m * (m - 1))
