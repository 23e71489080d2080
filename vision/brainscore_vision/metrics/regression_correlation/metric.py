"""Score how well responses to held-out stimuli are predicted by a regression from a model's features.

Prediction and measurement of the test stimuli are correlated for each neuroid ``j`` (Pearson) in each split ``s``:

    ``score = mean_s median_j r(prediction_sj, measurement_sj)``

The functions in `factories` state the fit and invariances of each identifier and when to use it. Common to all:

- Input: metrics named ``*_split`` take ``(source_train, source_test, target_train, target_test)``; ``spantime_*`` and
  ``*_pertime`` take assemblies with the dimension `time_bin`; all but ``*_split`` draw splits, of the stimuli sorted by
  their `stimulus_id`.
- Output: Score in [-1, 1], a correlation (not explained variance); ``raw`` has dims (split, neuroid) or (neuroid).
- Invariances: order of stimuli; any shift of any neuroid on either side; positive scaling of all neuroids of the target
  together.
- Precision: float64, whatever the features come in.

References
----------
Yamins et al. (2014), doi:10.1073/pnas.1403112111; Schrimpf et al. (2018), doi:10.1101/407007.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np

from brainscore_core.errors import did_you_mean
from brainscore_core.metrics import Metric, Score
from brainscore_vision.metric_helpers.arrays.correlation import pearson_columns
from brainscore_vision.metric_helpers.labelled.alignment import squeeze_time_bin
from brainscore_vision.metric_helpers.regression.estimators import PLS, LeastSquares, OneToOne, PearsonR, Ridge, RidgeCV
from brainscore_vision.metric_helpers.regression.fixed_split import (
    ReverseTrainTestSplitCorrelation as ReverseTrainTestSplitCorrelation,
)
from brainscore_vision.metric_helpers.regression.fixed_split import (
    TrainTestSplitCorrelation as TrainTestSplitCorrelation,
)
from brainscore_vision.metric_helpers.regression.metrics import CrossRegressedCorrelation as CrossRegressedCorrelation
from brainscore_vision.metric_helpers.regression.metrics import (
    ReverseCrossRegressedCorrelation as ReverseCrossRegressedCorrelation,
)
from brainscore_vision.metric_helpers.regression.metrics import (
    SpanTimeCrossRegressedCorrelation as SpanTimeCrossRegressedCorrelation,
)
from brainscore_vision.metric_helpers.regression.on_assemblies import XarrayCorrelation, XarrayRegression

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly
    from brainscore_vision.metric_helpers.arrays.types import ArrayLike, Floats

# Make the regressions and the correlation of this plugin's metrics.
#
# `regression_kwargs` are arguments of scikit-learn's class of that name; our own class computes where it can, otherwise
# scikit-learn's. `xarray_kwargs` are arguments of `XarrayRegression` or `XarrayCorrelation`.


Options = Mapping[str, Any] | None

# Candidates where a metric chooses its penalty.
ALPHA_LIST = [
    0.01, 0.1, 0.5, 1.0, 10.0, 32.5, 55.0, 77.5,
    *(float(alpha) for alpha in range(100, 1_000, 50)),
    *(float(alpha) for alpha in range(1_000, 10_000, 500)),
    *(float(alpha) for alpha in range(10_000, 100_000, 5_000)),
    *(float(alpha) for alpha in range(100_000, 1_000_000, 50_000)),
    *(float(alpha) for alpha in range(1_000_000, 10_000_001, 500_000)),
]  # fmt: skip


def pls_regression(
    regression_kwargs: Options = None, xarray_kwargs: Options = None, *, backend: str | None = None
) -> XarrayRegression:
    """Make a PLS regression: 25 components, no scaling.

    Anything but ``n_components`` and ``scale=False`` is computed by scikit-learn's `PLSRegression`.
    """
    kwargs = {"n_components": 25, "scale": False, **(regression_kwargs or {})}
    if kwargs.keys() == {"n_components", "scale"} and not kwargs["scale"]:
        return XarrayRegression(PLS(kwargs["n_components"], backend=backend), **(xarray_kwargs or {}))
    from sklearn.cross_decomposition import PLSRegression  # only for options that our own does not have

    return XarrayRegression(PLSRegression(**kwargs), **(xarray_kwargs or {}))


def ridge_regression(
    regression_kwargs: Options = None,
    xarray_kwargs: Options = None,
    *,
    backend: str | None = None,
    compat: bool = False,
) -> XarrayRegression:
    """Make a ridge regression: penalty 1, with intercept.

    Anything but a single ``alpha`` above 0 is computed by scikit-learn's `Ridge`; ``compat=True`` computes in the
    precision of the features, mostly single.
    """
    kwargs = {"alpha": 1.0, **(regression_kwargs or {})}
    if compat:
        return XarrayRegression(RidgeAsPublished(**kwargs), **(xarray_kwargs or {}))
    if kwargs.keys() == {"alpha"} and np.ndim(kwargs["alpha"]) == 0 and kwargs["alpha"] > 0:
        return XarrayRegression(Ridge(kwargs["alpha"], backend=backend), **(xarray_kwargs or {}))
    from sklearn.linear_model import Ridge as ScikitRidge  # likewise

    return XarrayRegression(ScikitRidge(**kwargs), **(xarray_kwargs or {}))


def linear_regression(
    xarray_kwargs: Options = None,
    *,
    regression_kwargs: Options = None,
    backend: str | None = None,
    compat: bool = False,
) -> XarrayRegression:
    """Make an ordinary least-squares regression, with intercept; of smallest norm if there are several.

    Any `regression_kwargs` are left to scikit-learn's `LinearRegression`; `compat` as for `ridge_regression`.
    """
    if compat:
        return XarrayRegression(LeastSquaresAsPublished(**(regression_kwargs or {})), **(xarray_kwargs or {}))
    if not regression_kwargs:
        return XarrayRegression(LeastSquares(backend=backend), **(xarray_kwargs or {}))
    from sklearn.linear_model import LinearRegression  # likewise

    return XarrayRegression(LinearRegression(**regression_kwargs), **(xarray_kwargs or {}))


def ridge_cv_regression(
    regression_kwargs: Options = None,
    xarray_kwargs: Options = None,
    alphas: ArrayLike = ALPHA_LIST,
    *,
    backend: str | None = None,
) -> XarrayRegression:
    """Make a ridge regression that chooses its penalty among `alphas` by leave-one-out cross-validation.

    Anything but ``alphas`` and ``alpha_per_target`` is computed by scikit-learn's `RidgeCV`; an ``alpha`` is
    disregarded.
    """
    kwargs = {"alphas": alphas, "store_cv_results": False, **(regression_kwargs or {})}
    kwargs.pop("alpha", None)
    stored = kwargs.pop("store_cv_results")
    if not stored and kwargs.keys() <= {"alphas", "alpha_per_target"}:
        return XarrayRegression(RidgeCV(**kwargs, backend=backend), **(xarray_kwargs or {}))
    from sklearn.linear_model import RidgeCV as ScikitRidgeCV  # likewise

    return XarrayRegression(ScikitRidgeCV(**kwargs, store_cv_results=stored), **(xarray_kwargs or {}))


def single_regression(xarray_kwargs: Options = None) -> XarrayRegression:
    """Make a one-to-one regression."""
    return XarrayRegression(OneToOne(), **(xarray_kwargs or {}))


def pearsonr_correlation(xarray_kwargs: Options = None) -> XarrayCorrelation:
    """Make a Pearson correlation."""
    return XarrayCorrelation(PearsonR(), **(xarray_kwargs or {}))


def splits_of(kwargs: Options, compat: bool) -> dict[str, Any]:
    """Return the arguments of `CrossValidation`, by default with the metric's `compat`."""
    return {"compat": compat, **(kwargs or {})}


def with_given(kwargs: Options, **more: Any) -> dict[str, Any]:
    """Return `kwargs` and those of `more` that are not None."""
    return {**(kwargs or {}), **{name: value for name, value in more.items() if value is not None}}


Made = TypeVar("Made")
Factory = Callable[..., Made]


def metric_named(identifier: str, *, ignored: Collection[str] = ()) -> Callable[[Factory[Made]], Factory[Made]]:
    """Decorate a metric's factory: unknown keywords raise a TypeError that names those it accepts.

    The `ignored` ones are accepted too, and have no effect.
    """

    def decorate(factory: Factory[Made]) -> Factory[Made]:
        own = list(inspect.signature(factory).parameters)
        accepted = [*own, *(name for name in ignored if name not in own)]

        @functools.wraps(factory)
        def checked(*args: Any, **kwargs: Any) -> Made:  # Any: the factory's
            for name in kwargs:
                if name not in accepted:
                    raise TypeError(
                        f"The metric {identifier!r} got an unexpected keyword {name!r}; it accepts "
                        f"{', '.join(accepted)}.{did_you_mean(name, accepted)}"
                    )
            return factory(*args, **{name: value for name, value in kwargs.items() if name in own})

        return checked

    return decorate


class RidgeAsPublished:
    """Scikit-learn's ``Ridge``, in single precision if the source is, else in double, as published.

    Scores then have rounding errors of some 1e-4, more where features outnumber stimuli.
    """

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


# Serve callers of the published system, who import from `metric`.
#
# `Ridge` and `RidgeCV` take the published "dual" form, over stimuli, by themselves where features outnumber stimuli.
# `chunk_size` has no effect.


SingleRegression = OneToOne


class DualRidgeRegression(Ridge):
    """`Ridge`, with a `chunk_size` that has no effect."""

    def __init__(self, alpha: float = 1.0, chunk_size: int = 5000, *, backend: str | None = None) -> None:
        super().__init__(alpha, backend=backend)
        self.chunk_size = chunk_size


class DualRidgeCVRegression(RidgeCV):
    """`RidgeCV`, with a `chunk_size` that has no effect; it chooses among `ALPHA_LIST` by default."""

    def __init__(
        self,
        alphas: Sequence[float] | None = None,
        chunk_size: int = 5000,
        *,
        alpha_per_target: bool = False,
        backend: str | None = None,
    ) -> None:
        super().__init__(ALPHA_LIST if alphas is None else alphas, alpha_per_target=alpha_per_target, backend=backend)
        self.chunk_size = chunk_size


def dual_ridge_regression(
    regression_kwargs: Options = None, xarray_kwargs: Options = None, *, backend: str | None = None
) -> XarrayRegression:
    """Make a `DualRidgeRegression` on assemblies; arguments as for `ridge_regression`."""
    kwargs = {"alpha": 1.0, "backend": backend, **(regression_kwargs or {})}
    return XarrayRegression(DualRidgeRegression(**kwargs), **(xarray_kwargs or {}))


def dual_ridge_cv_regression(
    regression_kwargs: Options = None,
    xarray_kwargs: Options = None,
    alphas: ArrayLike = ALPHA_LIST,
    *,
    backend: str | None = None,
) -> XarrayRegression:
    """Make a `DualRidgeCVRegression` on assemblies; arguments as for `ridge_cv_regression`."""
    kwargs = {"alphas": alphas, "backend": backend, **(regression_kwargs or {})}
    kwargs.pop("alpha", None)
    return XarrayRegression(DualRidgeCVRegression(**kwargs), **(xarray_kwargs or {}))


def pearsonr(x: ArrayLike, y: ArrayLike) -> Floats:
    """Correlate columns of two arrays, shapes (n_stimuli, n) and (n_stimuli, n or 1); returns shape (n,)."""
    return pearson_columns(*np.broadcast_arrays(np.asarray(x), np.asarray(y)))


class ScaledCrossRegressedCorrelation(Metric):
    """Standardise the target's neuroids, then do as `CrossRegressedCorrelation`.

    It matters only for PLS, which otherwise gives more weight to neuroids of large variance.
    """

    quantity = CrossRegressedCorrelation.quantity

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # Any: passed on
        self.cross_regressed_correlation = CrossRegressedCorrelation(*args, **kwargs)
        self.aggregate = self.cross_regressed_correlation.aggregate

    def __call__(self, source: DataAssembly, target: DataAssembly) -> Score:
        """Compare as `CrossRegressedCorrelation` does."""
        target = squeeze_time_bin(target)
        axis = target.get_axis_num("presentation")
        values = np.asarray(target.values, dtype=np.float64)
        spread = values.std(axis=axis, keepdims=True)
        scaled = (values - values.mean(axis=axis, keepdims=True)) / np.where(spread > 0, spread, 1.0)
        return self.cross_regressed_correlation(source, target.copy(data=scaled))
