"""Find the components of partial least squares for many training sets in lockstep, on NumPy or torch in float64.

Let ``S = X^T Y`` for the training stimuli of a split. A component is the weight vector ``w`` at which the power
iteration ``w <- S S^T w`` stops, its scores ``t = X w``, and the deflation ``S <- S - b r^T`` with ``b = X^T t`` and
``r = Y^T t / t^T t``. The iteration runs on the smaller side, called own: over neuroids, where every iterate is ``w ~ S
c``, on ``A = S^T S``; over features on ``A = S S^T``.

``S`` is stored as (other, own), and ``A = S^T S``. A deflation by vectors o and v of the two sides changes A as ``A <-
A - h v^T - v h^T`` with ``h = S^T o - |o|^2 v / 2``.
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
TOLERANCE = 1e-6  # of the squared change of the unit weight vector
REFRESH = 1e-4  # recompute A when down-dating leaves less than this share: rounding stays below 1e-11
EXHAUSTED = 1e-12  # relative size of a covariance that is only rounding
FIRST = 16  # target columns searched for a start vector, where the power iteration is by features
CHECKED_EVERY = 8  # iterations between convergence checks, which make a device wait


@dataclass(frozen=True)
class Components:
    """Components of all splits as NumPy arrays; zeros for components that a split lacks.

    Attributes
    ----------
    scores, active : ndarray, shape (n_splits, n_components, n_stimuli)
        Scores of all stimuli, and with zeros for stimuli that do not train; the latter are orthogonal.
    sizes : ndarray, shape (n_splits, n_components)
        Squared lengths of the rows of `active`; 1 without a component.
    loadings, weights : ndarray, shape (n_splits, n_components, n_targets or n_sources)
    mixing : ndarray, shape (n_splits, n_components, n_components)
        Upper triangular with a diagonal of 1, with ``X weights^T = scores^T mixing``.
    """

    scores: Floats
    active: Floats
    sizes: Floats
    loadings: Floats
    weights: Floats
    mixing: Floats


def find_components(
    x: Array, y: Array, trains: Sequence[Indices], n_components: int, *, backend: Backend, first: Array | None = None
) -> Components:
    """Find the components of every split.

    Columns of `x` (sources) and `y` (targets), arrays of the backend, have mean zero over all stimuli. The training
    stimuli of a split are all different. The start vector is the first column of the target that covaries with the
    source; where `y` is a factor of the target's Gram matrix, `first` holds the first columns of the target itself.
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
    def __init__(
        self, x: Array, y: Array, trains: Sequence[Indices], n_components: int, backend: Backend, first: Array | None
    ) -> None:
        (n, p), q, s = x.shape, y.shape[1], len(trains)
        self.backend, self.x, self.y = backend, x, y
        self.by_neuroid = first is None and q <= p
        other, own = (x, y) if self.by_neuroid else (y, x)
        members = np.zeros((s, n))
        for row, train in zip(members, trains, strict=True):
            row[train] = 1.0
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
        self.mixing = backend.zeros(s, n_components, n_components) + backend.asarray(np.eye(n_components))
        if not self.by_neuroid:
            self.first = y[:, :FIRST] if first is None else first
            self.first_covariance = _covariances(self.first, x, members, backend)
            self.first_loadings = backend.zeros(s, n_components, self.first.shape[1])

    def next_weights(self, k: int) -> Array | None:
        """Return unit weight vectors of the next components; None if only rounding is left."""
        remaining = self.backend.xp.amax(_diagonal(self.square), 1)
        if bool((self.going & (remaining < REFRESH * self.reference)).any()):
            self._refresh(k)
            remaining = self.reference
        self.going = self.going & (remaining > EXHAUSTED**2 * self.largest)
        if not bool(self.going.any()):
            return None
        if not self.by_neuroid:
            return _power_iterations(self.square, self._start_vectors(k), self.going, self.backend, by_neuroid=False)
        sizes = _diagonal(self.square)
        start = _first_of_each(sizes > (EXHAUSTED**2 * self.largest)[:, None], sizes, self.backend)
        direction = _power_iterations(self.square, start, self.going, self.backend, by_neuroid=True)
        since = slice(self.refreshed, k)
        weights = _apply(self.covariance, direction)
        weights -= _apply(self.others[:, since].mT, _apply(self.owns[:, since], direction))
        return _unit(weights)

    def add(self, k: int, weights: Array, *, last: bool) -> None:
        earlier, earlier_scores, earlier_sizes = self.active[:, :k], self.scores[:, :k], self.sizes[:, :k]
        projected = self._centred(weights @ self.x.T)
        scores = projected
        for _ in range(2):  # orthogonal to machine precision after the second pass
            part = _apply(earlier, scores) / earlier_sizes
            scores = scores - _apply(earlier_scores.mT, part)
            self.mixing[:, :k, k] += part
        scores = self._centred(scores)
        size = _squares(scores * self.mask)
        self.going = self.going & (size > EXHAUSTED**2 * _squares(projected * self.mask))
        scores = self.backend.xp.where(self.going[:, None], scores, 0.0)
        self.scores[:, k] = scores
        self.active[:, k] = scores * self.mask
        self.sizes[:, k] = self.backend.xp.where(self.going, size, 1.0)
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
        """Return the covariance of the first neuroid that covaries with the source, as a unit vector."""
        vectors = self.first_covariance - self.first_loadings[:, :k].mT @ self.owns[:, :k]
        sizes = (vectors**2).sum(-1)
        usable = sizes > (EXHAUSTED**2 * self.largest)[:, None]
        first = _apply(vectors.mT, _first_of_each(usable, sizes, self.backend))
        # If none of the first covaries: the feature that covaries most with all of them.
        diagonal = _diagonal(self.square)
        largest = _first_of_each(diagonal >= self.backend.xp.amax(diagonal, 1)[:, None], diagonal, self.backend)
        return _unit(self.backend.xp.where(usable.any(1)[:, None], first, _apply(self.square, largest)))

    def _refresh(self, k: int) -> None:
        since = slice(self.refreshed, k)
        for index in range(len(self.covariance)):
            self.covariance[index] -= self.others[index, since].T @ self.owns[index, since]
        self.refreshed = k
        self._recompute_square()

    def _recompute_square(self) -> None:
        for index, covariance in enumerate(self.covariance):
            self.square[index] = covariance.T @ covariance
        self.reference = self.backend.xp.amax(_diagonal(self.square), 1)

    def _centred(self, rows: Array) -> Array:
        return rows - ((rows * self.mask).sum(-1) / self.count)[:, None]


def _covariances(other: Array, own: Array, members: Floats, backend: Backend) -> Array:
    """Return ``other^T (own - its mean)`` over the training stimuli of each split."""
    result = backend.zeros(len(members), other.shape[1], own.shape[1])
    mean = backend.asarray(members / members.sum(-1, keepdims=True)) @ own
    mostly = members.mean(-1) > 0.5
    whole = other.T @ own if mostly.any() else None
    for index, row in enumerate(members):
        rows = np.flatnonzero(row == 0.0 if mostly[index] else row)
        part = other[rows].T @ (own[rows] - mean[index])
        # Sum over training of x (y - mean) = sum over all - sum over left out - (sum over training of x) mean; columns
        # of x sum to zero over all stimuli.
        result[index] = whole - part if mostly[index] else part
    return result


def _power_iterations(squares: Array, starts: Array, going: Array, backend: Backend, *, by_neuroid: bool) -> Array:
    """Follow scikit-learn's power iteration on A, for each active split.

    By feature, an iterate is w itself, of unit length. By neuroid it is c with w = S c of unit length, that is ``c^T A
    c = 1``. The squared change of w is 2 less twice the inner product of successive iterates.
    """
    if isinstance(backend, NumpyBackend):  # one by one: each matrix stays in the cache
        vectors = np.zeros_like(starts)
        for index in np.flatnonzero(going):
            vectors[index] = _power_iteration(squares[index], starts[index], by_neuroid=by_neuroid)
        return vectors
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
        vector = backend.xp.where(moving[:, None], image / length[:, None], vector)
        image = backend.xp.where(moving[:, None], following / length[:, None], image)
        moving = moving & (2.0 - 2.0 * cosine >= TOLERANCE)
        if iteration % CHECKED_EVERY == 0 and not bool(moving.any()):
            break
    return backend.xp.where(going[:, None], vector, 0.0)


def _power_iteration(square: Array, vector: Array, *, by_neuroid: bool) -> Array:
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
        image = following  # the last iterate, after the exchange
    return image / length if by_neuroid else vector


def _diagonal(squares: Array) -> Array:
    return squares.diagonal(0, 1, 2)


def _apply(matrices: Array, vectors: Array) -> Array:
    return (matrices @ vectors[..., None])[..., 0]


def _squares(vectors: Array) -> Array:
    return (vectors * vectors).sum(-1)


def _safe(values: Array) -> Array:
    """Replace values that are not positive by 1, for splits without covariance."""
    return values * (values > 0) + 1.0 * (values <= 0)


def _unit(vectors: Array) -> Array:
    return vectors / (_safe(_squares(vectors)) ** 0.5)[:, None]


def _first_of_each(chosen: Array, like: Array, backend: Backend) -> Array:
    """Return unit vectors, as an array like another, for the first true entry of each row; zeros without one."""
    first = backend.xp.zeros_like(like)
    first[chosen & (chosen.cumsum(1) == 1)] = 1.0
    return first
