"""Estimate the reliability of responses from two halves of their repetitions.

In every split ``s`` the repetitions are halved at random. The correlation over stimuli of their means, per neuroid
``j``, is stepped up to the reliability of the mean over all (Spearman-Brown; for halves of equal size ``2 r / (1 +
r)``, see `metric_helpers.arrays.reliability.split_half` for others):

    ``ceiling = mean_s median_j step_up(r(half1_sj, half2_sj))``

``internal_consistency_temporal`` gives a ceiling for each time bin, with the same halves in all bins.

- Input: an assembly of single repetitions, not their mean, with `repetition`; with dimension `time_bin` for
  ``internal_consistency_temporal``. NaN is a repetition that was not recorded from that neuroid. A stimulus that a half
  lacks does not count in that split.
- Output: Score, at most 1: a reliability, a part of variance (its root bounds a correlation); ``raw`` has dims (split,
  neuroid), stepped up. For each bin: dims (time_bin), sorted by `time_bin_start`.
- Invariances: order of presentations; shift and positive scaling of each neuroid.
- When: a measurement has repetitions.

References
----------
Spearman (1910), doi:10.1111/j.2044-8295.1910.tb00206.x; Brown (1910), doi:10.1111/j.2044-8295.1910.tb00207.x.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
import pandas as pd
import xarray as xr

from brainscore_core.errors import AssemblyError
from brainscore_core.metrics import Ceiling, Score
from brainscore_core.metrics.errors import attach_influence
from brainscore_core.statistics.influence import Influence
from brainscore_core.supported_data_standards.brainio.transform import average_repetition
from brainscore_vision.metric_helpers import Defaults
from brainscore_vision.metric_helpers.arrays.correlation import constant_columns, ordinary
from brainscore_vision.metric_helpers.arrays.influence import median_of_correlations
from brainscore_vision.metric_helpers.arrays.reliability.split_half import (
    correlation_slopes,
    half_means,
    harmonic_counts,
    spearman_brown,
    split_half_correlations,
    step_up,
)
from brainscore_vision.metric_helpers.labelled.alignment import (
    Neuroids,
    as_score,
    bin_order,
    coordinate,
    labelled,
    matrix,
    squeeze_time_bin,
    stack,
    usable_neuroids,
)
from brainscore_vision.metric_helpers.labelled.slices import PerTime
from brainscore_vision.metric_helpers.labelled.splits import Split, apply_aggregate
from brainscore_vision.metric_helpers.regression.on_assemblies import XarrayCorrelation
from brainscore_vision.metric_helpers.uncertainty.errors import (
    attach_to_bins,
    declare_no_error,
    influence_on_medians,
    on_both_sides,
)

if TYPE_CHECKING:
    from brainscore_vision.metric_helpers.arrays.types import Floats, Indices, NDArray

__all__ = [
    "InternalConsistency",
    "PearsonCorrelation",
    "PearsonReliability",
    "SpearmanBrownCorrection",
    "TemporalInternalConsistency",
]

# Compare halves of the repetitions, and predict the reliability of the whole.


Values = TypeVar("Values", float, "Floats", "Score", xr.DataArray)


class SpearmanBrownCorrection:
    """Predict the reliability of a measurement `n` times as long: ``n r / (1 + (n - 1) r)``.

    Examples
    --------
    >>> SpearmanBrownCorrection()(0.5, n=2)
    0.6666666666666666
    """

    def __call__(self, correlations: Values, n: float) -> Values:
        """Correct a number, an array or an assembly of correlations; an assembly keeps its class and labels."""
        if isinstance(correlations, xr.DataArray):
            return correlations.copy(data=self.correct(correlations.values, n))
        return self.correct(correlations, n)

    def correct(self, correlation: Values, n: float) -> Values:
        """Correct a number or an array."""
        corrected = spearman_brown(correlation, n)
        return float(corrected) if np.ndim(corrected) == 0 else corrected


class PearsonCorrelation:
    """Correlate two halves neuroid by neuroid: a `consistency_metric` of `InternalConsistency`, its default."""

    def __init__(
        self,
        stimulus_coord: str = Defaults.stimulus_coord,
        neuroid_dim: str = Defaults.neuroid_dim,
        neuroid_coord: str = Defaults.neuroid_coord,
    ) -> None:
        from scipy.stats import pearsonr  # slow to import and rarely used

        self._correlation = XarrayCorrelation(pearsonr, correlation_coord=stimulus_coord, neuroid_coord=neuroid_coord)
        self._neuroid_dim = neuroid_dim

    def __call__(self, half1: xr.DataArray, half2: xr.DataArray) -> Score:
        """Correlate two assemblies per neuroid; not stepped up."""
        return self._correlation(half1, half2)

    def aggregate(self, scores: Score) -> Score:
        """Take the median over neuroids."""
        return scores.median(dim=self._neuroid_dim)


class PearsonReliability(PearsonCorrelation):
    """The reliability of both halves together: their correlation, stepped up to ``2 r / (1 + r)``.

    For use on its own: `InternalConsistency` already steps up the result of its `consistency_metric`.
    """

    def __call__(self, half1: xr.DataArray, half2: xr.DataArray) -> Score:
        """Estimate from two assemblies, dims (presentation, neuroid)."""
        return SpearmanBrownCorrection()(super().__call__(half1, half2), n=2)


_NOT_TOLD = "the metric of halves does not tell how neuroids of both halves move it"
_CONSTANT = 1e-11  # relative spread of means over repetitions below which single repetitions are looked at


class InternalConsistency(Ceiling):
    """Split-half reliability over repetitions.

    Parameters
    ----------
    consistency_metric
        ``f(half1, half2)`` of two assemblies, averaged over their repetitions, returns a Score; None correlates per
        neuroid. Where it correlates dissimilarities, the ``quantity`` is a ``dissimilarity_reliability``.
    aggregate
        Score with dims (split, ...) -> Score with dims (split); None takes the median over neuroids.
    compat
        Apply ``2 r / (1 + r)`` to halves of unequal size too, as published ceilings do.
    n_bootstrap
        No effect.
    """

    quantity: ClassVar = "reliability"
    estimator = "split halves of the repetitions, Spearman-Brown corrected"

    def __init__(
        self,
        consistency_metric: Callable[[xr.DataArray, xr.DataArray], Score | xr.DataArray | float] | None = None,
        aggregate: Callable[[Score], Score] | None = None,
        split_coord: str = "repetition",
        *,
        splits: int = Split.Defaults.splits,
        random_state: int = Split.Defaults.random_state,
        compat: bool = False,
        n_bootstrap: int = 0,  # noqa: ARG002 - see above
    ) -> None:
        self._consistency_metric = consistency_metric
        if getattr(consistency_metric, "quantity", None) == "dissimilarity_correlation":
            self.quantity = "dissimilarity_reliability"  # type: ignore[misc] # what this object estimates, not its class
        self._aggregate = aggregate
        self._split_coord = split_coord
        self._splits = splits
        self._random_state = random_state
        self._compat = compat

    def __call__(self, assembly: xr.DataArray) -> Score:
        """Estimate from at least two repetitions.

        There is no ``error`` with an own `aggregate`, and with a metric only if it is ``symmetric`` and has influences,
        such as those of geometry.
        """
        assembly = squeeze_time_bin(assembly)
        repetitions = self._repetitions(assembly)
        halves = self._halves(repetitions)
        compare = self._by_metric if self._consistency_metric else self._by_correlation
        raw, notes, with_error = compare(assembly, repetitions, halves)
        score = self._summarised(raw, assembly, notes)
        return score if self._aggregate or score.ndim else with_error(score)

    def _repetitions(self, assembly: xr.DataArray) -> NDArray[Any]:
        repetitions = np.sort(pd.unique(coordinate(assembly, self._split_coord)))
        if len(repetitions) < 2:
            raise AssemblyError(
                f"Splitting into halves needs at least two values of {self._split_coord!r}, found {len(repetitions)}. "
                "Pass single repetitions to the ceiling, before averaging."
            )
        return repetitions

    def _halves(self, repetitions: NDArray[Any]) -> NDArray[np.bool_]:
        """Divide the repetitions; True for the first half, shape (splits, repetitions)."""
        split = Split(
            splits=self._splits,
            train_size=0.5,
            split_coord=self._split_coord,
            stratification_coord=None,
            unique_split_values=True,
            random_state=self._random_state,
        )
        coords = {self._split_coord: ("presentation", repetitions)}
        plan = split.plan(xr.DataArray(np.zeros(len(repetitions)), coords=coords, dims=["presentation"]))
        halves = np.zeros((len(plan.splits), len(repetitions)), dtype=bool)
        for half, (first, _) in zip(halves, plan.splits, strict=True):
            half[first] = True
        return halves

    def _step_up(self, r: Floats, half: NDArray[np.bool_]) -> Floats:
        return spearman_brown(r) if self._compat else step_up(r, int(half.sum()), int((~half).sum()))

    def _step_up_all(self, r: Floats, halves: NDArray[np.bool_], present: NDArray[np.bool_]) -> Floats:
        if self._compat:
            return spearman_brown(r)
        if present.all():
            return step_up(r, halves.sum(axis=1)[:, None], (~halves).sum(axis=1)[:, None])
        first, second, together = harmonic_counts(halves, present)
        return spearman_brown(step_up(r, first, second), together / (first + second))

    def _summarised(self, raw: Score, assembly: xr.DataArray, notes: Mapping[str, Any]) -> Score:
        aggregate = self._aggregate or (lambda scores: scores.median("neuroid") if "neuroid" in scores.dims else scores)
        score: Score = apply_aggregate(Split.aggregate, apply_aggregate(aggregate, raw))
        score.attrs.update(
            notes,
            n_stimuli=len(pd.unique(coordinate(assembly, Defaults.stimulus_coord))),
            n_repetitions=len(pd.unique(coordinate(assembly, self._split_coord))),
            seed=self._random_state,
            quantity=self.quantity,
            estimator=self.estimator,
        )
        return score

    def _by_correlation(
        self, assembly: xr.DataArray, repetitions: NDArray[Any], halves: NDArray[np.bool_]
    ) -> tuple[Score, dict[str, Any], Callable[[Score], Score]]:
        (values,) = ordinary(matrix(assembly, Defaults.expected_dims, role="given"))
        names = coordinate(assembly, Defaults.neuroid_coord)
        reliabilities = self._stepped_up(assembly, values, names, repetitions, halves)
        return (
            labelled(reliabilities.stepped, assembly, ["split", "neuroid"]),
            reliabilities.neuroids.attrs,
            reliabilities.attach,
        )

    def _stepped_up(
        self,
        assembly: xr.DataArray,
        values: Floats,
        names: NDArray[Any],
        repetitions: NDArray[Any],
        halves: NDArray[np.bool_],
    ) -> _Reliabilities:
        responses, present, stimuli = self._by_repetition(assembly, values, repetitions)
        if len(stimuli) < 3 and not self._compat:
            raise AssemblyError(
                f"With {len(stimuli)} stimuli, halves of the repetitions can correlate only with 1 or -1, which is "
                "not a measure of reliability. Pass at least three stimuli to the ceiling."
            )
        neuroids = _usable(values, responses, present, names)
        if not neuroids.used.all():
            responses = np.ascontiguousarray(responses[:, :, neuroids.used])
            present = present[:, :, neuroids.used] if present.ndim == 3 else present
        r = split_half_correlations(responses, halves, present)
        stepped, slopes = np.full((2, len(halves), len(neuroids.used)), np.nan)
        stepped[:, neuroids.used] = self._step_up_all(r, halves, present)
        slopes[:, neuroids.used] = correlation_slopes(lambda each: self._step_up_all(each, halves, present), r)
        return _Reliabilities(stepped, slopes, neuroids, responses, present, halves, stimuli)

    def _by_repetition(
        self, assembly: xr.DataArray, values: Floats, repetitions: NDArray[Any]
    ) -> tuple[Floats, NDArray[np.bool_], NDArray[Any]]:
        """Arrange presentations as (repetitions, stimuli, columns), without a copy if already so.

        Also return a mask of recorded values, and stimuli.
        """
        stimuli, stimulus = _sorted_codes(coordinate(assembly, Defaults.stimulus_coord))
        _, repetition = _sorted_codes(coordinate(assembly, self._split_coord))
        shape = (len(repetitions), len(stimuli))
        place = repetition * len(stimuli) + stimulus
        count = np.bincount(place, minlength=shape[0] * shape[1]).reshape(shape)
        if count.max() > 1:
            which, where = (index[0] for index in np.nonzero(count > 1))
            raise AssemblyError(
                f"{int((count > 1).sum())} pairs of stimulus and {self._split_coord} occur more than once, such as "
                f"{str(stimuli[where])!r} in {repetitions[which]!r}. Number the repetitions of each stimulus."
            )
        if np.array_equal(place, np.arange(count.size)):
            responses = values.reshape(*shape, -1)
        else:
            responses = np.zeros((count.size, values.shape[1]))
            responses[place] = values
            responses = responses.reshape(*shape, -1)
        if np.isfinite(responses.sum()):  # not so if any value is not, and needs no copy
            return responses, count == 1, stimuli
        missing = np.isnan(responses)
        return np.where(missing, 0.0, responses), (count == 1)[:, :, None] & ~missing, stimuli

    def _by_metric(
        self, assembly: xr.DataArray, repetitions: NDArray[Any], halves: NDArray[np.bool_]
    ) -> tuple[Score, dict[str, Any], Callable[[Score], Score]]:
        presented = coordinate(assembly, self._split_coord)
        results, influences = [], []
        for half in halves:
            parts = [
                average_repetition(assembly.isel(presentation=np.flatnonzero(np.isin(presented, repetitions[which]))))
                for which in (half, ~half)
            ]
            result = self._consistency_metric(*parts)
            stepped = as_score(result).copy(deep=False, data=self._step_up(np.asarray(result), half))
            # What else the metric tells is of halves, not of the ceiling.
            influences.append((stepped.attrs.get("influence"), half, float(result) if stepped.ndim == 0 else np.nan))
            stepped.attrs = {}
            results.append(stepped)
        raw = stack(results, [{"split": index} for index in range(len(results))])
        return raw, {}, partial(self._with_error_of_halves, influences=influences)

    def _with_error_of_halves(
        self, score: Score, influences: Sequence[tuple[Influence | None, NDArray[np.bool_], float]]
    ) -> Score:
        """Average influences, each times the slope of its stepped-up value."""
        if not getattr(self._consistency_metric, "symmetric", False) or any(one is None for one, _, _ in influences):
            return declare_no_error(score, _NOT_TOLD)
        together = [on_both_sides(one) * (self._slope(r, half) / len(influences)) for one, half, r in influences if one]
        return attach_influence(score, reduce(Influence.__add__, together), scale="fisher")

    def _slope(self, r: float, half: NDArray[np.bool_]) -> float:
        low, high = max(r - 1e-4, -1.0), min(r + 1e-4, 1.0)
        change = self._step_up(np.asarray(high), half) - self._step_up(np.asarray(low), half)
        return float(change / (high - low))


@dataclass(frozen=True)
class _Reliabilities:
    """Split-half reliabilities of columns."""

    stepped: Floats  # (splits, columns); NaN for those that are not used
    slopes: Floats  # same shape, their derivatives by the correlations of halves
    neuroids: Neuroids  # which columns are used
    responses: Floats  # (repetitions, stimuli, used columns)
    present: NDArray[np.bool_]  # (repetitions, stimuli[, used columns])
    halves: NDArray[np.bool_]  # (splits, repetitions)
    stimuli: NDArray[Any]  # (stimuli,)

    def influence(self, chosen: NDArray[np.bool_] | None = None) -> Influence:
        """Return the influences on the mean over splits of the median over columns."""
        used = np.flatnonzero(self.neuroids.used if chosen is None else self.neuroids.used & chosen)
        among = np.searchsorted(np.flatnonzero(self.neuroids.used), used)
        responses, present = self.responses, self.present
        if len(among) < responses.shape[2]:
            responses = responses[:, :, among]
            present = present[:, :, among] if present.ndim == 3 else present
        rows = np.arange(len(self.stimuli))
        means = half_means(responses, self.halves, present)
        parts = ((first, second, rows) for first, second in means)
        influence = median_of_correlations(parts, len(rows), self.stepped[:, used], self.slopes[:, used])
        return influence_on_medians(influence, self.stimuli, self.neuroids.names[used])

    def attach(self, score: Score) -> Score:
        return attach_influence(score, self.influence(), scale="fisher")


class TemporalInternalConsistency(InternalConsistency):
    """Split-half reliability over repetitions in every time bin."""

    def __call__(self, assembly: xr.DataArray) -> Score:
        """Estimate; with a single time bin, or none, as `InternalConsistency`."""
        assembly = squeeze_time_bin(assembly)
        if "time_bin" not in assembly.dims:
            return super().__call__(assembly)
        if self._consistency_metric or self._aggregate:
            per_bin: Score = PerTime(super().__call__)(assembly)
            return per_bin
        repetitions = self._repetitions(assembly)
        halves = self._halves(repetitions)
        raw, notes, influences = self._of_all_bins(assembly, repetitions, halves)
        return attach_to_bins(self._summarised(raw, assembly, notes), influences)

    def _of_all_bins(
        self, assembly: xr.DataArray, repetitions: NDArray[Any], halves: NDArray[np.bool_]
    ) -> tuple[Score, dict[str, Any], list[Influence]]:
        """Treat each neuroid in each bin as a separate neuroid."""
        (values,) = ordinary(matrix(assembly, (*Defaults.expected_dims, "time_bin"), role="given"))
        n_presentations, n_neuroids, n_bins = values.shape
        names = coordinate(assembly, Defaults.neuroid_coord)
        columns = values.reshape(n_presentations, -1)
        reliabilities = self._stepped_up(assembly, columns, np.repeat(names, n_bins), repetitions, halves)
        neuroids = Neuroids(used=reliabilities.neuroids.used.reshape(n_neuroids, n_bins).any(axis=1), names=names)
        by_bin = reliabilities.stepped.reshape(len(halves), n_neuroids, n_bins).transpose(2, 0, 1)
        influences = [
            reliabilities.influence(np.arange(len(columns.T)) % n_bins == index) for index in bin_order(assembly)
        ]
        return labelled(by_bin, assembly, ["time_bin", "split", "neuroid"]), neuroids.attrs, influences


def _sorted_codes(labels: NDArray[Any]) -> tuple[NDArray[Any], Indices]:
    codes, distinct = pd.factorize(labels)
    order = np.argsort(distinct.astype(str) if distinct.dtype == object else distinct, kind="stable")
    rank = np.empty(len(order), dtype=np.intp)
    rank[order] = np.arange(len(order))
    return distinct[order], rank[codes]


def _usable(values: Floats, responses: Floats, present: NDArray[np.bool_], names: NDArray[Any]) -> Neuroids:
    """Like `usable_neuroids`, but check the fewer means over repetitions first and accept NaN."""
    if present.ndim == 3:
        highest = np.fmax.reduce(values, axis=0)  # NaN only where there is nothing else
        return usable_neuroids(np.where(np.isnan(values), highest, values), names, role="given")
    with np.errstate(invalid="ignore", over="ignore"):  # values that are not finite are handled below
        mean = responses.sum(axis=0) / present.sum(axis=0)[:, None]
        level = mean.mean(axis=0)
        spread = np.abs(mean - level).max(axis=0)
    if not np.isfinite(spread).all():
        return usable_neuroids(values, names, role="given")
    used = np.ones(len(names), dtype=bool)
    doubtful = np.flatnonzero(spread <= _CONSTANT * np.abs(level))
    used[doubtful] = ~constant_columns(values[:, doubtful])
    return Neuroids(used=used, names=names) if used.any() else usable_neuroids(values, names, role="given")
