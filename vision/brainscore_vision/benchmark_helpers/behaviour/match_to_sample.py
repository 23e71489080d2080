"""The design of benchmarks on confusions: people choose between two objects, models give probabilities."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from brainscore_core.benchmarks import BenchmarkBase
from brainscore_vision.benchmark_helpers.behaviour.choices import learned_probabilities, probabilities_by_halves
from brainscore_vision.benchmark_helpers.checks.handover import checked_metric, name_tested
from brainscore_vision.utils import LazyLoad, loaded

if TYPE_CHECKING:
    from brainscore_core.metrics import Score
    from brainscore_core.supported_data_standards.brainio.assemblies import BehavioralAssembly
    from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
    from brainscore_vision.model_interface import BrainModel

__all__ = ["MatchToSampleBenchmark"]


class MatchToSampleBenchmark(BenchmarkBase):
    """Let a model learn objects, and compare its confusions with people's.

    Parameters
    ----------
    metric : Metric
        Compares probabilities and trials, with its own ``ceiling`` and ``ceil_score``, such as ``load_metric('i2n')``.
    load_trials
        Returns single trials of people, dims (presentation), values the chosen object, with ``truth``, ``sample_obj``,
        ``dist_obj`` and the attribute ``stimulus_set``.
    load_fitting_stimuli
        Returns the stimuli to learn from, none of them tested, with the column ``image_label``. None: each half of the
        tested stimuli, which then have that column, is what models learn for the other half.
    """

    def __init__(
        self,
        identifier: str,
        metric: Any,  # a Metric with methods `ceiling` and `ceil_score`
        load_trials: Callable[[], BehavioralAssembly],
        load_fitting_stimuli: Callable[[], StimulusSet] | None,
        *,
        visual_degrees: float | None,
        parent: str,
        bibtex: str,
        version: int = 1,
    ) -> None:
        self._metric: Any = checked_metric(metric, benchmark=identifier, name="metric")
        self._assembly: Any = LazyLoad(load_trials)
        self._fitting_stimuli: Any = None if load_fitting_stimuli is None else LazyLoad(load_fitting_stimuli)
        self._visual_degrees = visual_degrees
        super().__init__(
            identifier,
            # As for the public half of a published experiment: some pairs of objects have few trials of an image.
            ceiling_func=lambda: self._metric.ceiling(
                self._assembly, **({"skipna": True} if load_fitting_stimuli is None else {})
            ),
            version=version,
            parent=parent,
            bibtex=bibtex,
        )

    def __call__(self, candidate: BrainModel) -> Score:
        """Score a candidate; ``raw`` is the mean correlation with random halves of the trials."""
        tested, degrees = self._assembly.stimulus_set, self._visual_degrees
        if self._fitting_stimuli is None:
            tested = tested[tested["stimulus_id"].isin(self._assembly["stimulus_id"].values)]
            probabilities = probabilities_by_halves(candidate, tested, visual_degrees=degrees)
        else:
            fitting = loaded(self._fitting_stimuli)
            probabilities = learned_probabilities(candidate, tested, fitting, visual_degrees=degrees)
        score = self._metric(probabilities, self._assembly)
        ceiled: Score = self._metric.ceil_score(score, self.ceiling)
        ceiled.attrs.update({name: score.attrs[name] for name in ("n_stimuli", "n_trials", "seed")})
        ceiled.attrs["simulated"] = bool(self._assembly.attrs.get("simulated", False))
        name_tested(ceiled, loaded(self._assembly))
        return ceiled
