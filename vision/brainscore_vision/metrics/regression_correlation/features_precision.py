"""Compute regressions in the precision of the features, mostly single, as the published system does.

Scores then carry rounding of some 1e-4, more where features outnumber stimuli.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

if TYPE_CHECKING:
    from brainscore_vision.metric_helpers.arrays.types import ArrayLike, Floats


class RidgeAsPublished:
    """Scikit-learn's ``Ridge``, in single precision if the source is, else in double."""

    def __init__(self, **kwargs: Any) -> None:
        from sklearn.linear_model import Ridge  # heavy, for this option only

        self._estimator = Ridge(**kwargs)

    def fit(self, X: ArrayLike, Y: ArrayLike) -> Self:  # noqa: N803 -- scikit-learn's names
        """Fit to arrays of shape (n_stimuli, n_features) and (n_stimuli, n_neuroids)."""
        source = _floats(X)
        self._estimator.fit(source, np.asarray(Y, source.dtype))
        return self

    def predict(self, X: ArrayLike) -> Floats:  # noqa: N803 -- scikit-learn's name
        """Predict responses, shape (n_stimuli, n_features) to (n_stimuli, n_neuroids)."""
        return np.asarray(self._estimator.predict(_floats(X)), np.float64)


class LeastSquaresAsPublished:
    """Scikit-learn's ``LinearRegression``, in single precision if the source is, else in double."""

    def __init__(self, **kwargs: Any) -> None:
        self._kwargs = kwargs

    def fit(self, X: ArrayLike, Y: ArrayLike) -> Self:  # noqa: N803 -- scikit-learn's names
        """Fit to arrays of shape (n_stimuli, n_features) and (n_stimuli, n_neuroids)."""
        from sklearn.linear_model import LinearRegression  # heavy, for this option only

        source, kwargs = _floats(X), dict(self._kwargs)
        if "tol" in LinearRegression().get_params():
            # Singular values below this part of the largest are left out. Releases without `tol` use this one.
            kwargs.setdefault("tol", float(np.finfo(source.dtype).eps))
        self._estimator = LinearRegression(**kwargs).fit(source, np.asarray(Y, source.dtype))
        return self

    predict = RidgeAsPublished.predict


def _floats(X: ArrayLike) -> Floats:  # noqa: N803 -- as above
    values = np.asarray(X)
    return values if values.dtype == np.float32 else np.asarray(values, np.float64)
