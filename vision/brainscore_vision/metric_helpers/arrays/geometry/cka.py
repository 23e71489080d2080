"""Compute centered kernel alignment with a linear kernel, and what its jackknife takes.

With centred responses X (n stimuli x p) and Y (n x q), Gram matrices K = X X^T and L = Y Y^T, and the squared sizes of
patterns k_i = K_ii and l_i = L_ii, both estimates of HSIC follow from the single sum
``S = sum_ij K_ij L_ij = |X^T Y|^2``, since K and L have no row sums any more:

- biased: ``S``
- unbiased: ``S - n / (n - 2) sum_i k_i l_i + sum_i k_i sum_i l_i / ((n - 1) (n - 2))``, times ``1 / (n (n - 3))``

``S`` costs n p q where there are fewer neuroids than stimuli. No product with a centring matrix is formed either way.

References
----------
Kornblith, Norouzi, Lee & Hinton (2019), Similarity of neural network representations revisited, ICML, arXiv:1905.00414.
Song, Smola, Gretton, Bedo & Borgwardt (2012), Feature selection via dependence maximization, JMLR 13, equation 5.
Murphy, Zylberberg & Fyshe (2024), Correcting biased centered kernel alignment measures, arXiv:2405.01012.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from brainscore_vision.metric_helpers.arrays.correlation import ROUNDING

if TYPE_CHECKING:
    from brainscore_vision.metric_helpers.arrays.types import ArrayLike, Floats, Indices, NDArray

__all__ = ["Pair", "Side", "centre_columns", "cka", "cka_parts", "evenly", "linear_hsic", "paired_sides"]

_COLUMNS = 4096
"""How many columns are centred at a time."""
_ROUNDING = 1e-12
"""An HSIC below this part of the sum it is what is left of has no correct digit."""


def linear_hsic(first: ArrayLike, second: ArrayLike, *, unbiased: bool = True) -> tuple[float, float, float]:
    """Estimate the Hilbert-Schmidt independence criterion of two sets of responses, and of each with itself.

    Parameters
    ----------
    first, second : array-like, shape (n_stimuli, n_neuroids)
        Finite; numbers of neuroids may differ.
    unbiased : bool
        Estimate without bias (Song et al. 2012), from at least four stimuli; or ``tr(K H L H)``, not divided by n.

    Returns
    -------
    first_second, first_first, second_second : float
        Zero where rounding leaves no correct digit.
    """
    sides = paired_sides(first, second)
    return _triple(*sides, unbiased=unbiased)


def cka(first: ArrayLike, second: ArrayLike, *, unbiased: bool = True) -> float:
    """Compute centered kernel alignment, ``HSIC(K, L) / sqrt(HSIC(K, K) HSIC(L, L))``.

    Parameters
    ----------
    first, second : array-like, shape (n_stimuli, n_neuroids)
        Finite; numbers of neuroids may differ.
    unbiased : bool
        See `linear_hsic`.

    Returns
    -------
    float
        In [0, 1] if biased, in [-1, 1] if unbiased; NaN where either side has no structure: all patterns equal, or (if
        unbiased) all equally far from each other. Unchanged by rotations, reflections, shifts and scaling of either
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
    """Estimate HSIC as `linear_hsic` does, on each of several parts of the stimuli.

    Parameters
    ----------
    first, second : array-like, shape (n_stimuli, n_neuroids)
    parts : sequence of array-like of int
        Positions of the stimuli of each part.
    unbiased : bool
        See `linear_hsic`.

    Returns
    -------
    list of (float, float, float)
        Gram matrices are computed once for all parts.
    """
    one, two = paired_sides(first, second)
    chosen = [np.asarray(part, dtype=np.intp) for part in parts]
    return [_triple(one.part(part), two.part(part), unbiased=unbiased) for part in chosen]


@dataclass(frozen=True)
class Side:
    """Centred responses, as features or, where these are more than stimuli, as their Gram matrix.

    Attributes
    ----------
    matrix : ndarray, shape (n, p) or (n, n)
    is_gram : bool
    norms : ndarray, shape (n,)
        Squared sizes of the centred patterns.
    """

    matrix: Floats
    is_gram: bool
    norms: Floats

    @property
    def n(self) -> int:
        """The number of stimuli."""
        return len(self.norms)

    def apply(self, values: Floats) -> Floats:
        """Multiply the Gram matrix with values, shape (n,) or (n, q)."""
        product: Floats = self.matrix @ (values if self.is_gram else self.matrix.T @ values)
        return product

    def apply_unbiased(self, values: Floats, product: Floats | None = None) -> Floats:
        """Multiply the U-centred Gram matrix with columns that sum to zero, shape (n, q); `product` is that of `apply`.

        It is the matrix whose inner product with the Gram matrix of the other side is ``n (n - 3)`` times the unbiased
        HSIC: zero on the diagonal, rows that sum to zero (Szekely & Rizzo 2014, doi:10.1214/14-AOS1255, section 3).
        """
        n, k = self.n, self.norms
        diagonal = k * n / (n - 2) - k.sum() / ((n - 1) * (n - 2))
        product = self.apply(values) if product is None else product
        unbiased: Floats = product + (k @ values) / (n - 2)
        unbiased -= diagonal[:, None] * values
        return unbiased

    def part(self, chosen: Indices) -> Side:
        """Restrict to some stimuli and centre again."""
        if not self.is_gram:
            return _of_features(self.matrix[chosen])
        gram = self.matrix[np.ix_(chosen, chosen)]
        means = gram.mean(axis=0)
        gram -= means[:, None]
        gram -= means
        gram += means.mean()
        return _of_gram(gram)


@dataclass(frozen=True)
class Pair:
    """Two sides, with what is common to all that is computed from them.

    Attributes
    ----------
    one, two : Side
        A Gram matrix comes first, if there is one.
    cross : ndarray
        X^T Y, shape (p, q), of features; K Y, shape (n, q), of a Gram matrix and features; L of two Gram matrices.
    total : float
        Sum of K_ij L_ij over all pairs of stimuli.
    """

    one: Side
    two: Side
    cross: Floats
    total: float

    @classmethod
    def of(cls, one: Side, two: Side) -> Pair:
        """Compute what is common to all that follows."""
        if two.is_gram and not one.is_gram:
            one, two = two, one
        if not one.is_gram:
            cross = one.matrix.T @ two.matrix
            return cls(one, two, cross, float(np.vdot(cross, cross)))
        cross = two.matrix if two.is_gram else one.matrix @ two.matrix
        other = one.matrix if two.is_gram else two.matrix
        return cls(one, two, cross, float(np.vdot(cross, other)))

    def rows(self, chosen: Indices) -> Floats:
        """Sum K_ij L_ij over j for some i, shape (n_chosen,); of features to seven digits."""
        if self.one.is_gram:
            other = self.one if self.two.is_gram else self.two
            sums: Floats = np.einsum("ij,ij->i", self.cross[chosen], other.matrix[chosen])
            return sums
        left, cross = _single(self.one.matrix[chosen]), _single(self.cross)
        right = left if self.one is self.two else _single(self.two.matrix[chosen])
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

    def leave_one_out(self, chosen: Indices, *, unbiased: bool, rows: Floats | None = None) -> Floats:
        """Return HSIC without each of some stimuli, up to a factor that all pairs share; `rows` are those of `rows`.

        Without stimulus i, X^T Y loses ``n / m x_i y_i^T`` (m = n - 1), the mean moves by ``-x_i / m``, and ``k_j``
        becomes ``k_j + 2 K_ij / m + k_i / m^2``.
        """
        one, two, n = self.one, self.two, self.one.n
        m = n - 1
        factor = n / m
        k, own = one.norms[chosen], two.norms[chosen]
        products = self.rows(chosen) if rows is None else rows
        without: Floats = self.total - 2 * factor * products + factor**2 * k * own
        if not unbiased:
            return without
        sum_k, sum_own = one.norms.sum(), two.norms.sum()
        sizes = (
            one.norms @ two.norms
            + (2 / m) * (two.apply(one.norms)[chosen] + one.apply(two.norms)[chosen])
            + (own * sum_k + k * sum_own + 4 * products) / m**2
            + (n / m**4 - factor**4) * k * own
        )
        sums = (sum_k - factor * k) * (sum_own - factor * own)
        without += sums / ((m - 1) * (m - 2)) - m / (m - 2) * sizes
        return without


def paired_sides(first: ArrayLike, second: ArrayLike) -> tuple[Side, Side]:
    """Centre the responses of two sides, shape (n_stimuli, n_neuroids), over the same stimuli."""
    arrays = [np.asarray(first), np.asarray(second)]
    if any(array.ndim != 2 for array in arrays) or len(arrays[0]) != len(arrays[1]):
        raise ValueError(
            f"Expected two arrays of shape (n_stimuli, n_neuroids) over the same stimuli; got {arrays[0].shape} and "
            f"{arrays[1].shape}."
        )
    one, two = (_side(array) for array in arrays)
    return one, two


def _side(values: NDArray[np.number]) -> Side:
    n, p = values.shape
    if p < n:
        return _of_features(values)
    gram = np.zeros((n, n))
    for start in range(0, p, _COLUMNS):
        block = centre_columns(values[:, start : start + _COLUMNS])
        gram += block @ block.T
    return _of_gram(gram)


def _of_gram(gram: Floats) -> Side:
    return Side(matrix=gram, is_gram=True, norms=np.diagonal(gram).copy())


def _of_features(values: NDArray[np.number]) -> Side:
    features = centre_columns(values)
    return Side(matrix=features, is_gram=False, norms=np.einsum("ij,ij->i", features, features))


def centre_columns(values: NDArray[np.number]) -> Floats:
    """Subtract the mean of each column; what rounding leaves of a constant becomes zero."""
    block = values.astype(np.float64)
    if len(block):
        means = block.mean(axis=0)
        block -= means
        block[:, np.maximum(block.max(axis=0), -block.min(axis=0)) <= ROUNDING * np.abs(means)] = 0.0
    return block


def evenly(sizes: Floats, most: int) -> Indices:
    """Choose positions evenly spread from the smallest to the largest size; all if there are few."""
    n = len(sizes)
    if n <= most:
        return np.arange(n)
    order = np.argsort(sizes, kind="stable")
    return order[((np.arange(most) + 0.5) * n / most).astype(np.intp)]


def _single(values: Floats) -> tuple[NDArray[np.float32], float]:
    """Return values in single precision as parts of the largest, and that."""
    largest = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0))) or 1.0
    return (values / largest).astype(np.float32), largest


def _pairs(one: Side, two: Side) -> tuple[Pair, Pair, Pair]:
    return Pair.of(one, two), Pair.of(one, one), Pair.of(two, two)


def _triple(one: Side, two: Side, *, unbiased: bool) -> tuple[float, float, float]:
    xy, xx, yy = (pair.hsic(unbiased=unbiased) for pair in _pairs(one, two))
    return xy, xx, yy


def _ratio(xy: float, xx: float, yy: float) -> float:
    if not (xx > 0 and yy > 0):
        return float("nan")
    return float(np.clip(xy / np.sqrt(xx) / np.sqrt(yy), -1.0, 1.0))
