"""Predict every neuroid of a target by one source neuroid: the most correlated one, or one of its own.

``best_j = argmax_i r(x_i, y_j)`` over the training stimuli; its response is the prediction (Arend et al. 2018, Center
for Brains, Minds and Machines memo 93). For many splits, sums over left-out stimuli are subtracted from those over all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from brainscore_vision.metric_helpers.arrays.column_blocks import ColumnBlocks, centred
from brainscore_vision.metric_helpers.arrays.correlation import ROUNDING, constant_columns
from brainscore_vision.metric_helpers.arrays.regression.linear_maps import SplitRows, as_splits

if TYPE_CHECKING:
    from brainscore_vision.metric_helpers.arrays.types import ArrayLike, Floats, Indices, NDArray, Splits

__all__ = [
    "assign",
    "assigned_predict_splits",
    "best_source",
    "best_source_predict_splits",
    "partners",
    "training_correlations",
]

TIE = 1e-12  # smaller differences of correlations are ties: the first counts
CANCELLED = 1e-6  # sums of squares below this share of the sum over all stimuli are recomputed
CACHE_BYTES = 2**23  # source neuroids, or their correlations, processed together
PAIRS_BYTES = 512 * 2**20  # correlations of all pairs, for as many splits at a time


def best_source(source: ArrayLike | ColumnBlocks, target: ArrayLike) -> Indices:
    """Find the source neuroid with the largest correlation for each target neuroid.

    Returns its position in the source, shape (n_neuroids,), the first of ties; -1 where no correlation is defined.
    """
    blocks = ColumnBlocks.of(source)
    everything = np.arange(len(blocks), dtype=np.intp)
    (best,) = _search(blocks, target, [SplitRows(everything, everything[:0], everything[:0], len(blocks))])
    return best.index


def best_source_predict_splits(source: ArrayLike | ColumnBlocks, target: ArrayLike, splits: Splits) -> list[Floats]:
    """Predict held-out responses by the source neuroid with the largest training correlation, for every split.

    Predictions are NaN for target neuroids constant in training.
    """
    blocks = ColumnBlocks.of(source)
    return [best.values for best in _search(blocks, target, as_splits(splits, len(blocks)))]


def training_correlations(source: ArrayLike | ColumnBlocks, target: ArrayLike, splits: Splits) -> Iterator[Floats]:
    """Yield the correlations of every target with every source neuroid over the training stimuli, for each split.

    Yields
    ------
    ndarray, shape (n_neuroids, n_features)
        NaN where either is constant in training.
    """
    blocks = ColumnBlocks.of(source)
    pairs = as_splits(splits, len(blocks))
    y, _ = centred(target)
    together = max(1, PAIRS_BYTES // (8 * blocks.shape[1] * y.shape[1]))
    for begin in range(0, len(pairs), together):
        states = [_Training.of(split, y) for split in pairs[begin : begin + together]]
        correlations = [np.empty((y.shape[1], blocks.shape[1])) for _ in states]
        for number, first, products, raw in _products(blocks, y, states):
            with np.errstate(divide="ignore", invalid="ignore"):
                r = products / states[number].length[:, None]
            r[~np.isfinite(r)] = np.nan
            correlations[number][:, first : first + raw.shape[1]] = r
        yield from correlations


@dataclass
class _Training:
    """Target of one split, centred on training stimuli.

    Lengths of columns are 0 where constant. Neuroids that vary far more over all stimuli are recomputed, since
    differences of sums are inexact.
    """

    split: SplitRows
    target: Floats
    length: Floats
    recomputed: Indices

    @classmethod
    def of(cls, split: SplitRows, y: Floats) -> _Training:
        train = y[split.train]
        target = y - train.mean(axis=0)
        length = np.sqrt(np.einsum("ij,ij->j", target[split.train], target[split.train]))
        recomputed = np.flatnonzero(length**2 < CANCELLED * np.einsum("ij,ij->j", y, y))
        length[constant_columns(train)] = 0.0
        return cls(split, target, length, recomputed)


@dataclass
class _Found:
    """Best source neuroids of one split so far: position, correlation times `length`, responses to test stimuli."""

    training: _Training
    index: Indices
    size: Floats
    values: Floats

    @classmethod
    def nothing(cls, training: _Training) -> _Found:
        n, q = len(training.split.test), len(training.length)
        return cls(training, np.full(q, -1, dtype=np.intp), np.full(q, -np.inf), np.full((n, q), np.nan))

    def offer(self, products: Floats, first: int, raw: NDArray[Any]) -> None:
        """Update neuroids if one of these source neuroids, from position `first`, is better.

        Products, shape (n_neuroids, width), are correlations times `length`; -inf where undefined.
        """
        length = self.training.length
        tie = TIE * length
        size = products.max(axis=1)
        better = np.flatnonzero((size > self.size + tie) & (length > 0))
        if len(better) == 0:
            return
        limits = (size - tie)[better, None]
        index = (products[better] >= limits).argmax(axis=1)
        self.index[better] = first + index
        self.size[better] = size[better]
        self.values[:, better] = raw[np.ix_(self.training.split.test, index)]


def _search(source: ColumnBlocks, target: ArrayLike, splits: Sequence[SplitRows]) -> list[_Found]:
    y, _ = centred(target)
    states = [_Training.of(split, y) for split in splits]
    best = [_Found.nothing(state) for state in states]
    for number, first, products, raw in _products(source, y, states):
        best[number].offer(products, first, raw)
    return best


def _products(
    source: ColumnBlocks, y: Floats, states: Sequence[_Training]
) -> Iterator[tuple[int, int, Floats, NDArray[Any]]]:
    """Yield split number, position of the first source neuroid, products for `_Found` and responses, for each block."""
    outside = np.zeros((len(states), len(y)))
    for row, state in zip(outside, states, strict=True):
        row[state.split.left_out] = 1.0
    by_deletion = [state.split.by_deletion for state in states]
    width = max(64, CACHE_BYTES // (8 * max(y.shape)))
    first = 0
    for wide in source:
        for start in range(0, wide.shape[1], width):
            block = _Block.of(wide[:, start : start + width], y, outside)
            for number, state in enumerate(states):
                products = block.less(state, number) if by_deletion[number] else block.own(state)
                yield number, first + start, products, block.raw
        first += wide.shape[1]


@dataclass(frozen=True)
class _Block:
    """Original (`raw`) and centred responses of source neuroids, shape (n_stimuli, width), and sums over stimuli.

    Sums of squares (0 for constants up to rounding) and products with the centred target are over all stimuli; sums of
    x and its squares over those each split leaves out.
    """

    raw: NDArray[Any]
    x: Floats
    squares: Floats
    crossed: Floats
    sums: Floats
    squared: Floats

    @classmethod
    def of(cls, raw: NDArray[Any], y: Floats, outside: Floats) -> _Block:
        x, mean = centred(raw)
        square = x * x
        squares = square.sum(axis=0)
        squares[squares <= len(x) * (ROUNDING * mean) ** 2] = 0.0
        return cls(raw, x, squares, y.T @ x, outside @ x, outside @ square)

    def less(self, state: _Training, number: int) -> Floats:
        split = state.split
        squares = self.squares - self.squared[number] - self.sums[number] ** 2 / len(split.train)
        recomputed = ~(squares > CANCELLED * self.squares)
        squares[recomputed] = 1.0
        products = state.target[split.left_out].T @ self.x[split.left_out]
        np.subtract(self.crossed, products, out=products)
        products /= np.sqrt(squares)
        if len(state.recomputed):
            products[state.recomputed] = self.own(state, neuroids=state.recomputed)
        if recomputed.any():
            products[:, recomputed] = self.own(state, recomputed)
        return products

    def own(self, state: _Training, columns: Any = slice(None), neuroids: Any = slice(None)) -> Floats:
        values = self.raw[state.split.train][:, columns]
        x, _ = centred(values)
        products = state.target[state.split.train][:, neuroids].T @ x
        with np.errstate(divide="ignore", invalid="ignore"):
            products /= np.sqrt(np.einsum("ij,ij->j", x, x))
        products[:, constant_columns(values)] = -np.inf
        return products


# Pair every target neuroid with a different source neuroid, for the largest sum of correlations.
#
# ``best = argmax_pi sum_j r(x_pi(j), y_j)`` over injective maps pi, with training correlations: a linear sum
# assignment. Unlike in `best_source`, no partner is shared.
#
# References
# ----------
# Kuhn (1955), doi:10.1002/nav.3800020109. Crouse (2016), doi:10.1109/TAES.2016.140952, which SciPy uses. Li et al.
# (2016), arXiv:1511.07543.


UNDEFINED = -2.0  # replaces undefined correlations; below all defined ones


def assign(correlations: Floats) -> Indices:
    """Assign a different source neuroid to each target neuroid; return its position.

    Undefined (NaN) correlations, shape (n_neuroids, n_features), are a last resort; neuroids that only have these left
    get -1. ValueError if the target has more neuroids than the source.

    Examples
    --------
    >>> assign(np.array([[0.9, 0.1], [0.8, 0.7]]))
    array([0, 1])
    """
    q, p = correlations.shape
    if p < q:
        raise ValueError(
            f"One-to-one matching needs a source neuroid for each of the {q} target neuroids, but the source has only "
            f"{p}. Record more of the model, or use load_metric('soft_matching'), which can share neuroids."
        )
    defined = np.isfinite(correlations)
    _, columns = linear_sum_assignment(np.where(defined, correlations, UNDEFINED), maximize=True)
    assigned: Indices = np.where(defined[np.arange(q), columns], columns, -1)
    return assigned


def partners(source: ArrayLike | ColumnBlocks, target: ArrayLike) -> Indices:
    """Return the result of `assign` for correlations over all stimuli."""
    everything = np.arange(np.shape(target)[0], dtype=np.intp)
    (correlations,) = training_correlations(source, target, [(everything, everything[:0])])
    return assign(correlations)


def assigned_predict_splits(source: ArrayLike | ColumnBlocks, target: ArrayLike, splits: Splits) -> list[Floats]:
    """Predict held-out responses by the assigned partner's, for every split; NaN without a partner."""
    blocks = ColumnBlocks.of(source)
    assignments = [assign(correlations) for correlations in training_correlations(blocks, target, splits)]
    used, places = np.unique(np.concatenate(assignments), return_inverse=True)
    responses = blocks.columns(used[used >= 0]).astype(np.float64)
    if used[0] < 0:
        responses = np.column_stack([np.full(len(blocks), np.nan), responses])
    parts = np.split(places, len(assignments))
    tests = (np.asarray(test, dtype=np.intp) for _, test in splits)
    return [responses[np.ix_(test, part)] for test, part in zip(tests, parts, strict=True)]
