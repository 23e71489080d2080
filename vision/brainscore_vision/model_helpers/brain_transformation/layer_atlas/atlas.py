"""Score all layers on all regions from one pass over the stimuli, and choose each region's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from zipfile import BadZipFile

import numpy as np
from tqdm import tqdm

import brainscore_vision.metric_helpers as metric_helpers
from brainscore_core.benchmarks import explained_variance, explained_variance_ratio
from brainscore_core.config import settings
from brainscore_core.errors import ConfigurationError, listed
from brainscore_core.identity.digest import content_digest
from brainscore_core.identity.store import cached_file
from brainscore_core.metrics import Score
from brainscore_vision.benchmark_helpers.neural.benchmark import NeuralBenchmark
from brainscore_vision.benchmark_helpers.screen import place_on_screen
from brainscore_vision.identity.objects import NotDigestibleError, describe
from brainscore_vision.metric_helpers.arrays.correlation import constant_columns
from brainscore_vision.metric_helpers.arrays.regression.linear_maps import centred_gram, gram_factor
from brainscore_vision.metric_helpers.arrays.seeds import seed_sequence
from brainscore_vision.metric_helpers.labelled.alignment import coordinate
from brainscore_vision.metric_helpers.regression.metrics import CrossRegressedCorrelation
from brainscore_vision.metric_helpers.regression.sides import StreamedFeatures
from brainscore_vision.metric_helpers.uncertainty.intervals import HeldOut, held_out_medians, percentiles
from brainscore_vision.model_helpers.brain_transformation.layer_atlas.nested import (
    best,
    choose_nested,
    fold_pairs,
    nested_splits,
)
from brainscore_vision.model_helpers.brain_transformation.layer_atlas.records import (
    LayerAtlas,
    LayerScore,
    RegionChoice,
)
from brainscore_vision.model_helpers.brain_transformation.layer_atlas.scores import (
    OnePass,
    model_of_layer,
    region_recorded,
)

if TYPE_CHECKING:
    from brainscore_core.benchmarks import Benchmark
    from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
    from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
    from brainscore_vision.metric_helpers.arrays.types import Floats
    from brainscore_vision.model_helpers.activations.cache.layout import Array

__all__ = ["Features", "FitPlan", "Fits", "fit", "make_atlas"]

# -- fits of one layer to one region -----------------------------------------------------------------------------------
# Fit one layer to one region, and cache the result.

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

    The metric depends on the layer only through inner products.
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


# -- all layers on all regions -----------------------------------------------------------------------------------------

N_FOLDS, N_DRAWS, LEVEL = 5, 200, 0.95


@dataclass
class _Region:
    name: str
    benchmark: Benchmark
    plan: FitPlan | None = None
    stimuli: StimulusSet | None = None  # on the screen of the model
    number_of_trials: int = 1

    @classmethod
    def of(cls, name: str, benchmark: Benchmark, visual_degrees: float, seed: int) -> _Region:
        if type(benchmark).__call__ is not NeuralBenchmark.__call__ or not isinstance(benchmark, NeuralBenchmark):
            return cls(name, benchmark)
        target, metric, conditions = benchmark.comparison()
        if not isinstance(metric, CrossRegressedCorrelation) or not metric.of_inner_products:
            return cls(name, benchmark)
        if len(conditions.time_bins) != 1:
            return cls(name, benchmark)
        stimuli = place_on_screen(target.attrs["stimulus_set"], visual_degrees, conditions.visual_degrees)
        plan = FitPlan(target, metric, n_folds=N_FOLDS, n_draws=N_DRAWS, seed=seed)
        return cls(name, benchmark, plan, stimuli, conditions.number_of_trials)


def make_atlas(
    model_identifier: str,
    activations_model: Callable[..., NeuroidAssembly],
    layers: Sequence[str],
    visual_degrees: float,
    benchmarks: Mapping[str, Benchmark],
    *,
    seed: int = 0,
) -> LayerAtlas:
    """Score layers on regions, and choose each region's layer.

    The model sees every stimulus once. A `NeuralBenchmark` with a linear regression also gets a nested cross-validation
    (see `nested`) and an interval of the margin; others are called for every layer.

    Parameters
    ----------
    layers
        From early to late; of equal scores, the earliest layer is chosen.
    benchmarks
        By region.
    seed
        For folds and draws of stimuli and neuroids.

    Raises
    ------
    LayerNotFoundError
        The model has no such layer.
    ConfigurationError
        No layer can be scored on a benchmark.
    """
    names = list(dict.fromkeys(layers))
    regions = [_Region.of(region, benchmark, visual_degrees, seed) for region, benchmark in benchmarks.items()]
    model = OnePass(activations_model, names)
    trials = max((region.number_of_trials for region in regions), default=1)
    model.show([region.stimuli for region in regions if region.stimuli is not None], trials)
    results: dict[str, list[Fits | str | Score]] = {region.name: [] for region in regions}
    for layer in tqdm(names, desc="layers", leave=False, disable=None):
        features: dict[tuple[str, ...], Features | None] = {}
        for region in regions:
            layer_model = model_of_layer(
                model_identifier, model, region_recorded(region.benchmark), layer, visual_degrees
            )
            fitted = _fit_layer(region, layer, model, features)
            results[region.name].append(region.benchmark(layer_model) if fitted is None else fitted)
    choices = [_choose(region, names, results[region.name], seed) for region in regions]
    return LayerAtlas(model=model_identifier, layers=names, regions=choices)


def _fit_layer(
    region: _Region, layer: str, model: OnePass, features: dict[tuple[str, ...], Features | None]
) -> Fits | str | None:
    """Fit a layer to a region; return the reason of a failure, or None if only the benchmark can score it."""
    if region.plan is None or region.stimuli is None:
        return None
    paths = tuple(str(region.stimuli.get_stimulus(stimulus_id)) for stimulus_id in region.stimuli["stimulus_id"])
    if paths not in features:
        values = model.values(region.stimuli, layer)
        features[paths] = None if values is None else Features(values, region.stimuli)
    of_layer = features[paths]
    if of_layer is None:
        return None
    try:
        return fit(of_layer, region.plan)
    except ValueError as error:  # such as fewer units than components: other layers may work
        return str(error)


def _choose(region: _Region, layers: Sequence[str], results: Sequence[Fits | str | Score], seed: int) -> RegionChoice:
    ceiling = float(region.benchmark.ceiling)
    draws = [_drawn(result, ceiling) for result in results]
    scores = [
        _layer_score(layer, result, drawn, region.benchmark)
        for layer, result, drawn in zip(layers, results, draws, strict=True)
    ]
    values = np.asarray([np.nan if score.score is None else score.score for score in scores])
    if np.isnan(values).all():
        raise ConfigurationError(
            f"No layer can be scored on benchmark {region.benchmark.identifier!r}:"
            + listed([f"{score.layer}: {score.note}" for score in scores])
        )
    first = best(values)
    others = np.where(np.arange(len(values)) == first, np.nan, values)
    second = None if np.isnan(others).all() else best(others)
    first_draws, second_draws = draws[first], None if second is None else draws[second]
    interval = None if first_draws is None or second_draws is None else _interval(first_draws - second_draws)
    nested = _nested(results, first, ceiling)
    return RegionChoice(
        region=region.name,
        benchmark=str(region.benchmark.identifier),
        simulated=_simulated(region, results),
        scores=scores,
        layer=layers[first],
        runner_up=None if second is None else layers[second],
        margin=None if second is None else float(values[first] - values[second]),
        margin_interval=interval,
        **nested._asdict(),
        seed=seed,
    )


def _drawn(result: Fits | str | Score, ceiling: float) -> Floats | None:
    if not isinstance(result, Fits) or np.isnan(result.own).any():
        return None
    return _ceiled_draws(result.own, result.own_drawn, ceiling)


def _ceiled_draws(whole: Floats, drawn: Floats, ceiling: float) -> Floats | None:
    """Return ceiled means of draws, centred on the mean of the whole; None if a part is too small for draws."""
    means = drawn.mean(axis=1)
    if np.isfinite(means).sum() < 2:
        return None
    # Draws repeat stimuli and correlate a little less: their bias is not that of the score.
    ceiled: Floats = explained_variance_ratio(means - np.nanmean(means) + whole.mean(), ceiling)
    return ceiled


def _error(drawn: Floats | None) -> float | None:
    return None if drawn is None else float(np.nanstd(drawn, ddof=1))


def _interval(drawn: Floats | None) -> tuple[float, float] | None:
    return None if drawn is None or not np.isfinite(drawn).any() else percentiles(drawn)


def _layer_score(layer: str, result: Fits | str | Score, drawn: Floats | None, benchmark: Benchmark) -> LayerScore:
    if isinstance(result, str):
        return LayerScore(layer=layer, score=None, note=result)
    if isinstance(result, Score):
        interval = result.attrs.get("interval")
        return LayerScore(
            layer=layer,
            score=_finite(result),
            error=_finite(result.attrs.get("error")),
            interval=None if interval is None else (float(interval[0]), float(interval[1])),
        )
    if np.isnan(result.own).any():
        return LayerScore(layer=layer, score=None, note="The layer answers the same to every stimulus.")
    raw = Score(result.own.mean())
    raw.attrs["quantity"] = "correlation"
    return LayerScore(
        layer=layer,
        score=float(explained_variance(raw, benchmark.ceiling)),
        error=_error(drawn),
        interval=_interval(drawn),
    )


def _finite(value: object) -> float | None:
    number = float("nan") if value is None else float(np.asarray(getattr(value, "values", value)))
    return number if np.isfinite(number) else None


class _Nested(NamedTuple):
    nested_score: float | None = None
    nested_error: float | None = None
    fold_score: float | None = None
    n_folds: int = 0
    n_same: int = 0


def _nested(results: Sequence[Fits | str | Score], first: int, ceiling: float) -> _Nested:
    fits = {
        index: result
        for index, result in enumerate(results)
        if isinstance(result, Fits) and not np.isnan(result.outer).any()
    }
    if first not in fits:
        return _Nested()
    places, outer = list(fits), np.stack([layer.outer for layer in fits.values()])
    choice = choose_nested(outer, np.stack([layer.inner for layer in fits.values()]))
    folds = np.arange(N_FOLDS)
    drawn = np.stack([fits[places[layer]].outer_drawn[:, fold] for fold, layer in enumerate(choice.layers)], axis=1)
    return _Nested(
        nested_score=float(explained_variance_ratio(choice.score, ceiling)),
        nested_error=_error(_ceiled_draws(outer[choice.layers, folds], drawn, ceiling)),
        fold_score=float(explained_variance_ratio(fits[first].outer.mean(), ceiling)),
        n_folds=N_FOLDS,
        n_same=sum(places[layer] == first for layer in choice.layers),
    )


def _simulated(region: _Region, results: Sequence[Fits | str | Score]) -> bool:
    if region.plan is not None:
        return bool(region.plan.target.attrs.get("simulated", False))
    return any(bool(score.attrs.get("simulated", False)) for score in results if isinstance(score, Score))
