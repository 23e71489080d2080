"""Score how similar two representational geometries are by whitened distances between stimuli.

For squared Euclidean distances of all pairs of stimuli, d_s of the source and d_t of the target, and the covariance V
that estimated distances of independent measurements have:

    ``score = d_s^T V^-1 d_t / sqrt(d_s^T V^-1 d_s d_t^T V^-1 d_t)``

with the mean over pairs subtracted from both first (``comparison='correlation'``) or not (``'cosine'``). V^-1 counts
once the error that distances with a common stimulus share.

- Input: two assemblies. A side with several values of `repetition` has its distances estimated by products across
  repetitions, which noise does not bias; others are averaged over the presentations of each stimulus. Either may be a
  square assembly of ready-made squared distances, dims (presentation, presentation_other), see
  `metric_helpers.labelled.rdms`. At least three stimuli.
- Output: Score in [-1, 1]; NaN if distances are constant, for the cosine zero, or undefined: ``undefined_stimuli``
  names the stimuli whose ready-made ones are.
- Invariances: those of `cka`. The correlation also: a constant added to all distances, such as the bias of equal noise.
- Error: to first order; NaN for ready-made distances, whose ``stimulus_error`` is over stimuli.
- When: to compare geometry with few data, where distances in the space of responses count. Take the cosine only for a
  target with repetitions, since noise otherwise moves all distances away from zero. Noise lowers the score;
  `geometry_ceiling` shows by how much, for the correlation.

References
----------
Diedrichsen et al. (2021), doi:10.51628/001c.27664, section 2.5. Walther et al. (2016),
doi:10.1016/j.neuroimage.2015.12.012 (unbiased distances).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from brainscore_core.errors import AssemblyError
from brainscore_core.metrics import Metric, Score
from brainscore_vision.metric_helpers import Defaults
from brainscore_vision.metric_helpers.arrays.geometry.rdm import squared_distances
from brainscore_vision.metric_helpers.arrays.geometry.whitened import (
    unbiased_distances,
    whitened_influences,
    whitened_similarity,
    whitened_stimulus_influences,
)
from brainscore_vision.metric_helpers.labelled.alignment import matching_order
from brainscore_vision.metric_helpers.labelled.rdms import (
    is_repeated,
    is_square,
    read_means,
    read_repetitions,
    read_responses,
    read_square,
)
from brainscore_vision.metric_helpers.uncertainty.errors import attach_geometry_error, declare_no_error

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly
    from brainscore_vision.metric_helpers.arrays.influence import Influences
    from brainscore_vision.metric_helpers.arrays.types import Floats, Labels, NDArray, Notes

_COMPARISONS = ("correlation", "cosine")


@dataclass(frozen=True)
class _Side:
    distances: Floats  # (n_stimuli, n_stimuli), NaN for stimuli without any
    stimuli: Labels  # sorted
    notes: Notes
    unbiased: bool
    responses: Floats | None = None  # (n_repetitions, n_stimuli, n_neuroids); None: they are not known
    present: NDArray[np.bool_] | None = None  # (n_repetitions, n_stimuli)
    neuroids: Labels | None = None


class WhitenedRDM(Metric):
    """Whitened similarity of distances; `comparison` is ``'correlation'`` or ``'cosine'``."""

    quantity: ClassVar = "dissimilarity_correlation"
    takes_all_stimuli: ClassVar = True

    def __init__(
        self, comparison: Literal["correlation", "cosine"] = "correlation", *, repetition_coord: str = "repetition"
    ) -> None:
        if comparison not in _COMPARISONS:
            raise ValueError(f"comparison must be one of {', '.join(_COMPARISONS)}; got {comparison!r}.")
        self._centred = comparison == "correlation"
        self._comparison = comparison
        self._repetition_coord = repetition_coord

    def __call__(self, source: DataAssembly, target: DataAssembly) -> Score:
        """Compare; attrs say whether distances of source and of target are ``unbiased``, products across repetitions.

        `AssemblyError` also if a pair of stimuli lacks two repetitions.
        """
        measured = self._read(target, "target", None)
        model = self._read(source, "source", measured.stimuli)
        if len(measured.stimuli) < 3:
            raise AssemblyError(
                f"Geometries of {len(measured.stimuli)} stimuli cannot be compared; at least three are needed."
            )
        sides = model.distances, measured.distances
        undefined = np.isnan(np.stack(sides)).all(axis=2).any(axis=0)
        value = float("nan") if undefined.any() else whitened_similarity(*sides, centred=self._centred)
        score = Score(value)
        score.attrs.update(measured.notes, comparison=self._comparison, quantity=self.quantity)
        score.attrs["unbiased"] = [model.unbiased, measured.unbiased]
        if undefined.any():
            score.attrs["undefined_stimuli"] = [str(name) for name in measured.stimuli[undefined]]
        return self._with_error(score, model, measured)

    def _with_error(self, score: Score, model: _Side, measured: _Side) -> Score:
        sides = model.distances, measured.distances
        if measured.responses is None or measured.neuroids is None:
            defined = not np.isnan(score.item())
            influences = whitened_stimulus_influences(*sides, centred=self._centred) if defined else None
            if influences is not None:
                score.attrs["stimulus_error"] = float(np.sqrt(influences @ influences))
            return declare_no_error(
                score, "ready-made dissimilarities: without neuroids nothing tells how others differ"
            )
        influence: Influences | None = None
        if not np.isnan(score.item()):
            influence = whitened_influences(*sides, measured.responses, measured.present, centred=self._centred)
        return attach_geometry_error(score, influence, measured.stimuli, measured.neuroids, scale="fisher")

    def _read(self, assembly: DataAssembly, role: str, stimuli: Labels | None) -> _Side:
        if is_square(assembly):
            square = read_square(assembly)
            expected = np.sort(square.stimuli) if stimuli is None else stimuli
            order = matching_order(expected, square.stimuli, what=Defaults.stimulus_coord)
            notes = {"n_stimuli": len(order), **square.notes}
            return _Side(square.values[np.ix_(order, order)], expected, notes, unbiased=False)
        if is_repeated(assembly, self._repetition_coord):
            read = read_repetitions(
                assembly, repetition_coord=self._repetition_coord, role=role, fewest_stimuli=1, stimuli=stimuli
            )
            distances = unbiased_distances(read.values, read.present)
            lacking = int(np.isnan(distances).sum()) // 2
            if lacking:
                raise AssemblyError(
                    f"{lacking} pairs of stimuli of the {role} have too few repetitions; two are needed. Leave out "
                    "stimuli with few repetitions, or average over repetitions."
                )
            return _Side(distances, read.stimuli, read.notes, True, read.values, read.present, read.neuroids)
        responses = read_responses(assembly, role=role)
        expected = np.unique(responses.stimuli) if stimuli is None else stimuli
        means = read_means(assembly, expected, role=role)
        notes = {"n_stimuli": len(expected), **responses.notes}
        return _Side(squared_distances(means), expected, notes, False, means[None], None, responses.neuroids)
