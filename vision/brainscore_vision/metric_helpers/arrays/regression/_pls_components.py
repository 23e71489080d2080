"""Find the components of partial least squares for many training sets in lockstep.

Written once for NumPy and torch: arrays are those of a backend, in float64, and the first axis of a batch is the split.

Let ``S = X^T Y`` for the training stimuli of a split, of shape (features, neuroids). A component is a weight vector
``w`` that the power iteration ``w <- S S^T w`` has reached when it stops, its scores ``t = X w``, and the deflation
``S <- S - b r^T`` with ``b = X^T t`` and ``r = Y^T t / t^T t``. The iteration runs on the smaller side:

- neuroids: every iterate is ``w ~ S c``, so that it runs on ``A = S^T S``;
- features: it runs on ``A = S S^T``.

What belongs to that side is called own, the rest other: ``S`` is kept as (other, own), and ``A = S^T S``. Then ``A``
changes with a deflation by vectors of the two sides, o and v, as ``A <- A - h v^T - v h^T`` with
``h = S^T o - |o|^2 v / 2``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from brainscore_vision.metric_helpers.arrays.backend import Backend, NumpyBackend

if TYPE_CHECKING:
    from brainscore_vision.metric_helpers.arrays.types import Array, Floats, Indices

__all__ = ["Components", "find_components"]

MAX_ITERATIONS = 500
TOLERANCE = 1e-6  # on the squared change of the unit weight vector
REFRESH = 1e-4  # recompute A once down-dating has removed all but this part of it: rounding stays below 1e-11
EXHAUSTED = 1e-12  # relative size of a covariance that is rounding and nothing else
FIRST = 16  # columns of the target among which a start vector is looked for, where the power iteration is by features
CHECKED_EVERY = 8  # iterations of a batch between two looks at whether it is done, which make a device wait


@dataclass(frozen=True)
class Components:
    """What `find_components` returns, as NumPy arrays; zeros for components that a split no longer has.

    Attributes
    ----------
    scores : ndarray, shape (n_splits, n_components, n_stimuli)
        Of all stimuli.
    active : ndarray, shape (n_splits, n_components, n_stimuli)
        The same, with zeros for stimuli that do not train; orthogonal.
    sizes : ndarray, shape (n_splits, n_components)
        Squared lengths of the rows of `active`; 1 where there is no component.
    loadings : ndarray, shape (n_splits, n_components, n_targets)
        Regression of the targets on the scores.
    weights : ndarray, shape (n_splits, n_components, n_sources)
    mixing : ndarray, shape (n_splits, n_components, n_components)
        Upper triangular, with ``X weights^T = scores^T mixing``.
    """

    scores: Floats
    active: Floats
    sizes: Floats
    loadings: Floats
    weights: Floats
    mixing: Floats


def find_components(
    x: Array,
    y: Array,
    trains: Sequence[Indices],
    n_components: int,
    *,
    backend: Backend,
    first: Array | None = None,
) -> Components:
    """Find the components of every split.

    Parameters
    ----------
    x : array, shape (n_stimuli, n_sources)
        Of the backend; columns have mean zero over all stimuli.
    y : array, shape (n_stimuli, n_targets)
        The same.
    trains : sequence of ndarray of int
        Positions of the training stimuli of each split, all different within a split.
    n_components : int
    backend : Backend
    first : array, shape (n_stimuli, some) or None
        The first columns of the target, of which the first to covary with the source is the start vector. None: those
        of `y`. Needed where `y` is a factor of the Gram matrix of the target.
    """
    state = _Lockstep(x, y, trains, n_components, backend, first)
    for k in range(n_components):
        weights = state.next_weights(k)
        if weights is None:
            break
        state.add(k, weights, last=k == n_components - 1)
    return Components(
        *(backend.numpy(part) for part in (state.scores, state.active, state.sizes, state.loadings)),
        *(backend.numpy(part) for part in (state.weights, state.mixing)),
    )


class _Lockstep:
    """The state of all splits while components are added."""

    def __init__(
        self,
        x: Array,
        y: Array,
        trains: Sequence[Indices],
        n_components: int,
        backend: Backend,
        first: Array | None,
    ) -> None:
        (n, p), q, s = x.shape, y.shape[1], len(trains)
        self.backend, self.x, self.y = backend, x, y
        self.by_neuroid = first is None and q <= p
        other, own = (x, y) if self.by_neuroid else (y, x)
        members = _membership(n, trains)
        self.mask = backend.asarray(members)
        self.count = self.mask.sum(-1)
        self.covariance = _covariances(other, own, members, backend)
        self.square = backend.zeros(s, own.shape[1], own.shape[1])
        self._recompute_square()
        self.largest = self.reference
        self.refreshed = 0  # components already contained in `covariance`
        self.going = self.largest > 0
        self.others = backend.zeros(s, n_components, other.shape[1])
        self.owns = backend.zeros(s, n_components, own.shape[1])
        self.loadings = self.owns if self.by_neuroid else self.others
        self.scores = backend.zeros(s, n_components, n)
        self.active = backend.zeros(s, n_components, n)
        self.sizes = backend.zeros(s, n_components) + 1
        self.weights = backend.zeros(s, n_components, p)
        self.mixing = backend.zeros(s, n_components, n_components)
        if not self.by_neuroid:
            self.first = y[:, :FIRST] if first is None else first
            self.first_covariance = _covariances(self.first, x, members, backend)
            self.first_loadings = backend.zeros(s, n_components, self.first.shape[1])

    def next_weights(self, k: int) -> Array | None:
        """Return the weight vectors of the next components, of unit length; None if nothing but rounding is left."""
        remaining = self.backend.maximum(_diagonal(self.square), 1)
        if bool((self.going & (remaining < REFRESH * self.reference)).any()):
            self._refresh(k)
            remaining = self.reference
        self.going = self.going & (remaining > EXHAUSTED**2 * self.largest)
        if not bool(self.going.any()):
            return None
        if not self.by_neuroid:
            return _power_iterations(self.square, self._start_vectors(k), self.going, self.backend, by_neuroid=False)
        usable = _diagonal(self.square) > (EXHAUSTED**2 * self.largest)[:, None]
        direction = _power_iterations(
            self.square, _first_of_each(usable, self.backend), self.going, self.backend, by_neuroid=True
        )
        since = slice(self.refreshed, k)
        weights = _apply(self.covariance, direction)
        weights -= _apply(self.others[:, since].mT, _apply(self.owns[:, since], direction))
        return _unit(weights)

    def add(self, k: int, weights: Array, *, last: bool) -> None:
        """Add a component to every split that has one left, and deflate; not after the last."""
        known, known_scores, known_sizes = self.active[:, :k], self.scores[:, :k], self.sizes[:, :k]
        projected = self._centred(weights @ self.x.T)
        scores = projected
        for _ in range(2):  # once is not enough for orthogonality to machine precision, twice is
            part = _apply(known, scores) / known_sizes
            scores = scores - _apply(known_scores.mT, part)
            self.mixing[:, :k, k] += part
        self.mixing[:, k, k] = 1.0
        scores = self._centred(scores)
        size = _squares(scores * self.mask)
        self.going = self.going & (size > EXHAUSTED**2 * _squares(projected * self.mask))
        scores = self.backend.where(self.going[:, None], scores, 0.0)
        self.scores[:, k] = scores
        self.active[:, k] = scores * self.mask
        self.sizes[:, k] = self.backend.where(self.going, size, 1.0)
        self.weights[:, k] = weights
        self._deflate(k, last=last)

    def _deflate(self, k: int, *, last: bool) -> None:
        active, size = self.active[:, k], self.sizes[:, k, None]
        loadings = active @ self.y / size
        self.loadings[:, k] = loadings
        if last:
            return
        pulled = active @ self.x
        (self.others if self.by_neuroid else self.owns)[:, k] = pulled
        if not self.by_neuroid:
            self.first_loadings[:, k] = active @ self.first / size
        other, own = (pulled, loadings) if self.by_neuroid else (loadings, pulled)
        since = slice(self.refreshed, k)
        half = _apply(self.covariance.mT, other)
        half -= _apply(self.owns[:, since].mT, _apply(self.others[:, since], other))
        half -= 0.5 * _squares(other)[:, None] * own
        self.backend.subtract_symmetric(self.square, half, own)

    def _start_vectors(self, k: int) -> Array:
        """Return the covariance of the first neuroid that has any with the source, as a unit vector."""
        vectors = self.first_covariance - self.first_loadings[:, :k].mT @ self.owns[:, :k]
        usable = (vectors**2).sum(-1) > (EXHAUSTED**2 * self.largest)[:, None]
        chosen = _apply(vectors.mT, _first_of_each(usable, self.backend))
        # None of the first covaries: the feature that covaries most with all of them.
        diagonal = _diagonal(self.square)
        largest = _first_of_each(diagonal >= self.backend.maximum(diagonal, 1)[:, None], self.backend)
        return _unit(self.backend.where(usable.any(1)[:, None], chosen, _apply(self.square, largest)))

    def _refresh(self, k: int) -> None:
        since = slice(self.refreshed, k)
        for index in range(len(self.covariance)):
            self.covariance[index] -= self.others[index, since].T @ self.owns[index, since]
        self.refreshed = k
        self._recompute_square()

    def _recompute_square(self) -> None:
        for index, covariance in enumerate(self.covariance):
            self.square[index] = covariance.T @ covariance
        self.reference = self.backend.maximum(_diagonal(self.square), 1)

    def _centred(self, rows: Array) -> Array:
        return rows - ((rows * self.mask).sum(-1) / self.count)[:, None]


def _membership(n: int, trains: Sequence[Indices]) -> Floats:
    """Return 1 for the training stimuli of each split and 0 for others, shape (n_splits, n_stimuli)."""
    members = np.zeros((len(trains), n))
    for row, train in zip(members, trains, strict=True):
        row[train] = 1.0
    return members


def _covariances(other: Array, own: Array, members: Floats, backend: Backend) -> Array:
    """Return ``other^T (own - its mean)`` over the training stimuli of each split, shape (n_splits, others, owns)."""
    result = backend.zeros(len(members), other.shape[1], own.shape[1])
    mean = backend.asarray(members / members.sum(-1, keepdims=True)) @ own
    mostly = members.mean(-1) > 0.5
    whole = other.T @ own if mostly.any() else None
    for index, row in enumerate(members):
        chosen = np.flatnonzero(row == 0.0 if mostly[index] else row)
        part = other[chosen].T @ (own[chosen] - mean[index])
        # Sum over training of x (y - mean) = sum over all - sum over left out - (sum over training of x) mean; and the
        # columns of x sum to zero over all stimuli.
        result[index] = whole - part if mostly[index] else part
    return result


def _power_iterations(squares: Array, starts: Array, going: Array, backend: Backend, *, by_neuroid: bool) -> Array:
    """Follow scikit-learn's power iteration for the weight vector w, on A, for each split that is going.

    By feature, an iterate is w itself and of unit length. By neuroid it is c with w = S c of unit length, that is
    ``c^T A c = 1``. The squared change of w is 2 less twice the inner product of following iterates; it is compared
    with a tolerance so much larger than rounding that nothing is lost by the difference.
    """
    if isinstance(backend, NumpyBackend):  # one by one, which keeps each matrix in the cache
        found = np.zeros_like(starts)
        for index in np.flatnonzero(going):
            found[index] = _power_iteration(squares[index], starts[index], by_neuroid=by_neuroid)
        return found
    vector, image = starts, _apply(squares, starts)
    if by_neuroid:
        length = _safe((vector * image).sum(-1)) ** 0.5
        vector, image = vector / length[:, None], image / length[:, None]
    moving = going
    for iteration in range(1, MAX_ITERATIONS):
        if by_neuroid:
            following = _apply(squares, image)
            length = _safe((image * following).sum(-1)) ** 0.5
            cosine = _squares(image) / length
        else:
            length = _safe(_squares(image)) ** 0.5
            cosine = (vector * image).sum(-1) / length
            following = _apply(squares, image)
        vector = backend.where(moving[:, None], image / length[:, None], vector)
        image = backend.where(moving[:, None], following / length[:, None], image)
        moving = moving & (2.0 - 2.0 * cosine >= TOLERANCE)
        if iteration % CHECKED_EVERY == 0 and not bool(moving.any()):
            break
    return backend.where(going[:, None], vector, 0.0)


def _power_iteration(square: Array, vector: Array, *, by_neuroid: bool) -> Array:
    """Do the same for one split, in NumPy, with as few operations as possible."""
    image = square @ vector
    if by_neuroid:
        length = np.sqrt(vector @ image)
        vector, image = vector / length, image / length
    following = np.empty_like(image)
    for _ in range(1, MAX_ITERATIONS):
        np.dot(square, image, out=following)
        inner = image @ image
        if by_neuroid:
            length = math.sqrt(image @ following)
            cosine = inner / length
        else:
            length = math.sqrt(inner)
            cosine = (vector @ image) / length
            vector = image / length
        if 2.0 - 2.0 * cosine < TOLERANCE:
            break
        image, following = following, image
        image *= 1.0 / length
    else:
        image = following  # where the last iterate is after the exchange
    return image / length if by_neuroid else vector


def _diagonal(squares: Array) -> Array:
    return squares.diagonal(0, 1, 2)


def _apply(matrices: Array, vectors: Array) -> Array:
    """Multiply the matrix and the vector of each split."""
    return (matrices @ vectors[..., None])[..., 0]


def _squares(vectors: Array) -> Array:
    return (vectors * vectors).sum(-1)


def _safe(values: Array) -> Array:
    """Replace what a split without any covariance would divide by, or take the root of, by 1."""
    return values * (values > 0) + 1.0 * (values <= 0)


def _unit(vectors: Array) -> Array:
    return vectors / (_safe(_squares(vectors)) ** 0.5)[:, None]


def _first_of_each(chosen: Array, backend: Backend) -> Array:
    """Return unit vectors for the first entry of each row that is true, shape (n_splits, width)."""
    width = chosen.shape[1]
    order = backend.asarray(np.arange(width, 0, -1, dtype=np.float64))
    ranked = order * chosen
    one = order**0  # in float64, which a number times a boolean is not everywhere
    return one * (chosen & (ranked == backend.maximum(ranked, 1)[:, None]))
