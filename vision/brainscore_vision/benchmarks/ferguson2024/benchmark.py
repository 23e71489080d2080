"""Ask a model whether one item of a display is odd, and compare its search asymmetry with that of people.

In the first block the odd item A is among 1, 5 or 11 items B, in the second B among A. With the accuracies ``p_n`` for
``n`` others, the asymmetry is the area between the two blocks,

    ``a = integral from 1 to 11 of (p_n(second) - p_n(first)) dn``

by the trapezoidal rule, and the raw score ``exp(-0.75 |a_model - a_people|)``. Accuracies of people are corrected for a
share ``l`` of guesses without attention: ``(p - l / 2) / (1 - l)`` (Wichmann & Hill, 2001, doi:10.3758/BF03194544).
"""

from dataclasses import dataclass

import numpy as np

from brainscore_core.errors import AssemblyError, UnknownIdentifierError, did_you_mean
from brainscore_vision import load_dataset, load_metric, load_stimulus_set
from brainscore_vision.benchmark_helpers import bound_score
from brainscore_vision.benchmark_helpers.behaviour.choices import learned_choices
from brainscore_vision.benchmark_helpers.checks import name_tested
from brainscore_vision.benchmarks import BenchmarkBase, ceil_score
from brainscore_vision.data_helpers import cite_data
from brainscore_vision.metric_helpers.arrays.reliability.split_half import random_halves
from brainscore_vision.metric_helpers.arrays.seeds import generator
from brainscore_vision.metric_helpers.labelled.alignment import coordinate, one_each
from brainscore_vision.metric_helpers.uncertainty.errors import note_error
from brainscore_vision.metrics import Score
from brainscore_vision.model_interface import BrainModel
from brainscore_vision.utils import LazyLoad, loaded

BIBTEX = cite_data("ferguson2024")

VISUAL_DEGREES = 8
NUMBER_OF_TRIALS = 3
SCALE = 0.75  # per unit of area
BLOCKS = ("first", "second")
DISTRACTORS = (1.0, 5.0, 11.0)
N_HALVES = 500


@dataclass(frozen=True)
class Experiment:
    """Published facts of an experiment."""

    lapse_rate: float  # mean over subjects
    ceiling: float
    ceiling_deviation: float  # over halves of the trials


EXPERIMENTS = {
    "circle_line": Experiment(0.0335, 0.883, 0.078),
    "color": Experiment(0.0578, 0.897, 0.072),
    "convergence": Experiment(0.0372, 0.862, 0.098),
    "eighth": Experiment(0.05556, 0.852, 0.107),
    "gray_easy": Experiment(0.0414, 0.907, 0.064),
    "gray_hard": Experiment(0.02305, 0.863, 0.099),
    "half": Experiment(0.0637, 0.898, 0.077),
    "juncture": Experiment(0.3715, 0.767, 0.141),
    "lle": Experiment(0.0573, 0.831, 0.116),
    "llh": Experiment(0.0402, 0.812, 0.123),
    "quarter": Experiment(0.0534, 0.876, 0.087),
    "round_f": Experiment(0.08196, 0.874, 0.088),
    "round_v": Experiment(0.0561, 0.853, 0.101),
    "tilted_line": Experiment(0.04986, 0.912, 0.064),
}


class ValueDelta(BenchmarkBase):
    """Similarity of a model's search asymmetry to that of people.

    The ceiling is the expected score of the true asymmetry over samples of as many people.

    With `published`, the model's accuracies are corrected for lapses too, and the ceiling is the score between halves
    of the trials.
    """

    def __init__(self, experiment: str, *, published: bool = False) -> None:
        if experiment not in EXPERIMENTS:
            hint = did_you_mean(experiment, EXPERIMENTS)
            raise UnknownIdentifierError(
                f"Unknown experiment {experiment!r}; expected one of {', '.join(EXPERIMENTS)}.{hint}"
            )
        self._facts = EXPERIMENTS[experiment]
        self._published = published
        self._metric = load_metric("value_delta", scale=SCALE)
        self._assembly = LazyLoad(lambda: load_dataset(f"Ferguson2024_{experiment}"))
        self._fitting_stimuli = LazyLoad(lambda: load_stimulus_set(f"Ferguson2024_{experiment}_training_stimuli"))
        super().__init__(
            f"Ferguson2024{experiment}-value_delta",
            ceiling_func=self._published_ceiling if published else self._sampling_ceiling,
            version=1,
            parent="behavior",
            bibtex=BIBTEX,
        )

    def __call__(self, candidate: BrainModel) -> Score:
        """Score a candidate; attributes also hold both asymmetries (accuracy times number of items)."""
        people = self._people()
        stimuli = labelled(loaded(self._assembly).stimulus_set)
        choices = learned_choices(
            candidate,
            stimuli,
            labelled(loaded(self._fitting_stimuli)),
            visual_degrees=VISUAL_DEGREES,
            number_of_trials=NUMBER_OF_TRIALS,
        )
        shares = self._shares_of_model(choices)
        model, human = float(asymmetry(shares)[0]), float(asymmetry(np.nanmean(people, axis=2)))
        raw = self._metric(model, human)
        halves = np.exp(-SCALE * np.abs(model - asymmetry(means_of_halves(people)[0])))
        # Halves drawn without replacement scatter around the overall mean as that does around the truth.
        note_error(raw, float(halves.std()), over="subject", n=people.shape[2])
        score = ceil_score(raw, self.ceiling)
        bound_score(score)
        score.attrs.update(model_asymmetry=model, human_asymmetry=human, n_subjects=people.shape[2])
        score.attrs.update(n_stimuli=len(stimuli), n_trials=int(self._assembly.sizes["presentation"]))
        name_tested(score, loaded(self._assembly))
        return score

    def _shares_of_model(self, choices):
        right = choices.values == choices["image_label"].values
        distractors = n_distractors(choices["image_number"].values)
        lapse_rate = self._facts.lapse_rate if self._published else 0.0
        return accuracies(choices["block"].values, distractors, np.zeros(len(right)), right, lapse_rate)

    def _people(self):
        """Return corrected accuracies, shape (2 blocks, 3 numbers of distractors, n_subjects)."""
        assembly = loaded(self._assembly)
        normal = coordinate(assembly, "trial_type").astype(str) == "normal"
        names = ("block", "distractor_nums", "participant_id", "correct")
        block, distractors, subject, right = (coordinate(assembly, name)[normal] for name in names)
        right = np.isin(right.astype(str), ["True", "1", "1.0"])
        return accuracies(block, distractors.astype(float), subject, right, self._facts.lapse_rate)

    def _sampling_ceiling(self) -> Score:
        people = self._people()
        n = people.shape[2]
        if n < 2:
            raise AssemblyError(
                f"The ceiling compares halves of the subjects, so it needs at least two subjects, found {n}."
            )
        one, two = (asymmetry(half) for half in means_of_halves(people))
        # Deviation of the mean of n, relative to that of the difference of parts.
        part = np.sqrt((n // 2) * (n - n // 2)) / n
        closeness = np.exp(-SCALE * part * np.abs(one - two))
        ceiling = Score(closeness.mean())
        ceiling.attrs.update(raw=one_each(closeness, "split"), n_subjects=n, quantity="share")
        return ceiling

    def _published_ceiling(self) -> Score:
        ceiling = Score(self._facts.ceiling)
        ceiling.attrs.update(error=self._facts.ceiling_deviation, quantity="share")
        return ceiling


def labelled(stimuli):
    """Return the displays with labels: even numbers hold an odd item."""
    is_odd = stimuli["image_number"].astype(int) % 2 == 0
    return stimuli.assign(image_label=np.where(is_odd, "oddball", "same"))


def n_distractors(image_number):
    """Return a display's number of other items: pairs have 1, 5 and 11 in turn."""
    return np.asarray(DISTRACTORS)[np.asarray(image_number).astype(int) // 2 % len(DISTRACTORS)]


def accuracies(block, distractors, subject, right, lapse_rate: float):
    """Return the accuracy of each subject, corrected for a share of guesses; shape (2, 3, n_subjects).

    NaN for subjects without trials in a block with a number of distractors; `AssemblyError` if no subject has any.
    """
    names, code = np.unique(subject, return_inverse=True)
    result = np.empty((len(BLOCKS), len(DISTRACTORS), len(names)))
    for row, column in np.ndindex(result.shape[:2]):
        in_cell = (np.asarray(block).astype(str) == BLOCKS[row]) & (np.asarray(distractors) == DISTRACTORS[column])
        number = np.bincount(code[in_cell], minlength=len(names))
        if not number.any():
            raise AssemblyError(
                f"The {BLOCKS[row]} block has no trials with {DISTRACTORS[column]:g} distractors; the area needs "
                f"blocks {', '.join(BLOCKS)} with 1, 5 and 11 distractors each."
            )
        hits = np.bincount(code[in_cell], weights=right[in_cell], minlength=len(names))
        result[row, column] = np.divide(hits, number, out=np.full(len(names), np.nan), where=number > 0)
    return (result - lapse_rate / 2) / (1 - lapse_rate)


def means_of_halves(people):
    """Return the means over random halves of the subjects and over the rest, shape (2, 3, n_halves) each."""
    halves = random_halves(generator(0, "ferguson2024", "subject"), N_HALVES, people.shape[2])
    valid = np.isfinite(people).astype(float)
    return [(np.nan_to_num(people) @ half.T) / (valid @ half.T) for half in (halves, ~halves)]


def asymmetry(shares):
    """Return the area between second and first block, from shape (2, 3, ...)."""
    return np.trapezoid(shares[1] - shares[0], DISTRACTORS, axis=0)
