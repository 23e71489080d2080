"""Hold features, responses and folds for metrics on predictions of all folds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from brainscore_core.errors import AssemblyError, count
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
    """Features, responses and folds; source rows are `stimuli`, response rows presentations, `row` their stimuli.

    The source holds the features, or others with the same inner products. Responses are those of usable neuroids.
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

    def mean_of(self, selected: NDArray[np.bool_]) -> Floats:
        """Average the selected presentations of each stimulus."""
        row = self.row[selected]
        sums = np.zeros((len(self.stimuli), self.responses.shape[1]))
        np.add.at(sums, row, self.responses[selected])
        means: Floats = sums / np.bincount(row, minlength=len(self.stimuli))[:, None]
        return means

    def influence_on_mean(self, table: Floats) -> Influence:
        """Return the influence of cells on the mean of a table of shape (n_stimuli, n_neuroids)."""
        return Influence.of_mean(table, self.stimuli, self.neuroids.names[self.neuroids.used])

    def influence_on_median(self, values: Floats, influence: Floats) -> Influence:
        """Return the influence of cells on the median over neuroids of values (unless NaN) that depend on all stimuli.

        `influence`, of each stimulus on the neuroid's value, is enlarged here for fold means and two scales estimated
        from the same stimuli.
        """
        n = len(self.stimuli)
        on_median = median_of_columns(values, influence * np.sqrt(n / max(n - len(self.folds[0]) - 3, 1)))
        return influence_on_medians(on_median, self.stimuli, self.neuroids.names[self.neuroids.used])

    @cached_property
    def repetition(self) -> Indices:
        """Repetition number of each presentation; raises unless every stimulus has two or more, numbered."""
        names, repetition = np.unique(coordinate(self.target.labels, "repetition"), return_inverse=True)
        counts = np.bincount(self.row)
        twice = len(self.row) - len(np.unique(self.row * len(names) + repetition))
        if counts.min() < 2 or twice:
            wrong = f"{count(twice, 'further presentation')} of a stimulus within one value of 'repetition'"
            if counts.min() < 2:
                wrong = f"{int((counts < 2).sum())} of {len(counts)} stimuli were shown once"
            raise AssemblyError(
                f"Noise is separable from signal if every stimulus was shown at least twice; of the target, {wrong}. "
                "Give it the single repetitions, before they are averaged, numbered for each stimulus, and leave out "
                "stimuli with a single one. For averages take the metric named *_kfold."
            )
        return np.asarray(repetition)

    def halves(self, n_halves: int, rng: np.random.Generator) -> Iterator[Halves]:
        """Yield mean responses over either half of the repetitions; missing ones are balanced per stimulus."""
        repetition = self.repetition
        counts = np.bincount(self.row)
        starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
        for half in distinct_halves(rng, n_halves, int(repetition.max()) + 1):
            order = np.lexsort((repetition, ~half[repetition], self.row))
            rank = np.empty(len(order), dtype=np.intp)
            rank[order] = np.arange(len(order)) - np.repeat(starts, counts)
            first = rank < counts[self.row] // 2
            yield self.mean_of(first), self.mean_of(~first)
