"""Ask a model for the side of a vernier's offset, and compare its threshold with that of people.

Malania et al. (2007), doi:10.1167/7.2.1: flanking lines raise the offset of a vernier, in seconds of arc, that people
need for 75 % right answers. Compared are ratios of thresholds with and without flankers, for each kind, and the
threshold without.

A model learns left and right from 500 other drawings for each kind of flankers. Each drawing is shown ten times with
small eye movements.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from brainscore_core.supported_data_standards.brainio.assemblies import BehavioralAssembly
from brainscore_vision import load_dataset, load_metric, load_stimulus_set
from brainscore_vision.benchmark_helpers import bound_score
from brainscore_vision.benchmark_helpers.behaviour.choices import learned_from, shown
from brainscore_vision.benchmark_helpers.screen import accepted, place_on_screen, presented
from brainscore_vision.benchmarks import BenchmarkBase, ceil_score
from brainscore_vision.data_helpers import cite_data
from brainscore_vision.metric_helpers.labelled.alignment import coordinate, matching_order
from brainscore_vision.metric_helpers.uncertainty.errors import note_error, standard_error
from brainscore_vision.metrics import Score
from brainscore_vision.model_interface import BrainModel
from brainscore_vision.utils import LazyLoad, loaded

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.assemblies import PropertyAssembly

BIBTEX = cite_data("malania2007")

BASELINE_CONDITION = "vernier_only"
# Length of the flankers relative to the vernier, and their number on both sides together.
CONDITIONS = ("short2", "short4", "short6", "short8", "short16", "equal2", "long2", "equal16", "long16")
DATASETS = [*(f"{condition}-threshold_elevation" for condition in CONDITIONS), "vernieracuity-threshold"]
"""Suffixes of the identifiers, after ``Malania2007.``."""

VISUAL_DEGREES = 2.986667
NUMBER_OF_TRIALS = 10
NUMBER_OF_FITTING_TRIALS = 2
OFFSET = "vernier_offset_arcsec"
THRESHOLD_ACCURACY = 0.75


class Malania2007ThresholdElevation(BenchmarkBase):
    """Similarity to people of the ratio of thresholds with and without flankers.

    With `published`, ceiling and errors are as published (see the metric `threshold_elevation`), without a bound at 1.
    """

    def __init__(self, condition: str, *, published: bool = False) -> None:
        self._condition = condition
        self._people: Any = LazyLoad(lambda: people_in(condition))
        self._drawings = _drawings(f"{condition}_fit", BASELINE_CONDITION, condition)
        self._visual_degrees = VISUAL_DEGREES
        self._published = published
        self._metric: Any = load_metric(
            "threshold_elevation",
            independent_variable=OFFSET,
            baseline_condition=BASELINE_CONDITION,
            test_condition=condition,
            threshold_accuracy=THRESHOLD_ACCURACY,
            compat=published,
        )
        super().__init__(
            identifier=f"Malania2007.{condition}-threshold_elevation",
            version=1,
            ceiling_func=lambda: self._metric.ceiling(loaded(self._people)),
            parent="Malania2007",
            bibtex=BIBTEX,
        )

    def __call__(self, candidate: BrainModel) -> Score:
        """Return the closeness to people, divided by that between people; 0 for a model without a threshold."""
        responses = respond(candidate, self._drawings, self._condition, [BASELINE_CONDITION, self._condition])
        score = ceil_score(self._metric(responses, loaded(self._people)), self.ceiling)
        if not self._published:
            bound_score(score)
        return score


class Malania2007VernierAcuity(BenchmarkBase):
    """Similarity to people of the threshold without flankers, averaged over the kinds of training drawings.

    For each kind of flankers, the model learns from its drawings and is compared with the people who saw them. With
    `published`, ceiling and errors are as published, and clipped to 1 for each kind, before averaging.
    """

    def __init__(self, *, published: bool = False) -> None:
        self._people = {condition: LazyLoad(partial(people_in, condition)) for condition in CONDITIONS}
        self._drawings = _drawings(BASELINE_CONDITION, *(f"{condition}_fit" for condition in CONDITIONS))
        self._visual_degrees = VISUAL_DEGREES
        self._published = published
        self._metric: Any = load_metric(
            "threshold", independent_variable=OFFSET, threshold_accuracy=THRESHOLD_ACCURACY, compat=published
        )
        super().__init__(
            identifier="Malania2007.vernieracuity-threshold",
            version=1,
            ceiling_func=self._mean_ceiling,
            parent="Malania2007",
            bibtex=BIBTEX,
        )

    def _mean_ceiling(self) -> Score:
        ceilings = [self._metric.ceiling(loaded(people)) for people in self._people.values()]
        mean = Score(np.mean([float(ceiling) for ceiling in ceilings]))
        mean.attrs["error"] = float(np.mean([ceiling.attrs["error"] for ceiling in ceilings]))
        return mean

    def __call__(self, candidate: BrainModel) -> Score:
        """Score a candidate; conditions without threshold count as 0.

        ``raw`` keeps the closeness in each condition (``attrs['raw']``) and ``failures``.
        """
        scores = {
            condition: self._metric(
                respond(candidate, self._drawings, condition, [BASELINE_CONDITION])[BASELINE_CONDITION], loaded(people)
            )
            for condition, people in self._people.items()
        }
        closeness = np.array([float(score) for score in scores.values()])
        if self._published:
            closeness = np.minimum(closeness, float(self.ceiling))
        raw = Score(closeness.mean())
        raw.attrs["raw"] = Score(closeness, coords={"condition": list(scores)}, dims=["condition"])
        raw.attrs["failures"] = {
            condition: score.attrs["failure"] for condition, score in scores.items() if "failure" in score.attrs
        }
        persons = self._of_persons(scores)
        errors = [score.attrs["error"] for score in scores.values()]
        note_error(raw, np.mean(errors) if self._published else standard_error(persons), over="subject", n=len(persons))
        raw.attrs["n_subjects"] = len(persons)
        score = ceil_score(raw, self.ceiling)
        bound_score(score)
        return score

    def _of_persons(self, scores: dict[str, Score]) -> list[float]:
        """Return the closeness to each person, over that person's conditions."""
        thresholds: dict[str, list[float]] = {}
        for condition, score in scores.items():
            subjects = coordinate(self._people[condition]["baseline_assembly"], "subject").astype(str)
            values = score.attrs["raw"].values if "raw" in score.attrs else np.zeros(len(subjects))
            for subject, value in zip(subjects, values, strict=True):
                thresholds.setdefault(subject, []).append(float(value))
        return [float(np.mean(values)) for values in thresholds.values()]


def load_assembly(dataset: str) -> PropertyAssembly:
    """Load the thresholds of people in a condition, dims (subject), in seconds of arc."""
    return load_dataset(f"Malania2007.{dataset}")


def people_in(condition: str) -> dict[str, Any]:
    """Return the thresholds with and without flankers of the people who have both."""
    baseline, test = load_assembly(BASELINE_CONDITION), load_assembly(condition)
    with_both = set(_measured(baseline)) & set(_measured(test))
    return {"baseline_assembly": _of(baseline, with_both), "condition_assembly": _of(test, with_both)}


def _measured(thresholds: PropertyAssembly) -> list[Any]:
    return list(coordinate(thresholds, "subject")[np.isfinite(thresholds.values)])


def _of(thresholds: PropertyAssembly, subjects: set[Any]) -> PropertyAssembly:
    selected = [subject in subjects for subject in coordinate(thresholds, "subject").tolist()]
    return thresholds.isel(subject=np.flatnonzero(selected))


def respond(
    candidate: BrainModel, drawings: Mapping[str, Any], flankers: str, conditions: Iterable[str]
) -> dict[str, Any]:
    """Return a model's answers after learning from drawings with one kind of flankers.

    Drawings are needed of ``<flankers>_fit`` and the conditions; ``vernier_offset_arcsec`` is the absolute offset.
    """
    candidate = presented(candidate)
    options = accepted(candidate.start_task, number_of_trials=NUMBER_OF_FITTING_TRIALS, require_variance=True)
    fitting_stimuli = _on_screen(candidate, learned_from(loaded(drawings[f"{flankers}_fit"])))
    candidate.start_task(BrainModel.Task.probabilities, fitting_stimuli, **options)
    options = accepted(candidate.look_at, require_variance=True)
    answers = {}
    for name in conditions:
        stimuli = loaded(drawings[name])
        placed = _on_screen(candidate, shown(stimuli))
        answer = candidate.look_at(placed, number_of_trials=NUMBER_OF_TRIALS, **options)
        answers[name] = _with_columns(answer, stimuli)
    return answers


def _on_screen(candidate: BrainModel, drawings: Any) -> Any:
    return place_on_screen(drawings, candidate.visual_degrees(), VISUAL_DEGREES)


def _with_columns(answer: Any, drawings: Any) -> BehavioralAssembly:
    ids, own = coordinate(answer, "stimulus_id").astype(str), drawings["stimulus_id"].to_numpy().astype(str)
    matching_order(np.unique(own), np.unique(ids))  # raises if the model answers to other drawings
    rows = np.argsort(own)[np.searchsorted(own, ids, sorter=np.argsort(own))]
    coords = {str(name): ("presentation", drawings[name].to_numpy()[rows]) for name in drawings.columns}
    values = answer.transpose("presentation", "choice").values
    coords["choice"] = "choice", coordinate(answer, "choice")
    return BehavioralAssembly(values, coords=coords, dims=["presentation", "choice"])


def _drawings(*names: str) -> dict[str, LazyLoad]:
    def load(name: str) -> Any:
        drawings = load_stimulus_set(f"Malania2007.{name}")
        drawings[OFFSET] = drawings[OFFSET].abs()
        return drawings

    return {name: LazyLoad(partial(load, name)) for name in names}
