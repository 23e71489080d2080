"""Compute partial least squares regression for many cross-validation splits at once.

Results equal scikit-learn's ``PLSRegression(scale=False, algorithm='nipals')``, with the same start vector and stop
rule, but faster:

* With ``S = X^T Y`` the power iteration runs on the smaller of ``S^T S`` and ``S S^T``; neither ``X`` nor ``Y`` is
  deflated (see `_pls_components`).
* All splits share matrix products with ``X``.
* Many features, or neuroids, are replaced by a factor of their Gram matrix: PLS depends only on inner products.

The stop rule (a squared change of the weight vector below 1e-6) precedes convergence, so that the third to fifth digit
depends on the first neuroid.

References
----------
Wegelin (2000), A survey of partial least squares methods, with emphasis on the two-block case, section 4.1. Dayal &
MacGregor (1997), doi:10.1002/(SICI)1099-128X(199701)11:1<73::AID-CEM435>3.0.CO;2-#.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from brainscore_vision.metric_helpers.arrays.backend import Backend, resolve
from brainscore_vision.metric_helpers.arrays.column_blocks import ColumnBlocks, as_matrix, centred
from brainscore_vision.metric_helpers.arrays.regression._pls_components import FIRST, Components, find_components
from brainscore_vision.metric_helpers.arrays.regression.gram import centred_gram, gram_factor
from brainscore_vision.metric_helpers.arrays.regression.linear_maps import LinearMap, LinearSmoother

if TYPE_CHECKING:
    from brainscore_vision.metric_helpers.arrays.types import ArrayLike, Floats, Indices, Splits

__all__ = ["pls_fit", "pls_predict_splits", "pls_rotations", "pls_smooth_splits"]

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
