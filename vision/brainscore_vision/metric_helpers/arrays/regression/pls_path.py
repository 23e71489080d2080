"""Select the number of components of partial least squares for each neuroid, inside each training set.

The fit of K components contains those of all smaller numbers, so that one fit of each inner fold gives all errors,

    ``E_jk = sum_f sum_(i in fold f) (y_ij - m_fj - sum_(c <= k) t_fic l_fcj)^2``

with scores t, loadings l and means m of the fit without the fold; neuroid j takes the k of least E_jk. Components are
those of all neuroids together, as in `pls`.

References
----------
Wold et al. (2001), section 3.8, doi:10.1016/S0169-7439(01)00155-1. Stone (1974),
doi:10.1111/j.2517-6161.1974.tb00994.x.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from brainscore_vision.metric_helpers.arrays.column_blocks import ColumnBlocks, centred
from brainscore_vision.metric_helpers.arrays.regression.linear_maps import LinearMap, LinearSmoother
from brainscore_vision.metric_helpers.arrays.regression.pls import pls_rotations, pls_smooth_splits
from brainscore_vision.metric_helpers.arrays.seeds import generator

if TYPE_CHECKING:
    from brainscore_vision.metric_helpers.arrays.backend import Backend
    from brainscore_vision.metric_helpers.arrays.types import ArrayLike, Floats, Indices, NDArray, Splits

__all__ = ["inner_folds", "pls_path_fit", "pls_path_iterate", "pls_path_predict_splits"]

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
            f"The number of components is chosen on folds of the training stimuli: at least two folds of at least two "
            f"stimuli are needed, got {n_folds} folds and {len(distinct)} training stimuli."
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
            scores, loadings, mean = _components(smoothers[index], y)
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
        scores, loadings, mean = _components(smoother, y)
        missing = y[test] - mean
        for k, (score, loading) in enumerate(zip(scores.T, loadings, strict=True)):
            missing -= np.multiply.outer(score, loading)
            losses[k] += np.einsum("ij,ij->j", missing, missing)
    return losses


def _components(smoother: LinearSmoother, y: Floats) -> tuple[Floats, Floats, Floats]:
    assert smoother.left is not None  # noqa: S101 -- always set by PLS; for the type checker
    *_, mean = weighted = smoother.right.T @ y
    return smoother.left[:, :-1], weighted[:-1], mean


def _used(loadings: Floats, chosen: Indices) -> NDArray[np.bool_]:
    used: NDArray[np.bool_] = np.arange(len(loadings))[:, None] < chosen
    return used
