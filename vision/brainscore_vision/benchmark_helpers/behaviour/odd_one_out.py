"""The design of benchmarks on triplets."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from brainscore_core.benchmarks import BenchmarkBase
from brainscore_core.errors import AssemblyError, CeilingError
from brainscore_core.metrics import Score
from brainscore_vision.benchmark_helpers.checks import name_tested
from brainscore_vision.benchmark_helpers.scores.normalization import bound_score
from brainscore_vision.benchmark_helpers.screen import place_on_screen, presented
from brainscore_vision.metric_helpers.labelled.alignment import coordinate
from brainscore_vision.metric_helpers.labelled.judgements import labels_of
from brainscore_vision.metric_helpers.uncertainty.errors import note_error, standard_error
from brainscore_vision.model_interface import BrainModel
from brainscore_vision.utils import LazyLoad, loaded

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly
    from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
    from brainscore_vision.metric_helpers.arrays.types import NDArray

__all__ = ["CHANCE", "OddOneOutBenchmark", "highest_agreement"]

CHANCE = 1 / 3
_IMAGES = ("image_1", "image_2", "image_3")  # people chose the third


class OddOneOutBenchmark(BenchmarkBase):
    """Share of judgements with the same odd stimulus for model and person, corrected for chance.

    .. math:: s = (p - 1/3) / (c - 1/3)

    A model sees the three in an order of their content: stored are those that people chose last.

    Parameters
    ----------
    load_judgements
        Returns people's judgements, dims (presentation), with the coordinates ``image_1``, ``image_2`` and ``image_3``
        (the odd one), and the attribute ``stimulus_set``.
    ceiling
        Highest possible share of agreement, above 1/3; None: `highest_agreement`.
    n_triplets
        Use only the first judgements, for a trial.

    Examples
    --------
    >>> class Mine2026(OddOneOutBenchmark):
    ...     def __init__(self, load_judgements):
    ...         fixed = {'parent': 'behavior', 'bibtex': '@article{...}', 'visual_degrees': 8, 'ceiling': 0.67}
    ...         super().__init__('Mine2026-match', load_judgements, **fixed)
    """

    def __init__(
        self,
        identifier: str,
        load_judgements: Callable[[], DataAssembly],
        *,
        visual_degrees: float,
        parent: str,
        bibtex: str,
        version: int = 1,
        ceiling: float | None = None,
        n_triplets: int | None = None,
    ) -> None:
        self._assembly: Any = LazyLoad(load_judgements)
        self._visual_degrees = visual_degrees
        self._n_triplets = n_triplets
        super().__init__(
            identifier,
            ceiling_func=lambda: highest_agreement(loaded(self._assembly)) if ceiling is None else ceiling,
            version=version,
            parent=parent,
            bibtex=bibtex,
        )

    def __call__(self, candidate: BrainModel) -> Score:
        """Return the chance-corrected share, in [0, 1]; its ``error`` is over judgements."""
        assembly = loaded(self._assembly)
        triplets = _triplets(assembly)[: self._n_triplets]
        room = float(self.ceiling) - CHANCE
        if room <= 0:
            raise CeilingError(
                f"The ceiling of {self.identifier!r} is {float(self.ceiling):.3f}; expected more than 1/3, which "
                "guesses reach."
            )
        candidate = presented(candidate)
        candidate.start_task(BrainModel.Task.odd_one_out)
        placed = place_on_screen(
            assembly.stimulus_set,
            target_visual_degrees=candidate.visual_degrees(),
            source_visual_degrees=self._visual_degrees,
        )
        answers = labels_of(candidate.look_at(_rows(placed, triplets), number_of_trials=1), role="model's").astype(str)
        _check(answers, triplets, candidate)
        agree = answers == triplets[:, 2]
        raw = Score(agree.mean())
        note_error(raw, standard_error(agree), over="triplet", n=len(agree))
        score = Score((float(raw) - CHANCE) / room)
        score.attrs.update(raw=raw, ceiling=self.ceiling, error=raw.attrs["error"] / room)
        score.attrs.update(error_over=["triplet"], n_stimuli=len(np.unique(triplets)), n_trials=len(triplets))
        bound_score(score)
        name_tested(score, assembly)
        return score


def highest_agreement(judgements: DataAssembly) -> Score:
    """Return the share of judgements that match the most frequent answer to their triplet, in [1/3, 1].

    With few judgements per triplet it is biased upwards; `CeilingError` if no triplet was judged twice.
    """
    triplets = _triplets(judgements)
    _, triplet = np.unique(np.sort(triplets, axis=1), axis=0, return_inverse=True)
    answers, times = np.unique(
        np.stack([triplet.ravel().astype(str), triplets[:, 2]], axis=1), axis=0, return_counts=True
    )
    if times.sum() == len(np.unique(triplet)):
        raise CeilingError(
            f"None of the {len(triplets)} triplets was judged twice, so agreement between people is unknown. Give the "
            "benchmark a ceiling that was measured on others."
        )
    most = np.zeros(len(np.unique(triplet)), dtype=int)
    np.maximum.at(most, answers[:, 0].astype(int), times)
    score = Score(most.sum() / len(triplets))
    score.attrs.update(n_trials=len(triplets), quantity="share")
    return score


def _triplets(assembly: DataAssembly) -> NDArray[np.str_]:
    return np.stack([coordinate(assembly, name).astype(str) for name in _IMAGES], axis=1)


def _check(answers: NDArray[Any], triplets: NDArray[np.str_], candidate: BrainModel) -> None:
    if len(answers) != len(triplets):
        raise AssemblyError(
            f"Model {candidate.identifier!r} gave {len(answers)} answers to {len(triplets)} triplets; expected one "
            "for each three stimuli."
        )
    strange = (answers[:, None] != triplets).all(axis=1)
    if strange.any():
        first = int(np.flatnonzero(strange)[0])
        raise AssemblyError(
            f"{int(strange.sum())} answers of model {candidate.identifier!r} were not shown, such as "
            f"{str(answers[first])!r} to {', '.join(triplets[first])}; expected one of these three."
        )


def _rows(stimuli: StimulusSet, triplets: NDArray[np.str_]) -> StimulusSet:
    row_of = {str(stimulus_id): row for row, stimulus_id in enumerate(stimuli["stimulus_id"])}
    missing = sorted({name for name in np.unique(triplets).tolist() if name not in row_of})
    if missing:
        raise AssemblyError(f"{len(missing)} images of triplets are not among the stimuli, such as {missing[:3]}.")
    return stimuli[["stimulus_id"]].iloc[[row_of[name] for name in triplets.ravel().tolist()]].reset_index(drop=True)
