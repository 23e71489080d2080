"""Score how near one number is to another.

    ``score = exp(-scale |source - target|)``

- Input: two numbers of the same unit, such as the same summary of behaviour.
- Output: Score in (0, 1], 1 for equal numbers.
- Invariances: exchange of the two; shift of both.
- Error: numbers that are Scores bring theirs (``attrs["error"]``); a plain number counts as exact, two have no
  error.
- When: an experiment is summarised in one number. Choose the scale by the differences between people.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from brainscore_core.errors import AssemblyError
from brainscore_core.metrics import Metric, Quantity, Score, described
from brainscore_vision.metric_helpers.labelled.alignment import one_each
from brainscore_vision.metric_helpers.uncertainty.errors import (
    Spread,
    attach_spread,
    declare_no_error,
    spread_of_sum,
    t_interval,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from brainscore_vision.metric_helpers.arrays.types import ArrayLike


class ValueDelta(Metric):
    """Exponential of the negative distance of two numbers.

    The positive `scale`, in 1 / unit of the numbers, makes the score 0.37 at a distance of ``1 / scale``.
    """

    quantity: ClassVar[Quantity | None] = "share"

    def __init__(self, scale: float = 1.0) -> None:
        if not (np.isfinite(scale) and scale > 0):
            raise ValueError(f"The scale of value_delta must be a positive number; got {scale!r}.")
        self._scale = float(scale)

    def __call__(self, source_value: ArrayLike, target_value: ArrayLike) -> Score:
        """Compare finite numbers, floats or 0-d arrays; Scores may bring an ``error`` (and its ``error_df``).

        ``error`` is ``scale`` times score times the error of the difference; ``interval`` the transformed one of the
        difference, up to 1 if that holds 0.
        """
        source, target = _number(source_value, "source"), _number(target_value, "target")
        score = Score(np.exp(-self._scale * abs(source - target)))
        score.attrs.update(
            raw=one_each([source, target], "side", ["source", "target"]), scale=self._scale, quantity=self.quantity
        )
        return self._with_error(score, source - target, [source_value, target_value])

    def _with_error(self, score: Score, difference: float, sides: Sequence[ArrayLike]) -> Score:
        spreads = [_spread(side) for side in sides]
        stated = [spread for spread in spreads if spread is not None]
        if not stated:
            return declare_no_error(score, "neither number has an error: give Scores with attrs['error']")
        of_difference = spread_of_sum(*stated)
        ends = np.array(t_interval(difference, of_difference))
        nearest = 0.0 if ends[0] <= 0 <= ends[1] else np.abs(ends).min()
        interval = tuple(float(np.exp(-self._scale * distance)) for distance in (np.abs(ends).max(), nearest))
        spread = Spread(self._scale * float(score) * of_difference.error, of_difference.df)
        over = sorted({name for side in sides for name in getattr(side, "attrs", {}).get("error_over", [])})
        return attach_spread(score, spread, over=over, interval=interval)


def _spread(value: ArrayLike) -> Spread | None:
    attrs = getattr(value, "attrs", {})
    error = attrs.get("error")
    if error is None or not np.isfinite(error):
        return None
    return Spread(float(error), float(attrs.get("error_df", np.inf)))


def _number(value: ArrayLike, role: str) -> float:
    try:
        number = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        number = np.array([])
    if number.size != 1 or not np.isfinite(number).all():
        raise AssemblyError(
            f"The {role} value of value_delta is {described(value)}; expected a single finite number. Summarise the "
            "assembly first."
        )
    return float(number.reshape(-1)[0])
