"""Provide the designs of benchmarks on labels: how often a model is right, and how it agrees with people."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from brainscore_core.benchmarks import BenchmarkBase, ceil_score
from brainscore_core.errors import AssemblyError, StimulusError
from brainscore_core.metrics import Score
from brainscore_vision.benchmark_helpers.behaviour.choices import learned_choices, named_choices
from brainscore_vision.benchmark_helpers.checks.handover import checked_metric, compare, name_tested
from brainscore_vision.benchmark_helpers.scores.normalization import bound_score
from brainscore_vision.benchmark_helpers.screen.placement import place_on_screen
from brainscore_vision.metric_helpers.labelled.alignment import coordinate, matching_order
from brainscore_vision.metric_helpers.labelled.judgements import labels_of, same_label
from brainscore_vision.metric_helpers.uncertainty.crossed import attach_spread, proportion_interval, spread_of_units
from brainscore_vision.model_interface import BrainModel
from brainscore_vision.utils import LazyLoad, loaded

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.assemblies import BehavioralAssembly, DataAssembly
    from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet

__all__ = ["AgreementWithPeople", "LabelAccuracy", "label_accuracy"]


class LabelAccuracy(BenchmarkBase):
    """Share of stimuli that a model names rightly; the ceiling is 1, and 0 is chance if that is given.

    The model sees the pictures and no column of the stimulus set but ``stimulus_id``: the others may tell the answer.

    Parameters
    ----------
    identifier, version, parent, bibtex
        See `BenchmarkBase`.
    load_stimuli : callable
        Returns the stimulus set; called when the benchmark is first used.
    truth : str
        Column that holds the right label.
    choices : 'imagenet' or None
        What the model chooses from. ``'imagenet'``: the WordNet ids of ImageNet. None: those in `truth`, at least two.
    conditions : sequence of str
        Columns: the score is the mean over their combinations, which weigh alike. Empty: over stimuli.
    unit : str
        Column that says which stimuli belong together, such as pictures of one origin: the error is over these.
    number_of_trials : int
        How often each stimulus is shown. A deterministic model may answer once.
    visual_degrees : float or None
        Width of the stimuli; None: they fill the field of view of the model.
    load_fitting_stimuli : callable, optional
        As for `AgreementWithPeople`.
    chance : float
        What guessing scores, 1 / n with n labels that are equally frequent: 0 and 1 of the score are then chance and
        the ceiling, see `ceil_score`. The published benchmarks keep 0, so that guessing among two scores .5.
    """

    def __init__(
        self,
        identifier: str,
        load_stimuli: Callable[[], StimulusSet],
        *,
        parent: str,
        bibtex: str,
        version: int = 1,
        truth: str = "truth",
        choices: str | None = None,
        conditions: Sequence[str] = (),
        unit: str = "stimulus_id",
        number_of_trials: int = 1,
        visual_degrees: float | None = None,
        load_fitting_stimuli: Callable[[], StimulusSet] | None = None,
        chance: float = 0.0,
    ) -> None:
        self._stimulus_set: Any = LazyLoad(load_stimuli)
        self._chance = chance
        self._fitting_stimuli: Any = None if load_fitting_stimuli is None else LazyLoad(load_fitting_stimuli)
        self._truth = truth
        self._choices = choices
        self._conditions = tuple(conditions)
        self._unit = unit
        self._number_of_trials = number_of_trials
        self._visual_degrees = visual_degrees
        super().__init__(identifier, ceiling=1.0, version=version, parent=parent, bibtex=bibtex)

    def __call__(self, candidate: BrainModel) -> Score:
        """Return the accuracy of a model.

        Returns
        -------
        Score
            0-d, at most 1, from 0 without ``chance``. Attributes: those of `label_accuracy`, and ``ceiling``.

        Raises
        ------
        AssemblyError
            The model answers to other stimuli than it was shown; both differences are listed. Without `choices` also
            if an answer is none of the labels.
        StimulusError
            The stimulus set lacks a column, or there is one label only.
        """
        stimulus_set = self._stimulus_set
        missing = {self._truth, self._unit, *self._conditions} - set(stimulus_set.columns)
        if missing:
            raise StimulusError(
                f"The stimuli of {self.identifier!r} lack {', '.join(map(repr, sorted(missing)))}; they have the "
                f"columns {', '.join(map(str, stimulus_set.columns))}."
            )
        answers = self._answers(candidate, stimulus_set[["stimulus_id"]])
        score = label_accuracy(answers, stimulus_set, truth=self._truth, conditions=self._conditions, unit=self._unit)
        return ceil_score(score, self.ceiling, chance=self._chance)

    def _answers(self, candidate: BrainModel, shown: StimulusSet) -> DataAssembly:
        how: dict[str, Any] = {"visual_degrees": self._visual_degrees, "number_of_trials": self._number_of_trials}
        if self._fitting_stimuli is not None:
            return learned_choices(candidate, shown, loaded(self._fitting_stimuli), **how)
        if self._choices is None:
            return named_choices(candidate, shown, self._stimulus_set[self._truth], **how)
        candidate.start_task(BrainModel.Task.label, self._choices)
        if self._visual_degrees is not None:
            shown = place_on_screen(shown, candidate.visual_degrees(), self._visual_degrees)
        return candidate.look_at(shown, number_of_trials=self._number_of_trials)


def label_accuracy(
    answers: DataAssembly,
    stimuli: StimulusSet,
    *,
    truth: str = "truth",
    conditions: Sequence[str] = (),
    unit: str = "stimulus_id",
) -> Score:
    """Compare the labels that a model gives with the right ones; several answers to a stimulus are averaged.

    Parameters
    ----------
    answers : BehavioralAssembly, dims (choice, presentation) of size (1, n), or (presentation)
        With the coordinate ``stimulus_id``; in any order.
    stimuli : StimulusSet
        What was shown: each ``stimulus_id`` once, with the columns `truth`, `conditions` and `unit`.
    truth, conditions, unit
        See `LabelAccuracy`.

    Returns
    -------
    Score
        0-d, in [0, 1]. Attributes: ``raw`` (Score: shares of right answers, dims (presentation) with ``stimulus_id``,
        or dims (condition) with the values of `conditions`), ``error`` (standard error over the values of `unit`),
        ``interval`` (95 %, Wilson's), ``n_stimuli``, ``n_trials`` and ``quantity``.

    Raises
    ------
    AssemblyError
        There is more than one answer for a presentation, or answers are not about these stimuli.
    """
    answered = coordinate(answers, "stimulus_id").astype(str)
    shown = stimuli["stimulus_id"].to_numpy().astype(str)
    if not len(shown):
        raise AssemblyError("There is nothing to compare: there are no stimuli.")
    ids, place = np.unique(answered, return_inverse=True)
    order = matching_order(shown, ids)
    row = np.argsort(order)[place]  # of each answer, among the stimuli
    right = same_label(labels_of(answers, role="model's"), stimuli[truth].to_numpy()[row])
    share = np.bincount(row, weights=right) / np.bincount(row)
    if conditions:
        raw = _by_condition(share, stimuli, list(conditions))
    else:
        raw = Score(share, coords={"stimulus_id": ("presentation", shown)}, dims=["presentation"])
    score = Score(raw.values.mean())
    units = pd.Series(share).groupby(stimuli[unit].to_numpy()).mean().to_numpy()
    spread = spread_of_units((units - units.mean()) / len(units))
    missing = f"a single {unit}: with fewer than two {unit}s there is nothing to resample" if len(units) < 2 else None
    attach_spread(
        score,
        spread,
        over=["stimulus" if unit == "stimulus_id" else unit],
        interval=proportion_interval(score.item(), spread, len(units)),
        missing=missing,
    )
    score.attrs.update(raw=raw, n_stimuli=len(share), n_trials=len(answered), quantity="accuracy")
    return score


def _by_condition(share: Any, stimuli: StimulusSet, conditions: list[str]) -> Score:
    table = pd.DataFrame({name: stimuli[name].to_numpy() for name in conditions})
    means = pd.Series(share).groupby([table[name] for name in conditions]).mean()
    levels = {name: ("condition", means.index.get_level_values(name).to_numpy()) for name in conditions}
    return Score(means.to_numpy(), coords=levels, dims=["condition"])


class AgreementWithPeople(BenchmarkBase):
    """How the answers of a model agree with those of people, as a share of how people agree with each other.

    Parameters
    ----------
    identifier, version, parent, bibtex
        See `BenchmarkBase`.
    metric : Metric
        Of answers, with a ceiling of its own, such as ``load_metric('error_consistency')``.
    load_choices : callable
        Returns the answers of people, dims (presentation), with ``truth`` and ``attrs['stimulus_set']``; called when
        the benchmark is first used.
    visual_degrees : float or None
        Width of the stimuli in the experiment; None: they fill the field of view of the model.
    number_of_trials : int
        How often each stimulus is shown.
    load_fitting_stimuli : callable, optional
        Returns what a model learns the labels from, with the column ``image_label``: the task ``probabilities``. None:
        it names what it knows, the task ``label``.
    bounded : bool
        Clip scores to [0, 1].
    """

    def __init__(
        self,
        identifier: str,
        metric: Any,  # a Metric with a method `ceiling`
        load_choices: Callable[[], BehavioralAssembly],
        *,
        parent: str,
        bibtex: str,
        version: int = 1,
        visual_degrees: float | None,
        number_of_trials: int = 1,
        load_fitting_stimuli: Callable[[], StimulusSet] | None = None,
        bounded: bool = True,
    ) -> None:
        self._metric: Any = checked_metric(metric, benchmark=identifier, name="metric")
        self._assembly: Any = LazyLoad(load_choices)
        self._fitting_stimuli: Any = None if load_fitting_stimuli is None else LazyLoad(load_fitting_stimuli)
        self._visual_degrees = visual_degrees
        self._number_of_trials = number_of_trials
        self._bounded = bounded
        super().__init__(
            identifier,
            ceiling_func=lambda: self._metric.ceiling(self._assembly),
            version=version,
            parent=parent,
            bibtex=bibtex,
        )

    def choices(self, candidate: BrainModel) -> BehavioralAssembly:
        """Return what a model chooses, dims (presentation)."""
        # Answers of people say in which condition they were given; this column of the stimuli may mean other things.
        stimuli = self._assembly.stimulus_set.drop(columns="condition", errors="ignore")
        choose = partial(named_choices, labels=self._assembly["truth"].values)
        if self._fitting_stimuli is not None:
            choose = partial(learned_choices, fitting_stimuli=loaded(self._fitting_stimuli))
        return choose(candidate, stimuli, visual_degrees=self._visual_degrees, number_of_trials=self._number_of_trials)

    def __call__(self, candidate: BrainModel) -> Score:
        """Return the agreement of a model with people, divided by that between people.

        Returns
        -------
        Score
            0-d. Attributes: ``raw``, ``ceiling`` and those of the metric; ``n_stimuli`` and ``n_trials`` (of people);
            ``stimulus_set`` and ``assembly``, see `name_tested`.

        Raises
        ------
        AssemblyError
            The model answers to other stimuli than it was shown (both differences are listed), or not as it was asked;
            see `named_choices` and `learned_choices`.
        CeilingError
            People have no usable ceiling.
        """
        raw = compare(self._metric, self.choices(candidate), loaded(self._assembly), benchmark=self.identifier)
        score = ceil_score(raw, self.ceiling)
        if self._bounded:
            bound_score(score)
        name_tested(score, loaded(self._assembly))
        score.attrs.setdefault("n_stimuli", len(self._assembly.stimulus_set))
        score.attrs.setdefault("n_trials", int(self._assembly.sizes["presentation"]))
        return score
