"""Score how alike two representational geometries are by correlating their dissimilarity matrices.

The dissimilarity of two stimuli is one minus the Pearson correlation of their response patterns; the score is the
Spearman correlation of the dissimilarities of all pairs of stimuli:

    ``score = spearman(upper(1 - corr(source)), upper(1 - corr(target)))``

- Input: two assemblies, dims (presentation, neuroid), with `stimulus_id`, over the same stimuli in any order.
- Output: Score in [-1, 1].
- Invariances: order of stimuli and of neuroids; shift and positive scaling of each stimulus's pattern; duplicated sets
  of neuroids. Not of rotations or of scaling single neuroids.
- When: to compare geometry without fitting anything, or where data come as dissimilarities.

References
----------
Kriegeskorte, Mur & Bandettini (2008), doi:10.3389/neuro.06.004.2008.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from brainscore_core.errors import AssemblyError
from brainscore_core.metrics import Metric, Score
from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly
from brainscore_vision.metric_helpers.alignment import (
    coordinate,
    coords_along,
    matching_order,
    matrix,
    squeeze_time_bin,
)
from brainscore_vision.metric_helpers.arrays import correlation_distances, rdm_similarity

OTHER = "_other"  # suffix of the second dimension of a square assembly, and of the coordinates along it


class RDM:
    """Compute a representational dissimilarity matrix.

    Parameters
    ----------
    neuroid_dim : str
        The dimension that patterns extend along; the other one is that of the stimuli.
    """

    def __init__(self, neuroid_dim: str = "neuroid") -> None:
        self._neuroid_dim = neuroid_dim

    def __call__(self, assembly: Any) -> DataAssembly:
        """Compute ``1 - corr`` of the patterns of all pairs of stimuli.

        Parameters
        ----------
        assembly : NeuroidAssembly, dims (presentation, neuroid)

        Returns
        -------
        DataAssembly, dims (presentation, presentation_other)
            In [0, 2], with the coordinates of presentation on the first dimension and, with the suffix ``_other``, on
            the second. (xarray no longer supports two dimensions of one name.)

        Raises
        ------
        AssemblyError
            If there are other dimensions, or NaN that is not in neuroids that are NaN throughout.
        """
        assembly = squeeze_time_bin(assembly)
        stimulus_dims = [str(dim) for dim in assembly.dims if dim != self._neuroid_dim]
        if len(stimulus_dims) != 1:
            raise AssemblyError(
                f"An RDM needs one dimension beside {self._neuroid_dim!r}; the assembly has {tuple(assembly.dims)}."
            )
        (dim,) = stimulus_dims
        values = matrix(assembly, [dim, self._neuroid_dim], role="given")
        empty = np.isnan(values).all(axis=0)
        values = values[:, ~empty]
        if not np.isfinite(values).all() or values.shape[1] == 0:
            broken = int((~np.isfinite(values)).any(axis=0).sum())
            raise AssemblyError(
                f"Patterns must be finite, but {broken} of {len(empty)} neuroids have NaN or infinite values for some "
                f"stimuli and {int(empty.sum())} for all. Drop them before scoring."
            )
        coords = coords_along(assembly, dim)
        other = {f"{name}{OTHER}": (f"{dim}{OTHER}", labels) for name, (_, labels) in coords.items()}
        return DataAssembly(correlation_distances(values), coords={**coords, **other}, dims=[dim, f"{dim}{OTHER}"])


class RDMSimilarity:
    """Compare two dissimilarity matrices.

    Parameters
    ----------
    comparison_coord : str
        Coordinate on the first dimension by which stimuli are aligned.
    """

    def __init__(self, comparison_coord: str = "stimulus_id") -> None:
        self._comparison_coord = comparison_coord

    def __call__(self, rdm_assembly1: Any, rdm_assembly2: Any) -> Score:
        """Compute the Spearman correlation above the diagonal.

        Parameters
        ----------
        rdm_assembly1, rdm_assembly2 : DataAssembly, square
            Dissimilarities with the comparison coordinate on the first dimension; the second is in the same order.

        Returns
        -------
        Score
            0-d, in [-1, 1]. NaN if a stimulus has no defined dissimilarity (its pattern is constant):
            ``undefined_stimuli`` in attrs names them.

        Raises
        ------
        AssemblyError
            If a matrix is not square or stimuli differ.
        """
        ids = [self._stimuli(rdm) for rdm in (rdm_assembly1, rdm_assembly2)]
        order = matching_order(ids[1], ids[0], what=self._comparison_coord)
        first = np.asarray(rdm_assembly1.values, dtype=np.float64)[np.ix_(order, order)]
        second = np.asarray(rdm_assembly2.values, dtype=np.float64)
        score = Score(rdm_similarity(first, second))
        score.attrs["n_stimuli"] = len(order)
        undefined = np.isnan(first).all(axis=1) | np.isnan(second).all(axis=1)
        if undefined.any():
            score.attrs["undefined_stimuli"] = [str(name) for name in ids[1][undefined]]
        return score

    def _stimuli(self, rdm: Any) -> Any:
        if rdm.ndim != 2 or rdm.shape[0] != rdm.shape[1]:
            raise AssemblyError(f"A dissimilarity matrix is square; this assembly has {dict(rdm.sizes)}.")
        return coordinate(rdm, self._comparison_coord)


class RDMMetric(Metric):
    """Compare the representational dissimilarity matrices of two assemblies.

    Parameters
    ----------
    neuroid_dim : str
        As for `RDM`.
    comparison_coord : str
        As for `RDMSimilarity`.
    """

    def __init__(self, neuroid_dim: str = "neuroid", comparison_coord: str = "stimulus_id") -> None:
        self._neuroid_dim = neuroid_dim
        self._rdm = RDM(neuroid_dim=neuroid_dim)
        self._similarity = RDMSimilarity(comparison_coord=comparison_coord)

    def __call__(self, assembly1: Any, assembly2: Any) -> Score:
        """Compare.

        Parameters
        ----------
        assembly1, assembly2 : NeuroidAssembly, dims (presentation, neuroid)
            Responses to the same stimuli; neuroids may differ. A `time_bin` of length one is dropped.

        Returns
        -------
        Score
            0-d, in [-1, 1]. Attrs: ``n_stimuli``, ``n_neuroids`` (of `assembly2`), see also `RDMSimilarity`.

        Raises
        ------
        AssemblyError
            If stimuli or dimensions differ, or values are NaN.
        """
        score = self._similarity(self._rdm(assembly1), self._rdm(assembly2))
        score.attrs["n_neuroids"] = assembly2.sizes[self._neuroid_dim]
        return score
