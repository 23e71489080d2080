"""Find, for every neuroid of a target, the one neuroid of the source that it correlates with most.

``best_j = argmax_i r(x_i, y_j)`` over the training stimuli; the response of that neuroid of the source, as it is, is
the prediction. Correlations of all pairs are one matrix product. For many splits, sums over training stimuli are those
over all stimuli less those over the stimuli left out. Sources are read in blocks.

References
----------
Arend et al. (2018), Single units in a deep neural network functionally correspond with neurons in the brain:
preliminary results, Center for Brains, Minds and Machines memo 93.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from brainscore_vision.metric_helpers.arrays.column_blocks import ColumnBlocks, centred
from brainscore_vision.metric_helpers.arrays.correlation import ROUNDING, constant_columns
from brainscore_vision.metric_helpers.arrays.regression.split_fits import Split, as_splits

if TYPE_CHECKING:
    from brainscore_vision.metric_helpers.arrays.types import ArrayLike, Floats, Indices, NDArray, Splits

__all__ = ["best_source", "best_source_predict_splits", "training_correlations"]

TIE = 1e-12  # correlations that differ by less are equal: the first of them counts
CANCELLED = 1e-6  # sums of squares below this part of those of all stimuli are computed anew
CACHE_BYTES = 2**23  # of the source neuroids, or their correlations, that are looked at together
PAIRS_BYTES = 512 * 2**20  # of the correlations of all pairs, for as many splits at a time


def best_source(source: ArrayLike | ColumnBlocks, target: ArrayLike) -> Indices:
    """Find the neuroid of the source that correlates most with each neuroid of the target.

    Parameters
    ----------
    source : array-like or ColumnBlocks, shape (n_stimuli, n_features)
        Finite.
    target : array-like, shape (n_stimuli, n_neuroids)
        Finite.

    Returns
    -------
    ndarray of int, shape (n_neuroids,)
        Position in the source, the first of those that are equally good; -1 where no correlation is defined since the
        target is constant, or all of the source.
    """
    blocks = ColumnBlocks.of(source)
    everything = np.arange(len(blocks), dtype=np.intp)
    (found,) = _search(blocks, target, [Split(everything, everything[:0], everything[:0], len(blocks))])
    return found.index


def best_source_predict_splits(source: ArrayLike | ColumnBlocks, target: ArrayLike, splits: Splits) -> list[Floats]:
    """Predict held-out responses by the neuroid of the source that correlates most in training, for every split.

    Parameters
    ----------
    source : array-like or ColumnBlocks, shape (n_stimuli, n_features)
        Finite.
    target : array-like, shape (n_stimuli, n_neuroids)
        Responses to the same stimuli in the same order, finite.
    splits : sequence of (train, test)
        Indices of stimuli.

    Returns
    -------
    list of ndarray, shape (n_test, n_neuroids)
        Responses of the chosen neuroids to the test stimuli, in the order of the test indices; NaN for neuroids of the
        target that are constant in training.

    Raises
    ------
    ValueError
        If a training set is empty.
    """
    blocks = ColumnBlocks.of(source)
    return [found.values for found in _search(blocks, target, as_splits(splits, len(blocks)))]


def training_correlations(source: ArrayLike | ColumnBlocks, target: ArrayLike, splits: Splits) -> Iterator[Floats]:
    """Correlate every neuroid of the source with every one of the target over the training stimuli of each split.

    Parameters
    ----------
    source, target, splits
        As for `best_source_predict_splits`.

    Yields
    ------
    ndarray, shape (n_neuroids, n_features)
        Of a split. NaN where either is constant in training.

    Raises
    ------
    ValueError
        If a training set is empty.
    """
    blocks = ColumnBlocks.of(source)
    pairs = as_splits(splits, len(blocks))
    y, _ = centred(target)
    together = max(1, PAIRS_BYTES // (8 * blocks.shape[1] * y.shape[1]))
    for begin in range(0, len(pairs), together):
        states = [_Training.of(split, y) for split in pairs[begin : begin + together]]
        correlations = [np.empty((y.shape[1], blocks.shape[1])) for _ in states]
        for number, first, products, raw in _products(blocks, y, states):
            with np.errstate(divide="ignore", invalid="ignore"):  # neuroids without length are NaN
                r = products / states[number].length[:, None]
            r[~np.isfinite(r)] = np.nan
            correlations[number][:, first : first + raw.shape[1]] = r
        yield from correlations


@dataclass
class _Training:
    """What one split needs for its correlations.

    Attributes
    ----------
    split : Split
    target : ndarray, shape (n_stimuli, n_neuroids)
        Responses to all stimuli, centred on those that train.
    length : ndarray, shape (n_neuroids,)
        Of these columns over the stimuli that train; 0 where they are constant.
    anew : ndarray of int
        Neuroids whose responses vary so much more over all stimuli that sums less sums are too inexact.
    """

    split: Split
    target: Floats
    length: Floats
    anew: Indices

    @classmethod
    def of(cls, split: Split, y: Floats) -> _Training:
        train = y[split.train]
        target = y - train.mean(axis=0)
        length = np.sqrt(np.einsum("ij,ij->j", target[split.train], target[split.train]))
        anew = np.flatnonzero(length**2 < CANCELLED * np.einsum("ij,ij->j", y, y))
        length[constant_columns(train)] = 0.0
        return cls(split, target, length, anew)


@dataclass
class _Found:
    """What one split found so far.

    Attributes
    ----------
    training : _Training
    index, size : ndarray, shape (n_neuroids,)
        The best source neuroid, and its correlation times `length`.
    values : ndarray, shape (n_test, n_neuroids)
        Its responses to the test stimuli.
    """

    training: _Training
    index: Indices
    size: Floats
    values: Floats

    @classmethod
    def nothing(cls, training: _Training) -> _Found:
        n, q = len(training.split.test), len(training.length)
        return cls(training, np.full(q, -1, dtype=np.intp), np.full(q, -np.inf), np.full((n, q), np.nan))

    def offer(self, products: Floats, first: int, raw: NDArray[Any]) -> None:
        """Take what is better than anything before.

        Parameters
        ----------
        products : ndarray, shape (n_neuroids, width)
            Correlations times `length`; -inf where undefined.
        first : int
            Position of the first of these source neuroids.
        raw : ndarray, shape (n_stimuli, width)
            Their responses.
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


def _search(source: ColumnBlocks, target: ArrayLike, splits: Sequence[Split]) -> list[_Found]:
    y, _ = centred(target)
    states = [_Training.of(split, y) for split in splits]
    found = [_Found.nothing(state) for state in states]
    for number, first, products, raw in _products(source, y, states):
        found[number].offer(products, first, raw)
    return found


def _products(
    source: ColumnBlocks, y: Floats, states: Sequence[_Training]
) -> Iterator[tuple[int, int, Floats, NDArray[Any]]]:
    """Yield, of some source neuroids: number of the split, place of the first, products for `_Found`, responses."""
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
    """Some neuroids of the source, and sums over all stimuli.

    Attributes
    ----------
    raw, x : ndarray, shape (n_stimuli, width)
        As given, and centred.
    squares : ndarray, shape (width,)
        Sums of squares of x; 0 for what is constant but for rounding.
    crossed : ndarray, shape (n_neuroids, width)
        Sums of products with the centred target.
    sums, squared : ndarray, shape (n_splits, width)
        Sums of x and of its squares over the stimuli that each split leaves out.
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
        """Return products as `_Found` takes them, from sums over all stimuli less those over the ones left out."""
        split = state.split
        squares = self.squares - self.squared[number] - self.sums[number] ** 2 / len(split.train)
        anew = ~(squares > CANCELLED * self.squares)
        squares[anew] = 1.0
        products = state.target[split.left_out].T @ self.x[split.left_out]
        np.subtract(self.crossed, products, out=products)
        products /= np.sqrt(squares)
        if len(state.anew):
            products[state.anew] = self.own(state, neuroids=state.anew)
        if anew.any():
            products[:, anew] = self.own(state, anew)
        return products

    def own(self, state: _Training, columns: Any = slice(None), neuroids: Any = slice(None)) -> Floats:
        """Return them from the stimuli that train."""
        values = self.raw[state.split.train][:, columns]
        x, _ = centred(values)
        products = state.target[state.split.train][:, neuroids].T @ x
        with np.errstate(divide="ignore", invalid="ignore"):  # constant columns are set below
            products /= np.sqrt(np.einsum("ij,ij->j", x, x))
        products[:, constant_columns(values)] = -np.inf
        return products
