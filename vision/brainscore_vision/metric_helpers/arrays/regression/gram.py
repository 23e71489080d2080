"""Compute inner products of stimuli, block by block of features.

Linear regression depends on features only through the Gram matrix ``X X^T`` of the centred features, of shape
(n_stimuli, n_stimuli). For features that outnumber the stimuli it is the smaller thing to work with, all
cross-validation splits share it, and features need never be in memory all at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from brainscore_vision.metric_helpers.arrays._backend import Backend, resolve
from brainscore_vision.metric_helpers.arrays.column_blocks import ColumnBlocks

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["centred_gram", "gram_factor", "recentred"]

WELL_CONDITIONED = 1e-6  # smallest over largest pivot of a Cholesky factor that is trusted


def centred_gram(source: ArrayLike | ColumnBlocks, *, backend: str | Backend | None = None) -> Any:
    """Return the Gram matrix ``X X^T`` of the column-centred X.

    Parameters
    ----------
    source : array-like, memory map or ColumnBlocks, shape (n_stimuli, n_features)
        Read block by block in one pass; never copied whole, whatever its type. For the inner products between training
        and test stimuli, give both (`stack_rows`), take ``recentred(gram, train)`` and index it.
    backend : str, Backend or None
        Where to compute; see `resolve`.

    Returns
    -------
    array, shape (n_stimuli, n_stimuli), float64
        Symmetric; centred by the means over all stimuli, so that rows and columns sum to zero. An array of the
        backend: a NumPy array for the default.

    Raises
    ------
    ValueError
        If the features are not finite.
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


def recentred(gram: Any, rows: ArrayLike) -> Any:
    """Centre features by their means over some of the stimuli, given the Gram matrix for any other centre.

    ``G' = (I - 1 m^T) G (I - m 1^T)`` with m = 1 / len(rows) for those stimuli and 0 elsewhere.

    Parameters
    ----------
    gram : array, shape (n_stimuli, n_stimuli)
        Of a backend; not changed.
    rows : array-like of int
        Positions of the stimuli, such as those that train; where one repeats it counts as often.

    Returns
    -------
    array, shape (n_stimuli, n_stimuli)
    """
    chosen = np.asarray(rows, dtype=np.intp)
    mean = gram[:, chosen].mean(1)
    return gram - mean[:, None] - (mean - mean[chosen].mean())[None, :]


def gram_factor(gram: Any, *, backend: str | Backend | None = None) -> Any:
    """Return some F of shape (n, n), columns centred, with ``F F^T`` equal to the Gram matrix of centred columns.

    Where only inner products of stimuli matter, the rows of F serve as features. The Gram matrix has the null vector
    of ones; adding a multiple of ``1 1^T`` makes it definite and amounts to one more feature that is the same for all
    stimuli, which centring removes. Where other directions are missing too (stimuli that are equal) the eigenvectors
    give a factor.

    Parameters
    ----------
    gram : array, shape (n, n)
        As `centred_gram` returns it; not changed.
    backend : str, Backend or None
        The one `gram` belongs to.

    Returns
    -------
    array, shape (n, n)
    """
    used = resolve(backend)
    n = len(gram)
    factor = used.cholesky(gram + float(gram.trace()) / n**2)
    if factor is not None:
        pivots = factor.diagonal()
        if float(pivots.min()) > WELL_CONDITIONED * float(pivots.max()):
            factor -= factor.mean(0)
            return factor
    eigenvalues, vectors = used.eigh(gram)
    return vectors * eigenvalues.clip(0, None) ** 0.5
