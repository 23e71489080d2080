"""Compute choices from activations, on plain arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

__all__ = ["category_probabilities", "odd_one_out", "softmax"]


def softmax(logits: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return exp(x) / sum(exp(x)) along the last axis of an array (..., class); large values do not overflow."""
    shifted = np.asarray(logits, dtype=np.float64)
    exponentials = np.exp(shifted - shifted.max(axis=-1, keepdims=True))
    return np.asarray(exponentials / exponentials.sum(axis=-1, keepdims=True))


def category_probabilities(
    logits: npt.ArrayLike, indices: Sequence[Sequence[int]], aggregation: str = "mean"
) -> npt.NDArray[np.float64]:
    """Return the probability of each category (stimulus, category): the mean of softmax(logits) over its classes.

    Rows do not sum to 1.

    Parameters
    ----------
    logits : array (stimulus, class)
    indices : sequence of sequence of int
        Classes of each category.

    References
    ----------
    Geirhos, Temme, Rauber, Schuett, Bethge, Wichmann (2018). Generalisation in humans and deep neural networks. NeurIPS
    31. https://doi.org/10.48550/arXiv.1808.08750
    """
    if aggregation not in ("mean", "max"):
        raise ValueError(f"aggregation is {aggregation!r}; expected 'mean' or 'max'.")
    probabilities = softmax(logits)
    members = [probabilities[:, list(classes)] for classes in indices]
    pooled = [part.mean(axis=-1) if aggregation == "mean" else part.max(axis=-1) for part in members]
    return np.stack(pooled, axis=-1)


def odd_one_out(similarities: npt.NDArray[np.float64], triplets: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    """Return the index of the stimulus of each triplet outside its most similar pair, array (trial,).

    Of equally similar pairs, the first of ij, ik, jk counts.

    Parameters
    ----------
    similarities : array (stimulus, stimulus)
        Larger is more similar.
    triplets : array (trial, 3) of int
        Indices i, j, k of stimuli.
    """
    i, j, k = triplets.T
    pairs = np.stack([similarities[i, j], similarities[i, k], similarities[j, k]], axis=-1)
    odd: npt.NDArray[np.intp] = np.take_along_axis(triplets, 2 - pairs.argmax(axis=-1)[:, np.newaxis], axis=1)[:, 0]
    return odd
