"""Provide the standard designs of neural benchmarks: compare a model with recordings from one region."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import xarray as xr

from brainscore_core.benchmarks import BenchmarkBase, explained_variance, explained_variance_ratio
from brainscore_core.errors import AssemblyError
from brainscore_core.metrics import Score
from brainscore_vision.benchmark_helpers.normalization import ceiling_of, neuroid_wise_explained_var
from brainscore_vision.benchmark_helpers.recordings import (
    Conditions,
    describe,
    record,
    region_of,
    squeeze_single_timebin,
    timebins,
)
from brainscore_vision.metric_helpers.uncertainty.ceiled import ceiled_interval

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
    from brainscore_vision.model_interface import BrainModel
    from brainscore_vision.utils import LazyLoad

__all__ = ["NeuralBenchmark", "TrainTestNeuralBenchmark"]


class NeuralBenchmark(BenchmarkBase):
    """Show the stimuli of an experiment to a model, record from one region, and compare with the recordings.

    Score: ``explained_variance(metric(model, recordings), ceiling)``.

    Parameters
    ----------
    identifier : str
        Unique name, equal to the registry key: ``<AuthorYear>.<region>-<metric>``.
    assembly : NeuroidAssembly
        Dims (presentation, neuroid[, time_bin]), repetitions averaged, with the coordinate ``region`` of a single
        value and the attribute ``stimulus_set``. A `LazyLoad` is loaded when it is first needed.
    similarity_metric : Metric
        ``metric(model_assembly, assembly)`` returns a correlation.
    visual_degrees : float
        Width of the stimuli in the experiment, degrees of visual angle.
    number_of_trials : int
        How often each stimulus was shown; a stochastic model is shown it as often.
    timebins : list of (int, int), optional
        Windows to record, ms after stimulus onset. None: those of the assembly, or `DEFAULT_TIMEBINS` if it has none.
    **kwargs
        ``ceiling_func``, ``version``, ``parent``, ``bibtex`` of `BenchmarkBase`.
    """

    def __init__(
        self,
        identifier: str,
        assembly: NeuroidAssembly | LazyLoad,
        similarity_metric: Callable[..., Score],
        visual_degrees: float,
        number_of_trials: int,
        timebins: Sequence[tuple[float, float]] | None = None,
        **kwargs: Any,  # checked by BenchmarkBase
    ) -> None:
        super().__init__(identifier=identifier, **kwargs)
        self._assembly = cast("NeuroidAssembly", assembly)  # a LazyLoad acts as what it loads
        self._similarity_metric = similarity_metric
        self._visual_degrees = visual_degrees
        self._number_of_trials = number_of_trials
        self._given_timebins = timebins

    @cached_property
    def region(self) -> str:
        """The one region of the recordings."""
        return region_of(self._assembly, self.identifier)

    @cached_property
    def timebins(self) -> list[tuple[float, float]]:
        """The windows to record, ms after stimulus onset."""
        return timebins(self._assembly, self._given_timebins)

    def __call__(self, candidate: BrainModel) -> Score:
        """Score a candidate.

        Returns
        -------
        Score
            0-d. Attributes: ``raw``, ``ceiling``, ``error``, ``n_stimuli``, ``n_neuroids``, ``n_trials``,
            ``simulated``; ``layers`` if the model says which it used; ``interval`` (95 %, see `ceiled_interval`) if
            the metric keeps values for each split and neuroid.

        Raises
        ------
        CeilingError
            If the recordings have no usable ceiling.
        """
        target = squeeze_single_timebin(self._assembly)
        conditions = Conditions(self.region, self.timebins, self._visual_degrees, self._number_of_trials)
        source = record(candidate, self._assembly, conditions, benchmark=self.identifier)
        score = explained_variance(self._similarity_metric(source, target), self.ceiling)
        describe(score, candidate, [self._assembly], conditions)
        interval = ceiled_interval(score.attrs["raw"], self.ceiling, explained_variance_ratio)
        if interval is not None:
            score.attrs["interval"] = interval
        return score


class TrainTestNeuralBenchmark(BenchmarkBase):
    """Fit the mapping from model to recordings on one set of stimuli and test it on another.

    Parameters
    ----------
    train_assembly, test_assembly : NeuroidAssembly
        As in `NeuralBenchmark`, of the same region.
    similarity_metric : Metric
        Called with the keywords ``source_train``, ``target_train``, ``source_test``, ``target_test``.
    alpha_coord : str, optional
        Coordinate of neuroid, such as ``'subject'``: fit and normalise apart for each of its values, then average.
        None: all neuroids together.
    per_voxel_ceilings : bool
        Normalise each neuroid by its own ceiling (see `neuroid_wise_explained_var`) instead of all by one.
    timebins : list of (int, int), optional
        See `NeuralBenchmark`; None: those of the training assembly.
    """

    def __init__(
        self,
        identifier: str,
        ceiling_func: Callable[[], Score | float],
        version: int,
        train_assembly: NeuroidAssembly | LazyLoad,
        test_assembly: NeuroidAssembly | LazyLoad,
        similarity_metric: Callable[..., Score],
        visual_degrees: float,
        number_of_trials: int,
        parent: str | None,
        alpha_coord: str | None = None,
        per_voxel_ceilings: bool = False,
        timebins: Sequence[tuple[float, float]] | None = None,
        **kwargs: Any,  # checked by BenchmarkBase
    ) -> None:
        super().__init__(identifier=identifier, ceiling_func=ceiling_func, version=version, parent=parent, **kwargs)
        self._train_assembly = cast("NeuroidAssembly", train_assembly)  # a LazyLoad acts as what it loads
        self._test_assembly = cast("NeuroidAssembly", test_assembly)
        self._similarity_metric = similarity_metric
        self._visual_degrees = visual_degrees
        self._number_of_trials = number_of_trials
        self._given_timebins = timebins
        self.alpha_coord = alpha_coord
        self.per_voxel_ceilings = per_voxel_ceilings

    @cached_property
    def region(self) -> str:
        """The one region of the recordings.

        Raises
        ------
        AssemblyError
            If training and test recordings are of different regions.
        """
        train, test = (region_of(each, self.identifier) for each in (self._train_assembly, self._test_assembly))
        if train != test:
            raise AssemblyError(
                f"The assemblies of {self.identifier!r} train on region {train!r} and test on {test!r}; take the same "
                "region from both assemblies."
            )
        return train

    @cached_property
    def timebins(self) -> list[tuple[float, float]]:
        """The windows to record, ms after stimulus onset."""
        return timebins(self._train_assembly, self._given_timebins)

    def __call__(self, candidate: BrainModel) -> Score:
        """Score a candidate; see `NeuralBenchmark` for what the score holds.

        Returns
        -------
        Score
            0-d. With ``alpha_coord`` it also has the score of each value of that coordinate as an attribute of that
            name.
        """
        assemblies = self._train_assembly, self._test_assembly
        conditions = Conditions(self.region, self.timebins, self._visual_degrees, self._number_of_trials)
        source_train, source_test = (
            record(candidate, assembly, conditions, benchmark=self.identifier) for assembly in assemblies
        )
        source = {"source_train": source_train, "source_test": source_test}
        train, test = (squeeze_single_timebin(assembly) for assembly in assemblies)
        if self.alpha_coord is None:
            score = self._compare(source, train, test, self.ceiling)
        else:
            score = self._compare_by(self.alpha_coord, source, train, test)
        describe(score, candidate, assemblies, conditions)
        return score

    def _compare(
        self, source: Mapping[str, NeuroidAssembly], train: NeuroidAssembly, test: NeuroidAssembly, ceiling: Score
    ) -> Score:
        raw = self._similarity_metric(**source, target_train=train, target_test=test)
        return (neuroid_wise_explained_var if self.per_voxel_ceilings else explained_variance)(raw, ceiling)

    def _compare_by(
        self, coord: str, source: Mapping[str, NeuroidAssembly], train: NeuroidAssembly, test: NeuroidAssembly
    ) -> Score:
        scores = {}
        for value in np.unique(train[coord].values):
            some_train, some_test = (
                each[{"neuroid": np.flatnonzero(each[coord].values == value)}] for each in (train, test)
            )
            scores[str(value)] = self._compare(source, some_train, some_test, ceiling_of(some_test, self.ceiling))
        raws = [each.attrs["raw"] for each in scores.values()]
        score, raw = (Score(np.mean([float(each) for each in part])) for part in (scores.values(), raws))
        if all("raw" in each.attrs for each in raws):
            raw.attrs["raw"] = xr.concat([each.attrs["raw"] for each in raws], dim="neuroid")
        score.attrs.update({"raw": raw, "ceiling": self.ceiling, **scores})
        return score
