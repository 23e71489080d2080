"""Learn labels from features: the readout of the task ``probabilities``."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from brainscore_core.errors import AssemblyError
from brainscore_core.supported_data_standards.brainio.assemblies import BehavioralAssembly
from brainscore_vision.metric_helpers.labelled.alignment import coords_along

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly

__all__ = ["ProbabilitiesClassifier"]


class ProbabilitiesClassifier:
    """Multinomial logistic regression with an L2 penalty on standardised features.

    Minimises C * sum of the cross entropy + 1/2 * sum of the squared weights (one weight vector per label).

    Parameters
    ----------
    classifier_c : float
        C; smaller is a stronger penalty.
    """

    def __init__(self, classifier_c: float = 1e-3) -> None:
        self._classifier_c = classifier_c
        self._classifier: Any = None  # scikit-learn has no types
        self._scaler: Any = None  # scikit-learn has no types
        self._labels: list[Hashable] = []

    def fit(self, X: npt.ArrayLike, Y: npt.ArrayLike) -> Self:  # noqa: N803 - established
        """Fit to features (presentation, neuroid) and their labels (presentation,)."""
        from sklearn.linear_model import LogisticRegression  # slow to import, and few need it
        from sklearn.preprocessing import StandardScaler

        labels = np.asarray(Y).tolist()
        self._labels = list(dict.fromkeys(labels))
        if len(self._labels) < 2:
            raise ValueError(f"The stimuli to learn from all have the label {self._labels}; expected at least two.")
        index_of = {label: index for index, label in enumerate(self._labels)}
        # With two labels, scikit-learn fits one weight vector w instead of w/2 and -w/2, which costs twice the
        # penalty; doubling C makes both the same.
        penalty = self._classifier_c * (2 if len(self._labels) == 2 else 1)
        self._scaler = StandardScaler().fit(np.asarray(X))
        self._classifier = LogisticRegression(solver="newton-cg", C=penalty)
        self._classifier.fit(self._scaler.transform(np.asarray(X)), [index_of[label] for label in labels])
        return self

    def predict_proba(self, X: DataAssembly) -> BehavioralAssembly:  # noqa: N803 - established
        """Return the probability of each label, from features (presentation, neuroid).

        Returns
        -------
        BehavioralAssembly (presentation, choice)
            Rows sum to 1.
        """
        if X.ndim != 2:
            raise AssemblyError(f"Features have dimensions {X.dims}; expected two, such as presentation, neuroid.")
        if self._classifier is None:
            raise RuntimeError("The classifier was not fitted; call fit first.")
        probabilities = self._classifier.predict_proba(self._scaler.transform(X.values))
        rows = str(X.dims[0])
        coords = {**coords_along(X, rows), "choice": ("choice", self._labels)}
        return BehavioralAssembly(probabilities, coords=coords, dims=[rows, "choice"])
