"""Score whether disturbing the configuration of objects costs a model as much accuracy as people.

The cost is the accuracy for whole objects minus that for disturbed ones. With the model's cost ``m``, the mean over
categories, and people's cost ``h``, the mean over random halves of the subjects:

    ``score = mean_halves max(1 - |h - m| / |h|, 0)``

- Input: source, labels, dims (presentation) or (choice, presentation) with one choice, with `image_type` and the true
  category `animal`; target, one trial for each presentation, not 0 if the answer was right, with `image_type` and
  `subject`.
- Output: Score in [0, 1].
- Invariances: order of trials; names of subjects and categories.
- Error: the standard deviation over halves, which estimates the standard error over all subjects.
- When: the cost for
  people is clearly not zero.

References
----------
Baker & Elder (2022), doi:10.1016/j.isci.2022.104913.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from brainscore_core.errors import AssemblyError
from brainscore_core.metrics import Metric, Quantity, Score
from brainscore_vision.metric_helpers.arrays.behavior import relative_closeness
from brainscore_vision.metric_helpers.arrays.reliability.split_half import random_halves
from brainscore_vision.metric_helpers.arrays.seeds import generator
from brainscore_vision.metric_helpers.labelled.alignment import coordinate, one_each, require_assembly
from brainscore_vision.metric_helpers.labelled.judgements import labels_of, same_label

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly
    from brainscore_vision.metric_helpers.arrays.types import Floats, Labels, NDArray


class BakerAccuracyDelta(Metric):
    """Relative difference of the cost in accuracy between model and people.

    `image_types` are that of undisturbed images, such as ``'w'`` (whole), and that of disturbed ones, such as ``'f'``
    (Frankenstein) or ``'o'`` (fragmented).
    """

    quantity: ClassVar[Quantity | None] = "share"
    HALVES = 100

    def __init__(self, image_types: Sequence[str], *, seed: int = 0, compat: bool = False) -> None:
        if isinstance(image_types, str) or len(image_types) != 2:
            raise ValueError(f"image_types must name two types of images, such as ['w', 'f']; got {image_types!r}.")
        self._image_types = tuple(image_types)
        self._seed = seed
        self._compat = compat

    def __call__(self, source: DataAssembly, target: DataAssembly) -> Score:
        """Compare; attrs also hold the costs ``model_delta`` and ``human_delta`` (over all subjects).

        `AssemblyError` also if a subject or a category lacks a type of images, or people's cost is 0 in a half.
        """
        subjects, deltas = _human_deltas(target, self._image_types)
        if len(subjects) < 2:
            raise AssemblyError(f"Splitting subjects into halves needs at least two subjects, found {len(subjects)}.")
        truth = coordinate(source, "animal")
        right = same_label(labels_of(source, role="source"), truth)
        _, accuracies = _accuracies(right, coordinate(source, "image_type"), truth, "animal", self._image_types)
        model = float(accuracies[0].mean() - accuracies[1].mean())
        halves = self._halves(subjects)
        people = halves @ deltas / halves.sum(axis=1)
        if not people.all():
            raise AssemblyError(
                f"In {int((people == 0).sum())} of {len(people)} halves of subjects, the disturbance does not reduce "
                "human accuracy, so a model's distance relative to that reduction is undefined."
            )
        closeness = signed_closeness(model, people) if self._compat else relative_closeness(model, people)
        score = Score(closeness.mean())
        score.attrs.update(
            raw=one_each(closeness, "split"),
            error=float(closeness.std()),
            model_delta=float(model),
            human_delta=float(deltas.mean()),
            n_subjects=len(subjects),
            seed=self._seed,
            quantity=self.quantity,
        )
        return score

    def ceiling(self, assembly: DataAssembly) -> Score:
        """Score a model whose cost equals that of all people.

        No model can score much more. The published ceiling is the median closeness of halves to the other subjects,
        stepped up.
        """
        subjects, deltas = _human_deltas(assembly, self._image_types)
        if len(subjects) < 2:
            raise AssemblyError(f"Splitting subjects into halves needs at least two subjects, found {len(subjects)}.")
        if self._compat:
            closeness = stepped_up_closeness(subjects, deltas, self.HALVES)
            score = Score(np.median(closeness))
        else:
            halves = self._halves(subjects)
            closeness = relative_closeness(deltas.mean(), halves @ deltas / halves.sum(axis=1))
            score = Score(closeness.mean())
        score.attrs.update(
            raw=one_each(closeness, "split"),
            error=float(closeness.std()),
            n_subjects=len(subjects),
            seed=self._seed,
            quantity=self.quantity,
        )
        return score

    def compute_ceiling(
        self, source: DataAssembly, target: DataAssembly, image_types: Sequence[str] | None = None
    ) -> float:
        """Compare the costs of two groups of people, each a target of the metric: ``max(1 - |h1 - h2| / |h2|, 0)``."""
        types = self._image_types if image_types is None else tuple(image_types)
        first, second = (_human_deltas(half, types)[1].mean() for half in (source, target))
        return float(relative_closeness(first, second))

    def _halves(self, subjects: Labels) -> Floats:
        """Return which subjects are in each half, as ones, shape (n_halves, n_subjects)."""
        if self._compat:
            return numbered_halves(subjects, self.HALVES).astype(np.float64)
        rng = generator(self._seed, "baker_accuracy_delta", "subject")
        return random_halves(rng, self.HALVES, len(subjects)).astype(np.float64)


def _human_deltas(target: DataAssembly, image_types: Sequence[str]) -> tuple[Labels, Floats]:
    """Return subjects and their costs in accuracy, shape (n_subjects,)."""
    require_assembly(target)
    right = np.asarray(target.values).reshape(-1) != 0
    names = coordinate(target, "subject")
    subjects, accuracies = _accuracies(right, coordinate(target, "image_type"), names, "subject", image_types)
    return subjects, accuracies[0] - accuracies[1]


def _accuracies(
    right: NDArray[np.bool_], image_type: Labels, group: Labels, what: str, image_types: Sequence[str]
) -> tuple[Labels, Floats]:
    """Return subjects or categories, and accuracies by type of images and these, shape (2, n_groups)."""
    names, code = np.unique(group, return_inverse=True)
    types = image_type.astype(str)
    result = np.empty((2, len(names)))
    for row, name in zip(result, image_types, strict=True):
        in_condition = types == str(name)
        number = np.bincount(code[in_condition], minlength=len(names))
        if not number.all() or not len(names):
            lacking = [str(name) for name in names[number == 0][:5]]
            raise AssemblyError(
                f"{int((number == 0).sum())} of {len(names)} values of {what!r} have no images of type {name!r} "
                f"({', '.join(map(repr, lacking))}); the types are {sorted(set(types.tolist()))}."
            )
        row[:] = np.bincount(code[in_condition], weights=right[in_condition], minlength=len(names)) / number
    return names, result


# Compute the published score of the cost in accuracy, for ``compat=True``.


def signed_closeness(model: float, people: Floats) -> Floats:
    """Divide by the signed cost: closeness exceeds 1 where people gain."""
    return np.maximum(1 - np.abs(people - model) / people, 0)


def numbered_halves(subjects: Labels, n_halves: int) -> NDArray[np.bool_]:
    """Draw halves of the numbers 1 to n - 1; shape (n_halves, n_subjects)."""
    # The published halves come from these generators, whose results are fixed for ever.
    return _members(subjects, [np.random.RandomState(i) for i in range(n_halves)])


def stepped_up_closeness(subjects: Labels, deltas: Floats, n_halves: int) -> Floats:
    """Compare halves of the numbers 1 to n - 1 with all other subjects, and apply Spearman-Brown; shape (n_halves,)."""
    first = _members(subjects, [np.random.RandomState(0)] * n_halves)  # one generator here, others in the score
    one, two = ((half @ deltas) / half.sum(axis=1) for half in (first, ~first))
    closeness = np.maximum(1 - np.abs(one - two) / two, 0)
    return 2 * closeness / (1 + closeness)


def _members(subjects: Labels, generators: Sequence[np.random.RandomState]) -> NDArray[np.bool_]:
    numbers, size = np.arange(1, len(subjects)), len(subjects) // 2
    draws = [generator.choice(numbers, size, replace=False) for generator in generators]
    halves = np.stack([np.isin(subjects, draw) for draw in draws])
    if not halves.any(axis=1).all():
        raise AssemblyError(
            f"The published halves need subjects numbered from 1 to {len(subjects)}; found "
            f"{', '.join(repr(str(name)) for name in subjects[:5])}. Without compat=True, any names are allowed."
        )
    return halves
