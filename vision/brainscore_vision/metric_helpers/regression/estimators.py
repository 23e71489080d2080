"""Wrap the regression kernels in scikit-learn's `fit` and `predict`; parameters are the kernels'."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from brainscore_vision.metric_helpers.arrays.column_blocks import ColumnBlocks
from brainscore_vision.metric_helpers.arrays.correlation import hold_constants, pearson_columns
from brainscore_vision.metric_helpers.arrays.regression.banded import (
    ALPHAS,
    banded_fit,
    banded_predict_splits,
    variance_by_band,
)
from brainscore_vision.metric_helpers.arrays.regression.pls import (
    pls_fit,
    pls_path_fit,
    pls_path_iterate,
    pls_path_predict_splits,
    pls_predict_splits,
    pls_smooth_splits,
)
from brainscore_vision.metric_helpers.arrays.regression.ridge import (
    check_alphas,
    least_squares_fit,
    least_squares_split_fits,
    ridge_cv_fit,
    ridge_cv_iterate,
    ridge_cv_predict_splits,
    ridge_fit,
    ridge_split_fits,
)
from brainscore_vision.metric_helpers.arrays.regression.single import (
    assigned_predict_splits,
    best_source,
    best_source_predict_splits,
    partners,
)
from brainscore_vision.metric_helpers.arrays.types import Floats, Indices, Splits

if TYPE_CHECKING:
    from brainscore_vision.metric_helpers.arrays.backend import Backend
    from brainscore_vision.metric_helpers.arrays.regression.linear_maps import DualMap, LinearMap, SplitFits

__all__ = [
    "PLS",
    "Assignment",
    "BandedRidge",
    "BlockPredictor",
    "LeastSquares",
    "OfInnerProducts",
    "OneToOne",
    "PLSPerNeuroid",
    "PearsonR",
    "Ridge",
    "RidgeCV",
    "SplitPredictor",
    "predict_splits",
]

Source = ArrayLike | ColumnBlocks
Parts = Iterator[tuple[int, slice, Floats]]


@runtime_checkable
class SplitPredictor(Protocol):
    """A regression that predicts the held-out stimuli of many splits in one call."""

    def predict_splits(self, source: ArrayLike, target: ArrayLike, splits: Splits) -> list[Floats]:
        """Return predictions of shape (n_test, n_neuroids) for each (train, test), without changing the fit."""
        ...


def predict_splits(estimator: SplitPredictor, source: Source, target: Floats, splits: Splits) -> list[Floats]:
    """Predict as the estimator, without rounding for neuroids that are constant in training; see `hold_constants`."""
    predictions = estimator.predict_splits(source, target, splits)
    return [hold_constants(part, target, train) for part, (train, _) in zip(predictions, splits, strict=True)]


@runtime_checkable
class BlockPredictor(Protocol):
    """A `SplitPredictor` for a few neuroids at a time."""

    def predict_blocks(self, source: Source, target: Source, splits: Splits) -> Parts:
        """Yield (number of the split, slice of neuroids, predictions of shape (n_test, width))."""
        ...


class OfInnerProducts:
    """A regression that depends on features only through the inner products of centred stimuli."""


class _Linear:
    of_any_unit: ClassVar[tuple[str, ...]] = ("source", "target")  # sides whose unit does not affect correlations
    adds_mean: ClassVar = True  # of training responses to predictions
    _map: LinearMap | DualMap | None = None

    def _fit(self, source: Source, target: ArrayLike) -> LinearMap | DualMap:
        raise NotImplementedError(f"{type(self).__name__} does not define how to fit.")

    def fit(self, X: Source, Y: ArrayLike) -> Self:  # noqa: N803 -- scikit-learn's names
        """Fit to arrays of shape (n_stimuli, n_features) and (n_stimuli, n_neuroids)."""
        self._map = self._fit(X, Y)
        return self

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

    def predict(self, X: Source) -> Floats:  # noqa: N803 -- scikit-learn's name
        """Predict responses, shape (n_stimuli, n_features) to (n_stimuli, n_neuroids)."""
        return self._fitted().predict(X)

    def _fitted(self) -> LinearMap | DualMap:
        if self._map is None:
            raise RuntimeError(f"{type(self).__name__} has not been fitted yet: call fit(X, Y) first.")
        return self._map


class _Smoother(_Linear, OfInnerProducts):
    """A linear regression that works mostly before any target is known."""

    def _split_fits(self, source: Source, splits: Splits) -> SplitFits:
        raise NotImplementedError(f"{type(self).__name__} does not define how to fit.")

    def predict_splits(self, source: Source, target: ArrayLike, splits: Splits) -> list[Floats]:
        return self._split_fits(source, splits).predict(target)

    def predict_blocks(self, source: Source, target: Source, splits: Splits) -> Parts:
        fits = self._split_fits(source, splits)
        for columns, block in ColumnBlocks.of(target).placed():
            for index, prediction in enumerate(fits.predict(block)):
                yield index, columns, prediction


class PLS(_Linear, OfInnerProducts):
    """Partial least squares regression without scaling, equal to ``PLSRegression(n_components, scale=False)``."""

    def __init__(self, n_components: int = 25, *, backend: str | Backend | None = None) -> None:
        self.n_components = n_components
        self.backend = backend

    def _fit(self, source: Source, target: ArrayLike) -> LinearMap:
        return pls_fit(source, target, self.n_components, backend=self.backend)

    def predict_splits(self, source: Source, target: ArrayLike, splits: Splits) -> list[Floats]:
        """See `SplitPredictor`."""
        return pls_predict_splits(source, target, splits, self.n_components, backend=self.backend)

    def predict_blocks(self, source: Source, target: Source, splits: Splits) -> Parts:
        """See `BlockPredictor`."""
        smoothers = pls_smooth_splits(source, target, splits, self.n_components, backend=self.backend)
        for columns, block in ColumnBlocks.of(target).placed():
            for index, smoother in enumerate(smoothers):
                yield index, columns, smoother.predict(block)


class PLSPerNeuroid(_Linear, OfInnerProducts):
    """Partial least squares regression with a number of components for each neuroid; see `pls_path_fit`.

    `fit` selects ``n_components_``, shape (n_neuroids,), of at most `n_components`, on inner folds of the training
    stimuli.
    """

    def __init__(self, n_components: int = 25, n_folds: int = 5, *, backend: str | Backend | None = None) -> None:
        self.n_components = n_components
        self.n_folds = n_folds
        self.backend = backend
        self.n_components_: Indices | None = None

    def _fit(self, source: Source, target: ArrayLike) -> LinearMap:
        fitted, self.n_components_ = pls_path_fit(
            source, target, self.n_components, n_folds=self.n_folds, backend=self.backend
        )
        return fitted

    def predict_splits(self, source: Source, target: ArrayLike, splits: Splits) -> list[Floats]:
        """See `SplitPredictor`; selects in each training set."""
        return pls_path_predict_splits(
            source, target, splits, self.n_components, n_folds=self.n_folds, backend=self.backend
        )[0]

    def predict_blocks(self, source: Source, target: Source, splits: Splits) -> Parts:
        """See `BlockPredictor`."""
        parts = pls_path_iterate(source, target, splits, self.n_components, n_folds=self.n_folds, backend=self.backend)
        return ((index, columns, prediction) for index, columns, prediction, _ in parts)


class Ridge(_Smoother):
    """Ridge regression with an intercept, equal to scikit-learn's ``Ridge(alpha)``; alpha is larger than zero."""

    of_any_unit: ClassVar = ("target",)  # the penalty has the unit of the squared source

    def __init__(self, alpha: float = 1.0, *, backend: str | Backend | None = None) -> None:
        self.alpha = alpha
        self.backend = backend

    def _fit(self, source: Source, target: ArrayLike) -> LinearMap | DualMap:
        return ridge_fit(source, target, self.alpha, backend=self.backend)

    def _split_fits(self, source: Source, splits: Splits) -> SplitFits:
        return ridge_split_fits(source, splits, self.alpha, backend=self.backend)


class LeastSquares(_Smoother):
    """Ordinary least squares with an intercept, equal to scikit-learn's ``LinearRegression()``.

    Of several solutions, that of smallest norm.
    """

    def __init__(self, *, backend: str | Backend | None = None) -> None:
        self.backend = backend

    def _fit(self, source: Source, target: ArrayLike) -> LinearMap | DualMap:
        return least_squares_fit(source, target, backend=self.backend)

    def _split_fits(self, source: Source, splits: Splits) -> SplitFits:
        return least_squares_split_fits(source, splits, backend=self.backend)


class RidgeCV(_Linear, OfInnerProducts):
    """Ridge regression with the penalty of least leave-one-out error, equal to scikit-learn's ``RidgeCV(alphas)``.

    `fit` selects ``alpha_``: a float or, with `alpha_per_target`, one for each neuroid.
    """

    of_any_unit: ClassVar = ("target",)

    def __init__(
        self,
        alphas: ArrayLike = (0.1, 1.0, 10.0),
        *,
        alpha_per_target: bool = False,
        backend: str | Backend | None = None,
    ) -> None:
        check_alphas(alphas)
        self.alphas = alphas
        self.alpha_per_target = alpha_per_target
        self.backend = backend
        self.alpha_: float | Floats | None = None

    def _fit(self, source: Source, target: ArrayLike) -> LinearMap | DualMap:
        fitted, alpha = ridge_cv_fit(source, target, self.alphas, **self._options())
        self.alpha_ = alpha if self.alpha_per_target else float(alpha[0])
        return fitted

    def predict_splits(self, source: Source, target: ArrayLike, splits: Splits) -> list[Floats]:
        """See `SplitPredictor`; selects in each training set."""
        return ridge_cv_predict_splits(source, target, splits, self.alphas, **self._options())

    def predict_blocks(self, source: Source, target: Source, splits: Splits) -> Parts:
        """See `BlockPredictor`."""
        return ridge_cv_iterate(source, target, splits, self.alphas, **self._options())

    def _options(self) -> dict[str, Any]:
        return {"alpha_per_target": self.alpha_per_target, "backend": self.backend}


class BandedRidge(_Linear):
    """Ridge regression with band weights and a penalty selected for each neuroid; see `banded`.

    `fit` selects ``weights_``, shape (n_bands, n_neuroids), and ``alpha_``, shape (n_neuroids,). ``variance_by_band_``
    holds the result of `variance_by_band` for each split of the last `predict_splits`, over stimuli outside training.
    """

    def __init__(
        self,
        bands: ArrayLike,
        weights: ArrayLike | None = None,
        alphas: ArrayLike = ALPHAS,
        *,
        backend: str | Backend | None = None,
    ) -> None:
        check_alphas(alphas)
        self.bands = bands
        self.weights = weights
        self.alphas = alphas
        self.backend = backend
        self.weights_: Floats | None = None
        self.alpha_: Floats | None = None
        self.variance_by_band_: list[Floats] = []

    def _fit(self, source: Source, target: ArrayLike) -> LinearMap:
        fitted, self.weights_, self.alpha_ = banded_fit(source, self.bands, target, **self._options())
        return fitted

    def predict_splits(self, source: Source, target: ArrayLike, splits: Splits) -> list[Floats]:
        """See `SplitPredictor`; selects in each training set."""
        predictions = banded_predict_splits(source, self.bands, target, splits, **self._options())
        measured = np.asarray(target, dtype=np.float64)
        self.variance_by_band_ = []
        for prediction, (train, test) in zip(predictions, splits, strict=True):
            new = ~np.isin(test, train)
            self.variance_by_band_.append(
                variance_by_band(prediction.parts[:, new], measured[np.asarray(test, dtype=np.intp)[new]])
            )
        return [prediction.total for prediction in predictions]

    def _options(self) -> dict[str, Any]:
        return {"weights": self.weights, "alphas": self.alphas, "backend": self.backend}


class _Chosen:
    of_any_unit: ClassVar = ("source", "target")
    mapping: Indices | None = None  # source position for each neuroid after `fit`; -1: none

    def predict(self, X: Source) -> Floats:  # noqa: N803 -- scikit-learn's name
        """Return the responses of the mapped neuroids, shape (n_stimuli, n_neuroids); NaN where there is none."""
        if self.mapping is None:
            raise RuntimeError(f"{type(self).__name__} has not been fitted yet: call fit(X, Y) first.")
        columns = np.where(self.mapping < 0, 0, self.mapping)
        source = X if isinstance(X, ColumnBlocks) else np.asarray(X)
        responses = source.columns(columns) if isinstance(source, ColumnBlocks) else source[:, columns]
        return np.where(self.mapping < 0, np.nan, np.asarray(responses, dtype=np.float64))


class OneToOne(_Chosen):
    """Predict each neuroid by the source neuroid with the largest correlation."""

    def fit(self, X: Source, Y: ArrayLike) -> Self:  # noqa: N803 -- scikit-learn's names
        """Fit; see `PLS.fit`."""
        self.mapping = best_source(X, Y)
        return self

    def predict_splits(self, source: Source, target: ArrayLike, splits: Splits) -> list[Floats]:
        """See `SplitPredictor`."""
        return best_source_predict_splits(source, target, splits)

    def predict_blocks(self, source: Source, target: Source, splits: Splits) -> Parts:
        """See `BlockPredictor`."""
        for columns, block in ColumnBlocks.of(target).placed():
            for index, prediction in enumerate(best_source_predict_splits(source, block, splits)):
                yield index, columns, prediction


class Assignment(_Chosen):
    """Predict each neuroid by a different source neuroid, for the largest sum of correlations; see `assign`."""

    def fit(self, X: Source, Y: ArrayLike) -> Self:  # noqa: N803 -- scikit-learn's names
        """Fit; see `PLS.fit`."""
        self.mapping = partners(X, Y)
        return self

    def predict_splits(self, source: Source, target: ArrayLike, splits: Splits) -> list[Floats]:
        """See `SplitPredictor`."""
        return assigned_predict_splits(source, target, splits)


class PearsonR:
    """Pearson correlation of two lists, or of all neuroids at once."""

    def __call__(self, x: ArrayLike, y: ArrayLike) -> tuple[float, float]:
        """Return ``(r, p)`` for two arrays of shape (n_stimuli,); NaN if either is constant or shorter than two.

        The two-sided p is for uncorrelated normal data (Student 1908, doi:10.1093/biomet/6.2-3.302).
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
