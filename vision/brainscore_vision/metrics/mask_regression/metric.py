"""Score how well responses are predicted by a spatial mask and feature weights of each neuroid.

Every neuroid has one mask ``m`` over the positions of a convolutional layer, one weight ``w`` for each channel, and an
offset,

    ``prediction_ij = sum_c w_jc sum_p m_jp x_icp + b_j``

fitted by Adam with penalties (see `mask_fit`), and scored as `pls` is.

- Input: neuroids of the source have the coordinates `channel`, `channel_x` and `channel_y`, and fill their grid.
- Output: Score in [-1, 1], a correlation; ``raw`` has dims (split, neuroid).
- Invariances: order of source neuroids. None for scaling: initial masks, steps and penalties have their own scale.
- When: neuroids with localised receptive fields, as in V1 and V4, and large feature maps.

``compat=True`` has the published splits and 40 passes, with smaller steps from the 27th. From the same initial values,
which have no seed there, predictions agree to single precision (1e-5).

References
----------
Klindt et al. (2017), arXiv:1711.02653.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from brainscore_core.errors import AssemblyError
from brainscore_vision.metric_helpers import Defaults
from brainscore_vision.metric_helpers.arrays.regression.adam import Adam
from brainscore_vision.metric_helpers.arrays.seeds import generator
from brainscore_vision.metric_helpers.labelled.alignment import (
    coordinate,
    coords_along,
    matching_order,
    squeeze_time_bin,
)
from brainscore_vision.metric_helpers.regression.estimators import PearsonR
from brainscore_vision.metric_helpers.regression.metrics import CrossRegressedCorrelation
from brainscore_vision.metric_helpers.regression.on_assemblies import XarrayCorrelation, XarrayRegression

if TYPE_CHECKING:
    from brainscore_core.metrics import Score
    from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly
    from brainscore_vision.metric_helpers.arrays.types import ArrayLike, Floats, Indices, Splits
    from brainscore_vision.metric_helpers.uncertainty.intervals import HeldOut

# Fit responses by a neuroid's spatial mask (where it looks) and weights of channels (which feature it looks for).
#
# The response of neuroid ``k`` to features ``x`` of shape (channels, height, width) is
#
# ``y_k = sum_c w_kc sum_p m_kp x_cp + b_k``
#
# with the mask ``m_k``, the weights ``w_k`` and the offset ``b_k``. All neuroids are fitted together, by Adam on
#
# ``||Y - prediction||_F + a sum_k (||m_k||^2 + ||L m_k||) + b sum_k ||w_k||^2``
#
# over batches of stimuli, where ``L`` is the discrete Laplacian with zeros around the mask (Klindt et al. 2017, NIPS
# 30, arXiv:1711.02653).


_LEAST_EPOCHS = 40
_LEAST_STEPS = 4000
_BLOCK_BYTES = 2**28  # memory for one batch of all splits fitted together


@dataclass(frozen=True)
class MaskSettings:
    """Settings of the fit: batch size, the penalties ``a`` and ``b`` above, and others.

    Attributes
    ----------
    learning_rate
        Step size of Adam; divided by 10 after every `decay_epochs` (None: five eighths of all) epochs.
    n_epochs
        Passes over the training stimuli, in a new random order each. None: 40, or enough for 4000 steps.
    tolerance
        Training ends after an epoch whose last batch has a smaller norm of residuals.
    seed
        Draws the initial masks and weights (standard normal; offsets are 0) and the order of stimuli, for each split.
    """

    learning_rate: float = 0.01
    n_epochs: int | None = None
    decay_epochs: int | None = None
    batch_size: int = 50
    spatial_penalty: float = 0.1
    depth_penalty: float = 0.1
    tolerance: float = 0.1
    seed: int = 0

    def epochs(self, n_train: int) -> tuple[int, int]:
        """Return the number of epochs, and that after which the rate falls."""
        steps = -(-n_train // self.batch_size)
        n_epochs = max(_LEAST_EPOCHS, -(-_LEAST_STEPS // steps)) if self.n_epochs is None else self.n_epochs
        decay = -(-5 * n_epochs // 8) if self.decay_epochs is None else self.decay_epochs
        return n_epochs, max(1, decay)


@dataclass(frozen=True)
class MaskMap:
    """Fitted masks, shape (n_neuroids, height, width), weights of channels, (n_neuroids, n_channels), and offsets."""

    masks: Floats
    weights: Floats
    offsets: Floats

    def predict(self, source: ArrayLike) -> Floats:
        """Predict responses, shape (n_stimuli, n_channels, height, width) to (n_stimuli, n_neuroids)."""
        x = np.asarray(source, dtype=np.float64)
        seen = x.reshape(*x.shape[:2], -1) @ self.masks.reshape(len(self.masks), -1).T
        predicted: Floats = np.einsum("icn,nc->in", seen, self.weights) + self.offsets
        return predicted


def mask_fit(source: ArrayLike, target: ArrayLike, settings: MaskSettings | None = None, *, draw: int = 0) -> MaskMap:
    """Fit masks and channel weights.

    Parameters
    ----------
    source : array-like, shape (n_stimuli, n_channels, height, width)
        Features, finite.
    draw
        Number of the seed's draw; that of split ``i`` in `mask_predict_splits` is ``i``.
    """
    x, y = _arrays(source, target)
    (fitted,) = _fit_together(x, y, [np.arange(len(x))], [draw], settings or MaskSettings())
    return fitted


def mask_predict_splits(
    source: ArrayLike, target: ArrayLike, splits: Splits, settings: MaskSettings | None = None
) -> list[Floats]:
    """Fit the training stimuli as `mask_fit` and predict the others, for every split.

    Splits with equally many training stimuli are fitted together, up to 256 MB of batches.
    """
    x, y = _arrays(source, target)
    settings = settings or MaskSettings()
    pairs = [(np.asarray(train, dtype=np.intp), np.asarray(test, dtype=np.intp)) for train, test in splits]
    bytes_of_one = 8 * settings.batch_size * x.shape[1] * (x[0, 0].size + 3 * y.shape[1])
    width = max(1, _BLOCK_BYTES // bytes_of_one)
    predictions: dict[int, Floats] = {}
    for size in {len(train) for train, _ in pairs}:
        alike = [index for index, (train, _) in enumerate(pairs) if len(train) == size]
        for start in range(0, len(alike), width):
            block = alike[start : start + width]
            fits = _fit_together(x, y, [pairs[index][0] for index in block], block, settings)
            predictions.update({index: fit.predict(x[pairs[index][1]]) for index, fit in zip(block, fits, strict=True)})
    return [predictions[index] for index in range(len(pairs))]


def _arrays(source: ArrayLike, target: ArrayLike) -> tuple[Floats, Floats]:
    x, y = np.asarray(source, dtype=np.float64), np.asarray(target, dtype=np.float64)
    if x.ndim != 4 or y.ndim != 2 or len(x) != len(y) or 0 in x.shape:
        raise ValueError(
            f"Expected features of shape (n_stimuli, n_channels, height, width) and responses of shape (n_stimuli, "
            f"n_neuroids), got {x.shape} and {y.shape}."
        )
    return x, y


def _fit_together(
    x: Floats, y: Floats, trains: Sequence[Indices], draws: Sequence[int], settings: MaskSettings
) -> list[MaskMap]:
    """Fit several training sets of the same size.

    Masks are stored as (splits, pixels, neuroids), weights as (splits, channels, neuroids), so they multiply the batch
    (splits, stimuli * channels, pixels) without a copy.
    """
    n_channels, height, width = x.shape[1:]
    rows = np.stack(trains)
    if not rows.shape[1]:
        raise ValueError("A split has no training stimuli.")
    flat = x.reshape(len(x), n_channels, -1)
    state = _start(draws, height * width, n_channels, y.shape[1], settings.seed)
    finished: dict[int, MaskMap] = {}
    going = np.arange(len(rows))
    adam = Adam(state)
    rate = settings.learning_rate
    n_epochs, decay_epochs = settings.epochs(rows.shape[1])
    for epoch, order in enumerate(_orders(rows, draws, settings)):
        for start in range(0, rows.shape[1], settings.batch_size):
            batch = order[going, start : start + settings.batch_size]
            gradients, norms = _gradients(state, flat[batch], y[batch], (height, width), settings)
            adam.step(state, gradients, rate)
        if epoch and epoch % decay_epochs == 0:
            rate /= 10.0
        done = norms < settings.tolerance
        if done.any() or epoch == n_epochs - 1:
            ending = done | (epoch == n_epochs - 1)
            for index in np.flatnonzero(ending):
                finished[int(going[index])] = _as_map([part[index] for part in state], (height, width))
            going = going[~ending]
            state = [part[~ending] for part in state]
            adam.keep(~ending)
            if not len(going):
                break
    if len(going):  # no epoch at all
        finished = {int(index): _as_map([part[index] for part in state], (height, width)) for index in going}
    return [finished[index] for index in range(len(rows))]


def _start(draws: Sequence[int], n_pixels: int, n_channels: int, n_neuroids: int, seed: int) -> list[Floats]:
    rngs = [generator(seed, "mask regression", "start", draw) for draw in draws]
    masks = np.stack([rng.standard_normal((n_neuroids, n_pixels)).T for rng in rngs])
    weights = np.stack([rng.standard_normal((n_neuroids, n_channels)).T for rng in rngs])
    return [masks, weights, np.zeros((len(draws), n_neuroids))]


def _orders(rows: Indices, draws: Sequence[int], settings: MaskSettings) -> Iterator[Indices]:
    rngs = [generator(settings.seed, "mask regression", "order", draw) for draw in draws]
    for _ in range(settings.epochs(rows.shape[1])[0]):
        yield np.stack([row[rng.permutation(len(row))] for row, rng in zip(rows, rngs, strict=True)])


def _gradients(
    state: Sequence[Floats], x: Floats, y: Floats, shape: tuple[int, int], settings: MaskSettings
) -> tuple[list[Floats], Floats]:
    masks, weights, offsets = state
    n_splits, n_stimuli, n_channels, n_pixels = x.shape
    flat = x.reshape(n_splits, -1, n_pixels)
    seen = (flat @ masks).reshape(n_splits, n_stimuli, n_channels, -1)
    residuals = np.einsum("sicn,scn->sin", seen, weights) + offsets[:, None] - y
    norms = np.sqrt(np.einsum("sin,sin->s", residuals, residuals))
    slopes = residuals / np.where(norms > 0, norms, 1.0)[:, None, None]
    of_weights = np.einsum("sin,sicn->scn", slopes, seen) + 2 * settings.depth_penalty * weights
    np.multiply(slopes[:, :, None], weights[:, None], out=seen)
    of_masks = flat.transpose(0, 2, 1) @ seen.reshape(n_splits, n_stimuli * n_channels, -1)
    rough = _laplacian(masks, shape)
    sizes = np.sqrt(np.einsum("spn,spn->sn", rough, rough))
    rough = _laplacian(rough / np.where(sizes > 0, sizes, 1.0)[:, None], shape)
    of_masks += settings.spatial_penalty * (2 * masks + rough)
    return [of_masks, of_weights, slopes.sum(axis=1)], norms


def _laplacian(masks: Floats, shape: tuple[int, int]) -> Floats:
    """Return four times each pixel less its neighbours, zero outside; masks (splits, pixels, neuroids)."""
    grid = masks.reshape(len(masks), *shape, -1)
    result = 4.0 * grid
    result[:, 1:] -= grid[:, :-1]
    result[:, :-1] -= grid[:, 1:]
    result[:, :, 1:] -= grid[:, :, :-1]
    result[:, :, :-1] -= grid[:, :, 1:]
    laplacian: Floats = result.reshape(masks.shape)
    return laplacian


def _as_map(state: Sequence[Floats], shape: tuple[int, int]) -> MaskMap:
    masks, weights, offsets = state
    return MaskMap(masks=masks.T.reshape(-1, *shape).copy(), weights=weights.T.copy(), offsets=offsets.copy())


GRID_COORDS = ("channel", "channel_x", "channel_y")


@dataclass(frozen=True)
class FeatureGrid:
    """Where the features of a convolutional layer belong."""

    order: Indices  # (n_features,): `features[:, order]` runs over channels, then `channel_x`, then `channel_y`
    shape: tuple[int, int, int]  # numbers of channels and of positions

    @classmethod
    def of(cls, neuroids: Mapping[str, ArrayLike]) -> Self:
        """Read the grid from neuroid coordinates, name -> array of shape (n_features,)."""
        missing = [name for name in GRID_COORDS if name not in neuroids]
        if missing:
            raise AssemblyError(
                f"Masks need the neuroid coordinates {', '.join(GRID_COORDS)} of the source; it has "
                f"{', '.join(neuroids) or 'none'}. Use all activations of a convolutional layer."
            )
        columns = [np.asarray(neuroids[name]) for name in GRID_COORDS]
        if any(np.issubdtype(column.dtype, np.floating) and np.isnan(column).any() for column in columns):
            raise AssemblyError(
                f"Some neuroids of the source have no position ({', '.join(GRID_COORDS)} are NaN), as in fully "
                "connected layers. Use activations of a convolutional layer."
            )
        places = [np.unique(column, return_inverse=True) for column in columns]
        shape = (len(places[0][0]), len(places[1][0]), len(places[2][0]))
        place = np.ravel_multi_index([index for _, index in places], shape)
        order = np.argsort(place, kind="stable")
        size = int(np.prod(shape))
        if not np.array_equal(place[order], np.arange(size)):
            raise AssemblyError(
                f"The source has {len(place)} neuroids at {len(np.unique(place))} distinct places of a grid of "
                f"{shape[0]} channels x {shape[1]} x {shape[2]} positions, which has {size} places. Masks need each "
                "place exactly once: use one layer, without selecting neuroids."
            )
        return cls(order=order, shape=shape)

    def arrange(self, features: ArrayLike) -> Floats:
        """Bring (n_stimuli, n_features) to (n_stimuli, n_channels, height, width)."""
        values = np.asarray(features, dtype=np.float64)
        if not np.array_equal(self.order, np.arange(len(self.order))):
            values = values[:, self.order]
        return values.reshape(-1, *self.shape)


class MaskRegression:
    """Masks and channel weights, with the fit and predict of scikit-learn; settings as for `MaskSettings`."""

    def __init__(self, **settings: Any) -> None:  # those of `MaskSettings`
        self.settings = MaskSettings(**settings)
        self._map: MaskMap | None = None

    def fit(self, X: DataAssembly, Y: DataAssembly) -> Self:  # noqa: N803 -- scikit-learn's names
        """Fit features, dims (presentation, neuroid) with the places of the neuroids, to responses of these dims."""
        self._map = mask_fit(FeatureGrid.of(_neuroids(X)).arrange(X.values), Y.values, self.settings)
        return self

    def predict(self, X: DataAssembly) -> Floats:  # noqa: N803 -- scikit-learn's name
        """Predict responses, shape (n_stimuli, n_neuroids)."""
        if self._map is None:
            raise RuntimeError("MaskRegression has not been fitted yet: call fit(X, Y) first.")
        return self._map.predict(FeatureGrid.of(_neuroids(X)).arrange(X.values))


def _neuroids(source: DataAssembly) -> dict[str, ArrayLike]:
    return {name: values for name, (_, values) in coords_along(source, Defaults.neuroid_dim).items()}


class _MaskRegressionOnGrid:
    """Masks for features of a known grid: predicts all splits in one call."""

    def __init__(self, grid: FeatureGrid, settings: MaskSettings) -> None:
        self._grid = grid
        self._settings = settings

    def predict_splits(self, source: ArrayLike, target: ArrayLike, splits: Splits) -> list[Floats]:
        return mask_predict_splits(self._grid.arrange(source), target, splits, self._settings)


class MaskRegressedCorrelation(CrossRegressedCorrelation):
    """Cross-validated mask regression, then correlation per neuroid; parameters as for `CrossRegressedCorrelation`."""

    def __init__(
        self,
        regression: XarrayRegression,
        correlation: XarrayCorrelation,
        crossvalidation_kwargs: Mapping[str, Any] | None = None,  # arguments of `CrossValidation`
    ) -> None:
        super().__init__(regression, correlation, crossvalidation_kwargs)
        self._crossvalidation_kwargs = crossvalidation_kwargs

    def __call__(self, source: DataAssembly, target: DataAssembly) -> Score:
        """Compare; attrs also hold ``regression_seed``."""
        bound, source, target = self._bound(source, target)
        score = bound(source, target)
        score.attrs["regression_seed"] = self.regression.estimator.settings.seed
        return score

    def held_out(self, source: DataAssembly, target: DataAssembly) -> list[HeldOut]:
        """See the base class."""
        bound, source, target = self._bound(source, target)
        return bound.held_out(source, target)

    def _bound(
        self, source: DataAssembly, target: DataAssembly
    ) -> tuple[CrossRegressedCorrelation, DataAssembly, DataAssembly]:
        source, target = squeeze_time_bin(source), squeeze_time_bin(target)
        ids = [coordinate(assembly, Defaults.stimulus_coord) for assembly in (target, source)]
        # In the order of the target: batches do not depend on the source's.
        source = source.isel(presentation=matching_order(*ids))
        on_grid = _MaskRegressionOnGrid(FeatureGrid.of(_neuroids(source)), self.regression.estimator.settings)
        bound = CrossRegressedCorrelation(XarrayRegression(on_grid), self.correlation, self._crossvalidation_kwargs)
        return bound, source, target


def mask_regression(
    regression_kwargs: Mapping[str, Any] | None = None,  # the fields of `MaskSettings`
) -> XarrayRegression:
    """Make a mask regression on assemblies; `regression_kwargs` are the fields of `MaskSettings`."""
    return XarrayRegression(MaskRegression(**(regression_kwargs or {})))


def mask_cross_validated(
    crossvalidation_kwargs: Mapping[str, Any] | None = None,  # arguments of `CrossValidation`
    regression_kwargs: Mapping[str, Any] | None = None,  # the fields of `MaskSettings`
    *,
    compat: bool = False,
) -> MaskRegressedCorrelation:
    """Make the metric ``mask_regression``."""
    published = {"n_epochs": 40, "decay_epochs": 25} if compat else {}
    return MaskRegressedCorrelation(
        mask_regression({**published, **(regression_kwargs or {})}),
        XarrayCorrelation(PearsonR()),
        {"compat": compat, **(crossvalidation_kwargs or {})},
    )
