"""Correlate columns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

import numpy as np

from brainscore_vision.metric_helpers.arrays.column_blocks import ColumnBlocks
from brainscore_vision.metric_helpers.arrays.ranking import Ranking
from brainscore_vision.metric_helpers.arrays.scale import ordinary_columns

if TYPE_CHECKING:
    from brainscore_vision.metric_helpers.arrays.types import ArrayLike, Floats, NDArray, Splits

__all__ = ["constant_columns", "correlate_parts", "hold_constants", "pearson_columns", "ranks", "spearman"]


# A spread below this share of the mean's size is rounding of a constant.
ROUNDING = 1e-13
_SQUARES = 1e250  # columns are rescaled if sums of squares exceed this or are below its inverse


def constant_columns(values: ArrayLike) -> NDArray[np.bool_]:
    """Return which columns are equal up to rounding, shape (n_columns,); False for columns with NaN."""
    array = np.asarray(values, dtype=np.float64)
    if len(array) == 0:
        return np.ones(array.shape[1:], dtype=bool)
    mean = array.mean(axis=0)
    spread = np.abs(array - mean).max(axis=0)
    constant: NDArray[np.bool_] = spread <= ROUNDING * np.abs(mean)
    return constant


def hold_constants(prediction: Floats, responses: Floats, train: ArrayLike) -> Floats:
    """Predict neuroids whose training responses are equal, up to rounding, by this response; in place.

    A regression with an intercept predicts just that, apart from rounding, which correlates with anything by chance.
    Shapes are (n_test, n_neuroids) and (n_stimuli, n_neuroids); `train` holds positions of stimuli.

    Examples
    --------
    >>> responses = np.array([[0.1, 1.0], [0.1, 2.0], [5.0, 3.0]])
    >>> hold_constants(np.array([[0.1 + 1e-16, 2.5]]), responses, [0, 1])
    array([[0.1, 2.5]])
    """
    rows = np.asarray(train, dtype=np.intp)
    likely = np.flatnonzero(constant_columns(responses[rows[:50]]))  # spares reading all responses
    constant = likely[constant_columns(responses[np.ix_(rows, likely)])]
    prediction[:, constant] = responses[rows[0], constant]
    return prediction


def pearson_columns(first: ArrayLike, second: ArrayLike) -> Floats:
    """Correlate each column of one array, shape (n_stimuli, n_columns), with the same column of another.

    ``r = sum((x - mean x)(y - mean y)) / sqrt(sum((x - mean x)^2) sum((y - mean y)^2))`` (Pearson 1895,
    doi:10.1098/rspl.1895.0041), in [-1, 1]; NaN where either column is constant or holds NaN. Invariant to shifts and
    positive scaling of a column.

    Examples
    --------
    >>> pearson_columns([[1., 0.], [2., 5.], [3., 0.]], [[2., 1.], [4., 1.], [6., 1.]])
    array([ 1., nan])
    """
    x = np.asarray(first, dtype=np.float64)
    y = np.asarray(second, dtype=np.float64)
    if x.shape != y.shape:
        raise ValueError(f"Arrays to correlate must have equal shapes, got {x.shape} and {y.shape}.")
    if len(x) == 0:
        return np.full(x.shape[1:], np.nan)
    undefined = constant_columns(x) | constant_columns(y)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # Normalise first: products of two small sums of squares would underflow.
        x, y = _of_length_one(x - x.mean(axis=0)), _of_length_one(y - y.mean(axis=0))
        r = np.clip(np.einsum("ij,ij->j", x, y), -1.0, 1.0)
    r[undefined] = np.nan
    return cast("Floats", r)


def _of_length_one(centred: Floats) -> Floats:
    squares = np.einsum("ij,ij->j", centred, centred)
    extreme = (squares < 1 / _SQUARES) | (squares > _SQUARES)
    if extreme.any():  # some or all digits are lost
        centred[:, extreme] = ordinary_columns(centred[:, extreme])
        squares = np.einsum("ij,ij->j", centred, centred)
    centred /= np.sqrt(squares)
    return centred


def ranks(values: ArrayLike) -> Floats:
    """Rank numbers without NaN from 1, shape (n,); equal ones share the mean of their ranks."""
    return Ranking.of(values).ranks()


def spearman(first: ArrayLike, second: ArrayLike) -> float:
    """Correlate the ranks of two lists of numbers (Spearman 1904, doi:10.2307/1412159).

    In [-1, 1]; NaN if either list is constant or holds NaN. Invariant to increasing transformations.
    """
    x = np.asarray(first, dtype=np.float64)
    y = np.asarray(second, dtype=np.float64)
    if np.isnan(x).any() or np.isnan(y).any():
        return float("nan")
    return float(pearson_columns(ranks(x)[:, None], ranks(y)[:, None])[0])


def correlate_parts(
    parts: Iterable[tuple[int, slice, Floats]], target: ArrayLike | ColumnBlocks, splits: Splits
) -> Floats:
    """Correlate predictions that arrive in parts with the responses, shape (n_splits, n_neuroids).

    Parts come from a `BlockPredictor`; `target` is read once if they come block by block, otherwise once per split. NaN
    where a neuroid is constant in training (see `hold_constants`) or test.
    """
    blocks = ColumnBlocks.of(target)
    rows = [[np.asarray(part, dtype=np.intp) for part in split] for split in splits]
    r = np.full((len(rows), blocks.shape[1]), np.nan)
    passing = blocks.placed()
    here, block = next(passing)
    for index, columns, prediction in parts:
        if columns.start < here.start:
            passing = blocks.placed()
            here, block = next(passing)
        while here.start < columns.start:
            here, block = next(passing)
        train, test = rows[index]
        r[index, columns] = pearson_columns(block[test], hold_constants(prediction, block, train))
    return r
