"""Compare a model's threshold, or ratio of thresholds, with people's, and people with each other."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from xarray import DataArray

from brainscore_core.errors import AssemblyError
from brainscore_core.metrics import Metric, Quantity, Score
from brainscore_vision.metric_helpers.arrays.behavior import relative_closeness
from brainscore_vision.metric_helpers.arrays.influence import pair_influences
from brainscore_vision.metric_helpers.labelled.alignment import coordinate, has_coordinate, matching_order, one_each
from brainscore_vision.metric_helpers.uncertainty.errors import (
    attach_spread,
    declare_no_error,
    jackknife_spread,
    note_error,
    spread_of_sum,
    spread_of_units,
    t_interval,
)

if TYPE_CHECKING:
    from brainscore_vision.metric_helpers.arrays.types import Floats, Labels

Thresholds = DataArray | Sequence[float]
People = Thresholds | Mapping[str, Thresholds]


class NoThresholdError(Exception):
    """A model has no threshold; the message gives the reason."""


class ClosenessToPeople(Metric, ABC):
    """Relative distance of a model's value from people's."""

    quantity: ClassVar[Quantity | None] = "share"

    def __init__(self, *, compat: bool = False) -> None:
        self._compat = compat

    @abstractmethod
    def _values(self, target: People) -> tuple[Floats, Labels]:
        """Return values of people, shape (n_subjects,), and names of subjects."""

    def ceiling(self, assembly: People) -> Score:
        """Compare every person with all the others; ``error``, over subjects, is NaN for two."""
        people, subjects = self._values(assembly)
        if len(people) < 2:
            raise AssemblyError(f"A ceiling between people needs at least two subjects, found {len(people)}.")
        if self._compat:
            closeness = closeness_of_drawn(people)
            score = self._score(one_each(closeness, "draw"), len(people))
            return note_error(score, float(closeness.std()), over="subject", n=len(people))
        table = relative_closeness(people[:, None], people)
        np.fill_diagonal(table, np.nan)
        score = self._score(one_each(np.nanmean(table, axis=1), "subject", subjects), len(people))
        alone = np.ones((len(people), 1))  # one number per person: there are no stimuli
        spread = spread_of_units(pair_influences((table + table.T) / 2, 0 * alone, alone).sum(axis=1))
        few = "of two subjects, who are a single pair" if len(people) < 3 else None
        return attach_spread(score, spread, over=["subject"], interval=t_interval(score.item(), spread), missing=few)

    def _compared(
        self, name: str, read: Callable[[], float], target: People, left_out: Callable[[], Floats] | None
    ) -> Score:
        """Compare a model's value, which attrs hold under its name; 0 if it has no threshold.

        `left_out` returns the values without each group of the model's stimuli; None: the value is exact.
        """
        people, subjects = self._values(target)
        try:
            value = read()
        except NoThresholdError as failure:
            score = Score(0.0)
            score.attrs.update(failure=str(failure), n_subjects=len(people), quantity=self.quantity)
            if self._compat:
                return note_error(score, 0.0, over="subject", n=len(people))
            return declare_no_error(score, "the model has no threshold")
        closeness = relative_closeness(value, people)
        score = self._score(one_each(closeness, "subject", subjects), len(people))
        score.attrs[name] = value
        if self._compat:
            return note_error(score, float(closeness.std()), over="subject", n=len(people))
        parts, missing = [spread_of_units((closeness - closeness.mean()) / len(people))], None
        if len(people) < 2:
            missing = "a single subject: with fewer than two subjects there is nothing to resample"
        if left_out is not None:
            try:
                values = left_out()
            except NoThresholdError as failure:
                return declare_no_error(score, f"without some of its stimuli the model has no threshold: {failure}")
            parts.append(jackknife_spread(relative_closeness(values[:, None], people).mean(axis=1)))
        over = ["subject"] if left_out is None else ["stimulus", "subject"]
        spread = spread_of_sum(*parts)
        interval = t_interval(score.item(), spread)
        return attach_spread(score, spread, over=over, interval=interval, missing=missing)

    def _score(self, raw: Score, n_subjects: int) -> Score:
        score = Score(raw.values.mean())
        score.attrs.update(raw=raw, n_subjects=n_subjects, quantity=self.quantity)
        return score


def thresholds_of(target: People) -> tuple[Floats, Labels]:
    """Return thresholds or elevations of people, shape (n_subjects,), and names of subjects."""
    if isinstance(target, Mapping):
        if "baseline_assembly" not in target:
            raise AssemblyError(f"The target has {sorted(map(str, target))}; expected 'baseline_assembly'.")
        target = target["baseline_assembly"]
    values = np.asarray(getattr(target, "values", target), dtype=np.float64).reshape(-1)
    wrong = ~(np.isfinite(values) & (values > 0))
    if wrong.any() or not len(values):
        raise AssemblyError(
            f"{int(wrong.sum())} of {len(values)} human thresholds are NaN, infinite, zero or negative, so distances "
            "relative to them are undefined. Select the subjects who took part in the condition."
        )
    named = isinstance(target, DataArray) and has_coordinate(target, "subject")
    return values, coordinate(target, "subject") if named else np.arange(len(values))


def elevations_of(target: People) -> tuple[Floats, Labels]:
    """Return given ratios, or those of thresholds in two conditions; see `thresholds_of`."""
    if not isinstance(target, Mapping):
        return thresholds_of(target)
    missing = [name for name in ("baseline_assembly", "condition_assembly") if name not in target]
    if missing:
        raise AssemblyError(f"The target has {sorted(map(str, target))}; {', '.join(missing)} missing.")
    baseline, baseline_subjects = thresholds_of(target["baseline_assembly"])
    test, subjects = thresholds_of(target["condition_assembly"])
    order = matching_order(subjects, baseline_subjects, what="subject")
    return test / baseline[order], subjects


# Compute the published ceilings of thresholds, for ``compat=True``.


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
