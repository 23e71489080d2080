"""Turn features and outputs into probabilities and choices."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from brainscore_core.errors import AssemblyError
from brainscore_core.supported_data_standards.brainio.assemblies import BehavioralAssembly
from brainscore_vision.metric_helpers.labelled.alignment import coords_along

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly

__all__ = ["ProbabilitiesClassifier", "category_probabilities", "odd_one_out", "softmax"]


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
    indices
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


_N_AT_ONCE = 8192  # features in double precision at a time


class ProbabilitiesClassifier:
    """Multinomial logistic regression with an L2 penalty on standardised features.

    Minimises C * sum of the cross entropy + 1/2 * sum of the squared weights (one weight vector per label);
    `classifier_c` is C. The best weights are in the span of the stimuli (representer theorem, Kimeldorf & Wahba 1971,
    J. Math. Anal. Appl. 33:82-95).
    """

    def __init__(self, classifier_c: float = 1e-3) -> None:
        self._classifier_c = classifier_c
        self._weights: npt.NDArray[np.floating[Any]] | None = None
        self._intercepts: npt.NDArray[np.floating[Any]] | None = None
        self._scaler: Any = None  # scikit-learn has no types
        self._labels: list[Hashable] = []

    def fit(self, X: npt.ArrayLike, Y: npt.ArrayLike) -> Self:  # noqa: N803 - established
        """Fit to features (presentation, neuroid) and their labels (presentation,)."""
        from sklearn.linear_model import LogisticRegression  # heavy
        from sklearn.preprocessing import StandardScaler  # heavy
        from sklearn.utils import check_array  # heavy

        labels = np.asarray(Y).tolist()
        self._labels = list(dict.fromkeys(labels))
        if len(self._labels) < 2:
            raise ValueError(f"The stimuli to learn from all have the label {self._labels}; expected at least two.")
        index_of = {label: index for index, label in enumerate(self._labels)}
        # With two labels, scikit-learn fits one weight vector w instead of w/2 and -w/2, at twice the penalty.
        penalty = self._classifier_c * (2 if len(self._labels) == 2 else 1)
        self._scaler = StandardScaler().fit(check_array(X))
        features = self._scaler.transform(np.asarray(X))
        classes = [index_of[label] for label in labels]
        if features.shape[0] >= features.shape[1] or not features.any():
            classifier = LogisticRegression(solver="newton-cg", C=penalty).fit(features, classes)
            weights = classifier.coef_
        else:
            coordinates, lengths, rotation = _in_their_span(features)
            # A strict tolerance is cheap in few dimensions.
            classifier = LogisticRegression(solver="newton-cg", C=penalty, tol=1e-8).fit(coordinates, classes)
            weights = (classifier.coef_ / lengths @ rotation.T).astype(features.dtype) @ features
        # With two labels, the first has no weights.
        n_absent = len(self._labels) - len(weights)
        self._weights = np.pad(weights, ((n_absent, 0), (0, 0)))
        self._intercepts = np.pad(classifier.intercept_, (n_absent, 0))
        return self

    def predict_proba(self, X: DataAssembly) -> BehavioralAssembly:  # noqa: N803 - established
        """Return the probability of each label (presentation, choice), from features (presentation, neuroid)."""
        from scipy.special import softmax  # heavy

        if X.ndim != 2:
            raise AssemblyError(f"Features have dimensions {X.dims}; expected two, such as presentation, neuroid.")
        if self._weights is None:
            raise RuntimeError("The classifier was not fitted; call fit first.")
        probabilities = softmax(self._scaler.transform(X.values) @ self._weights.T + self._intercepts, axis=1)
        rows = str(X.dims[0])
        coords = {**coords_along(X, rows), "choice": ("choice", self._labels)}
        return BehavioralAssembly(probabilities, coords=coords, dims=[rows, "choice"])


def _in_their_span(
    features: npt.NDArray[np.floating[Any]],
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return rows' coordinates (row, rank) in an orthonormal basis of their span, lengths and rotation.

    ``coordinates = rotation * lengths``; the basis ``(rotation / lengths).T @ features`` is never computed.
    """
    gram = np.zeros((len(features), len(features)))
    for start in range(0, features.shape[1], _N_AT_ONCE):
        block = features[:, start : start + _N_AT_ONCE].astype(np.float64, copy=False)
        gram += block @ block.T
    squares, rotation = np.linalg.eigh(gram)
    significant = squares > squares[-1] * len(features) * np.finfo(np.float64).eps
    lengths = np.sqrt(squares[significant])
    return rotation[:, significant] * lengths, lengths, rotation[:, significant]
