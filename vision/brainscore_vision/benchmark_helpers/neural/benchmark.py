"""The standard designs of neural benchmarks: compare a model with recordings from one region."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import xarray as xr

from brainscore_core.benchmarks import BenchmarkBase, ceil_score, explained_variance, validate_pair
from brainscore_core.errors import AssemblyError
from brainscore_core.metrics import Score
from brainscore_vision.benchmark_helpers.checks import checked_metric, compare, say_why_undefined, score_of_constant
from brainscore_vision.benchmark_helpers.recordings import (
    RecordingConditions,
    check_degrees,
    describe,
    record,
    region_of,
    squeeze_single_timebin,
    timebins,
    varies_over_time,
)
from brainscore_vision.benchmark_helpers.scores.normalization import (
    ceiling_of,
    neuroid_wise_explained_var,
    note_error_over_units,
)

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
    from brainscore_vision.model_interface import BrainModel
    from brainscore_vision.utils import LazyLoad

__all__ = ["ModelComparison", "NeuralBenchmark", "TrainTestNeuralBenchmark"]


class ModelComparison(NamedTuple):
    """The target of a `NeuralBenchmark`, metric and conditions."""

    target: NeuroidAssembly  # (presentation, neuroid[, time_bin]), with the attribute stimulus_set
    metric: Callable[..., Score]
    conditions: RecordingConditions


class NeuralBenchmark(BenchmarkBase):
    """Show an experiment's stimuli to a model, record one region, and compare with the recordings.

    Score: ``normalization(metric(model, recordings), ceiling)``.

    Parameters
    ----------
    assembly
        Dims (presentation, neuroid[, time_bin]), repetitions averaged, with the coordinate ``region`` of a single value
        and the attribute ``stimulus_set``.
    similarity_metric : Metric
        ``metric(model_assembly, assembly)`` returns a correlation, or another input of `normalization`.
    timebins : list of (int, int), optional
        Windows to record, ms after stimulus onset. None: the assembly's, or `DEFAULT_TIMEBINS`.
    normalization
        ``normalization(raw, ceiling)``: `explained_variance` for correlations and a reliability, `ceil_score` for a
        ceiling of the metric's quantity (see `geometry_ceiling`).
    static_models
        Whether to score models that give the same answer in all of several time bins.
    **kwargs
        ``ceiling_func`` (a `LazyCeiling` announces its quantity), ``stimulus_cluster`` and others of `BenchmarkBase`.
    """

    def __init__(
        self,
        identifier: str,
        assembly: NeuroidAssembly | LazyLoad,
        similarity_metric: Callable[..., Score],
        visual_degrees: float | None,
        number_of_trials: int,
        timebins: Sequence[tuple[float, float]] | None = None,
        *,
        normalization: Callable[[Score, Score], Score] = explained_variance,
        static_models: bool = True,
        version: int = 1,
        **kwargs: Any,  # checked by BenchmarkBase
    ) -> None:
        super().__init__(identifier=identifier, version=version, **kwargs)
        ceiling = kwargs.get("ceiling_func", kwargs.get("ceiling"))
        validate_pair(similarity_metric, ceiling, normalization, of=f"Benchmark {identifier!r}")
        check_degrees(visual_degrees, identifier)
        self._assembly = cast("NeuroidAssembly", assembly)  # a LazyLoad acts as the assembly
        self._similarity_metric = checked_metric(similarity_metric, benchmark=identifier)
        self._visual_degrees = visual_degrees
        self._number_of_trials = number_of_trials
        self._given_timebins = timebins
        self._normalization = normalization
        self._static_models = static_models

    @cached_property
    def region(self) -> str:
        """The one region of the recordings."""
        return region_of(self._assembly, self.identifier)

    @cached_property
    def timebins(self) -> list[tuple[float, float]]:
        """Windows to record, ms after stimulus onset."""
        return timebins(self._assembly, self._given_timebins)

    def measurement(self) -> NeuroidAssembly:
        """See `BenchmarkBase.measurement`."""
        return self._assembly

    def comparison(self) -> ModelComparison:
        """Return the parts, to compare many layers at once."""
        conditions = RecordingConditions(self.region, self.timebins, self._visual_degrees, self._number_of_trials)
        return ModelComparison(squeeze_single_timebin(self._assembly), self._similarity_metric, conditions)

    def __call__(self, candidate: BrainModel) -> Score:
        """Score a candidate."""
        target, metric, conditions = self.comparison()
        source = record(candidate, self._assembly, conditions, benchmark=self.identifier)
        score = score_of_constant(candidate, self.ceiling, source)
        if score is None:
            if "time_bin" in target.dims and self._is_static(source):
                return self._not_applicable(candidate.identifier)
            score = self._normalization(compare(metric, source, target, benchmark=self.identifier), self.ceiling)
            score = self.over_clusters(score)
            say_why_undefined(score, candidate)
        describe(score, candidate, [self._assembly], conditions)
        return score

    def _is_static(self, source: NeuroidAssembly) -> bool:
        return "time_bin" not in source.dims or not (self._static_models or varies_over_time(source))

    def _not_applicable(self, model: str) -> Score:
        score = ceil_score(Score(np.nan), self.ceiling)
        score.attrs["not_applicable"] = (
            f"Model {model!r} does not change over time, and benchmark {self.identifier!r} is about what does in "
            f"{len(self.timebins)} time bins from {self.timebins[0][0]} to {self.timebins[-1][1]} ms."
        )
        return score


class TrainTestNeuralBenchmark(BenchmarkBase):
    """Fit the mapping from model to recordings on one set of stimuli and test it on another.

    Parameters
    ----------
    train_assembly, test_assembly
        As in `NeuralBenchmark`, of the same region.
    similarity_metric : Metric
        Called with the keywords ``source_train``, ``target_train``, ``source_test``, ``target_test``.
    alpha_coord
        Coordinate of neuroid, such as ``'subject'``: fit and normalise each value separately, then average. Stimuli
        with NaN for all neuroids of a value are excluded there.
    per_voxel_ceilings
        Normalise each neuroid by its own ceiling (see `neuroid_wise_explained_var`), not all by one.
    """

    def __init__(
        self,
        identifier: str,
        ceiling_func: Callable[[], Score | float],
        version: int,
        train_assembly: NeuroidAssembly | LazyLoad,
        test_assembly: NeuroidAssembly | LazyLoad,
        similarity_metric: Callable[..., Score],
        visual_degrees: float | None,
        number_of_trials: int,
        parent: str | None,
        alpha_coord: str | None = None,
        per_voxel_ceilings: bool = False,
        timebins: Sequence[tuple[float, float]] | None = None,
        **kwargs: Any,  # checked by BenchmarkBase
    ) -> None:
        super().__init__(identifier=identifier, ceiling_func=ceiling_func, version=version, parent=parent, **kwargs)
        validate_pair(similarity_metric, ceiling_func, explained_variance, of=f"Benchmark {identifier!r}")
        check_degrees(visual_degrees, identifier)
        self._train_assembly = cast("NeuroidAssembly", train_assembly)  # a LazyLoad acts as the assembly
        self._test_assembly = cast("NeuroidAssembly", test_assembly)
        self._similarity_metric = checked_metric(similarity_metric, benchmark=identifier)
        self._visual_degrees = visual_degrees
        self._number_of_trials = number_of_trials
        self._given_timebins = timebins
        self.alpha_coord = alpha_coord
        self.per_voxel_ceilings = per_voxel_ceilings

    @cached_property
    def region(self) -> str:
        """The recordings' region; `AssemblyError` if training and test differ in it."""
        train, test = (region_of(assembly, self.identifier) for assembly in (self._train_assembly, self._test_assembly))
        if train != test:
            raise AssemblyError(
                f"The assemblies of {self.identifier!r} train on region {train!r} and test on {test!r}; take the same "
                "region from both assemblies."
            )
        return train

    @cached_property
    def timebins(self) -> list[tuple[float, float]]:
        """Windows to record, ms after stimulus onset."""
        return timebins(self._train_assembly, self._given_timebins)

    def measurement(self) -> NeuroidAssembly:
        """See `BenchmarkBase.measurement`."""
        return self._test_assembly

    def __call__(self, candidate: BrainModel) -> Score:
        """Score a candidate.

        With ``alpha_coord``, each value's score is an attribute of that name; for ``error`` see
        `note_error_over_units`.
        """
        assemblies = self._train_assembly, self._test_assembly
        conditions = RecordingConditions(self.region, self.timebins, self._visual_degrees, self._number_of_trials)
        source_train, source_test = (
            record(candidate, assembly, conditions, benchmark=self.identifier) for assembly in assemblies
        )
        source = {"source_train": source_train, "source_test": source_test}
        train, test = (squeeze_single_timebin(assembly) for assembly in assemblies)
        score = score_of_constant(candidate, self.ceiling, source_train, source_test)
        if score is None:
            if self.alpha_coord is None:
                score = self._compare(source, train, test, self.ceiling)
            else:
                score = self._compare_by(self.alpha_coord, source, train, test)
            score = self.over_clusters(score)
            say_why_undefined(score, candidate)
        describe(score, candidate, assemblies, conditions)
        return score

    def _compare(
        self, source: Mapping[str, NeuroidAssembly], train: NeuroidAssembly, test: NeuroidAssembly, ceiling: Score
    ) -> Score:
        inputs = {**source, "target_train": train, "target_test": test}
        raw = compare(self._similarity_metric, benchmark=self.identifier, **inputs)
        return (neuroid_wise_explained_var if self.per_voxel_ceilings else explained_variance)(raw, ceiling)

    def _compare_by(
        self, coord: str, source: Mapping[str, NeuroidAssembly], train: NeuroidAssembly, test: NeuroidAssembly
    ) -> Score:
        scores = {}
        for value in self._values_of(coord, train, test):
            some_train, some_test = (_recorded(assembly, coord, value) for assembly in (train, test))
            some_source = {
                name: _shown_in(source[name], some)
                for name, some in zip(("source_train", "source_test"), (some_train, some_test), strict=True)
            }
            ceiling = ceiling_of(some_test, self.ceiling, alike=coord)
            scores[str(value)] = self._compare(some_source, some_train, some_test, ceiling)
        raws = [score.attrs["raw"] for score in scores.values()]
        values, raw_values = (np.array([float(part) for part in parts]) for parts in (scores.values(), raws))
        score, raw = Score(values.mean()), Score(raw_values.mean())
        note_error_over_units(raw, dict(zip(scores, raws, strict=True)), coord)
        if all("raw" in part.attrs for part in raws):
            raw.attrs["raw"] = xr.concat([part.attrs["raw"] for part in raws], dim="neuroid")
        score.attrs.update({"raw": raw, "ceiling": self.ceiling, **scores})
        return note_error_over_units(score, scores, coord)

    def _values_of(self, coord: str, train: NeuroidAssembly, test: NeuroidAssembly) -> list[str]:
        levels = [set(np.unique(assembly[coord].values).tolist()) for assembly in (train, test)]
        if levels[0] != levels[1]:
            differing = [sorted(map(str, one - other)) for one, other in (levels, reversed(levels))]
            raise AssemblyError(
                f"The assemblies of {self.identifier!r} are of different {coord}s: {differing[0]} only train and "
                f"{differing[1]} only test. Keep neuroids of those that both have."
            )
        return sorted(levels[0])


def _recorded(assembly: NeuroidAssembly, coord: str, value: str) -> NeuroidAssembly:
    """Return a coordinate value's neuroids, and the stimuli they responded to."""
    some = assembly[{"neuroid": np.flatnonzero(assembly[coord].values == value)}]
    axis = tuple(some.get_axis_num(dim) for dim in some.dims if dim != "presentation")
    responded = ~np.isnan(some.values).all(axis=axis)
    return some if responded.all() else some[{"presentation": np.flatnonzero(responded)}]


def _shown_in(source: NeuroidAssembly, target: NeuroidAssembly) -> NeuroidAssembly:
    if source.sizes["presentation"] == target.sizes["presentation"]:
        return source
    answered = np.isin(source["stimulus_id"].values, target["stimulus_id"].values)
    return source[{"presentation": np.flatnonzero(answered)}]
