"""Compute the published score of the cost in accuracy, for ``compat=True``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from brainscore_core.errors import AssemblyError

if TYPE_CHECKING:
    from brainscore_vision.metric_helpers.arrays.types import Floats, Labels, NDArray


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
            f"The published halves need subjects that are numbered from 1 to {len(subjects)}; found "
            f"{', '.join(repr(str(name)) for name in subjects[:5])}. Without compat=True names may be any."
        )
    return halves
