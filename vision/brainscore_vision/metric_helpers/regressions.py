"""Wrap the regression kernels in the fit and predict of scikit-learn.

Each also has ``predict_splits``, which metrics use to compute all cross-validation splits at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brainscore_vision.metric_helpers.arrays.correlation import pearson_columns
from brainscore_vision.metric_helpers.arrays.pls import LinearMap, pls_fit, pls_predict_splits
from brainscore_vision.metric_helpers.arrays.ridge import ridge_fit, ridge_predict_splits

__all__ = ["PLS", "PearsonR", "Ridge", "SplitPredictor"]

Floats = NDArray[np.float64]


@runtime_checkable
class SplitPredictor(Protocol):
    """A regression that predicts the held-out part of many splits in one call."""

    def predict_splits(
        self, source: ArrayLike, target: ArrayLike, splits: Sequence[tuple[ArrayLike, ArrayLike]]
    ) -> list[Floats]:
        """Return predictions of shape (n_test, n_neuroids), one for each (train, test)."""
        ...


class _Linear:
    """What linear regressions share: a fitted map and its application."""

    _map: LinearMap | None = None

    @property
    def coef_(self) -> Floats:
        """Coefficients, shape (n_neuroids, n_features), as in scikit-learn."""
        return self._fitted().coefficients.T

    @property
    def intercept_(self) -> Floats:
        """Prediction for a source of zeros, shape (n_neuroids,)."""
        fitted = self._fitted()
        intercept: Floats = fitted.target_mean - fitted.source_mean @ fitted.coefficients
        return intercept

    def predict(self, X: ArrayLike) -> Floats:  # noqa: N803 -- scikit-learn's name
        """Predict responses, shape (n_stimuli, n_features) to (n_stimuli, n_neuroids)."""
        return self._fitted().predict(X)

    def _fitted(self) -> LinearMap:
        if self._map is None:
            raise RuntimeError(f"{type(self).__name__} has not been fitted yet: call fit(X, Y) first.")
        return self._map


class PLS(_Linear):
    """Partial least squares regression without scaling, equal to ``PLSRegression(n_components, scale=False)``.

    Parameters
    ----------
    n_components : int
        Number of latent components.
    """

    def __init__(self, n_components: int = 25) -> None:
        self.n_components = n_components

    def fit(self, X: ArrayLike, Y: ArrayLike) -> Self:  # noqa: N803 -- scikit-learn's names
        """Fit to arrays of shape (n_stimuli, n_features) and (n_stimuli, n_neuroids)."""
        self._map = pls_fit(X, Y, self.n_components)
        return self

    def predict_splits(
        self, source: ArrayLike, target: ArrayLike, splits: Sequence[tuple[ArrayLike, ArrayLike]]
    ) -> list[Floats]:
        """Predict the held-out part of every split; leaves the fit alone."""
        return pls_predict_splits(source, target, splits, self.n_components)


class Ridge(_Linear):
    """Ridge regression with an intercept, equal to scikit-learn's ``Ridge(alpha)``.

    Parameters
    ----------
    alpha : float
        Penalty, larger than zero.
    """

    def __init__(self, alpha: float = 1.0) -> None:
        self.alpha = alpha

    def fit(self, X: ArrayLike, Y: ArrayLike) -> Self:  # noqa: N803 -- scikit-learn's names
        """Fit to arrays of shape (n_stimuli, n_features) and (n_stimuli, n_neuroids)."""
        self._map = ridge_fit(X, Y, self.alpha)
        return self

    def predict_splits(
        self, source: ArrayLike, target: ArrayLike, splits: Sequence[tuple[ArrayLike, ArrayLike]]
    ) -> list[Floats]:
        """Predict the held-out part of every split; leaves the fit alone."""
        return ridge_predict_splits(source, target, splits, self.alpha)


class PearsonR:
    """Pearson correlation, for one pair of lists or for all neuroids at once."""

    def __call__(self, x: ArrayLike, y: ArrayLike) -> tuple[float, float]:
        """Return ``(r, p)`` for two arrays of shape (n_stimuli,); NaN if either is constant or shorter than two.

        The probability p is two-sided, for uncorrelated normal data (Student 1908, doi:10.1093/biomet/6.2-3.302).
        """
        from scipy.stats import beta

        first, second = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
        r = float(self.columns(first[:, None], second[:, None])[0])
        if len(first) < 3 or np.isnan(r):
            return r, float("nan") if np.isnan(r) else 1.0
        shape = len(first) / 2 - 1
        return r, float(2 * beta(shape, shape, loc=-1, scale=2).sf(abs(r)))

    @staticmethod
    def columns(x: ArrayLike, y: ArrayLike) -> Floats:
        """Return r of shape (n_neuroids,) for two arrays of shape (n_stimuli, n_neuroids)."""
        return pearson_columns(x, y)
