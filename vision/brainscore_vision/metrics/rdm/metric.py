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

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from brainscore_core.metrics import Metric, Score
from brainscore_vision.metric_helpers import Defaults
from brainscore_vision.metric_helpers.arrays.geometry.rdm import (
    correlation_distances,
    rdm_similarity,
    rdm_similarity_draws,
)
from brainscore_vision.metric_helpers.labelled.alignment import matching_order
from brainscore_vision.metric_helpers.labelled.cross_validation import CrossValidation
from brainscore_vision.metric_helpers.labelled.rdms import (
    OTHER,
    RDM,
    RDMSimilarity,
    Responses,
    SquareRDM,
    is_square,
    read_responses,
    read_square,
)
from brainscore_vision.metric_helpers.uncertainty.errors import attach_standard_error, declare_no_error

NO_ERROR = "resampling stimuli takes longer than the score: ask half_sample_interval of uncertainty.intervals for it"

__all__ = ["OTHER", "RDM", "RDMCrossValidated", "RDMMetric", "RDMSimilarity"]


class RDMMetric(Metric):
    """Compare the representational dissimilarity matrices of two assemblies.

    Parameters
    ----------
    neuroid_dim : str
        As for `RDM`.
    comparison_coord : str
        As for `RDMSimilarity`.
    """

    quantity: ClassVar = "correlation"

    def __init__(
        self, neuroid_dim: str = Defaults.neuroid_dim, comparison_coord: str = Defaults.stimulus_coord
    ) -> None:
        self._neuroid_dim = neuroid_dim
        self._comparison_coord = comparison_coord
        # Benchmarks written for the published system call these two.
        self._rdm = RDM(neuroid_dim=neuroid_dim)
        self._similarity = RDMSimilarity(comparison_coord=comparison_coord)

    def __call__(self, assembly1: Any, assembly2: Any) -> Score:
        """Compare.

        Parameters
        ----------
        assembly1, assembly2 : NeuroidAssembly, dims (presentation, neuroid), or DataAssembly, square
            Responses to the same stimuli, of any neuroids, or their dissimilarities. A `time_bin` of length one is
            dropped.

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

    def dissimilarities(self, assembly1: Any, assembly2: Any) -> tuple[Any, Any, dict[str, Any]]:
        """Return both matrices in the order of `assembly2`, shape (n_stimuli, n_stimuli), and entries for attrs."""
        sides = [self._read(assembly, role) for assembly, role in ((assembly1, "source"), (assembly2, "target"))]
        order = matching_order(sides[1].stimuli, sides[0].stimuli, what=self._comparison_coord)
        first, second = _matrix(sides[0], order), _matrix(sides[1], np.arange(len(order)))
        notes = {"n_stimuli": len(order), **sides[1].notes, "quantity": self.quantity}
        asymmetries = [side.notes["asymmetry"] for side in sides if "asymmetry" in side.notes]
        if asymmetries:
            notes["asymmetry"] = max(asymmetries)
        undefined = np.zeros(len(order), dtype=bool)
        for values in (first, second):
            if len(order) > 1 and np.isnan(values).any():
                undefined |= np.isnan(values).sum(axis=1) >= len(order) - 1
        if undefined.any():
            notes["undefined_stimuli"] = [str(name) for name in sides[1].stimuli[undefined]]
        return first, second, notes

    def _read(self, assembly: Any, role: str) -> Responses | SquareRDM:
        if is_square(assembly, self._neuroid_dim):
            return read_square(assembly, stimulus_coord=self._comparison_coord)
        return read_responses(assembly, role=role, neuroid_dim=self._neuroid_dim, stimulus_coord=self._comparison_coord)


class RDMCrossValidated(Metric):
    """Compare dissimilarity matrices on parts of the stimuli, by default ten times 90 % of them.

    Nothing is fitted; the parts show how much the score depends on which stimuli there are. They share most stimuli, so
    the standard error over splits understates that; see `metric_helpers.uncertainty.intervals` for one that
    does not.

    Parameters
    ----------
    neuroid_dim, comparison_coord
        As for `RDMMetric`.
    crossvalidation_kwargs : dict or None
        Arguments of `CrossValidation`; the test parts are compared. By default ``test_size=0.9``.
    """

    quantity: ClassVar = "correlation"

    def __init__(
        self,
        neuroid_dim: str = Defaults.neuroid_dim,
        comparison_coord: str = Defaults.stimulus_coord,
        crossvalidation_kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        self._metric = RDMMetric(neuroid_dim=neuroid_dim, comparison_coord=comparison_coord)
        kwargs = dict(crossvalidation_kwargs or {})
        if kwargs.get("train_size") is None and not kwargs.get("kfold"):
            kwargs = {"test_size": 0.9, **kwargs}
        self._cross_validation = CrossValidation(**kwargs)

    def __call__(self, assembly1: Any, assembly2: Any) -> Score:
        """Compare; parameters as for `RDMMetric`.

        Returns
        -------
        Score
            0-d, the mean over splits, in [-1, 1]. Attrs: ``raw`` (Score, dims (split)), ``error`` (standard error of
            the mean over splits), ``seed``, ``stratified_by``, and those of `RDMMetric`.
        """
        first, second, notes = self._metric.dissimilarities(assembly1, assembly2)
        plan = self._cross_validation.plan(assembly2)
        parts = [test for _, test in plan.presentations(assembly2)]
        values = rdm_similarity_draws(first, second, parts)
        raw = Score(values, coords={"split": ("split", np.arange(len(values)))}, dims=["split"])
        score = attach_standard_error(Score(values.mean()), values, over="split")
        score.attrs.update(raw=raw, **plan.notes, **notes)
        return score


def _matrix(side: Responses | SquareRDM, order: Any) -> Any:
    moved = not np.array_equal(order, np.arange(len(order)))
    if isinstance(side, SquareRDM):
        return side.values[np.ix_(order, order)] if moved else side.values
    return correlation_distances(side.values[order] if moved else side.values)
