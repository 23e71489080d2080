"""What the published score of the cost in accuracy does, for ``compat=True``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from brainscore_core.errors import AssemblyError

if TYPE_CHECKING:
    from brainscore_vision.metric_helpers.arrays.types import Floats, Labels, NDArray


def signed_closeness(model: float, people: Floats) -> Floats:
    """Divide by the signed cost, so that closeness exceeds 1 where people gain by the disturbance."""
    return np.maximum(1 - np.abs(people - model) / people, 0)


def numbered_halves(subjects: Labels, n_halves: int) -> NDArray[np.bool_]:
    """Draw halves of the numbers 1 to n - 1; shape (n_halves, n_subjects).

    Raises
    ------
    AssemblyError
        If subjects are not numbered, so that a half is empty.
    """
    numbers, size = np.arange(1, len(subjects)), len(subjects) // 2
    # The published halves come from this generator, whose results are fixed for ever.
    draws = [np.random.RandomState(i).choice(numbers, size, replace=False) for i in range(n_halves)]
    halves = np.stack([np.isin(subjects, draw) for draw in draws])
    if not halves.any(axis=1).all():
        raise AssemblyError(
            f"The published halves need subjects that are numbered from 1 to {len(subjects)}; found "
            f"{', '.join(repr(str(name)) for name in subjects[:5])}. Without compat=True names may be any."
        )
    return halves
