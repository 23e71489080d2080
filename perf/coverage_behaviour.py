"""Measure how often the intervals of behavioural metrics and ceilings hold what they are intervals of.

Every data set has new stimuli, and new people who answer to them; the model, a function of the stimulus, stays. An
interval of 95 % should hold the mean of the estimator over data sets in 95 % of them, and ``error`` should be its
standard deviation: the table gives the share, and the root mean square of the errors over that deviation.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import ndtr
from simulations import Row, Simulation, counted, coverage_table, described

from brainscore_core.benchmarks import ceil_score
from brainscore_core.metrics import Score
from brainscore_core.metrics.errors import over_clusters
from brainscore_core.supported_data_standards.brainio.assemblies import BehavioralAssembly, PropertyAssembly
from brainscore_core.testing.synthetic import assembly_of
from brainscore_vision import load_ceiling, load_metric
from brainscore_vision.metric_helpers.arrays.seeds import generator


@dataclass(frozen=True)
class Design:
    """Say how many answer to how many stimuli, and how well."""

    n_subjects: int
    n_stimuli: int
    level: float = 0.7  # mean share of right answers is the normal distribution function of it
    part: float = 1.0  # of the stimuli that each subject judges
    n_objects: int = 0  # that the stimuli show, with four fifths of the variance of their difficulty; 0: each its own


DESIGNS = {
    "A": Design(10, 200),
    "B": Design(5, 100),
    "C": Design(30, 60),
    "D": Design(20, 200, part=0.4),
    "E": Design(10, 200, level=1.6),
    **{f"{number} objects": Design(5, 10 * number, n_objects=number) for number in (5, 8, 20)},
}
Case = Callable[[Design, np.random.Generator], Score]


# --- simulated answers


def behavioural(values: np.ndarray, choice: Sequence[str] | None = None, **coords: object) -> BehavioralAssembly:
    """Label answers, of which each row has the given coordinates; with `choice`, the values are probabilities."""
    placed = {name: ("presentation", entries) for name, entries in coords.items()}
    if choice is None:
        return BehavioralAssembly(values, coords=placed, dims=["presentation"])
    return BehavioralAssembly(values, coords={**placed, "choice": ("choice", choice)}, dims=["presentation", "choice"])


def names_of(letter: str, numbers: Sequence[int]) -> np.ndarray:
    return np.array([f"{letter}{number:04d}" for number in numbers])


def choices_of(right: np.ndarray, judged: np.ndarray | None = None, *, people: bool = True) -> BehavioralAssembly:
    """Label right and wrong answers, shape (n_subjects, n_stimuli), as choices between two labels."""
    subject, stimulus = np.nonzero(np.ones_like(right) if judged is None else judged)
    truth = np.where(stimulus % 2, "dog", "cat")
    choices = np.where(right[subject, stimulus], truth, np.where(truth == "cat", "dog", "cat"))
    subjects = {"subject": names_of("p", subject)} if people else {}
    return behavioural(choices, stimulus_id=names_of("s", stimulus), truth=truth, **subjects)


def both(design: Design, rng: np.random.Generator) -> tuple[BehavioralAssembly, BehavioralAssembly]:
    """Return the answers of the model, to the stimuli that anybody judged, and of people.

    Stimuli are hard for all, for the model and people apart, and for single people; people differ in ability.
    """
    shape = design.n_subjects, design.n_stimuli
    hard = 0.8 * rng.standard_normal(design.n_stimuli)
    if design.n_objects:
        own = 0.8 * rng.standard_normal(design.n_objects)[np.arange(design.n_stimuli) % design.n_objects]
        hard = np.sqrt(0.2) * hard + np.sqrt(0.8) * own
    model = 0.6 * hard + 0.8 * rng.standard_normal(design.n_stimuli) + design.level > 0
    ability = design.level + 0.3 * rng.standard_normal((design.n_subjects, 1))
    people = ability + hard + 0.8 * rng.standard_normal(shape) > 0
    judged = rng.random(shape) < design.part
    return choices_of(model[None], judged.any(axis=0)[None], people=False), choices_of(people, judged)


def match_to_sample(
    odds: np.ndarray, truth: np.ndarray, image: np.ndarray, distractor: np.ndarray, chosen: np.ndarray, **coords: object
) -> tuple[BehavioralAssembly, BehavioralAssembly]:
    """Label the odds that a model gives to objects, shape (n_images, n_objects), and trials between two of them.

    Parameters
    ----------
    truth : array of int, shape (n_images,)
        Object of each image.
    image, distractor, chosen : array of int, shape (n_trials,)
    **coords
        More coordinates of trials.
    """
    objects = np.array([f"object{number}" for number in range(odds.shape[1])])
    ids, labels = names_of("s", range(len(odds))), objects[truth]
    model = behavioural(odds / odds.sum(axis=1, keepdims=True), list(objects), stimulus_id=ids, truth=labels)
    labels = {"truth": labels[image], "sample_obj": labels[image], "dist_obj": objects[distractor]}
    return model, behavioural(objects[chosen], stimulus_id=ids[image], **labels, **coords)


def matching(design: Design, rng: np.random.Generator) -> tuple[BehavioralAssembly, BehavioralAssembly]:
    """Return what a model believes of each image, and the trials of people, who choose one of two of five objects.

    Each subject sees each image once with each distractor; a sixth of these trials are missing by chance.
    """
    n_objects, n_images = 5, design.n_stimuli
    truth = np.arange(n_images) % n_objects
    objects = 0.5 * rng.standard_normal((n_objects, n_objects))[truth]
    logits = objects + 1.2 * rng.standard_normal((n_images, n_objects))
    trials = np.indices((design.n_subjects, n_images, n_objects)).reshape(3, -1)
    present = (trials[2] != truth[trials[1]]) & (rng.random(trials.shape[1]) < design.part * 5 / 6)
    subject, image, distractor = trials[:, present]
    ability = design.level + 0.3 * rng.standard_normal(design.n_subjects)
    wrong = 1 / (1 + np.exp(ability[subject] - logits[image, distractor] + 0.5 * rng.standard_normal(len(image))))
    chosen = np.where(rng.random(len(image)) < wrong, distractor, truth[image])
    believed = logits + 0.8 * rng.standard_normal(logits.shape)
    believed[np.arange(n_images), truth] = design.level
    return match_to_sample(np.exp(believed), truth, image, distractor, chosen, subject=names_of("p", subject))


# --- cases


def agreement(identifier: str, which: str, design: Design, rng: np.random.Generator) -> Score:
    """Compare the model with people, people with each other, or divide the one by the other."""
    metric, (source, target) = load_metric(identifier), both(design, rng)
    if which == "ceiling":
        return metric.ceiling(target)
    score = metric(source, target)
    return score if which == "raw" else ceil_score(score, metric.ceiling(target))


def accuracy(design: Design, rng: np.random.Generator) -> Score:
    source, _ = both(design, rng)
    return load_metric("accuracy")(source, source.copy(data=source["truth"].values))


def accuracy_of_people(design: Design, rng: np.random.Generator) -> Score:
    """Return how often people are right, each answer a presentation."""
    _, people = both(design, rng)
    score = load_metric("accuracy")(people.values, people.copy(data=people["truth"].values))
    if not design.n_objects:
        return score
    objects = {str(name): str(int(name[1:]) % design.n_objects) for name in people["stimulus_id"].values}
    return over_clusters(score, objects, "object_name")


def patterns(identifier: str, which: str, design: Design, rng: np.random.Generator) -> Score:
    """Correlate patterns of confusions: the raw score, its ceiling, or one normalised by the other."""
    metric, (source, target) = load_metric(identifier), matching(design, rng)
    if which == "ceiling":
        return metric.ceiling(target, skipna=True)
    score = metric(source, target)
    return score if which == "raw" else metric.ceil_score(score, metric.ceiling(target, skipna=True))


def thresholds(design: Design, rng: np.random.Generator) -> tuple[BehavioralAssembly, PropertyAssembly]:
    """Return what a model answers, three times to each stimulus of ten strengths, and thresholds of people."""
    strength = np.repeat(np.linspace(5, 95, 10), max(6, design.n_stimuli // 10))
    own = 0.4 * rng.standard_normal(len(strength))  # some stimuli are harder than others of their strength
    stimulus = np.repeat(np.arange(len(strength)), 3)
    right = rng.random(len(stimulus)) < 0.5 + 0.45 * ndtr(0.06 * (strength - 45) + own)[stimulus]
    left = (stimulus % 2 == 0) == right
    model = behavioural(
        np.column_stack([left, ~left]) + 0.1,
        ["left", "right"],
        stimulus_id=names_of("s", stimulus),
        strength=strength[stimulus],
        image_label=np.where(stimulus % 2, "right", "left"),
    )
    values = 40 * np.exp(0.3 * rng.standard_normal(design.n_subjects))
    subjects = range(design.n_subjects)
    coords = {"subject": ("subject", names_of("p", subjects)), "n": ("subject", subjects)}
    return model, PropertyAssembly(values, coords=coords, dims=["subject"])


def between_people(design: Design, rng: np.random.Generator) -> Score:
    """Correlate ratings of people, of which a part is shared, with those of the others."""
    shape = design.n_subjects, design.n_stimuli
    ratings = rng.standard_normal(design.n_stimuli) + 1.5 * rng.standard_normal(shape)
    subject, stimulus = np.nonzero(rng.random(shape) < design.part)
    ids = {"stimulus_id": names_of("s", stimulus), "subject": names_of("p", subject)}
    return load_ceiling("leave_one_subject_out")(behavioural(ratings[subject, stimulus], **ids))


def several_ratings(design: Design, rng: np.random.Generator) -> Score:
    """Correlate ten ratings of each stimulus, some harder than others, with those of other people."""
    n, q = design.n_stimuli, 10
    shape = design.n_subjects, n, q
    truth = np.sqrt([0.3, 0.7])
    ratings = truth[0] * rng.standard_normal((n, 1)) + truth[1] * rng.standard_normal((n, q))
    own = truth[0] * rng.standard_normal((*shape[:2], 1)) + truth[1] * rng.standard_normal(shape)
    ability = np.exp(0.3 * rng.standard_normal((design.n_subjects, 1, 1)))
    ratings = ratings + rng.uniform(0.6, 2.0, q) * ability * own
    subject, stimulus = np.nonzero(rng.random(shape[:2]) < design.part)
    ids = {"stimulus_id": names_of("s", stimulus), "subject": names_of("p", subject), "object_name": None}
    return load_ceiling("leave_one_subject_out")(assembly_of(ratings[subject, stimulus], **ids))


_THRESHOLD = load_metric("threshold", independent_variable="strength", threshold_accuracy=0.75)
CASES: dict[str, Case] = {
    "leave_one_subject_out": between_people,
    "leave_one_subject_out, ten variables": several_ratings,
    **{f"{name} {which}": partial(patterns, name, which)
       for name in ("i1", "i2n") for which in ("raw", "ceiling", "ceiled")},
    "threshold": lambda design, rng: _THRESHOLD(*thresholds(design, rng)),
    "threshold ceiling": lambda design, rng: _THRESHOLD.ceiling(thresholds(design, rng)[1]),
    "value_delta": lambda design, rng: load_metric("value_delta", scale=3.0)(
        accuracy(design, rng), accuracy_of_people(design, rng)
    ),
    "accuracy": accuracy,
    "accuracy of people": accuracy_of_people,
    **{f"{name} {which}".removesuffix(" raw"): partial(agreement, name, which)
       for name in ("error_consistency", "accuracy_distance") for which in ("raw", "ceiling", "ceiled")},
}  # fmt: skip
CELLS = {
    f"{design}: {case}": (design, case)
    for case in CASES
    for design, chosen in DESIGNS.items()
    if case == "accuracy of people" or not chosen.n_objects
}
SETS = {"threshold": 100}  # its functions are fitted twenty times for a data set


# --- coverage


def estimate(cell: str, seed: int) -> Row:
    design, case = CELLS[cell]
    return described(CASES[case](DESIGNS[design], generator(seed, "coverage", case, design)))


def summary(_cell: str, rows: Sequence[Row]) -> Row:
    return counted(rows)


SIMULATION = Simulation(
    "coverage_behaviour",
    {cell: SETS.get(case, 200) for cell, (_, case) in CELLS.items()},
    estimate,
    summary,
    partial(coverage_table, designs=DESIGNS, estimators=CASES),
)

if __name__ == "__main__":
    SIMULATION.main(__doc__)
