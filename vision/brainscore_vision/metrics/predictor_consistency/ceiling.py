"""Estimate reliability as `internal_consistency`, but divide each stimulus's repetitions independently.

    ``ceiling = mean_s median_j step_up(r(half1_sj, half2_sj))``

Different numbers of repetitions count by their harmonic means, as do the sizes of halves.

- Input: an assembly with `repetition`. Stimuli with a single repetition have no halves, but count in the harmonic mean
  of all repetitions, as a score over the means of all stimuli includes their noise; at least three must have more.
- Output: Score, at most 1: a reliability; ``raw`` has dims (split, neuroid), stepped up.
- Invariances: shift and positive scaling of each neuroid. Differences between whole repetitions count as noise, unlike
  in `internal_consistency`.
- When: repetitions that are not comparable between stimuli, such as sessions with different stimuli.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from brainscore_core.errors import AssemblyError
from brainscore_core.metrics import Ceiling, Quantity, Score
from brainscore_core.metrics.errors import attach_influence
from brainscore_vision.metric_helpers import Defaults
from brainscore_vision.metric_helpers.arrays.correlation import median_known, ordinary, pearson_columns
from brainscore_vision.metric_helpers.arrays.influence import median_of_correlations
from brainscore_vision.metric_helpers.arrays.reliability.noise_ceiling import single_reliability
from brainscore_vision.metric_helpers.arrays.reliability.split_half import correlation_slopes, spearman_brown
from brainscore_vision.metric_helpers.labelled.alignment import (
    coordinate,
    coords_along,
    has_coordinate,
    matrix,
    neuroid_names,
    squeeze_time_bin,
    usable_neuroids,
)
from brainscore_vision.metric_helpers.uncertainty.errors import (
    attach_split_error,
    declare_no_error,
    influence_on_medians,
)

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly
    from brainscore_vision.metric_helpers.arrays.types import Floats, Integers, Labels, NDArray

_FEWEST = 3  # two stimuli always correlate with 1 or -1
_FEWEST_PUBLISHED = 10


class SplitHalfPredictorConsistency(Ceiling):
    """Split-half reliability over repetitions divided per stimulus.

    `image_level` is the coordinate of the stimuli, by default `stimulus_id`. With `compat`, ``2 r / (1 + r)`` applies
    to halves of unequal size too, and fewer than ten stimuli give NaN, as published.
    """

    quantity: ClassVar[Quantity | None] = "reliability"
    estimator = "split halves of the repetitions of each stimulus, Spearman-Brown corrected"

    def __init__(
        self,
        n_splits: int = 10,
        seed: int = 0,
        image_level: str = "image_id",
        rep_level: str = "repetition",
        *,
        compat: bool = False,
    ) -> None:
        self.n_splits = n_splits
        self.seed = seed
        self.image_level = image_level
        self.rep_level = rep_level
        self._compat = compat

    def __call__(self, assembly: DataAssembly) -> Score:
        """Estimate, from single repetitions; ``n_repetitions`` is the most of any stimulus."""
        assembly = squeeze_time_bin(assembly)
        (values,) = ordinary(matrix(assembly, Defaults.expected_dims, role="given"))
        neuroids = usable_neuroids(values, neuroid_names(assembly), role="given")
        stimuli, means, counts = self._repetition_means(assembly, values[:, neuroids.used])
        repeated = np.flatnonzero(counts > 1)
        if len(repeated) < _FEWEST:
            raise AssemblyError(
                f"Splitting repetitions into halves needs at least {_FEWEST} stimuli with two or more values of "
                f"{self.rep_level!r}, found {len(repeated)}. Pass single repetitions to the ceiling, before averaging."
            )
        raw_values = np.full((self.n_splits, values.shape[1]), np.nan)
        few = self._compat and len(repeated) < _FEWEST_PUBLISHED
        halves = [] if few else self._halves(means[repeated], counts[repeated])
        if halves:
            r = np.array([pearson_columns(*pair) for pair in halves])
            raw_values[:, neuroids.used] = self._step_up(r, counts)
        coords = {"split": ("split", np.arange(self.n_splits)), **coords_along(assembly, "neuroid")}
        raw = Score(raw_values, coords=coords, dims=["split", "neuroid"])
        medians = median_known(raw_values)
        score = attach_split_error(Score(medians.mean()), medians)
        score.attrs.update(
            raw=raw,
            **neuroids.attrs,
            n_stimuli=len(stimuli),
            n_repetitions=int(counts.max()),
            seed=self.seed,
            quantity=self.quantity,
            estimator=self.estimator,
        )
        if few:
            return declare_no_error(score, f"fewer than {_FEWEST_PUBLISHED} stimuli")
        slopes = correlation_slopes(lambda correlations: self._step_up(correlations, counts), r)
        parts = ((*pair, repeated) for pair in halves)
        influences = median_of_correlations(parts, len(stimuli), raw_values[:, neuroids.used], slopes)
        influence = influence_on_medians(influences, stimuli, neuroid_names(assembly)[neuroids.used])
        return attach_influence(score, influence, scale="fisher")

    def _repetition_means(self, assembly: DataAssembly, values: Floats) -> tuple[Labels, Floats, Integers]:
        """Return stimuli, sorted; means, (stimuli, repetitions, neuroids), filled from the left; and counts.

        Presentations in one repetition are averaged.
        """
        has_image = has_coordinate(assembly, self.image_level)
        stimulus = coordinate(assembly, self.image_level if has_image else Defaults.stimulus_coord)
        repetition = coordinate(assembly, self.rep_level)
        names, stimulus = np.unique(stimulus, return_inverse=True)
        repetition = np.unique(repetition, return_inverse=True)[1]
        pairs, pair, n = np.unique(
            stimulus * (repetition.max() + 1) + repetition, return_inverse=True, return_counts=True
        )
        total = np.zeros((len(pairs), values.shape[1]))
        np.add.at(total, pair, values)
        of = pairs // (repetition.max() + 1)
        counts = np.bincount(of)
        place = np.arange(len(pairs)) - np.repeat(np.cumsum(counts) - counts, counts)
        means = np.zeros((len(counts), counts.max(), values.shape[1]))
        means[of, place] = total / n[:, None]
        return names, means, counts

    def _halves(self, means: Floats, counts: Integers) -> list[tuple[Floats, Floats]]:
        first = counts // 2
        rng = np.random.default_rng(self.seed)
        total = means.sum(axis=1)
        halves = []
        for _ in range(self.n_splits):
            in_first = _halves(rng, counts, means.shape[1])
            sums = np.einsum("ir,irj->ij", in_first.astype(float), means)
            halves.append((sums / first[:, None], (total - sums) / (counts - first)[:, None]))
        return halves

    def _step_up(self, r: Floats, counts: Integers) -> Floats:
        if self._compat:
            return spearman_brown(r)
        divided = counts[counts > 1]
        first = divided // 2
        sizes = [1 / np.mean(1 / numbers) for numbers in (first, divided - first, counts)]
        return spearman_brown(single_reliability(r, sizes[0], sizes[1]), sizes[2])


def _halves(rng: np.random.Generator, counts: Integers, most: int) -> NDArray[np.bool_]:
    """Choose half of each stimulus's repetitions, rounded down; True for these, shape (stimuli, repetitions).

    One permutation for each stimulus in turn, as the published ceiling draws them.
    """
    in_half = np.zeros((len(counts), most), dtype=bool)
    if (counts == counts[0]).all():
        orders = rng.permuted(np.tile(np.arange(counts[0]), (len(counts), 1)), axis=1)
        np.put_along_axis(in_half, orders[:, : counts[0] // 2], values=True, axis=1)
        return in_half
    for row, count in zip(in_half, counts, strict=True):
        row[rng.permutation(count)[: count // 2]] = True
    return in_half
