"""Score how similar two representational geometries are by correlating their dissimilarity matrices.

Those are one minus the Pearson correlations of response patterns of pairs of stimuli:

    ``score = spearman(upper(1 - corr(source)), upper(1 - corr(target)))``

`rdm_rho_a` is its mean over all ways to break ties, with R the rank of a dissimilarity among all N pairs:

    ``score = 12 / (N^3 - N) sum_k (R(source_k) - (N + 1) / 2) (R(target_k) - (N + 1) / 2)``

Without ties both are the same. Leaving pairs tied, as a model of categories does, raises Spearman's correlation, but
not rho-a.

- Input: two assemblies. Either may be a square assembly of ready-made dissimilarities instead, dims (presentation,
  presentation_other), see `metric_helpers.labelled.rdms`.
- Output: Score in [-1, 1]; NaN if dissimilarities are constant or undefined: ``undefined_stimuli`` names those with a
  constant pattern.
- Invariances: order of stimuli and of neuroids; shift and positive scaling of each stimulus's pattern; duplicated sets
  of neuroids; any increasing function of ready-made dissimilarities. Not of rotations or of scaling single neuroids.
- Error: NaN if the target is square, since variation between neuroids cannot be estimated.
- When: to compare geometry without a fit, or where data come as dissimilarities; `rdm_rho_a` where some models predict
  ties. Noise lowers the score by as much as `geometry_ceiling` shows; `rsa_crossnobis` corrects for it.

References
----------
Kriegeskorte et al. (2008), doi:10.3389/neuro.06.004.2008. Schuett et al. (2023), doi:10.7554/eLife.82566 (rho-a).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from brainscore_core.metrics import Metric, Score
from brainscore_vision.metric_helpers import Defaults
from brainscore_vision.metric_helpers.arrays.geometry.rdm import rdm_similarity, rdm_similarity_draws
from brainscore_vision.metric_helpers.arrays.influence import rdm_influences
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
from brainscore_vision.metric_helpers.shared_metrics.rsa import OnParts
from brainscore_vision.metric_helpers.uncertainty.errors import attach_geometry_error, declare_no_error

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly
    from brainscore_vision.metric_helpers.arrays.types import Floats, Indices, Notes

NO_ERROR = "ready-made dissimilarities: without neuroids nothing tells how others differ"

__all__ = ["OTHER", "RDM", "RDMCrossValidated", "RDMMetric", "RDMRhoA", "RDMSimilarity"]


class RDMMetric(Metric):
    """Compare the dissimilarity matrices of two assemblies; parameters as for `RDM` and `RDMSimilarity`."""

    quantity: ClassVar = "dissimilarity_correlation"
    symmetric: ClassVar = True
    takes_all_stimuli: ClassVar = True
    _random_ties: ClassVar = False

    def __init__(
        self, neuroid_dim: str = Defaults.neuroid_dim, comparison_coord: str = Defaults.stimulus_coord
    ) -> None:
        self._neuroid_dim = neuroid_dim
        self._comparison_coord = comparison_coord
        # Published benchmarks call these two.
        self._rdm = RDM(neuroid_dim=neuroid_dim)
        self._similarity = RDMSimilarity(comparison_coord=comparison_coord)

    def __call__(self, assembly1: DataAssembly, assembly2: DataAssembly) -> Score:
        """Compare `assembly1`, the source, with `assembly2`, the target."""
        first, second, notes, target = self._compared(assembly1, assembly2)
        if isinstance(target, SquareRDM):
            score = Score(rdm_similarity(first, second, random_ties=self._random_ties))
            score.attrs.update(notes)
            return declare_no_error(score, NO_ERROR)
        value, influences = rdm_influences(first, second, target.values, random_ties=self._random_ties)
        score = Score(value)
        score.attrs.update(notes)
        return attach_geometry_error(score, influences, target.stimuli, target.neuroids, scale="fisher")

    def dissimilarities(self, assembly1: DataAssembly, assembly2: DataAssembly) -> tuple[Floats, Floats, Notes]:
        """Return both matrices in the order of `assembly2`, shape (n_stimuli, n_stimuli), and entries for attrs."""
        return self._compared(assembly1, assembly2)[:3]

    def _compared(
        self, assembly1: DataAssembly, assembly2: DataAssembly
    ) -> tuple[Floats, Floats, Notes, Responses | SquareRDM]:
        source, target = (self._read(side, role) for side, role in ((assembly1, "source"), (assembly2, "target")))
        first, second, notes = paired_rdms(source, target, stimulus_coord=self._comparison_coord)
        return first, second, {**notes, "quantity": self.quantity}, target

    def _read(self, assembly: DataAssembly, role: str) -> Responses | SquareRDM:
        if is_square(assembly, self._neuroid_dim):
            return read_square(assembly, stimulus_coord=self._comparison_coord)
        coordinates = {"neuroid_dim": self._neuroid_dim, "stimulus_coord": self._comparison_coord}
        # The model's are read unchanged: a copy in double precision may not fit the memory.
        return read_responses(assembly, role=role, dtype=None if role == "source" else np.float64, **coordinates)


class RDMRhoA(RDMMetric):
    """Compare dissimilarity matrices by rho-a."""

    _random_ties: ClassVar = True


class RDMCrossValidated(OnParts):
    """Compare dissimilarity matrices on parts of the stimuli, see `OnParts`."""

    quantity: ClassVar = "dissimilarity_correlation"
    symmetric: ClassVar = True

    def __init__(
        self,
        neuroid_dim: str = Defaults.neuroid_dim,
        comparison_coord: str = Defaults.stimulus_coord,
        crossvalidation_kwargs: Mapping[str, Any] | None = None,  # arguments of `CrossValidation`
        *,
        compat: bool = False,
    ) -> None:
        super().__init__(crossvalidation_kwargs, compat=compat)
        self._metric = RDMMetric(neuroid_dim=neuroid_dim, comparison_coord=comparison_coord)

    def _compared(
        self, assembly1: DataAssembly, assembly2: DataAssembly, parts: Sequence[Indices]
    ) -> tuple[Floats, Score]:
        first, second, _ = self._metric.dissimilarities(assembly1, assembly2)
        return rdm_similarity_draws(first, second, parts), self._metric(assembly1, assembly2)
