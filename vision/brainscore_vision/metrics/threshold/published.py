"""Compute the published ceilings of thresholds, for ``compat=True``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from brainscore_vision.metric_helpers.arrays.behavior.agreement import relative_closeness

if TYPE_CHECKING:
    from brainscore_vision.metric_helpers.arrays.types import Floats


def closeness_of_drawn(people: Floats) -> Floats:
    """Compare each randomly drawn person with the rest, who move up in the list; shape (n_subjects,)."""
    remaining = people.tolist()
    results = []
    for draw in range(len(people)):
        # The published draws come from this generator, whose results are fixed for ever.
        value = float(np.random.RandomState(draw).choice(remaining, replace=False))
        remaining.remove(value)
        results.append(relative_closeness(value, remaining).mean())
        remaining.append(value)
    return np.array(results)
