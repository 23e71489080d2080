"""Fit one layer to one region, and cache the result."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from zipfile import BadZipFile

import numpy as np

import brainscore_vision.metric_helpers as metric_helpers
from brainscore_core.config import settings
from brainscore_core.identity.digest import content_digest
from brainscore_core.identity.store import cached_file
from brainscore_vision.identity.objects import NotDigestibleError, describe
from brainscore_vision.metric_helpers.arrays.correlation import constant_columns
from brainscore_vision.metric_helpers.arrays.regression.linear_maps import centred_gram, gram_factor
from brainscore_vision.metric_helpers.arrays.seeds import seed_sequence
from brainscore_vision.metric_helpers.labelled.alignment import coordinate
from brainscore_vision.metric_helpers.regression.sides import StreamedFeatures
from brainscore_vision.metric_helpers.uncertainty.intervals import HeldOut, held_out_medians
from brainscore_vision.model_helpers.brain_transformation.layer_atlas.nested import fold_pairs, nested_splits

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
    from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
    from brainscore_vision.metric_helpers.arrays.types import Floats
    from brainscore_vision.metric_helpers.regression.metrics import CrossRegressedCorrelation
    from brainscore_vision.model_helpers.activations.cache.layout import Array

__all__ = ["Features", "FitPlan", "Fits", "fit"]

CACHE_FORMAT = 1
"""Counted up whenever the meaning of a cached entry changes."""


class Fits(NamedTuple):
    """Raw scores of one layer on one region: medians over neuroids.

    Draws of stimuli and neuroids are the same for all layers of a region.
    """

    own: Floats  # (n_splits,), in the splits of the metric; their mean is the metric's score
    own_drawn: Floats  # (n_draws, n_splits)
    outer: Floats  # (n_folds,), on each fold, fitted on all others; NaN if there are too few stimuli
    outer_drawn: Floats  # (n_draws, n_folds)
    inner: Floats  # (n_folds, n_folds), [i, j]: on fold j, fitted without i and j

    @classmethod
    def undefined(cls, n_splits: int, n_folds: int, n_draws: int) -> Fits:
        """Return the scores of a constant layer."""
        shapes = [(n_splits,), (n_draws, n_splits), (n_folds,), (n_draws, n_folds), (n_folds, n_folds)]
        return cls(*(np.full(shape, np.nan) for shape in shapes))


class FitPlan:
    """Measurements (presentation, neuroid), metric and splits, common to all layers.

    The metric depends on the layer through inner products alone.
    """

    def __init__(
        self,
        target: NeuroidAssembly,
        metric: CrossRegressedCorrelation,
        *,
        n_folds: int = 5,
        n_draws: int = 200,
        seed: int = 0,
    ) -> None:
        self.target, self.metric = target, metric
        self.n_folds, self.n_draws, self.seed = n_folds, n_draws, seed
        self.own = metric.splits(target)
        random_state = int(seed_sequence(seed, "layer-atlas", "folds").generate_state(1)[0])
        self.folds = metric.cross_validation.folds(target, n_folds, random_state)

    @cached_property
    def key(self) -> str:
        """Digest of the plan; `NotDigestibleError` if the metric has none."""
        names = [coordinate(self.target, name) for name in ("stimulus_id",)]
        splits = [[list(part) for part in split] for split in self.own] + [[list(fold)] for fold in self.folds]
        values = np.ascontiguousarray(self.target.values)
        return content_digest(
            CACHE_FORMAT, _code(), values, names, splits, describe(self.metric), self.n_draws, self.seed
        )


class Features:
    """Activations of one layer, (n_stimuli, n_units), reduced on demand."""

    def __init__(self, values: Array, stimuli: StimulusSet) -> None:
        self._values = values
        self._stimulus_ids = stimuli["stimulus_id"].to_numpy()

    @cached_property
    def key(self) -> str:
        """Digest of values and stimuli."""
        return content_digest(np.ascontiguousarray(self._values), self._stimulus_ids.astype(str))

    @cached_property
    def constant(self) -> bool:
        """Whether no unit varies."""
        return bool(constant_columns(self._values).all())

    @cached_property
    def source(self) -> StreamedFeatures:
        """The fewest features with the inner products of all units."""
        values: Array = self._values
        if values.shape[1] > len(values):
            values = gram_factor(centred_gram(values))
        return StreamedFeatures(self._stimulus_ids, values)


def fit(features: Features, plan: FitPlan) -> Fits:
    """Fit a layer, or read the cached result; `ValueError` such as for PLS with fewer units than components."""
    key = _key(features, plan)
    if key is None:
        return _fit(features, plan)
    return cached_file("layer-atlas", key, ".npz", write=_write, read=_read, compute=lambda: _fit(features, plan))


def _key(features: Features, plan: FitPlan) -> str | None:
    if settings().caching_disabled:
        return None
    try:
        return content_digest(plan.key, features.key)
    except NotDigestibleError:
        return None


def _fit(features: Features, plan: FitPlan) -> Fits:
    if features.constant:
        return Fits.undefined(len(plan.own), plan.n_folds, plan.n_draws)
    own, own_drawn = _medians(plan.metric.held_out(features.source, plan.target, splits=plan.own), plan)
    try:
        parts = plan.metric.held_out(features.source, plan.target, splits=nested_splits(plan.folds))
    except ValueError:  # too few stimuli without two folds
        nothing = Fits.undefined(len(plan.own), plan.n_folds, plan.n_draws)
        return nothing._replace(own=own, own_drawn=own_drawn)
    outer, outer_drawn = _medians(parts[: plan.n_folds], plan)
    inner = np.full((plan.n_folds, plan.n_folds), np.nan)
    for (i, j), part in zip(fold_pairs(plan.n_folds), parts[plan.n_folds :], strict=True):
        sizes = len(plan.folds[i])
        halves = [HeldOut(*(array[rows] for array in part)) for rows in (slice(None, sizes), slice(sizes, None))]
        inner[j, i], inner[i, j] = held_out_medians(halves, 0)[0]
    return Fits(own, own_drawn, outer, outer_drawn, inner)


def _medians(parts: Sequence[HeldOut], plan: FitPlan) -> tuple[Floats, Floats]:
    return held_out_medians(parts, plan.n_draws, plan.seed)


def _write(fits: Fits, path: Path) -> None:
    with path.open("wb") as stream:
        np.savez(stream, **fits._asdict())


def _read(path: Path) -> Fits:
    try:
        with np.load(path, allow_pickle=False) as stored:
            return Fits(*(stored[name] for name in Fits._fields))
    except (BadZipFile, EOFError, KeyError) as error:
        raise ValueError(f"{path} is damaged: {error}") from error


@lru_cache(maxsize=1)
def _code() -> str:
    folders = [Path(metric_helpers.__file__).parent, Path(__file__).parent]
    files = [path for folder in folders for path in sorted(folder.rglob("*.py"))]
    return content_digest(files, np.__version__)
