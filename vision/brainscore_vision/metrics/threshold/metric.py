"""Score how near the psychometric threshold of a model is to the thresholds of people.

A cumulative Gaussian with a lapse of at least 0.03 is fitted, by the highest likelihood, to the shares of right answers
at the levels of the independent variable; the threshold ``s`` is where it reaches a given accuracy. With the thresholds
``t_i`` of people,

    ``score = mean_i max(1 - |s - t_i| / t_i, 0)``

`threshold_elevation` compares ratios of thresholds in a test and a baseline condition.

- Input: source, probabilities, dims (presentation, choice), with `image_label` (the right answer) and the independent
  variable, or the threshold itself; target, positive thresholds of people, dims (subject).
- Output: Score in [0, 1]; ``raw`` has dim (subject), attrs hold the ``threshold`` or ``elevation``. 0 with ``failure``
  in attrs if the model has no threshold.
- Invariances: order of trials and subjects; unit of the independent variable (thresholds likewise).
- Error: over new people and new stimuli of the model, whose threshold is refitted without each twentieth of them (over
  people alone, if the threshold is given).
- With `compat=True` levels weigh alike, and persons are drawn with replacement for the ceiling.
- When: thresholds of people are known for a task with a stimulus strength.

References
----------
Wichmann & Hill (2001), doi:10.3758/BF03194544; for elevations Malania et al. (2007), doi:10.1167/7.2.1.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from numbers import Real
from typing import TYPE_CHECKING, Literal, TypeVar, cast

import numpy as np

from brainscore_core.errors import AssemblyError
from brainscore_vision.metric_helpers.arrays.behavior.psychometrics import (
    cumulative_gaussian,
    fit_cumulative_gaussian,
    inverse_cumulative_gaussian,
    rising_part,
    shares_right,
)
from brainscore_vision.metric_helpers.labelled.alignment import coordinate, has_coordinate, require_assembly
from brainscore_vision.metric_helpers.labelled.judgements import most_probable, same_label

from .people import ClosenessToPeople, NoThresholdError, People, elevations_of, thresholds_of

if TYPE_CHECKING:
    from xarray import DataArray

    from brainscore_core.metrics import Score
    from brainscore_vision.metric_helpers.arrays.types import Floats, Labels

Accuracy = float | Literal["inflection"]

LEAST_R2 = 0.4  # of a fit that counts
MOST_GROUPS = 20  # of stimuli left out for the error
LEAST_PART = 1 / 3  # of the levels, before the answers get worse for good


class Threshold(ClosenessToPeople):
    """Distance of a model's threshold from those of people, relative to theirs.

    Parameters
    ----------
    independent_variable
        Coordinate with the strength of the stimulus.
    fit_function, fit_inverse_function
        ``f(x, slope, mean, lapse)``, the psychometric function at the fitted parameters; ``f(accuracy, slope, mean,
        lapse)``.
    threshold_accuracy : float or 'inflection'
        Share of right answers at the threshold; ``'inflection'``: the middle between the function's extremes.
    required_accuracy
        Share of right answers below which there is no threshold.
    """

    def __init__(
        self,
        independent_variable: str,
        fit_function: Callable[..., Floats] = cumulative_gaussian,
        fit_inverse_function: Callable[..., Floats] = inverse_cumulative_gaussian,
        threshold_accuracy: Accuracy = "inflection",
        required_accuracy: float = 0.6,
        *,
        compat: bool = False,
    ) -> None:
        if not (
            threshold_accuracy == "inflection" or (isinstance(threshold_accuracy, Real) and 0 < threshold_accuracy < 1)
        ):
            raise ValueError(
                f"threshold_accuracy is 'inflection' or a number between 0 and 1; got {threshold_accuracy!r}."
            )
        self._independent_variable = independent_variable
        self._function = fit_function
        self._inverse = fit_inverse_function
        self._threshold_accuracy = threshold_accuracy
        self._required_accuracy = required_accuracy
        super().__init__(compat=compat)

    def __call__(self, source: DataArray | float, target: People) -> Score:
        """Compare; a mapping as target holds the thresholds as ``'baseline_assembly'``."""
        left_out = None if isinstance(source, Real) else lambda: self._thresholds_without(source)
        return self._compared("threshold", lambda: _number_or(self._threshold, source), target, left_out)

    def compute_threshold(self, source: DataArray, independent_variable: str) -> float | Literal["fit_fail"]:
        """Read the threshold of a model for published code: ``'fit_fail'`` if there is none."""
        metric = copy.copy(self)
        metric._independent_variable = independent_variable  # noqa: SLF001 -- of the same class
        try:
            return metric.read_threshold(source)[0]
        except NoThresholdError:
            return "fit_fail"

    def _values(self, target: People) -> tuple[Floats, Labels]:
        return thresholds_of(target)

    def _threshold(self, source: DataArray) -> float:
        return self.read_threshold(source)[0]

    def _thresholds_without(self, source: DataArray) -> Floats:
        return np.array([threshold for threshold, _ in self.read_without_groups(source)])

    def read_without_groups(
        self, source: DataArray, accuracies: Iterable[float] | None = None
    ) -> Iterator[tuple[float, float]]:
        """Read the threshold without each group of stimuli, at accuracies of their own if given."""
        *_, near = self._read(source)
        parts = self._without_each_group(source)
        levels = itertools.repeat(None) if accuracies is None else accuracies
        for part, accuracy in zip(parts, levels, strict=False):  # fewer stimuli, fewer groups
            yield self._read(part, accuracy, near)[:2]

    def _without_each_group(self, source: DataArray) -> Iterator[DataArray]:
        """Yield a model's answers without a twentieth of its stimuli each, or without one if there are fewer."""
        ids = np.arange(source.sizes["presentation"])
        if has_coordinate(source, "stimulus_id"):
            ids = coordinate(source, "stimulus_id").astype(str)
        strengths = self._strengths(source)
        names, stimulus = np.unique(ids, return_inverse=True)
        strength = np.bincount(stimulus, weights=strengths) / np.bincount(stimulus)
        rank = np.empty(len(names), dtype=np.intp)
        rank[np.argsort(strength, kind="stable")] = np.arange(len(names))
        group = (rank % MOST_GROUPS)[stimulus]
        for number in range(min(MOST_GROUPS, len(names))):
            yield source[{"presentation": np.flatnonzero(group != number)}]

    def read_threshold(self, source: DataArray, accuracy: Accuracy | None = None) -> tuple[float, float]:
        """Return the threshold of a model, and the accuracy there; `NoThresholdError` says why there is none."""
        threshold, reached, _ = self._read(source, accuracy)
        return threshold, reached

    def _read(
        self, source: DataArray, accuracy: Accuracy | None = None, near: tuple[float, float, float] | None = None
    ) -> tuple[float, float, tuple[float, float, float]]:
        accuracy = self._threshold_accuracy if accuracy is None else accuracy
        require_assembly(source)
        right = same_label(most_probable(source), coordinate(source, "image_label"))
        if right.mean() < self._required_accuracy:
            raise NoThresholdError(
                f"The accuracy {right.mean():.3f} is below the required {self._required_accuracy:.3f}."
            )
        x = self._strengths(source)
        levels, shares, n_trials = shares_right(x, right)
        n_rising = rising_part(shares)
        if n_rising < LEAST_PART * len(levels):
            raise NoThresholdError(f"Answers get worse for good after {n_rising} of {len(levels)} levels.")
        if n_rising < 2:
            raise NoThresholdError(f"There is only one level of {self._independent_variable!r} to fit.")
        fit = fit_cumulative_gaussian(
            levels[:n_rising], shares[:n_rising], None if self._compat else n_trials[:n_rising], near=near
        )
        if not fit.r2 >= LEAST_R2:
            raise NoThresholdError(f"The fit explains {fit.r2:.3f} of the variance, less than {LEAST_R2}.")
        if accuracy == "inflection":
            ends = self._function(np.array([x.min(), x.max()]), *fit.parameters)
            accuracy = float(np.mean(ends))
        threshold = float(self._inverse(accuracy, *fit.parameters))
        if not threshold <= levels[n_rising - 1]:
            raise NoThresholdError(f"The threshold {threshold} is not within the levels up to {levels[n_rising - 1]}.")
        return threshold, float(accuracy), fit.parameters

    def _strengths(self, source: DataArray) -> Floats:
        values = coordinate(source, self._independent_variable)
        try:
            strengths = values.astype(np.float64)
        except (TypeError, ValueError):
            strengths = np.full(len(values), np.nan)
        if not np.isfinite(strengths).all():
            raise AssemblyError(
                f"The independent variable {self._independent_variable!r} holds {str(values[0])!r}; a psychometric "
                "function needs finite numbers. Name the coordinate that holds the strength of the stimulus."
            )
        return strengths


class ThresholdElevation(ClosenessToPeople):
    """Distance of a model's ratio of two thresholds from those of people; other parameters as for `Threshold`.

    The conditions are keys of the model's answers; ``'inflection'`` takes that of the baseline for both.
    """

    def __init__(
        self,
        independent_variable: str,
        baseline_condition: str,
        test_condition: str,
        threshold_accuracy: Accuracy = "inflection",
        required_baseline_accuracy: float = 0.6,
        required_test_accuracy: float = 0.6,
        *,
        compat: bool = False,
    ) -> None:
        super().__init__(compat=compat)
        self._baseline, self._test = (
            Threshold(
                independent_variable, threshold_accuracy=threshold_accuracy, required_accuracy=required, compat=compat
            )
            for required in (required_baseline_accuracy, required_test_accuracy)
        )
        self._conditions = (baseline_condition, test_condition)

    def __call__(self, source: Mapping[str, DataArray] | float, target: People) -> Score:
        """Compare the probabilities in both conditions, or the elevation, with people's.

        People's thresholds may be given as ``{'baseline_assembly': ..., 'condition_assembly': ...}``.
        """
        left_out = None if isinstance(source, Real) else lambda: self._elevations_without(source)
        return self._compared("elevation", lambda: _number_or(self._elevation, source), target, left_out)

    def _values(self, target: People) -> tuple[Floats, Labels]:
        return elevations_of(target)

    def _elevation(self, source: Mapping[str, DataArray]) -> float:
        missing = [name for name in self._conditions if not isinstance(source, Mapping) or name not in source]
        if missing:
            present = sorted(map(str, source)) if isinstance(source, Mapping) else type(source).__name__
            raise AssemblyError(
                f"The source of threshold_elevation maps conditions to assemblies; {missing} missing, found {present}."
            )
        baseline_condition, test_condition = self._conditions
        baseline, accuracy = self._baseline.read_threshold(source[baseline_condition])
        test, _ = self._test.read_threshold(source[test_condition], accuracy)
        return test / baseline

    def _elevations_without(self, source: Mapping[str, DataArray]) -> Floats:
        baseline, test = self._conditions
        baselines, accuracies = np.array(list(self._baseline.read_without_groups(source[baseline]))).T
        tests = np.array(
            [threshold for threshold, _ in self._test.read_without_groups(source[test], accuracies.tolist())]
        )
        return tests / baselines[: len(tests)]


Source = TypeVar("Source")


def _number_or(read: Callable[[Source], float], source: Source | float) -> float:
    return float(source) if isinstance(source, Real) else read(cast("Source", source))
