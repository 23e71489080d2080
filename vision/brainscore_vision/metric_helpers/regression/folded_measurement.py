"""Hold what metrics on predictions of all folds compare: features, repeated responses, and the folds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from brainscore_core.errors import AssemblyError
from brainscore_core.statistics.influence import Influence
from brainscore_vision.metric_helpers.arrays.influence import median_of_columns
from brainscore_vision.metric_helpers.arrays.reliability.split_half import distinct_halves
from brainscore_vision.metric_helpers.labelled.alignment import coordinate
from brainscore_vision.metric_helpers.labelled.uncertainty import influence_on_medians

if TYPE_CHECKING:
    from brainscore_vision.metric_helpers.arrays.types import Floats, Indices, NDArray
    from brainscore_vision.metric_helpers.labelled.alignment import Neuroids
    from brainscore_vision.metric_helpers.regression.sides import Matrix, Side

__all__ = ["FoldedMeasurement"]

Halves = tuple["Floats", "Floats"]


@dataclass(frozen=True)
class FoldedMeasurement:
    """What a metric compares: rows of the source belong to `stimuli`, rows of the responses to single presentations.

    Attributes
    ----------
    source : ndarray or ColumnBlocks, shape (n_stimuli, n_features)
        In the order of `stimuli`, or anything with the same inner products.
    constant : bool
        Whether all stimuli are the same to the source.
    responses : ndarray, shape (n_presentations, n_neuroids)
        Of the neuroids that count.
    row : ndarray of int, shape (n_presentations,)
        Position in `stimuli`.
    """

    source: Matrix
    constant: bool
    responses: Floats
    row: Indices
    stimuli: NDArray[Any]
    target: Side
    neuroids: Neuroids
    folds: Sequence[Sequence[Indices]]
    notes: dict[str, object] = field(default_factory=dict)

    @cached_property
    def means(self) -> Floats:
        """Mean responses to each stimulus, shape (n_stimuli, n_neuroids)."""
        return self.mean_of(np.ones(len(self.row), dtype=bool))

    def mean_of(self, chosen: NDArray[np.bool_]) -> Floats:
        """Average the chosen presentations of each stimulus."""
        row = self.row[chosen]
        sums = np.zeros((len(self.stimuli), self.responses.shape[1]))
        np.add.at(sums, row, self.responses[chosen])
        means: Floats = sums / np.bincount(row, minlength=len(self.stimuli))[:, None]
        return means

    def influence_on_mean(self, table: Floats) -> Influence:
        """Return the influence of cells on the mean of a table of shape (n_stimuli, n_neuroids)."""
        return Influence.of_mean(table, self.stimuli, self.neuroids.names[self.neuroids.used])

    def influence_on_median(self, values: Floats, influence: Floats) -> Influence:
        """Return the influence of cells on the median over neuroids of values that depend on all stimuli.

        Parameters
        ----------
        values : ndarray, shape (n_neuroids,)
            NaN does not count.
        influence : ndarray, shape (n_stimuli, n_neuroids)
            Of each stimulus on the value of the neuroid. It is enlarged for the means of folds and two scales that come
            from the same stimuli.
        """
        n = len(self.stimuli)
        found = median_of_columns(values, influence * np.sqrt(n / max(n - len(self.folds[0]) - 3, 1)))
        return influence_on_medians(found, self.stimuli, self.neuroids.names[self.neuroids.used])

    @cached_property
    def repetition(self) -> Indices:
        """Number of the repetition of each presentation; raises unless every stimulus has two, numbered."""
        names, repetition = np.unique(coordinate(self.target.labels, "repetition"), return_inverse=True)
        counts = np.bincount(self.row)
        twice = len(self.row) - len(np.unique(self.row * len(names) + repetition))
        if counts.min() < 2 or twice:
            wrong = f"{twice} presentations repeat a stimulus within one value of 'repetition'"
            if counts.min() < 2:
                wrong = f"{int((counts < 2).sum())} of {len(counts)} stimuli were shown once"
            raise AssemblyError(
                f"Noise can be told from signal where every stimulus was shown at least twice; of the target, {wrong}. "
                "Give it the single repetitions, before they are averaged, numbered for each stimulus, and leave out "
                "stimuli with a single one. For averages take the metric named *_kfold."
            )
        return np.asarray(repetition)

    def halves(self, n_halves: int, rng: np.random.Generator) -> Iterator[Halves]:
        """Yield mean responses over one half of the repetitions and over the other; where some are missing, of them."""
        repetition = self.repetition
        counts = np.bincount(self.row)
        starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
        for half in distinct_halves(rng, n_halves, int(repetition.max()) + 1):
            order = np.lexsort((repetition, ~half[repetition], self.row))
            rank = np.empty(len(order), dtype=np.intp)
            rank[order] = np.arange(len(order)) - np.repeat(starts, counts)
            first = rank < counts[self.row] // 2
            yield self.mean_of(first), self.mean_of(~first)
