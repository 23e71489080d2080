"""Designs of benchmarks on labels: accuracy, and agreement with people."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from brainscore_core.benchmarks import BenchmarkBase, ceil_score
from brainscore_core.errors import AssemblyError, StimulusError
from brainscore_core.metrics import Score
from brainscore_vision.benchmark_helpers.behaviour.choices import learned_choices, named_choices, shown
from brainscore_vision.benchmark_helpers.checks import checked_metric, compare, name_tested
from brainscore_vision.benchmark_helpers.scores.normalization import bound_score
from brainscore_vision.benchmark_helpers.screen import place_on_screen, presented
from brainscore_vision.metric_helpers.labelled.alignment import coordinate, matching_order
from brainscore_vision.metric_helpers.labelled.judgements import labels_of, same_label
from brainscore_vision.metric_helpers.uncertainty.errors import attach_spread, proportion_interval, spread_of_units
from brainscore_vision.model_interface import BrainModel
from brainscore_vision.utils import LazyLoad, loaded

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.assemblies import BehavioralAssembly, DataAssembly
    from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet

__all__ = ["AgreementWithPeople", "LabelAccuracy", "label_accuracy"]


class LabelAccuracy(BenchmarkBase):
    """Share of stimuli that a model labels correctly; the ceiling is 1, and 0 is chance if `chance` is given.

    Parameters
    ----------
    truth
        Column with the correct label.
    choices : 'imagenet' or None
        Labels to choose from. ``'imagenet'``: the WordNet ids of ImageNet. None: those in `truth`, at least two.
    conditions
        Columns: the score is the mean over their combinations, equally weighted. Empty: over stimuli.
    unit
        Column that groups dependent stimuli, such as images of one origin, for the error.
    number_of_trials
        A deterministic model may answer once.
    load_fitting_stimuli
        As for `AgreementWithPeople`.
    chance
        Accuracy of guessing, 1 / n with n equally frequent labels: the score is then 0 at chance. Published benchmarks
        use 0.

    Examples
    --------
    >>> class Mine2026(LabelAccuracy):
    ...     def __init__(self, load_stimuli):
    ...         fixed = {'parent': 'engineering', 'bibtex': '@article{...}', 'truth': 'object_name'}
    ...         super().__init__('Mine2026-top1', load_stimuli, **fixed)
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
        """Return the accuracy, see `label_accuracy`; at most 1, and at least 0 without ``chance``."""
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

    def _answers(self, candidate: BrainModel, stimuli: StimulusSet) -> DataAssembly:
        how: dict[str, Any] = {"visual_degrees": self._visual_degrees, "number_of_trials": self._number_of_trials}
        if self._fitting_stimuli is not None:
            return learned_choices(candidate, stimuli, loaded(self._fitting_stimuli), **how)
        if self._choices is None:
            return named_choices(candidate, stimuli, self._stimulus_set[self._truth], **how)
        candidate = presented(candidate)
        candidate.start_task(BrainModel.Task.label, self._choices)
        placed = shown(stimuli)
        if self._visual_degrees is not None:
            placed = place_on_screen(placed, candidate.visual_degrees(), self._visual_degrees)
        return candidate.look_at(placed, number_of_trials=self._number_of_trials)


def label_accuracy(
    answers: DataAssembly,
    stimuli: StimulusSet,
    *,
    truth: str = "truth",
    conditions: Sequence[str] = (),
    unit: str = "stimulus_id",
) -> Score:
    """Compare a model's labels with the correct ones; several answers to a stimulus are averaged.

    Answers have dims (presentation) or (choice, presentation) with one choice, in any order; for columns of the stimuli
    see `LabelAccuracy`.

    Returns
    -------
    Score
        0-d, in [0, 1]. Attributes: ``raw`` (shares of correct answers by presentation or by condition), ``error`` (over
        the values of `unit`), ``interval`` (95 %, Wilson's), ``n_stimuli``, ``n_trials`` and ``quantity``.
    """
    answered = coordinate(answers, "stimulus_id").astype(str)
    stimulus_ids = stimuli["stimulus_id"].to_numpy().astype(str)
    if not len(stimulus_ids):
        raise AssemblyError("There is nothing to compare: the stimulus set is empty.")
    ids, place = np.unique(answered, return_inverse=True)
    order = matching_order(stimulus_ids, ids)
    row = np.argsort(order)[place]  # of each answer, among the stimuli
    right = same_label(labels_of(answers, role="model's"), stimuli[truth].to_numpy()[row])
    share = np.bincount(row, weights=right) / np.bincount(row)
    if conditions:
        raw = _by_condition(share, stimuli, list(conditions))
    else:
        raw = Score(share, coords={"stimulus_id": ("presentation", stimulus_ids)}, dims=["presentation"])
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
    """Agreement of a model's answers with people's, divided by that between people.

    Parameters
    ----------
    metric : Metric
        Compares answers and has its own ceiling, such as ``load_metric('error_consistency')``.
    load_choices
        Returns people's answers, dims (presentation), with ``truth`` and ``attrs['stimulus_set']``.
    load_fitting_stimuli
        Returns the stimuli to learn ``image_label`` from: the task ``probabilities``. None: the task ``label``.
    bounded
        Clip scores to [0, 1].
    stimulus_cluster : str, optional
        See `BenchmarkBase`.

    Examples
    --------
    A subclass states the arguments, and may override `choices` to ask the model in another way:

    >>> class Mine2026(AgreementWithPeople):
    ...     def __init__(self, metric, load_choices):
    ...         fixed = {'parent': 'behavior', 'bibtex': '@article{...}', 'visual_degrees': 8}
    ...         super().__init__('Mine2026-agreement', metric, load_choices, **fixed)
    ...     def choices(self, candidate):
    ...         stimuli = self._assembly.stimulus_set
    ...         return named_choices(candidate, stimuli, labels=['cat', 'dog', 'neither'], visual_degrees=8)
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
        stimulus_cluster: str | None = None,
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
            stimulus_cluster=stimulus_cluster,
        )

    def measurement(self) -> BehavioralAssembly:
        """See `BenchmarkBase.measurement`."""
        assembly: BehavioralAssembly = loaded(self._assembly)
        return assembly

    def choices(self, candidate: BrainModel) -> BehavioralAssembly:
        """Return the model's choices, dims (presentation)."""
        # Answers state their own condition; the stimuli's column may mean something else.
        stimuli = self._assembly.stimulus_set.drop(columns="condition", errors="ignore")
        choose = partial(named_choices, labels=self._assembly["truth"].values)
        if self._fitting_stimuli is not None:
            choose = partial(learned_choices, fitting_stimuli=loaded(self._fitting_stimuli))
        return choose(candidate, stimuli, visual_degrees=self._visual_degrees, number_of_trials=self._number_of_trials)

    def __call__(self, candidate: BrainModel) -> Score:
        """Score a candidate."""
        raw = compare(self._metric, self.choices(candidate), loaded(self._assembly), benchmark=self.identifier)
        score = self.over_clusters(ceil_score(raw, self.ceiling))
        if self._bounded:
            bound_score(score)
        name_tested(score, loaded(self._assembly))
        score.attrs.setdefault("n_stimuli", len(self._assembly.stimulus_set))
        score.attrs.setdefault("n_trials", int(self._assembly.sizes["presentation"]))
        return score
