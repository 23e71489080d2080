"""Score how alike two representational geometries are by correlating their dissimilarity matrices.

The dissimilarity of two stimuli is one minus the Pearson correlation of their response patterns; the score is the
Spearman correlation of the dissimilarities of all pairs of stimuli:

    ``score = spearman(upper(1 - corr(source)), upper(1 - corr(target)))``

- Input: two assemblies, dims (presentation, neuroid), with `stimulus_id`, over the same stimuli in any order. Either
  may be a square assembly of ready-made dissimilarities instead, dims (presentation, presentation_other), see
  `metric_helpers.labelled.rdms`.
- Output: Score in [-1, 1].
- Invariances: order of stimuli and of neuroids; shift and positive scaling of each stimulus's pattern; duplicated sets
  of neuroids; any increasing function of ready-made dissimilarities. Not of rotations or of scaling single neuroids.
- When: to compare geometry without fitting anything, or where data come as dissimilarities. Noise in the measurement
  lowers the score; `rsa_crossnobis` takes it into account where there are repetitions.

Published differences: `rdm` and `rdm_cv` of the published system take a square assembly for responses and correlate
its rows.

References
----------
Kriegeskorte, Mur & Bandettini (2008), doi:10.3389/neuro.06.004.2008.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from brainscore_core.metrics import Metric, Score
from brainscore_vision.metric_helpers import Defaults
from brainscore_vision.metric_helpers.arrays.geometry.rdm import rdm_similarity, rdm_similarity_draws
from brainscore_vision.metric_helpers.labelled.rdms import (
    OTHER,
    RDM,
    RDMSimilarity,
    Responses,
    SquareRDM,
    is_square,
    paired_rdms,
    read_responses,
    read_square,
)
from brainscore_vision.metric_helpers.shared_metrics.on_parts import OnParts
from brainscore_vision.metric_helpers.uncertainty.errors import declare_no_error

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly
    from brainscore_vision.metric_helpers.arrays.types import Floats, Indices, Notes

NO_ERROR = "resampling stimuli takes longer than the score: ask half_sample_interval of uncertainty.intervals for it"

__all__ = ["OTHER", "RDM", "RDMCrossValidated", "RDMMetric", "RDMSimilarity"]


class RDMMetric(Metric):
    """Compare the dissimilarity matrices of two assemblies; parameters as for `RDM` and `RDMSimilarity`."""

    quantity: ClassVar = "correlation"

    def __init__(
        self, neuroid_dim: str = Defaults.neuroid_dim, comparison_coord: str = Defaults.stimulus_coord
    ) -> None:
        self._neuroid_dim = neuroid_dim
        self._comparison_coord = comparison_coord
        # Benchmarks written for the published system call these two.
        self._rdm = RDM(neuroid_dim=neuroid_dim)
        self._similarity = RDMSimilarity(comparison_coord=comparison_coord)

    def __call__(self, assembly1: DataAssembly, assembly2: DataAssembly) -> Score:
        """Compare; inputs as the module says. A `time_bin` of length one is dropped.

        Returns
        -------
        Score
            0-d, in [-1, 1]; NaN if dissimilarities are constant or undefined. Attrs: ``n_stimuli``, ``n_neuroids`` (of
            `assembly2`, unless that is square), ``quantity``, ``error`` (NaN; there is one on request from
            `metric_helpers.uncertainty.intervals.half_sample_interval`); ``undefined_stimuli`` names those with
            a constant pattern, ``neuroids_left_out`` the neuroids of `assembly2` that are NaN throughout.

        Raises
        ------
        AssemblyError
            If stimuli or dimensions differ, or values are NaN otherwise.
        """
        first, second, notes = self.dissimilarities(assembly1, assembly2)
        score = Score(rdm_similarity(first, second))
        score.attrs.update(notes)
        return declare_no_error(score, NO_ERROR)

    def dissimilarities(self, assembly1: DataAssembly, assembly2: DataAssembly) -> tuple[Floats, Floats, Notes]:
        """Return both matrices in the order of `assembly2`, shape (n_stimuli, n_stimuli), and entries for attrs."""
        sides = [self._read(assembly, role) for assembly, role in ((assembly1, "source"), (assembly2, "target"))]
        first, second, notes = paired_rdms(sides[0], sides[1], stimulus_coord=self._comparison_coord)
        return first, second, {**notes, "quantity": self.quantity}

    def _read(self, assembly: DataAssembly, role: str) -> Responses | SquareRDM:
        if is_square(assembly, self._neuroid_dim):
            return read_square(assembly, stimulus_coord=self._comparison_coord)
        return read_responses(assembly, role=role, neuroid_dim=self._neuroid_dim, stimulus_coord=self._comparison_coord)


class RDMCrossValidated(OnParts):
    """Compare dissimilarity matrices on parts of the stimuli.

    For an error that says how much the score depends on stimuli, see `metric_helpers.uncertainty.intervals`.
    """

    quantity: ClassVar = "correlation"

    def __init__(
        self,
        neuroid_dim: str = Defaults.neuroid_dim,
        comparison_coord: str = Defaults.stimulus_coord,
        crossvalidation_kwargs: Mapping[str, Any] | None = None,  # whatever the arguments of `CrossValidation` are
    ) -> None:
        super().__init__(crossvalidation_kwargs)
        self._metric = RDMMetric(neuroid_dim=neuroid_dim, comparison_coord=comparison_coord)

    def _compared(
        self, assembly1: DataAssembly, assembly2: DataAssembly, parts: Sequence[Indices]
    ) -> tuple[Floats, Notes]:
        first, second, notes = self._metric.dissimilarities(assembly1, assembly2)
        return rdm_similarity_draws(first, second, parts), notes
