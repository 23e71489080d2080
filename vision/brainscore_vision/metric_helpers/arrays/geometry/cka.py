"""Compute centered kernel alignment with a linear kernel, and its jackknife.

With centred responses X (n stimuli x p) and Y (n x q), Gram matrices K = X X^T and L = Y Y^T, and k_i = K_ii and l_i =
L_ii, both estimates of HSIC follow from ``S = sum_ij K_ij L_ij = |X^T Y|^2``:

* biased: ``S``
* unbiased: ``S - n / (n - 2) sum_i k_i l_i + sum_i k_i sum_i l_i / ((n - 1) (n - 2))``, times ``1 / (n (n - 3))``

References
----------
Kornblith et al. (2019), ICML, arXiv:1905.00414. Song et al. (2012), JMLR 13,
equation 5. Murphy et al. (2024), arXiv:2405.01012.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from brainscore_vision.metric_helpers.arrays.correlation import ROUNDING

if TYPE_CHECKING:
    from brainscore_vision.metric_helpers.arrays.types import ArrayLike, Floats, Indices, NDArray

__all__ = [
    "GramPair",
    "GramSide",
    "centre_columns",
    "cka",
    "cka_parts",
    "column_hsic",
    "evenly",
    "linear_hsic",
    "paired_sides",
]

_COLUMNS = 4096
"""Columns centred at a time."""
_ROUNDING = 1e-12
"""HSIC is a difference of terms; below this share of them it has no correct digit."""


def linear_hsic(first: ArrayLike, second: ArrayLike, *, unbiased: bool = True) -> tuple[float, float, float]:
    """Estimate the Hilbert-Schmidt independence criterion of two sets of responses, and of each with itself.

    The unbiased estimate (Song et al. 2012) needs at least four stimuli; the other is ``tr(K H L H)``, not divided by
    n. It is zero where rounding leaves no correct digit.
    """
    sides = paired_sides(first, second)
    return _triple(*sides, unbiased=unbiased)


def cka(first: ArrayLike, second: ArrayLike, *, unbiased: bool = True) -> float:
    """Compute centered kernel alignment, ``HSIC(K, L) / sqrt(HSIC(K, K) HSIC(L, L))``; see `linear_hsic`.

    Returns
    -------
    float
        In [0, 1] if biased, in [-1, 1] if unbiased; NaN where either side has no structure: all patterns equal, or (if
        unbiased) all equally far from each other. Invariant to rotations, reflections, shifts and scaling of either
        side as a whole.

    Examples
    --------
    >>> round(cka([[0.], [1.], [2.], [4.]], [[0.], [2.], [4.], [8.]]), 12)
    1.0
    """
    return _ratio(*linear_hsic(first, second, unbiased=unbiased))


def cka_parts(
    first: ArrayLike, second: ArrayLike, parts: Sequence[ArrayLike], *, unbiased: bool = True
) -> list[tuple[float, float, float]]:
    """Estimate HSIC of several subsets of stimuli, from Gram matrices computed once."""
    one, two = paired_sides(first, second)
    positions = [np.asarray(part, dtype=np.intp) for part in parts]
    return [_triple(one.part(part), two.part(part), unbiased=unbiased) for part in positions]


@dataclass(frozen=True, eq=False)
class GramSide:
    """Centred features, or their Gram matrix if they outnumber stimuli; and squared sizes of patterns."""

    matrix: Floats
    is_gram: bool
    norms: Floats

    @property
    def n(self) -> int:
        """Number of stimuli."""
        return len(self.norms)

    def apply(self, values: Floats) -> Floats:
        """Multiply the Gram matrix by values, shape (n,) or (n, q)."""
        product: Floats = self.matrix @ (values if self.is_gram else self.matrix.T @ values)
        return product

    def apply_unbiased(self, values: Floats, product: Floats | None = None) -> Floats:
        """Multiply the U-centred Gram matrix by columns that sum to zero, shape (n, q), given the `product` of `apply`.

        The inner product of this matrix, which has a zero diagonal and rows that sum to zero, with the other side's
        Gram matrix is ``n (n - 3)`` times the unbiased HSIC (Szekely & Rizzo 2014, doi:10.1214/14-AOS1255, section 3).
        """
        n, k = self.n, self.norms
        diagonal = k * n / (n - 2) - k.sum() / ((n - 1) * (n - 2))
        product = self.apply(values) if product is None else product
        unbiased: Floats = product + (k @ values) / (n - 2)
        unbiased -= diagonal[:, None] * values
        return unbiased

    def part(self, rows: Indices) -> GramSide:
        """Select stimuli and centre again."""
        if not self.is_gram:
            return _of_features(self.matrix[rows])
        gram = self.matrix[np.ix_(rows, rows)]
        means = gram.mean(axis=0)
        gram -= means[:, None]
        gram -= means
        gram += means.mean()
        return _of_gram(gram)


@dataclass(frozen=True)
class GramPair:
    """Two sides, a Gram matrix first, and what their comparisons share.

    `cross` is X^T Y, shape (p, q), of features; K Y, shape (n, q), of a Gram matrix and features; L of two Gram
    matrices. `total` is the sum of K_ij L_ij over all pairs of stimuli.
    """

    one: GramSide
    two: GramSide
    cross: Floats
    total: float

    @classmethod
    def of(cls, one: GramSide, two: GramSide) -> GramPair:
        """Compute what two sides share."""
        if two.is_gram and not one.is_gram:
            one, two = two, one
        if not one.is_gram:
            cross = one.matrix.T @ two.matrix
            return cls(one, two, cross, float(np.vdot(cross, cross)))
        cross = two.matrix if two.is_gram else one.matrix @ two.matrix
        other = one.matrix if two.is_gram else two.matrix
        return cls(one, two, cross, float(np.vdot(cross, other)))

    def rows(self, rows: Indices) -> Floats:
        """Sum K_ij L_ij over j for some i, shape (n_rows,); to seven digits for features."""
        if self.one.is_gram:
            other = self.one if self.two.is_gram else self.two
            sums: Floats = np.einsum("ij,ij->i", self.cross[rows], other.matrix[rows])
            return sums
        left, cross = _single(self.one.matrix[rows]), _single(self.cross)
        right = left if self.one is self.two else _single(self.two.matrix[rows])
        sums = np.einsum("ij,ij->i", left[0] @ cross[0], right[0]).astype(np.float64)
        return sums * left[1] * right[1] * cross[1]

    def hsic(self, *, unbiased: bool) -> float:
        """Estimate HSIC; 0 where rounding leaves no correct digit."""
        if not unbiased:
            return self.total
        n, k, own = self.one.n, self.one.norms, self.two.norms
        if n < 4:
            raise ValueError(f"The unbiased estimate needs at least four stimuli, got {n}.")
        value = self.total - n / (n - 2) * (k @ own) + k.sum() * own.sum() / ((n - 1) * (n - 2))
        scale = np.sqrt((k @ k) * (own @ own)) + abs(self.total)
        return float(value / (n * (n - 3))) if abs(value) > _ROUNDING * scale else 0.0

    def leave_one_out(self, stimuli: Indices, *, unbiased: bool, rows: Floats | None = None) -> Floats:
        """Return HSIC without each of some stimuli, up to a factor that all pairs share.

        Without stimulus i, X^T Y loses ``n / m x_i y_i^T`` (m = n - 1), the mean moves by ``-x_i / m``, and ``k_j``
        becomes ``k_j + 2 K_ij / m + k_i / m^2``.
        """
        one, two, n = self.one, self.two, self.one.n
        m = n - 1
        factor = n / m
        k, own = one.norms[stimuli], two.norms[stimuli]
        products = self.rows(stimuli) if rows is None else rows
        without: Floats = self.total - 2 * factor * products + factor**2 * k * own
        if not unbiased:
            return without
        sum_k, sum_own = one.norms.sum(), two.norms.sum()
        sizes = (
            one.norms @ two.norms
            + (2 / m) * (two.apply(one.norms)[stimuli] + one.apply(two.norms)[stimuli])
            + (own * sum_k + k * sum_own + 4 * products) / m**2
            + (n / m**4 - factor**4) * k * own
        )
        sums = (sum_k - factor * k) * (sum_own - factor * own)
        without += sums / ((m - 1) * (m - 2)) - m / (m - 2) * sizes
        return without


def paired_sides(first: ArrayLike, second: ArrayLike) -> tuple[GramSide, GramSide]:
    """Centre two sets of responses."""
    arrays = [np.asarray(first), np.asarray(second)]
    if any(array.ndim != 2 for array in arrays) or len(arrays[0]) != len(arrays[1]):
        raise ValueError(
            f"Expected two arrays of shape (n_stimuli, n_neuroids) over the same stimuli; got {arrays[0].shape} and "
            f"{arrays[1].shape}."
        )
    one, two = (_side(array) for array in arrays)
    return one, two


def _side(values: NDArray[np.number]) -> GramSide:
    n, p = values.shape
    if p < n:
        return _of_features(values)
    gram = np.zeros((n, n))
    for start in range(0, p, _COLUMNS):
        block = centre_columns(values[:, start : start + _COLUMNS])
        gram += block @ block.T
    return _of_gram(gram)


def _of_gram(gram: Floats) -> GramSide:
    return GramSide(matrix=gram, is_gram=True, norms=np.diagonal(gram).copy())


def _of_features(values: NDArray[np.number]) -> GramSide:
    features = centre_columns(values)
    return GramSide(matrix=features, is_gram=False, norms=np.einsum("ij,ij->i", features, features))


def centre_columns(values: NDArray[np.number]) -> Floats:
    """Subtract column means; constant columns become exactly zero."""
    block = values.astype(np.float64)
    if len(block):
        means = block.mean(axis=0)
        block -= means
        block[:, np.maximum(block.max(axis=0), -block.min(axis=0)) <= ROUNDING * np.abs(means)] = 0.0
    return block


def column_hsic(first: Floats, second: Floats, *, unbiased: bool) -> Floats:
    """Return HSIC of each column of two centred sides with the same column of the other, up to the factor `n (n - 3)`.

    The biased estimate has no factor.
    """
    n, products = len(first), np.einsum("ij,ij->j", first, second)
    values: Floats = products**2
    if unbiased:
        own, other = first**2, second**2
        values -= n / (n - 2) * np.einsum("ij,ij->j", own, other)
        values += own.sum(axis=0) * other.sum(axis=0) / ((n - 1) * (n - 2))
    return values


def evenly(sizes: Floats, most: int) -> Indices:
    """Return positions evenly spread from the smallest to the largest size; all if there are at most `most`."""
    n = len(sizes)
    if n <= most:
        return np.arange(n)
    order = np.argsort(sizes, kind="stable")
    return order[((np.arange(most) + 0.5) * n / most).astype(np.intp)]


def _single(values: Floats) -> tuple[NDArray[np.float32], float]:
    largest = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0))) or 1.0
    return (values / largest).astype(np.float32), largest


def _pairs(one: GramSide, two: GramSide) -> tuple[GramPair, GramPair, GramPair]:
    return GramPair.of(one, two), GramPair.of(one, one), GramPair.of(two, two)


def _triple(one: GramSide, two: GramSide, *, unbiased: bool) -> tuple[float, float, float]:
    xy, xx, yy = (pair.hsic(unbiased=unbiased) for pair in _pairs(one, two))
    return xy, xx, yy


def _ratio(xy: float, xx: float, yy: float) -> float:
    if not (xx > 0 and yy > 0):
        return float("nan")
    return float(np.clip(xy / np.sqrt(xx) / np.sqrt(yy), -1.0, 1.0))
