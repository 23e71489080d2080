"""Compute inner products of stimuli, block by block of features.

Linear regression depends on features only through the Gram matrix ``X X^T`` of the centred features. Where features
outnumber stimuli it is smaller, all splits share it, and features need never be in memory at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from brainscore_vision.metric_helpers.arrays.backend import Backend, resolve
from brainscore_vision.metric_helpers.arrays.column_blocks import ColumnBlocks

if TYPE_CHECKING:
    from brainscore_vision.metric_helpers.arrays.types import Array, ArrayLike, Floats, Indices

__all__ = ["centred_gram", "gram_factor", "gram_of_split"]

SMALLEST_PIVOT = 1e-6  # least ratio of smallest to largest pivot of a trusted Cholesky factor


def centred_gram(source: ArrayLike | ColumnBlocks, *, backend: str | Backend | None = None) -> Array:
    """Return the Gram matrix ``X X^T`` of the column-centred X, read in one pass, as an array of the backend.

    It is symmetric; rows and columns sum to zero. For inner products between training and test stimuli, pass both
    (`stack_rows`) and use `gram_of_split`. Features that are not finite raise ValueError.
    """
    used = resolve(backend)
    blocks = ColumnBlocks.of(source)
    gram = used.gram(len(blocks), blocks)
    if not np.isfinite(float(gram.sum())):
        raise ValueError(
            f"The inner products of the {blocks.shape[0]} stimuli over {blocks.shape[1]} features are not finite: the "
            "features hold NaN or infinite values, or are too large to be squared."
        )
    return gram


def gram_of_split(gram: Floats, train: Indices, test: Indices) -> tuple[Floats, Floats]:
    """Return inner products of training stimuli, centred on their mean, and of test with training stimuli.

    The given ones, of all stimuli, are centred on any point. Shapes are (n_train, n_train) and (n_test, n_train).
    """
    within = gram[np.ix_(train, train)]
    across = gram[np.ix_(test, train)]
    mean = within.mean(axis=0)
    across -= across.mean(axis=1)[:, None]
    across -= mean - mean.mean()
    within -= mean[:, None]
    within -= mean - mean.mean()
    return within, across


def gram_factor(gram: Array, *, backend: str | Backend | None = None) -> Array:
    """Return F of shape (n, n), columns centred, such that ``F F^T`` is `gram`, the Gram matrix of centred columns.

    Where only inner products matter, the rows of F serve as features. A multiple of ``1 1^T``, a constant feature that
    centring removes, makes the Gram matrix definite; with equal stimuli, eigenvectors give a factor.
    """
    used = resolve(backend)
    n = len(gram)
    factor = used.cholesky(gram + float(gram.trace()) / n**2)
    if factor is not None:
        pivots = factor.diagonal()
        if float(pivots.min()) > SMALLEST_PIVOT * float(pivots.max()):
            factor -= factor.mean(0)
            return factor
    eigenvalues, vectors = used.eigh(gram)
    return vectors * eigenvalues.clip(0, None) ** 0.5
