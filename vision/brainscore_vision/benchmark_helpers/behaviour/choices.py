"""Let a model choose among known or learned labels, check its answers, and compare its confusions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from brainscore_core.benchmarks import BenchmarkBase
from brainscore_core.errors import AssemblyError, StimulusError
from brainscore_core.supported_data_standards.brainio.assemblies import BehavioralAssembly
from brainscore_vision.benchmark_helpers.checks import answer_of, checked_metric, name_tested
from brainscore_vision.benchmark_helpers.screen import accepted, place_on_screen, presented
from brainscore_vision.metric_helpers.labelled.alignment import coordinate, has_coordinate, matching_order
from brainscore_vision.metric_helpers.labelled.judgements import labels_of, most_probable
from brainscore_vision.model_interface import BrainModel
from brainscore_vision.utils import LazyLoad, loaded

if TYPE_CHECKING:
    from brainscore_core.metrics import Score
    from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly
    from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
    from brainscore_vision.metric_helpers.arrays.types import Indices, NDArray

__all__ = [
    "MatchToSampleBenchmark",
    "choice_labels",
    "learned_choices",
    "learned_from",
    "learned_probabilities",
    "named_choices",
    "probabilities_by_halves",
    "shown",
]


def shown(stimuli: StimulusSet) -> StimulusSet:
    """Return stimuli to look at, without columns that reveal their labels."""
    return _columns(stimuli)


def learned_from(stimuli: StimulusSet) -> StimulusSet:
    """Return stimuli to learn from, in stored order, with ``image_label`` as the only column about labels."""
    return _columns(stimuli, "image_label")


def _columns(stimuli: StimulusSet, *further: str) -> StimulusSet:
    kept: StimulusSet = stimuli[[name for name in stimuli.columns if name in ("stimulus_id", "degrees", *further)]]
    return kept


def choice_labels(truth: Iterable[object]) -> list[str]:
    """Return the different labels, sorted strings; `StimulusError` if there are fewer than two.

    Examples
    --------
    >>> choice_labels(["dog", "cat", "dog"])
    ['cat', 'dog']
    """
    labels = sorted({str(label) for label in truth})
    if len(labels) < 2:
        raise StimulusError(
            f"The labels to choose from are {labels}; expected at least two. Check the column that holds the truth."
        )
    return labels


def named_choices(
    candidate: BrainModel,
    stimuli: StimulusSet,
    labels: Iterable[object],
    *,
    visual_degrees: float | None = None,
    number_of_trials: int = 1,
    **options: Any,  # of the model
) -> BehavioralAssembly:
    """Let a model name stimuli with given labels, at least two: the task ``label``.

    Return each stimulus's label, dims (presentation), in the order of `stimuli` and with their columns; trial after
    trial if the model answers each presentation. Models whose `start_task` has an option get it, such as
    ``aggregation="max"``: a label of several classes is as probable as the most probable one.
    """
    names, candidate = choice_labels(labels), presented(candidate)
    candidate.start_task(BrainModel.Task.label, names, **accepted(candidate.start_task, **options))
    answers = _look_at(candidate, stimuli, visual_degrees, number_of_trials=number_of_trials)
    order = _order(coordinate(answers, "stimulus_id"), stimuli, candidate)
    choices = labels_of(answers, role="model's").astype(str)[order]
    strange = sorted(set(choices.tolist()) - set(names))
    if strange:
        raise AssemblyError(
            f"Model {candidate.identifier!r} answered {', '.join(map(repr, strange[:5]))}; expected one of "
            f"{', '.join(names)}, the labels that start_task gave it."
        )
    return _about(stimuli, choices)


def learned_probabilities(
    candidate: BrainModel,
    stimuli: StimulusSet,
    fitting_stimuli: StimulusSet,
    *,
    visual_degrees: float | None = None,
    number_of_trials: int = 1,
) -> BehavioralAssembly:
    """Let a model learn ``image_label`` from some stimuli and apply it to others: the task ``probabilities``.

    Return dims (presentation, choice), in the order of `stimuli`, with their columns; answers to the same stimulus are
    averaged.
    """
    if "image_label" not in fitting_stimuli.columns:
        raise StimulusError(
            "The stimuli to learn from have no column 'image_label', the labels to learn; they have "
            f"{', '.join(map(str, fitting_stimuli.columns))}."
        )
    choice_labels(fitting_stimuli["image_label"])
    candidate = presented(candidate)
    examples = _on_screen(candidate, learned_from(fitting_stimuli), visual_degrees)
    candidate.start_task(BrainModel.Task.probabilities, examples)
    answers = _look_at(candidate, stimuli, visual_degrees, number_of_trials=number_of_trials)
    if set(answers.dims) != {"presentation", "choice"} or not has_coordinate(answers, "choice"):
        raise AssemblyError(
            f"Model {candidate.identifier!r} answered with dimensions {tuple(answers.dims)} of sizes "
            f"{tuple(answers.shape)}; expected ('presentation', 'choice'), with the label of each column as 'choice'."
        )
    values = np.asarray(answers.transpose("presentation", "choice").values, dtype=np.float64)
    broken = ~np.isfinite(values).all(axis=1)
    if broken.any():
        raise AssemblyError(
            f"Model {candidate.identifier!r} gave probabilities that are NaN or infinite for {int(broken.sum())} of "
            f"{len(values)} presentations. Check its activations for these stimuli."
        )
    ids = coordinate(answers, "stimulus_id")
    if len(ids) > len(stimuli):
        ids, place = np.unique(ids.astype(str), return_inverse=True)
        sums = np.zeros((len(ids), values.shape[1]))
        np.add.at(sums, place, values)
        values = sums / np.bincount(place)[:, None]
    order = _order(ids, stimuli, candidate)
    return _about(stimuli, values[order], coordinate(answers, "choice"))


def probabilities_by_halves(
    candidate: BrainModel, stimuli: StimulusSet, *, visual_degrees: float | None = None, number_of_trials: int = 1
) -> BehavioralAssembly:
    """Let a model learn each half of some stimuli for the other half; returns as `learned_probabilities`, both halves.

    Every second stimulus of each ``image_label`` is in one half.
    """
    half = stimuli.groupby("image_label", sort=False).cumcount().to_numpy() % 2
    answers = [
        learned_probabilities(
            candidate,
            stimuli[half == this],
            stimuli[half != this],
            visual_degrees=visual_degrees,
            number_of_trials=number_of_trials,
        )
        for this in (0, 1)
    ]
    values = np.concatenate([part.values for part in answers])
    ids = np.concatenate([part["stimulus_id"].values for part in answers])
    coords = {"stimulus_id": ("presentation", ids), "choice": ("choice", answers[0]["choice"].values)}
    return type(answers[0])(values, coords=coords, dims=["presentation", "choice"])


def learned_choices(
    candidate: BrainModel,
    stimuli: StimulusSet,
    fitting_stimuli: StimulusSet,
    *,
    visual_degrees: float | None = None,
    number_of_trials: int = 1,
) -> BehavioralAssembly:
    """Let a model choose its most probable label, see `learned_probabilities`; returns as `named_choices`."""
    probabilities = learned_probabilities(
        candidate, stimuli, fitting_stimuli, visual_degrees=visual_degrees, number_of_trials=number_of_trials
    )
    return _about(stimuli, most_probable(probabilities))


def _on_screen(candidate: BrainModel, stimuli: StimulusSet, visual_degrees: float | None) -> StimulusSet:
    if visual_degrees is None:
        return stimuli
    return place_on_screen(
        stimuli, target_visual_degrees=candidate.visual_degrees(), source_visual_degrees=visual_degrees
    )


def _look_at(
    candidate: BrainModel, stimuli: StimulusSet, visual_degrees: float | None, *, number_of_trials: int
) -> DataAssembly:
    placed = _on_screen(candidate, shown(stimuli), visual_degrees)
    answers = candidate.look_at(placed, number_of_trials=number_of_trials)
    checked: DataAssembly = answer_of(candidate, answers, ["presentation"])
    return checked


def _order(ids: NDArray[Any], stimuli: StimulusSet, candidate: BrainModel) -> Indices:
    own = stimuli["stimulus_id"].to_numpy().astype(str)
    try:
        return matching_order(np.tile(own, max(len(ids) // len(own), 1)), np.asarray(ids).astype(str))
    except AssemblyError as error:
        raise AssemblyError(
            f"Model {candidate.identifier!r} was shown {len(stimuli)} stimuli and gave {len(ids)} answers to others, "
            f"or to some more often than to others: {error}"
        ) from None


def _about(stimuli: StimulusSet, values: NDArray[Any], choices: NDArray[Any] | None = None) -> BehavioralAssembly:
    trials = len(values) // len(stimuli)
    coords = {str(name): ("presentation", np.tile(stimuli[name].to_numpy(), trials)) for name in stimuli.columns}
    if choices is None:
        return BehavioralAssembly(values, coords=coords, dims=["presentation"])
    return BehavioralAssembly(values, coords={**coords, "choice": ("choice", choices)}, dims=["presentation", "choice"])


# -- match to sample ---------------------------------------------------------------------------------------------------
# The design of benchmarks on confusions: people choose between two objects, models give probabilities.


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
