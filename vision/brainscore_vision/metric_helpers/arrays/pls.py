"""Compute partial least squares regression for many cross-validation splits at once.

The numbers are those of scikit-learn's ``PLSRegression(scale=False, algorithm='nipals')``: the same start vector, the
same stop rule and so the same number of power iterations for every component. Three things make it fast:

- With ``S = X^T Y`` the power iteration that looks for a weight vector ``w`` runs on ``M = S^T S``, a square matrix
  over neuroids, because every iterate is ``w ~ S c``.
- Neither ``X`` nor ``Y`` is deflated. Deflation by a component with scores ``t`` is the rank-one step
  ``S -> S - b r^T`` with ``b = X^T t`` and ``r = Y^T t / t^T t``, kept as factors.
- All splits advance together, so that products with ``X`` are matrix products, shared by the splits, and held-out
  scores come out of the same product as training scores.

Where features far outnumber stimuli, ``X`` is replaced by a factor of its Gram matrix ``X X^T``: PLS depends on the
features only through the inner products of stimuli.

References
----------
Wegelin (2000), A survey of partial least squares methods, with emphasis on the two-block case, section 4.1.
Dayal & MacGregor (1997), Improved PLS algorithms, doi:10.1002/(SICI)1099-128X(199701)11:1<73::AID-CEM435>3.0.CO;2-#.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["LinearMap", "pls_fit", "pls_predict_splits"]

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

MAX_ITERATIONS = 500
TOLERANCE = 1e-6  # on the squared change of the unit weight vector
REFRESH = 1e-4  # recompute M once down-dating has removed all but this part of it: rounding stays below 1e-11
EXHAUSTED = 1e-12  # relative size of a covariance that is rounding and nothing else
GRAM_BLOCK_BYTES = 32 * 2**20  # columns of X that are centred at once
WELL_CONDITIONED = 1e-6  # smallest over largest pivot of a Cholesky factor that is trusted
COVARIANCE_BYTES = 512 * 2**20  # the covariances of all splits may take this much memory


@dataclass(frozen=True)
class LinearMap:
    """A fitted linear regression, ``prediction = (source - source_mean) @ coefficients + target_mean``.

    Attributes
    ----------
    coefficients : ndarray, shape (n_features, n_neuroids)
    source_mean : ndarray, shape (n_features,)
    target_mean : ndarray, shape (n_neuroids,)
    """

    coefficients: Floats
    source_mean: Floats
    target_mean: Floats

    def predict(self, source: ArrayLike) -> Floats:
        """Apply the map to `source`, shape (n_stimuli, n_features); returns shape (n_stimuli, n_neuroids)."""
        centred = np.asarray(source, dtype=np.float64) - self.source_mean
        prediction: Floats = centred @ self.coefficients + self.target_mean
        return prediction


def pls_predict_splits(
    source: ArrayLike,
    target: ArrayLike,
    splits: Sequence[tuple[ArrayLike, ArrayLike]],
    n_components: int = 25,
) -> list[Floats]:
    """Predict held-out responses by PLS regression, for every split.

    Parameters
    ----------
    source : array-like, shape (n_stimuli, n_features)
        Predictors, finite.
    target : array-like, shape (n_stimuli, n_neuroids)
        Responses to the same stimuli in the same order, finite.
    splits : sequence of (train, test)
        Indices of stimuli.
    n_components : int
        Number of latent components; at most the number of features and of training stimuli.

    Returns
    -------
    list of ndarray, shape (n_test, n_neuroids)
        Predictions for the test stimuli of each split, in the order of its test indices.

    Raises
    ------
    ValueError
        If `n_components` is not between 1 and min(n_train, n_features).
    """
    pairs = [(np.asarray(train, dtype=np.intp), np.asarray(test, dtype=np.intp)) for train, test in splits]
    if any(len(np.unique(train)) != len(train) for train, _ in pairs):
        # Stimuli that count more than once, as in a bootstrap, do not fit the scheme of one row for each.
        x, y = np.asarray(source), np.asarray(target)
        return [pls_fit(x[train], y[train], n_components).predict(x[test]) for train, test in pairs]
    x = _matrix(source)
    y = _centred(target)
    for train, _ in pairs:
        _check_components(n_components, len(train), x.shape[1])
    pays = _compression_pays(x.shape, y.shape[1], len(pairs), n_components)
    x = _factor(_centred_gram(x)) if pays else _centred(x)
    fits = _lockstep(x, y, [train for train, _ in pairs], n_components)
    offset = np.asarray(target, dtype=np.float64).mean(axis=0)
    return [
        fit.scores[test] @ fit.loadings.T + (fit.target_mean + offset)
        for fit, (_, test) in zip(fits, pairs, strict=True)
    ]


def pls_fit(source: ArrayLike, target: ArrayLike, n_components: int = 25) -> LinearMap:
    """Fit one PLS regression on all stimuli.

    Parameters
    ----------
    source : array-like, shape (n_stimuli, n_features)
    target : array-like, shape (n_stimuli, n_neuroids)
    n_components : int

    Returns
    -------
    LinearMap

    Raises
    ------
    ValueError
        If `n_components` is not between 1 and min(n_stimuli, n_features).
    """
    x = _centred(source)
    y = _centred(target)
    _check_components(n_components, *x.shape)
    (fit,) = _lockstep(x, y, [np.arange(len(x), dtype=np.intp)], n_components)
    # scores = X weights inverse(mixing): the rotations of Wegelin (2000), with a triangular system of k x k.
    rotations = np.linalg.solve(fit.mixing.T, fit.weights.T).T
    return LinearMap(
        coefficients=rotations @ fit.loadings.T,
        source_mean=np.asarray(source, dtype=np.float64).mean(axis=0),
        target_mean=np.asarray(target, dtype=np.float64).mean(axis=0),
    )


@dataclass
class _Fit:
    """The state of one split while components are added.

    `scores` covers all stimuli, `active` is zero outside training; `pulled` holds X^T t, `loadings` holds r.
    """

    train: Indices
    target_mean: Floats  # (q,)
    covariance: Floats  # (p, q), S when it was last refreshed
    gram: Floats  # (q, q), M of the current residual
    largest: float  # largest diagonal entry of the very first M
    reference: float  # and of M when it was last refreshed
    scores: Floats  # (n, k)
    active: Floats  # (n, k)
    pulled: Floats  # (p, k)
    loadings: Floats  # (q, k)
    weights: Floats  # (p, k)
    mixing: Floats  # (k, k), upper triangular
    refreshed: int = 0  # components already contained in `covariance`
    count: int = 0
    done: bool = False

    def refresh(self) -> None:
        since = slice(self.refreshed, self.count)
        self.covariance -= self.pulled[:, since] @ self.loadings[:, since].T
        self.gram = self.covariance.T @ self.covariance
        self.refreshed = self.count
        self.reference = float(self.gram.diagonal().max())

    def next_weights(self) -> Floats | None:
        """Weight vector of the next component, unit length; None once nothing but rounding is left."""
        if self.gram.diagonal().max() < REFRESH * self.reference:
            self.refresh()
        diagonal = self.gram.diagonal()
        if not diagonal.max() > EXHAUSTED**2 * self.largest:
            return None
        start = int(np.argmax(diagonal > EXHAUSTED**2 * self.largest))
        direction = _power_iteration(self.gram, start)
        since = slice(self.refreshed, self.count)
        weights = self.covariance @ direction
        weights -= self.pulled[:, since] @ (direction @ self.loadings[:, since])
        length = float(np.linalg.norm(weights))
        return weights / length if length > 0 else None

    def add(self, weights: Floats, projected: Floats) -> bool:
        """Take the scores of the next component from `projected` = X w; False if they are rounding only."""
        k = self.count
        projected = projected - projected[self.train].mean()
        scores = projected.copy()
        known = self.active[:, :k]
        size = np.einsum("nk,nk->k", known, known)
        for _ in range(2):  # once is not enough for orthogonality to machine precision, twice is
            scores -= self.scores[:, :k] @ ((known.T @ scores) / size)
        scores -= scores[self.train].mean()
        self.scores[:, k] = scores
        self.active[self.train, k] = scores[self.train]
        self.weights[:, k] = weights
        self.mixing[:k, k] = (known.T @ projected) / size
        self.mixing[k, k] = 1.0
        norm = float(np.linalg.norm(scores[self.train]))
        return norm > EXHAUSTED * float(np.linalg.norm(projected[self.train]))

    def deflate(self, pulled: Floats, loadings: Floats) -> None:
        k = self.count
        since = slice(self.refreshed, k)
        crossed = self.covariance.T @ pulled
        crossed -= self.loadings[:, since] @ (self.pulled[:, since].T @ pulled)
        step = np.outer(crossed - (0.5 * (pulled @ pulled)) * loadings, loadings)
        self.gram -= step
        self.gram -= step.T
        self.pulled[:, k] = pulled
        self.loadings[:, k] = loadings
        self.count += 1

    def stop(self) -> None:
        self.done = True
        k = self.count
        self.scores, self.active, self.weights = self.scores[:, :k], self.active[:, :k], self.weights[:, :k]
        self.loadings, self.pulled, self.mixing = self.loadings[:, :k], self.pulled[:, :k], self.mixing[:k, :k]


def _lockstep(x: Floats, y: Floats, trains: Sequence[Indices], n_components: int) -> list[_Fit]:
    """Fit all splits, component by component."""
    fits = _start(x, y, trains, n_components)
    for k in range(n_components):
        weights = {index: fit.next_weights() for index, fit in enumerate(fits) if not fit.done}
        going = {index: vector for index, vector in weights.items() if vector is not None}
        if going:
            projected = x @ np.stack(list(going.values()), axis=1)
            for column, (index, vector) in enumerate(list(going.items())):
                if not fits[index].add(vector, projected[:, column]):
                    del going[index]
        for index in weights.keys() - going.keys():
            fits[index].stop()
        if not going:
            break
        scores = np.stack([fits[index].active[:, k] for index in going], axis=1)
        squared = np.einsum("ns,ns->s", scores, scores)
        pulled = np.ascontiguousarray((x.T @ scores).T)
        loadings = np.ascontiguousarray((y.T @ scores / squared).T)
        for column, index in enumerate(going):
            fits[index].deflate(pulled[column], loadings[column])
    return fits


def _start(x: Floats, y: Floats, trains: Sequence[Indices], n_components: int) -> list[_Fit]:
    n, p = x.shape
    q = y.shape[1]
    whole = x.T @ y if any(2 * len(train) > n for train in trains) else np.empty((0, 0))
    fits = []
    for train in trains:
        mean = y[train].mean(axis=0)
        covariance = _training_covariance(x, y, train, mean, whole)
        gram = covariance.T @ covariance
        largest = float(gram.diagonal().max())
        fits.append(
            _Fit(
                train=train,
                target_mean=mean,
                covariance=covariance,
                gram=gram,
                largest=largest,
                reference=largest,
                scores=np.zeros((n, n_components)),
                active=np.zeros((n, n_components)),
                pulled=np.zeros((p, n_components), order="F"),
                loadings=np.zeros((q, n_components)),
                weights=np.zeros((p, n_components), order="F"),
                mixing=np.zeros((n_components, n_components)),
            )
        )
    return fits


def _training_covariance(x: Floats, y: Floats, train: Indices, mean: Floats, whole: Floats) -> Floats:
    """S of the training stimuli: the S of all stimuli less the part of those left out, where that is less work."""
    left_out = np.setdiff1d(np.arange(len(x)), train)
    if 2 * len(train) <= len(x):
        return x[train].T @ (y[train] - mean)
    if len(left_out) == 0:
        return whole.copy()
    # Sum over training of x (y - mean) = sum over all - sum over left out - (sum over training of x) mean; and the
    # columns of x sum to zero over all stimuli.
    part = x[left_out]
    covariance: Floats = whole - part.T @ (y[left_out] - mean)
    return covariance


def _power_iteration(gram: Floats, start: int) -> Floats:
    """Follow scikit-learn's power iteration for w ~ S c in the coordinates c, with w of unit length."""
    direction = np.zeros(len(gram))
    direction[start] = 1.0
    mapped = gram[:, start].copy()
    length = np.sqrt(mapped[start])
    direction /= length
    mapped /= length
    for _ in range(1, MAX_ITERATIONS):
        following = mapped
        following_mapped = gram @ following
        length = np.sqrt(following @ following_mapped)
        following = following / length
        following_mapped /= length
        change = (following - direction) @ (following_mapped - mapped)
        direction, mapped = following, following_mapped
        if change < TOLERANCE:
            break
    return direction


def _compression_pays(shape: tuple[int, int], q: int, n_splits: int, n_components: int) -> bool:
    """Compare the cost of X X^T with what working on n rather than p columns saves (multiplications for a column)."""
    n, p = shape
    if p <= 2 * n:
        return False
    too_large = 8 * n_splits * p * q > COVARIANCE_BYTES
    saved = 4 * n * q + 2 * n_splits * q * q + 4 * n_splits * n_components * n
    return too_large or n * n < saved


def _centred_gram(values: NDArray[Any]) -> Floats:
    """Return X X^T of the column-centred X, block by block of columns, so that X is never copied whole."""
    n, p = values.shape
    gram = np.zeros((n, n))
    width = max(1, GRAM_BLOCK_BYTES // (8 * n))
    for start in range(0, p, width):
        block = _centred(values[:, start : start + width])
        gram += block @ block.T
    return gram


def _factor(gram: Floats) -> Floats:
    """Return some F of shape (n, n) with F F^T equal to the Gram matrix of centred columns.

    Only inner products of stimuli matter to PLS, so that the rows of F serve as features. The Gram matrix has the
    null vector of ones; adding a multiple of 1 1^T makes it definite and amounts to one more feature that is the same
    for all stimuli, which has no covariance with anything. Where other directions are missing too (stimuli that are
    equal) the eigenvectors give a factor.
    """
    n = len(gram)
    level = float(np.trace(gram)) / n**2
    try:
        factor = np.linalg.cholesky(gram + level)
    except np.linalg.LinAlgError:
        factor = np.zeros((1, 1))
    pivots = factor.diagonal()
    if pivots.min() > WELL_CONDITIONED * pivots.max():
        return np.asarray(factor - factor.mean(axis=0), dtype=np.float64)
    eigenvalues, vectors = np.linalg.eigh(gram)
    return np.asarray(vectors * np.sqrt(np.clip(eigenvalues, 0, None)), dtype=np.float64)


def _matrix(values: ArrayLike) -> NDArray[Any]:
    array = np.asarray(values)
    if array.ndim != 2:
        raise ValueError(f"Expected an array of shape (n_stimuli, n_columns), got shape {array.shape}.")
    return array


def _centred(values: ArrayLike) -> Floats:
    result = np.array(_matrix(values), dtype=np.float64)
    result -= result.mean(axis=0)
    return result


def _check_components(n_components: int, n_train: int, n_features: int) -> None:
    if not 1 <= n_components <= min(n_train, n_features):
        raise ValueError(
            f"PLS with {n_components} components needs at least as many training stimuli and features, but there are "
            f"{n_train} training stimuli and {n_features} features. Use fewer components, for instance "
            f"load_metric('pls', regression_kwargs={{'n_components': {min(n_train, n_features)}}})."
        )
