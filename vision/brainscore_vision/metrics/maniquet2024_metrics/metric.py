"""Score whether a model confuses the same objects, and finds the same tasks hard, as people.

Pearson correlations of the confusion matrices of the model and of all people together, or of their accuracies over
tasks (kinds of disturbed images):

    ``confusion_similarity = r(offdiagonal(C_model), offdiagonal(C_people))``,
    ``tasks_consistency = r(accuracy_model(task), accuracy_people(task))``

- Input: source, probabilities, dims (presentation, choice), with `image_label`; target, one trial of one person for
  each presentation, with `image_label`, `prediction` and, for errors and ceilings, `subject_id`. For tasks the source
  also has `manipulation` and `manipulation_details`, the target `task`.
- Output: Score in [-1, 1], a correlation; ``raw``, dims (side, entry), holds both patterns. The ceiling is the root of
  the reliability of all people's answers, stepped up from random halves, whose correlations are its ``raw``.
- Invariances: order of trials; names of objects.
- Error: jackknife over people; NaN without `subject_id`, or for one person.
- When: the same objects are disturbed in several ways.

References
----------
Maniquet et al. (2024), doi:10.1101/2024.04.02.587669.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from brainscore_core.errors import AssemblyError
from brainscore_core.metrics import Metric, Quantity, Score
from brainscore_vision.metric_helpers.arrays.behavior import confusion_matrices, off_diagonal
from brainscore_vision.metric_helpers.arrays.correlation import pearson_columns
from brainscore_vision.metric_helpers.arrays.reliability.split_half import random_halves, step_up
from brainscore_vision.metric_helpers.arrays.seeds import generator
from brainscore_vision.metric_helpers.labelled.alignment import coordinate, has_coordinate, one_each
from brainscore_vision.metric_helpers.labelled.judgements import most_probable, same_label
from brainscore_vision.metric_helpers.uncertainty.errors import jackknife_error

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly
    from brainscore_vision.metric_helpers.arrays.types import ArrayLike, Floats, Indices, Integers, Labels

# How a word in a task's name is called in `manipulation`.
MANIPULATIONS = {"clutter": "clutter", "control": "control", "occlusion": "occluder", "scrambling": "phasescrambling"}
# The kind of occluder (blobs, deletion, partial viewing) is not a condition of the model's images.
OCCLUDERS = ("blobs", "deletion", "partial_viewing")
DETAILS = {
    **{name: name for name in ("heavy", "light", "highpass", "lowpass")},
    **{
        f"{number}_{size}_{kind}_{level}": f"{number}{size}-{level}"
        for number, size in (("few", "large"), ("many", "small"))
        for kind in OCCLUDERS
        for level in ("high", "low")
    },
}


class _PatternCorrelation(Metric):
    """Base of both metrics; `seed` and `compat` concern the ceiling."""

    quantity: ClassVar[Quantity | None] = "correlation"
    SPLITS = 100

    def __init__(self, *, seed: int = 0, compat: bool = False) -> None:
        self._seed = seed
        self._compat = compat

    def _score(self, model: Floats, people: Floats, without: Floats | None, notes: dict[str, object]) -> Score:
        """Correlate patterns, shape (n_entries,); `without`, shape (n_people, n_entries), lacks one person each."""
        score = Score(_correlations(model, people[None])[0])
        error = float("nan") if without is None else jackknife_error(_correlations(model, without))
        raw = Score(np.stack([model, people]), coords={"side": ["source", "target"]}, dims=["side", "entry"])
        score.attrs.update(raw=raw, error=error, **notes, quantity=self.quantity)
        return score

    def _highest(self, correlations: ArrayLike, sizes: tuple[int, int]) -> ArrayLike:
        return correlations if self._compat else np.sqrt(np.maximum(step_up(correlations, *sizes), 0))

    def _ceiling(self, correlations: Floats, sizes: tuple[int, int], error: float, notes: dict[str, object]) -> Score:
        score = Score(self._highest(correlations.mean(), sizes))
        score.attrs.update(
            raw=one_each(correlations, "split"), error=error, **notes, seed=self._seed, quantity=self.quantity
        )
        return score


class ConfusionSimilarity(_PatternCorrelation):
    """Correlation of confusion matrices, without their diagonals."""

    def __call__(self, probabilities: DataAssembly, human_assembly: DataAssembly) -> Score:
        """Compare on the same objects; NaN if one side confuses all equally often, or none."""
        objects, matrices = _human_matrices(human_assembly)
        choices = np.unique(coordinate(probabilities, "choice").astype(str))
        if not np.array_equal(choices, objects):
            raise AssemblyError(
                "The model's choices and the human labels name different objects: only the model has "
                f"{np.setdiff1d(choices, objects).tolist()}, only people have "
                f"{np.setdiff1d(objects, choices).tolist()}"
            )
        truth = _numbers(objects, coordinate(probabilities, "image_label"))
        model = confusion_matrices(truth, _numbers(objects, most_probable(probabilities)), len(objects))[0]
        people = matrices.sum(axis=0)
        without = off_diagonal(people - matrices) if len(matrices) > 1 else None
        notes = {
            "n_stimuli": len(truth),
            "n_trials": int(people.sum()),
            "n_objects": len(objects),
            "n_subjects": len(matrices),
        }
        return self._score(off_diagonal(model), off_diagonal(people), without, notes)

    def ceiling(self, assembly: DataAssembly) -> Score:
        """Correlate the mean confusions of random halves of the people; ``error`` is NaN for fewer than four."""
        coordinate(assembly, "subject_id")
        _, matrices = _human_matrices(assembly)
        if len(matrices) < 2:
            raise AssemblyError(
                f"Splitting into halves needs at least two values of 'subject_id', found {len(matrices)}."
            )
        rng = generator(self._seed, "confusion_similarity", "subject_id")
        half = random_halves(rng, self.SPLITS, len(matrices)).astype(np.float64)
        confusions = off_diagonal(matrices)
        sizes = (len(matrices) // 2, len(matrices) - len(matrices) // 2)
        sums = half @ confusions, (1 - half) @ confusions
        error = float("nan")
        if len(matrices) > 3:  # else a half may be empty without one person
            left_out = [
                pearson_columns((sums[0] - part[:, None] * person).T, (sums[1] - (1 - part)[:, None] * person).T).mean()
                for part, person in zip(half.T, confusions, strict=True)
            ]
            error = jackknife_error(self._highest(np.array(left_out), sizes))
        return self._ceiling(pearson_columns(sums[0].T, sums[1].T), sizes, error, {"n_subjects": len(matrices)})


class TasksConsistency(_PatternCorrelation):
    """Correlation of accuracies over tasks."""

    def __call__(self, probabilities: DataAssembly, human_assembly: DataAssembly) -> Score:
        """Compare over at least three tasks, which attrs also hold."""
        tasks, task, right = _human_tasks(human_assembly)
        model = _accuracy_by_task(probabilities, tasks)
        subjects, subject = _subjects(human_assembly)
        shape = (len(subjects), len(tasks))
        cell = np.ravel_multi_index((subject, task), shape)
        hits = np.bincount(cell, weights=right, minlength=shape[0] * shape[1]).reshape(shape)
        number = np.bincount(cell, minlength=shape[0] * shape[1]).reshape(shape)
        without = None
        if len(subjects) > 1:
            rest = number.sum(axis=0) - number
            others = hits.sum(axis=0) - hits
            without = np.divide(others, rest, out=np.full(shape, np.nan), where=rest > 0)
        notes = {
            "tasks": tasks.tolist(),
            "n_stimuli": probabilities.sizes["presentation"],
            "n_trials": len(right),
            "n_subjects": len(subjects),
        }
        return self._score(model, hits.sum(axis=0) / number.sum(axis=0), without, notes)

    def ceiling(self, assembly: DataAssembly) -> Score:
        """Correlate the accuracies of random halves of each task's trials.

        ``error`` is the standard deviation over divisions into halves, not over people.
        """
        tasks, task, right = _human_tasks(assembly)
        number = np.bincount(task, minlength=len(tasks))
        if number.min() < 2:
            raise AssemblyError(
                f"Task {str(tasks[number.argmin()])!r} has a single trial, which cannot be split into halves."
            )
        halves = number // 2
        keys = generator(self._seed, "tasks_consistency", "presentation").random((self.SPLITS, len(task)))
        # Sorted by task, then by key: the first of each task make the first half.
        order = np.lexsort((keys, np.broadcast_to(task, keys.shape)), axis=1)
        ranked = right[order]
        start = np.concatenate([[0], np.cumsum(number)[:-1]])
        edges = np.column_stack([start, start + halves]).ravel()
        sums = np.add.reduceat(ranked, edges, axis=1).reshape(self.SPLITS, len(tasks), 2)
        first, second = sums[..., 0] / halves, sums[..., 1] / (number - halves)
        correlations = pearson_columns(first.T, second.T)
        error = float(np.std(self._highest(correlations, (1, 1))))
        return self._ceiling(correlations, (1, 1), error, {"n_trials": len(task)})


def _correlations(pattern: Floats, others: Floats) -> Floats:
    correlations: Floats = pearson_columns(np.broadcast_to(pattern[:, None], others.T.shape), others.T)
    return correlations


def _subjects(assembly: DataAssembly) -> tuple[Labels, Indices]:
    if not has_coordinate(assembly, "subject_id"):
        return np.array(["all"]), np.zeros(assembly.sizes["presentation"], dtype=np.intp)
    subjects, subject = np.unique(coordinate(assembly, "subject_id"), return_inverse=True)
    return subjects, subject


def _numbers(objects: Labels, labels: Labels) -> Indices:
    """Return labels' places among the ascending objects; -1 for none."""
    names = labels.astype(str)
    place = np.searchsorted(objects, names).clip(max=len(objects) - 1)
    return np.where(objects[place] == names, place, -1)


def _human_matrices(assembly: DataAssembly) -> tuple[Labels, Integers]:
    """Return objects, (k,), and confusion matrices of all people, (n_subjects, k, k)."""
    labels = coordinate(assembly, "image_label").astype(str)
    objects = np.unique(labels)
    subjects, subject = _subjects(assembly)
    answers = _numbers(objects, coordinate(assembly, "prediction"))
    return objects, confusion_matrices(_numbers(objects, labels), answers, len(objects), subject, len(subjects))


def _human_tasks(assembly: DataAssembly) -> tuple[Labels, Indices, Floats]:
    tasks, task = np.unique(coordinate(assembly, "task").astype(str), return_inverse=True)
    if len(tasks) < 3:
        raise AssemblyError(f"A correlation over tasks needs at least three tasks, found {len(tasks)}.")
    right = same_label(coordinate(assembly, "prediction"), coordinate(assembly, "image_label"))
    return tasks, task, right.astype(np.float64)


def _accuracy_by_task(probabilities: DataAssembly, tasks: Labels) -> Floats:
    right = same_label(most_probable(probabilities), coordinate(probabilities, "image_label"))
    manipulation = coordinate(probabilities, "manipulation").astype(str)
    details = coordinate(probabilities, "manipulation_details").astype(str)
    accuracies = np.empty(len(tasks))
    for index, task in enumerate(tasks.tolist()):
        condition = condition_of_task(task)
        in_condition = (manipulation == condition[0]) & (details == condition[1])
        if not in_condition.any():
            raise AssemblyError(
                f"The model has no images for the task {task!r} ({condition[0]!r}, {condition[1]!r}); "
                f"it has {sorted(set(zip(manipulation.tolist(), details.tolist(), strict=True)))[:20]}."
            )
        accuracies[index] = right[in_condition].mean()
    return accuracies


def condition_of_task(task: str) -> tuple[str | None, str]:
    """Return the `manipulation` and `manipulation_details` of the model's images for a task of people.

    Examples
    --------
    >>> condition_of_task("occlusion_few_large_blobs_high")
    ('occluder', 'fewlarge-high')
    """
    words = task.split("_")
    if "control" in words:
        return "control", "control"
    manipulation = next((name for word, name in MANIPULATIONS.items() if word in words), None)
    details = "_".join(word for word in words if word not in MANIPULATIONS)
    return manipulation, DETAILS.get(details, "control")
