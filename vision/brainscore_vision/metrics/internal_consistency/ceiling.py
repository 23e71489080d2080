"""Estimate the reliability of responses from the agreement of two halves of their repetitions.

In every split the repetitions are divided at random into two halves that together hold all of them; the mean
responses of the halves are correlated over stimuli per neuroid, and the correlation is stepped up to the reliability of
the mean over all repetitions (Spearman-Brown; for halves of equal size ``2 r / (1 + r)``, see
`metric_helpers.arrays.reliability.split_half` for others). The ceiling is the median over neuroids, then the mean
over splits:

    ``ceiling = mean_s median_j step_up(r(half1_sj, half2_sj))``

``internal_consistency_temporal`` gives a ceiling for each time bin, with the same halves in all bins.

- Input: an assembly, dims (presentation, neuroid), with `stimulus_id`, `repetition` and `neuroid_id`; with dimension
  `time_bin` for ``internal_consistency_temporal``.
- Output: Score, at most 1: a reliability, that is a part of variance (its root bounds a correlation).
- Invariances: order of presentations; shift and positive scaling of each neuroid.
- When: any measurement with repetitions. Give it the single repetitions, not their mean.

References
----------
Spearman (1910), doi:10.1111/j.2044-8295.1910.tb00206.x; Brown (1910), doi:10.1111/j.2044-8295.1910.tb00207.x.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd
import xarray as xr

from brainscore_core.errors import AssemblyError
from brainscore_core.metrics import Ceiling, Score
from brainscore_vision.metric_helpers import Defaults
from brainscore_vision.metric_helpers.arrays.correlation import constant_columns
from brainscore_vision.metric_helpers.arrays.reliability.split_half import (
    spearman_brown,
    split_half_correlations,
    step_up,
)
from brainscore_vision.metric_helpers.labelled.alignment import (
    Neuroids,
    coordinate,
    coords_along,
    matrix,
    squeeze_time_bin,
    usable_neuroids,
)
from brainscore_vision.metric_helpers.labelled.cross_validation import apply_aggregate
from brainscore_vision.metric_helpers.labelled.gather import as_score, labelled, stack
from brainscore_vision.metric_helpers.labelled.slices import PerTime
from brainscore_vision.metric_helpers.labelled.splits import Split
from brainscore_vision.metric_helpers.uncertainty.intervals import raw_interval

if TYPE_CHECKING:
    from brainscore_vision.metric_helpers.arrays.types import Floats, Indices, NDArray

_CONSTANT = 1e-11  # relative spread of means over repetitions below which single repetitions are looked at


class InternalConsistency(Ceiling):
    """Split-half reliability over repetitions.

    Parameters
    ----------
    consistency_metric : callable or None
        ``f(half1, half2)`` of two assemblies, averaged over their repetitions, returns a Score; None correlates per
        neuroid.
    aggregate : callable or None
        Score with dims (split, ...) -> Score with dims (split); None takes the median over neuroids.
    compat : bool
        Apply ``2 r / (1 + r)`` to halves of unequal size too, as published ceilings do. It makes no difference for
        even numbers of repetitions.
    n_bootstrap : int
        Resamples for the interval; 0 for none. There is none with an `aggregate` or dimensions of one's own.
    """

    quantity: ClassVar = "reliability"

    def __init__(
        self,
        consistency_metric: Callable[[xr.DataArray, xr.DataArray], Score | xr.DataArray | float] | None = None,
        aggregate: Callable[[Score], Score] | None = None,
        split_coord: str = "repetition",
        *,
        splits: int = Split.Defaults.splits,
        random_state: int = Split.Defaults.random_state,
        compat: bool = False,
        n_bootstrap: int = 1000,
    ) -> None:
        self._consistency_metric = consistency_metric
        self._aggregate = aggregate
        self._split_coord = split_coord
        self._splits = splits
        self._random_state = random_state
        self._compat = compat
        self._n_bootstrap = n_bootstrap

    def __call__(self, assembly: xr.DataArray) -> Score:
        """Estimate.

        Parameters
        ----------
        assembly : NeuroidAssembly, dims (presentation, neuroid)
            Single repetitions. A `time_bin` of length one is dropped. A stimulus that a half lacks does not count in
            that split.

        Returns
        -------
        Score
            0-d, at most 1. Attrs: ``raw`` (Score, dims (split, neuroid), stepped up), ``error`` (standard error of the
            mean over splits), ``interval`` (low, high: 95 % percentile interval over neuroids and splits drawn with
            replacement), ``n_stimuli``, ``n_neuroids``, ``n_repetitions``, ``seed``. Neuroids that are constant or NaN
            throughout do not count; ``neuroids_left_out`` names them.

        Raises
        ------
        AssemblyError
            If there are fewer than two repetitions, a coordinate is missing, or values are NaN otherwise.
        """
        assembly = squeeze_time_bin(assembly)
        repetitions = self._repetitions(assembly)
        halves = self._halves(repetitions)
        compare = self._by_metric if self._consistency_metric else self._by_correlation
        raw, notes = compare(assembly, repetitions, halves)
        score = self._summarised(raw, assembly, notes)
        interval = self._interval(raw)
        if interval is not None:
            score.attrs["interval"] = interval
        return score

    def _repetitions(self, assembly: xr.DataArray) -> NDArray[Any]:
        repetitions = np.sort(pd.unique(coordinate(assembly, self._split_coord)))
        if len(repetitions) < 2:
            raise AssemblyError(
                f"Halves need at least two values of {self._split_coord!r}, found {len(repetitions)}. Give the ceiling "
                "the single repetitions, before they are averaged."
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

    def _summarised(self, raw: Score, assembly: xr.DataArray, notes: Mapping[str, Any]) -> Score:
        aggregate = self._aggregate or (lambda scores: scores.median("neuroid") if "neuroid" in scores.dims else scores)
        score: Score = apply_aggregate(Split.aggregate, apply_aggregate(aggregate, raw))
        score.attrs.update(
            notes,
            n_stimuli=len(pd.unique(coordinate(assembly, Defaults.stimulus_coord))),
            n_repetitions=len(pd.unique(coordinate(assembly, self._split_coord))),
            seed=self._random_state,
            quantity=self.quantity,
        )
        return score

    def _interval(self, raw: Score) -> tuple[float, float] | None:
        if self._aggregate or not self._n_bootstrap or set(raw.dims) != {"split", "neuroid"}:
            return None
        counted = np.flatnonzero(~np.isnan(raw.transpose("split", "neuroid").values).all(axis=0))
        if not len(counted):
            return None
        return raw_interval(raw.isel(neuroid=counted), n_resamples=self._n_bootstrap, seed=self._random_state)

    def _by_correlation(
        self, assembly: xr.DataArray, repetitions: NDArray[Any], halves: NDArray[np.bool_]
    ) -> tuple[Score, dict[str, Any]]:
        values = matrix(assembly, Defaults.expected_dims, role="given")
        names = coordinate(assembly, Defaults.neuroid_coord)
        stepped, neuroids = self._stepped_up(assembly, values, names, repetitions, halves)
        return labelled(stepped, assembly, ["split", "neuroid"]), neuroids.attrs

    def _stepped_up(
        self,
        assembly: xr.DataArray,
        values: Floats,
        names: NDArray[Any],
        repetitions: NDArray[Any],
        halves: NDArray[np.bool_],
    ) -> tuple[Floats, Neuroids]:
        """Reliabilities of shape (splits, columns) for values of shape (presentations, columns)."""
        responses, present = self._by_repetition(assembly, values, repetitions)
        neuroids = _usable(values, responses, present, names)
        if not neuroids.used.all():
            responses = np.ascontiguousarray(responses[:, :, neuroids.used])
        r = split_half_correlations(responses, halves, present)
        stepped = np.full((len(halves), len(neuroids.used)), np.nan)
        stepped[:, neuroids.used] = [self._step_up(row, half) for row, half in zip(r, halves, strict=True)]
        return stepped, neuroids

    def _by_repetition(
        self, assembly: xr.DataArray, values: Floats, repetitions: NDArray[Any]
    ) -> tuple[Floats, NDArray[np.bool_]]:
        """Arrange presentations as (repetitions, stimuli, columns); without a copy if they are in that order."""
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
            return values.reshape(*shape, -1), count == 1
        responses = np.zeros((count.size, values.shape[1]))
        responses[place] = values
        return responses.reshape(*shape, -1), count == 1

    def _by_metric(
        self, assembly: xr.DataArray, repetitions: NDArray[Any], halves: NDArray[np.bool_]
    ) -> tuple[Score, dict[str, Any]]:
        from brainscore_core.supported_data_standards.brainio.transform import average_repetition

        presented = coordinate(assembly, self._split_coord)
        results = []
        for half in halves:
            parts = [
                average_repetition(assembly.isel(presentation=np.flatnonzero(np.isin(presented, repetitions[which]))))
                for which in (half, ~half)
            ]
            result = self._consistency_metric(*parts)
            stepped = as_score(result).copy(deep=False, data=self._step_up(np.asarray(result), half))
            stepped.attrs = {}  # what else the metric tells is of halves, not of the ceiling
            results.append(stepped)
        return stack(results, [{"split": index} for index in range(len(results))]), {}


class TemporalInternalConsistency(InternalConsistency):
    """Split-half reliability over repetitions in every time bin; parameters as for `InternalConsistency`."""

    def __call__(self, assembly: xr.DataArray) -> Score:
        """Estimate.

        Parameters
        ----------
        assembly : NeuroidAssembly, dims (presentation, neuroid, time_bin)
            Single repetitions. With a single time bin, or none, the ceiling is that of `InternalConsistency`.

        Returns
        -------
        Score, dims (time_bin)
            At most 1, sorted by `time_bin_start`. Attrs: ``raw`` (Score, dims (time_bin, split, neuroid)), ``error``
            (Score, dims (time_bin)), ``interval`` (Score, dims (time_bin, bound)), the others as for
            `InternalConsistency`. A neuroid that is constant or NaN throughout a bin does not count in that bin; a bin
            without any other is NaN. ``neuroids_left_out`` names those that count in no bin.

        Raises
        ------
        AssemblyError
            As for `InternalConsistency`.
        """
        assembly = squeeze_time_bin(assembly)
        if "time_bin" not in assembly.dims:
            return super().__call__(assembly)
        if self._consistency_metric or self._aggregate:
            per_bin: Score = PerTime(super().__call__)(assembly)
            return per_bin
        repetitions = self._repetitions(assembly)
        halves = self._halves(repetitions)
        raw, notes = self._of_all_bins(assembly, repetitions, halves)
        score = self._summarised(raw, assembly, notes)
        if self._n_bootstrap:
            bounds = [self._interval(raw.isel(time_bin=index)) or (np.nan, np.nan) for index in range(len(score))]
            coords = {**coords_along(raw, "time_bin"), "bound": ("bound", ["low", "high"])}
            score.attrs["interval"] = Score(np.array(bounds), coords=coords, dims=["time_bin", "bound"])
        return score

    def _of_all_bins(
        self, assembly: xr.DataArray, repetitions: NDArray[Any], halves: NDArray[np.bool_]
    ) -> tuple[Score, dict[str, Any]]:
        """Treat a neuroid in a bin as a neuroid of its own: one call for all."""
        values = matrix(assembly, (*Defaults.expected_dims, "time_bin"), role="given")
        n_presentations, n_neuroids, n_bins = values.shape
        names = coordinate(assembly, Defaults.neuroid_coord)
        columns = values.reshape(n_presentations, -1)
        stepped, used = self._stepped_up(assembly, columns, np.repeat(names, n_bins), repetitions, halves)
        neuroids = Neuroids(used=used.used.reshape(n_neuroids, n_bins).any(axis=1), names=names)
        by_bin = stepped.reshape(len(halves), n_neuroids, n_bins).transpose(2, 0, 1)
        return labelled(by_bin, assembly, ["time_bin", "split", "neuroid"]), neuroids.attrs


def _sorted_codes(labels: NDArray[Any]) -> tuple[NDArray[Any], Indices]:
    """Return the distinct labels, sorted, and the position of each label among them."""
    codes, distinct = pd.factorize(labels)
    order = np.argsort(distinct.astype(str) if distinct.dtype == object else distinct, kind="stable")
    rank = np.empty(len(order), dtype=np.intp)
    rank[order] = np.arange(len(order))
    return distinct[order], rank[codes]


def _usable(values: Floats, responses: Floats, present: NDArray[np.bool_], names: NDArray[Any]) -> Neuroids:
    """Like `usable_neuroids`, but looks at means over repetitions first, of which there are fewer."""
    with np.errstate(invalid="ignore", over="ignore"):  # what is not finite is looked at below
        mean = responses.sum(axis=0) / present.sum(axis=0)[:, None]
        level = mean.mean(axis=0)
        spread = np.abs(mean - level).max(axis=0)
    if not np.isfinite(spread).all():
        return usable_neuroids(values, names, role="given")
    used = np.ones(len(names), dtype=bool)
    doubtful = np.flatnonzero(spread <= _CONSTANT * np.abs(level))
    used[doubtful] = ~constant_columns(values[:, doubtful])
    return Neuroids(used=used, names=names) if used.any() else usable_neuroids(values, names, role="given")
