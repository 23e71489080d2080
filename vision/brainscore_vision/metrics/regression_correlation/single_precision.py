"""Compute regressions in single precision, as the published system does with features in single precision.

Its ridge and least-squares regressions work in the precision of the features, and those of models are in single
precision mostly. Scores then carry rounding of some 1e-4, more where features outnumber stimuli.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

if TYPE_CHECKING:
    from brainscore_vision.metric_helpers.arrays.types import ArrayLike, Floats


class SinglePrecisionRidge:
    """Scikit-learn's ``Ridge`` on source and target rounded to single precision.

    Parameters
    ----------
    **kwargs
        Arguments of `Ridge`.
    """

    def __init__(self, **kwargs: Any) -> None:
        from sklearn.linear_model import Ridge  # heavy, for this option only

        self._estimator = Ridge(**kwargs)

    def fit(self, X: ArrayLike, Y: ArrayLike) -> Self:  # noqa: N803 -- scikit-learn's names
        """Fit to arrays of shape (n_stimuli, n_features) and (n_stimuli, n_neuroids)."""
        self._estimator.fit(np.asarray(X, np.float32), np.asarray(Y, np.float32))
        return self

    def predict(self, X: ArrayLike) -> Floats:  # noqa: N803 -- scikit-learn's name
        """Predict responses, shape (n_stimuli, n_features) to (n_stimuli, n_neuroids)."""
        return np.asarray(self._estimator.predict(np.asarray(X, np.float32)), np.float64)


class SinglePrecisionLeastSquares:
    """Scikit-learn's ``LinearRegression`` on source and target rounded to single precision.

    Parameters
    ----------
    **kwargs
        Arguments of `LinearRegression`.
    """

    def __init__(self, **kwargs: Any) -> None:
        from sklearn.linear_model import LinearRegression  # heavy, for this option only

        if "tol" in LinearRegression().get_params():
            # Singular values below this part of the largest are left out. Releases without `tol` use this one.
            kwargs.setdefault("tol", float(np.finfo(np.float32).eps))
        self._estimator = LinearRegression(**kwargs)

    fit = SinglePrecisionRidge.fit
    predict = SinglePrecisionRidge.predict
