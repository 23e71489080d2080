"""Compute partial least squares regression for many cross-validation splits at once.

Results equal scikit-learn's ``PLSRegression(scale=False, algorithm='nipals')``, with the same start vector and stop
rule, but faster:

* With ``S = X^T Y`` the power iteration runs on the smaller of ``S^T S`` and ``S S^T``; neither ``X`` nor ``Y`` is
  deflated (see `find_components`).
* All splits share matrix products with ``X``.
* Many features, or neuroids, are replaced by a factor of their Gram matrix: PLS depends only on inner products.

The stop rule (a squared change of the weight vector below 1e-6) precedes convergence, so the third to fifth digit
depends on the first neuroid.

References
----------
Wegelin (2000), A survey of partial least squares methods, with emphasis on the two-block case, section 4.1. Dayal &
MacGregor (1997), doi:10.1002/(SICI)1099-128X(199701)11:1<73::AID-CEM435>3.0.CO;2-#.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from brainscore_vision.metric_helpers.arrays.backend import Backend, resolve
from brainscore_vision.metric_helpers.arrays.column_blocks import ColumnBlocks, as_matrix, centred
from brainscore_vision.metric_helpers.arrays.regression.linear_maps import (
    LinearMap,
    LinearSmoother,
    centred_gram,
    gram_factor,
)
from brainscore_vision.metric_helpers.arrays.seeds import generator

if TYPE_CHECKING:
    from brainscore_vision.metric_helpers.arrays.types import Array, ArrayLike, Floats, Indices, NDArray, Splits

__all__ = [
    "Components",
    "find_components",
    "inner_folds",
    "pls_fit",
    "pls_path_fit",
    "pls_path_iterate",
    "pls_path_predict_splits",
    "pls_predict_splits",
    "pls_rotations",
    "pls_smooth_splits",
]

# Find the components of partial least squares for many training sets in lockstep, on NumPy or torch in float64.
#
# Let ``S = X^T Y`` for the training stimuli of a split. A component is the weight vector ``w`` at which the power
# iteration ``w <- S S^T w`` stops, its scores ``t = X w``, and the deflation ``S <- S - b r^T`` with ``b = X^T t`` and
# ``r = Y^T t / t^T t``. The iteration runs on the smaller side, called own: over neuroids, where every iterate is ``w ~
# S c``, on ``A = S^T S``; over features on ``A = S S^T``.
#
# ``S`` is stored as (other, own), and ``A = S^T S``. A deflation by vectors o and v of the two sides changes A as ``A
# <- A - h v^T - v h^T`` with ``h = S^T o - |o|^2 v / 2``.


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
    if backend.xp is np:  # one by one: each matrix stays in the cache
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


# Predict many splits from their components.

COPY_BYTES = 512 * 2**20  # largest matrix that is copied whole to float64
STATE_BYTES = 512 * 2**20  # memory for the state of all splits that advance together
# Nanoseconds on one core for a multiply-add in a large matrix product, in a product with few columns, and for reading a
# number from memory. Only their ratios matter.
DENSE, SKINNY, READ = 0.04, 0.09, 0.5


def pls_predict_splits(
    source: ArrayLike | ColumnBlocks,
    target: ArrayLike,
    splits: Splits,
    n_components: int = 25,
    *,
    backend: str | Backend | None = None,
) -> list[Floats]:
    """Predict held-out responses by PLS regression, for every split.

    ValueError if `n_components` is not between 1 and min(n_train, n_features).
    """
    y = as_matrix(target)
    if _compressed(y.shape, len(y)):
        smoothers = pls_smooth_splits(source, y, splits, n_components, backend=backend)
        return [smoother.predict(y) for smoother in smoothers]
    pairs, sources = _pairs(source, splits, n_components)
    if _repeats(pairs):
        # Repeated stimuli, as in a bootstrap, need a row for each repetition.
        return [
            pls_predict_splits(rows, values, [split], n_components, backend=backend)[0]
            for rows, values, split, _ in _each_alone(sources, y, pairs)
        ]
    y, offset = centred(y)
    predictions: list[Floats] = []
    for group, components in _components(sources, y, pairs, n_components, resolve(backend)):
        for (train, test), scores, loadings in zip(group, components.scores, components.loadings, strict=True):
            predictions.append(scores[:, test].T @ loadings + (y[train].mean(axis=0) + offset))
    return predictions


def pls_smooth_splits(
    source: ArrayLike | ColumnBlocks,
    target: ArrayLike | ColumnBlocks,
    splits: Splits,
    n_components: int = 25,
    *,
    backend: str | Backend | None = None,
) -> list[LinearSmoother]:
    """Find smoothers that predict held-out responses as `pls_predict_splits`, for targets of any width.

    The target is read block by block, in one pass, where neuroids outnumber stimuli.
    """
    pairs, sources = _pairs(source, splits, n_components)
    targets = ColumnBlocks.of(target)
    if _repeats(pairs):
        smoothers = []
        for rows, values, split, positions in _each_alone(sources, targets, pairs):
            (alone,) = pls_smooth_splits(rows, values, [split], n_components, backend=backend)
            right = np.zeros((len(targets), alone.right.shape[1]))
            np.add.at(right, positions, alone.right)
            smoothers.append(LinearSmoother(alone.left, right))
        return smoothers
    used = resolve(backend)
    if _compressed(targets.shape, len(targets)):
        y = used.numpy(gram_factor(centred_gram(targets, backend=used), backend=used))
        first = centred(targets.columns(np.arange(FIRST)))[0]
    else:
        y, first = centred(targets.to_array())[0], None
    smoothers = []
    for group, components in _components(sources, y, pairs, n_components, used, first):
        for (train, test), scores, active, sizes in zip(
            group, components.scores, components.active, components.sizes, strict=True
        ):
            # The last column is the intercept: the mean over training stimuli.
            mean = np.zeros((len(targets), 1))
            mean[train] = 1.0 / len(train)
            smoothers.append(
                LinearSmoother(
                    left=np.column_stack([scores[:, test].T, np.ones(len(test))]),
                    right=np.concatenate([active.T / sizes, mean], axis=1),
                )
            )
    return smoothers


def pls_fit(
    source: ArrayLike | ColumnBlocks, target: ArrayLike, n_components: int = 25, *, backend: str | Backend | None = None
) -> LinearMap:
    """Fit one PLS regression on all stimuli as `pls_predict_splits`, with `source` copied whole."""
    x, source_mean = centred(source.to_array() if isinstance(source, ColumnBlocks) else source)
    y, target_mean = centred(target)
    rotations, loadings = pls_rotations(x, y, n_components, backend=backend)
    return LinearMap(rotations.T @ loadings, source_mean, target_mean)


def pls_rotations(
    x: Floats, y: Floats, n_components: int, *, backend: str | Backend | None = None
) -> tuple[Floats, Floats]:
    """Return rotations and loadings: with the first k of both, ``X rotations^T loadings`` is the fit of k components.

    Both sides are centred. Shapes are (n_components, n_features) and (n_components, n_neuroids).
    """
    _check_components(n_components, *x.shape)
    used = resolve(backend)
    trains = [np.arange(len(x), dtype=np.intp)]
    components = find_components(used.asarray(x), used.asarray(y), trains, n_components, backend=used)
    # scores = X weights inverse(mixing): the rotations of Wegelin (2000), by a triangular k x k system.
    return np.linalg.solve(components.mixing[0].T, components.weights[0]), components.loadings[0]


def _components(
    source: ColumnBlocks,
    y: Floats,
    pairs: Sequence[tuple[Indices, Indices]],
    n_components: int,
    backend: Backend,
    first: Floats | None = None,
) -> Iterator[tuple[Sequence[tuple[Indices, Indices]], Components]]:
    targets = backend.asarray(y)
    starts = None if first is None else backend.asarray(first)
    if _gram_pays(source.shape, y.shape[1], len(pairs), n_components):
        x = gram_factor(centred_gram(source, backend=backend), backend=backend)
    else:
        values = source.to_array()
        values -= values.mean(axis=0)
        x = backend.asarray(values)
    own, other = sorted((x.shape[1], y.shape[1]))
    together = max(1, STATE_BYTES // (8 * own * (own + other)))
    for begin in range(0, len(pairs), together):
        group = pairs[begin : begin + together]
        trains = [train for train, _ in group]
        yield group, find_components(x, targets, trains, n_components, backend=backend, first=starts)


def _gram_pays(shape: tuple[int, int], n_targets: int, n_splits: int, n_components: int) -> bool:
    n, p = shape
    if p <= n:
        return False
    if 8 * n * p > COPY_BYTES:
        return True
    products = 2 * DENSE * n * n_targets + 2 * n_components * n * max(SKINNY * n_splits, READ)
    covariances = n_splits * n_targets * (2 * DENSE * min(p, n_targets) + 2 * READ * n_components)
    return DENSE * (n * n * p / 2 + n**3 / 3) < (products + covariances) * (p - n)


def _compressed(shape: tuple[int, int], n_stimuli: int) -> bool:
    return shape[1] > n_stimuli and shape[1] > FIRST


def _pairs(
    source: ArrayLike | ColumnBlocks, splits: Splits, n_components: int
) -> tuple[list[tuple[Indices, Indices]], ColumnBlocks]:
    blocks = ColumnBlocks.of(source)
    pairs = [(np.asarray(train, dtype=np.intp), np.asarray(test, dtype=np.intp)) for train, test in splits]
    for train, _ in pairs:
        _check_components(n_components, len(train), blocks.shape[1])
    return pairs, blocks


def _repeats(pairs: Sequence[tuple[Indices, Indices]]) -> bool:
    return any(len(train) and int(np.bincount(train).max()) > 1 for train, _ in pairs)


def _each_alone(source: ColumnBlocks, target: Any, pairs: Sequence[tuple[Indices, Indices]]) -> Iterator[Any]:
    """Yield source, target and positions of each split, with a row for every repetition of a stimulus."""
    for train, test in pairs:
        rows = np.concatenate([train, test])
        split = np.arange(len(train)), np.arange(len(train), len(rows))
        values = target.rows(rows) if isinstance(target, ColumnBlocks) else target[rows]
        yield source.rows(rows), values, split, rows


def _check_components(n_components: int, n_train: int, n_features: int) -> None:
    if not 1 <= n_components <= min(n_train, n_features):
        raise ValueError(
            f"PLS with {n_components} components needs at least as many training stimuli and features, but there are "
            f"{n_train} training stimuli and {n_features} features. Use fewer components, for instance "
            f"load_metric('pls', regression_kwargs={{'n_components': {min(n_train, n_features)}}})."
        )


# Select the number of components of partial least squares for each neuroid, inside each training set.
#
# The fit of K components contains the fits of all smaller numbers, so one fit of each inner fold gives all errors,
#
# ``E_jk = sum_f sum_(i in fold f) (y_ij - m_fj - sum_(c <= k) t_fic l_fcj)^2``
#
# with scores t, loadings l and means m of the fit without the fold; neuroid j takes the k of least E_jk. All neuroids
# share their components, as in `pls`.
#
# References
# ----------
# Wold et al. (2001), section 3.8, doi:10.1016/S0169-7439(01)00155-1. Stone (1974),
# doi:10.1111/j.2517-6161.1974.tb00994.x.


FOLDS = 5


def inner_folds(train: ArrayLike, n_folds: int = FOLDS) -> list[tuple[Indices, Indices]]:
    """Divide training stimuli into folds with a fixed seed; return positions in (train, test) of each.

    Folds depend on the order of `train`. A position that repeats, as in a bootstrap, is in one fold. At most as many
    folds as stimuli are used; ValueError with fewer than two folds or stimuli.
    """
    positions = np.asarray(train, dtype=np.intp)
    distinct = positions[np.sort(np.unique(positions, return_index=True)[1])]
    number = min(n_folds, len(distinct))
    if number < 2:
        raise ValueError(
            "Choosing the number of components needs at least two folds of at least two training stimuli; got "
            f"{n_folds} folds and {len(distinct)} training stimuli."
        )
    shuffled = generator(0, "inner folds").permutation(distinct)
    folds = [shuffled[fold::number] for fold in range(number)]
    return [(positions[~np.isin(positions, fold)], fold) for fold in folds]


def pls_path_predict_splits(
    source: ArrayLike | ColumnBlocks,
    target: ArrayLike | ColumnBlocks,
    splits: Splits,
    n_components: int = 25,
    *,
    n_folds: int = FOLDS,
    backend: str | Backend | None = None,
) -> tuple[list[Floats], list[Indices]]:
    """Predict held-out responses with the number of components selected for each neuroid, for every split.

    Parameters
    ----------
    n_components
        Largest number; less with fewer features, or fewer training stimuli in an inner fit.
    n_folds
        See `inner_folds`.

    Returns
    -------
    predictions : list of ndarray, shape (n_test, n_neuroids)
    chosen : list of ndarray of int, shape (n_neuroids,)
        Numbers of components, from 1.
    """
    responses = ColumnBlocks.of(target)
    q = responses.shape[1]
    predictions = [np.empty((len(np.asarray(test)), q)) for _, test in splits]
    selected = [np.empty(q, dtype=np.intp) for _ in splits]
    for index, columns, part, numbers in pls_path_iterate(
        source, responses, splits, n_components, n_folds=n_folds, backend=backend
    ):
        predictions[index][:, columns], selected[index][columns] = part, numbers
    return predictions, selected


def pls_path_iterate(
    source: ArrayLike | ColumnBlocks,
    target: ArrayLike | ColumnBlocks,
    splits: Splits,
    n_components: int = 25,
    *,
    n_folds: int = FOLDS,
    backend: str | Backend | None = None,
) -> Iterator[tuple[int, slice, Floats, Indices]]:
    """Yield the result of `pls_path_predict_splits` in parts, with the numbers of components last."""
    blocks, responses = ColumnBlocks.of(source), ColumnBlocks.of(target)
    inner = [inner_folds(train, n_folds) for train, _ in splits]
    flat = [fold for folds in inner for fold in folds]
    largest = min(n_components, blocks.shape[1], *(len(train) for train, _ in flat))
    smoothers = pls_smooth_splits(blocks, responses, [*splits, *flat], largest, backend=backend)
    bounds = np.cumsum([len(splits), *map(len, inner)])
    for columns, block in responses.placed():
        y, offset = centred(block)  # a large mean would cost digits
        for index, folds in enumerate(inner):
            parts = smoothers[bounds[index] : bounds[index + 1]]
            selected = _losses(parts, [test for _, test in folds], y).argmin(axis=0) + 1
            scores, loadings, mean = _scores_and_loadings(smoothers[index], y)
            prediction = scores @ (loadings * _used(loadings, selected))
            prediction += mean + offset
            yield index, columns, prediction, selected


def pls_path_fit(
    source: ArrayLike | ColumnBlocks,
    target: ArrayLike,
    n_components: int = 25,
    *,
    n_folds: int = FOLDS,
    backend: str | Backend | None = None,
) -> tuple[LinearMap, Indices]:
    """Fit all stimuli as `pls_path_predict_splits`, with `source` copied whole; also return numbers of components."""
    x, source_mean = centred(source.to_array() if isinstance(source, ColumnBlocks) else source)
    y, target_mean = centred(target)
    everything = np.arange(len(x), dtype=np.intp)
    _, (selected,) = pls_path_predict_splits(
        x, y, [(everything, everything[:1])], n_components, n_folds=n_folds, backend=backend
    )
    rotations, loadings = pls_rotations(x, y, int(selected.max()), backend=backend)
    return LinearMap(rotations.T @ (loadings * _used(loadings, selected)), source_mean, target_mean), selected


def _losses(smoothers: Sequence[LinearSmoother], tests: Sequence[Indices], y: Floats) -> Floats:
    losses = np.zeros((smoothers[0].right.shape[1] - 1, y.shape[1]))
    for smoother, test in zip(smoothers, tests, strict=True):
        scores, loadings, mean = _scores_and_loadings(smoother, y)
        missing = y[test] - mean
        for k, (score, loading) in enumerate(zip(scores.T, loadings, strict=True)):
            missing -= np.multiply.outer(score, loading)
            losses[k] += np.einsum("ij,ij->j", missing, missing)
    return losses


def _scores_and_loadings(smoother: LinearSmoother, y: Floats) -> tuple[Floats, Floats, Floats]:
    assert smoother.left is not None  # noqa: S101 -- always set by PLS; for the type checker
    *_, mean = weighted = smoother.right.T @ y
    return smoother.left[:, :-1], weighted[:-1], mean


def _used(loadings: Floats, chosen: Indices) -> NDArray[np.bool_]:
    used: NDArray[np.bool_] = np.arange(len(loadings))[:, None] < chosen
    return used
