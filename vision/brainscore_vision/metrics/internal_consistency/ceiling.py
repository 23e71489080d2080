"""Estimate the reliability of responses from the agreement of two halves of their repetitions.

In every split the repetitions are divided at random into two halves that together hold all of them; the mean
responses of the halves are correlated over stimuli per neuroid, and the correlation is stepped up to the reliability of
the mean over all repetitions (Spearman-Brown; for halves of equal size ``2 r / (1 + r)``, see
`brainscore_vision.metric_helpers.arrays.step_up` for others). The ceiling is the median over neuroids, then the mean
over splits:

    ``ceiling = mean_s median_j step_up(r(half1_sj, half2_sj))``

- Input: an assembly, dims (presentation, neuroid), with `stimulus_id`, `repetition` and `neuroid_id`.
- Output: Score, at most 1: a reliability, that is a part of variance (its root bounds a correlation).
- Invariances: order of presentations; shift and positive scaling of each neuroid.
- When: any measurement with repetitions. Give it the single repetitions, not their mean.

References
----------
Spearman (1910), doi:10.1111/j.2044-8295.1910.tb00206.x; Brown (1910), doi:10.1111/j.2044-8295.1910.tb00207.x.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from brainscore_core.errors import AssemblyError
from brainscore_core.metrics import Ceiling, Score
from brainscore_vision.metric_helpers import Defaults
from brainscore_vision.metric_helpers.alignment import (
    coordinate,
    coords_along,
    matrix,
    squeeze_time_bin,
    usable_neuroids,
)
from brainscore_vision.metric_helpers.arrays import spearman_brown, split_half_correlations, step_up
from brainscore_vision.metric_helpers.transformations import Split, apply_aggregate
from brainscore_vision.metric_helpers.xarray_utils import neuroid_order

if TYPE_CHECKING:
    from numpy.typing import NDArray


class InternalConsistency(Ceiling):
    """Split-half reliability over repetitions.

    Parameters
    ----------
    consistency_metric : callable or None
        ``f(half1, half2)`` of two assemblies, averaged over their repetitions, returns a Score; None correlates per
        neuroid.
    aggregate : callable or None
        Score with dims (split, ...) -> Score with dims (split); None takes the median over neuroids.
    split_coord : str
        Coordinate that numbers the repetitions.
    splits : int
        How many times the repetitions are divided.
    random_state : int
        Seed of the divisions.
    compat : bool
        Apply ``2 r / (1 + r)`` to halves of unequal size too, as published ceilings do. It makes no difference for
        even numbers of repetitions.
    """

    def __init__(
        self,
        consistency_metric: Callable[[Any, Any], Any] | None = None,
        aggregate: Callable[[Score], Score] | None = None,
        split_coord: str = "repetition",
        *,
        splits: int = Split.Defaults.splits,
        random_state: int = Split.Defaults.random_state,
        compat: bool = False,
    ) -> None:
        self._consistency_metric = consistency_metric
        self._aggregate = aggregate
        self._split_coord = split_coord
        self._splits = splits
        self._random_state = random_state
        self._compat = compat

    def __call__(self, assembly: Any) -> Score:
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
            mean over splits), ``n_stimuli``, ``n_neuroids``, ``n_repetitions``, ``seed``. Neuroids that are constant or
            NaN throughout do not count; ``neuroids_left_out`` names them.

        Raises
        ------
        AssemblyError
            If there are fewer than two repetitions, a coordinate is missing, or values are NaN otherwise.
        """
        assembly = squeeze_time_bin(assembly)
        repetitions = np.unique(coordinate(assembly, self._split_coord))
        if len(repetitions) < 2:
            raise AssemblyError(
                f"Halves need at least two values of {self._split_coord!r}, found {len(repetitions)}. Give the ceiling "
                "the single repetitions, before they are averaged."
            )
        halves = self._halves(assembly, len(repetitions))
        compare = self._by_metric if self._consistency_metric else self._by_correlation
        raw, notes = compare(assembly, repetitions, halves)
        aggregate = self._aggregate or (lambda scores: scores.median("neuroid") if "neuroid" in scores.dims else scores)
        score = apply_aggregate(Split.aggregate, apply_aggregate(aggregate, raw))
        score.attrs.update(notes)
        score.attrs["n_stimuli"] = len(np.unique(coordinate(assembly, Defaults.stimulus_coord)))
        score.attrs["n_repetitions"] = len(repetitions)
        score.attrs["seed"] = self._random_state
        return score

    def _halves(self, assembly: Any, n_repetitions: int) -> NDArray[np.bool_]:
        """Divide the repetitions; True for the first half, shape (splits, repetitions)."""
        plan = Split(
            splits=self._splits,
            train_size=0.5,
            split_coord=self._split_coord,
            stratification_coord=None,
            unique_split_values=True,
            random_state=self._random_state,
        ).plan(assembly)
        halves = np.zeros((len(plan.splits), n_repetitions), dtype=bool)
        for half, (first, _) in zip(halves, plan.splits, strict=True):
            half[first] = True
        return halves

    def _step_up(self, r: Any, half: NDArray[np.bool_]) -> Any:
        return spearman_brown(r) if self._compat else step_up(r, int(half.sum()), int((~half).sum()))

    def _by_correlation(
        self, assembly: Any, repetitions: NDArray[Any], halves: NDArray[np.bool_]
    ) -> tuple[Score, dict[str, Any]]:
        order = neuroid_order(assembly)
        coords = {name: (dim, values[order]) for name, (dim, values) in coords_along(assembly, "neuroid").items()}
        values = matrix(assembly, Defaults.expected_dims, role="given")
        names = coordinate(assembly, Defaults.neuroid_coord)
        neuroids = usable_neuroids(values, names, role="given")
        columns = order[neuroids.used[order]]
        responses, present = self._by_repetition(assembly, values, columns, repetitions)
        r = split_half_correlations(responses, halves, present)
        stepped = np.full((len(halves), len(order)), np.nan)
        stepped[:, neuroids.used[order]] = [self._step_up(row, half) for row, half in zip(r, halves, strict=True)]
        raw = Score(stepped, coords={"split": ("split", np.arange(len(halves))), **coords}, dims=["split", "neuroid"])
        return raw, neuroids.attrs

    def _by_repetition(
        self, assembly: Any, values: NDArray[np.float64], columns: NDArray[np.intp], repetitions: NDArray[Any]
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Arrange presentations as (repetitions, stimuli, neuroids)."""
        stimuli, stimulus = np.unique(coordinate(assembly, Defaults.stimulus_coord).astype(str), return_inverse=True)
        repetition = np.searchsorted(repetitions, coordinate(assembly, self._split_coord))
        count = np.zeros((len(repetitions), len(stimuli)), dtype=int)
        np.add.at(count, (repetition, stimulus), 1)
        if count.max() > 1:
            which, where = (index[0] for index in np.nonzero(count > 1))
            raise AssemblyError(
                f"{int((count > 1).sum())} pairs of stimulus and {self._split_coord} occur more than once, such as "
                f"{str(stimuli[where])!r} in {repetitions[which]!r}. Number the repetitions of each stimulus."
            )
        responses = np.zeros((len(repetitions), len(stimuli), len(columns)))
        responses[repetition, stimulus] = values[:, columns]
        return responses, count == 1

    def _by_metric(
        self, assembly: Any, repetitions: NDArray[Any], halves: NDArray[np.bool_]
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
            result = result if isinstance(result, Score) else Score(result)
            results.append(result.copy(data=self._step_up(result.values, half)))
        dims = results[0].dims
        coords = {name: entry for dim in dims for name, entry in coords_along(results[0], dim).items()}
        raw = Score(
            np.stack([result.transpose(*dims).values for result in results]),
            coords={"split": ("split", np.arange(len(results))), **coords},
            dims=["split", *dims],
        )
        return raw, {}
