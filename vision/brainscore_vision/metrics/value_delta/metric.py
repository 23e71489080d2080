"""Score how near one number is to another.

    ``score = exp(-scale |source - target|)``

- Input: two numbers of the same unit, such as the same summary of the behaviour of a model and of people.
- Output: Score in (0, 1], 1 for equal numbers.
- Invariances: exchange of the two; shift of both.
- When: an experiment is summarised in one number. The scale decides what counts as near: choose it by the differences
  between people.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from brainscore_core.errors import AssemblyError
from brainscore_core.metrics import Metric, Quantity, Score
from brainscore_vision.metric_helpers.labelled.gather import one_each

if TYPE_CHECKING:
    from brainscore_vision.metric_helpers.arrays.types import ArrayLike


class ValueDelta(Metric):
    """Exponential of the negative distance of two numbers.

    Parameters
    ----------
    scale : float
        How steeply the score falls with the distance, in 1 / unit of the numbers; positive. At a distance of
        ``1 / scale`` the score is 0.37.
    """

    quantity: ClassVar[Quantity | None] = "share"

    def __init__(self, scale: float = 1.0) -> None:
        if not (np.isfinite(scale) and scale > 0):
            raise ValueError(f"The scale of value_delta is a positive number; got {scale!r}.")
        self._scale = float(scale)

    def __call__(self, source_value: ArrayLike, target_value: ArrayLike) -> Score:
        """Compare finite numbers, floats or 0-d arrays.

        Returns
        -------
        Score
            0-d, in (0, 1]. Attrs: ``raw`` (Score, dims (side): the two numbers), ``error`` (NaN: two numbers have no
            spread), ``scale``, ``quantity``.

        Raises
        ------
        AssemblyError
            If one of them is no single finite number.
        """
        source, target = _number(source_value, "source"), _number(target_value, "target")
        score = Score(np.exp(-self._scale * abs(source - target)))
        score.attrs.update(
            raw=one_each([source, target], "side", ["source", "target"]),
            error=float("nan"),
            scale=self._scale,
            quantity=self.quantity,
        )
        return score


def _number(value: ArrayLike, role: str) -> float:
    try:
        number = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        number = np.array([])
    if number.size != 1 or not np.isfinite(number).all():
        raise AssemblyError(
            f"The {role} value of value_delta is {value!r}; expected one finite number. Summarise the assembly first."
        )
    return float(number.reshape(-1)[0])
