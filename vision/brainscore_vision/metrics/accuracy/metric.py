"""Score the part of stimuli for which two observers, or an observer and the truth, give the same label.

    ``score = mean_i [source_i == target_i]``

- Input: two lists of labels, or behavioural assemblies along presentation, aligned by `stimulus_id` if both have it.
- Output: Score in [0, 1].
- Invariances: order of stimuli; renaming of labels on both sides.
- When: whenever there is one right answer. For agreement beyond that, see `error_consistency`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
import xarray as xr

from brainscore_core.errors import AssemblyError
from brainscore_core.metrics import Metric, Quantity, Score
from brainscore_vision.metric_helpers.labelled.alignment import coords_along, has_coordinate, matching_order
from brainscore_vision.metric_helpers.uncertainty.errors import note_error, standard_error

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly
    from brainscore_vision.metric_helpers.arrays.types import ArrayLike, Labels


class Accuracy(Metric):
    """Part of answers that are right.

    Parameters
    ----------
    compat : bool
        Give in ``error`` the standard deviation of single answers, as published scores do, not the standard error of
        the accuracy.
    """

    quantity: ClassVar[Quantity | None] = "share"

    def __init__(self, *, compat: bool = False) -> None:
        self._compat = compat

    def __call__(self, source: DataAssembly | ArrayLike, target: DataAssembly | ArrayLike) -> Score:
        """Compare.

        Parameters
        ----------
        source, target : BehavioralAssembly or array-like, dims (presentation)
            Labels: what was answered and what is right. A further dimension of length one, such as choice, is fine.
            Arrays compare in their order.

        Returns
        -------
        Score
            0-d, in [0, 1]. Attrs: ``raw`` (Score of bool, dims (presentation), in the order of `target`), ``error``
            (standard error of the mean, ``sqrt(p (1 - p) / (n - 1))``), ``n_stimuli``, ``n_trials``, ``quantity``.

        Raises
        ------
        AssemblyError
            If the stimuli differ, or the numbers of labels, or there is more than one choice for a presentation.
        """
        answers, truth = _labels(source, "source"), _labels(target, "target")
        ids = [side["stimulus_id"].values for side in (source, target) if _is_aligned_by_id(side)]
        if len(ids) == 2:
            answers = answers[matching_order(ids[1], ids[0])]
        elif len(answers) != len(truth):
            raise AssemblyError(f"There are {len(answers)} source labels for {len(truth)} target labels.")
        if len(truth) == 0:
            raise AssemblyError("There is nothing to compare: both sides are empty.")
        correct = answers == truth
        score = Score(correct.mean())
        labelled = next((side for side in (target, source) if isinstance(side, xr.DataArray)), None)
        coords = coords_along(labelled, "presentation") if labelled is not None else {}
        score.attrs["raw"] = Score(correct, coords=coords, dims=["presentation"])
        error = correct.std() if self._compat else standard_error(correct)
        note_error(score, error, over="presentation", n=len(correct))
        score.attrs["n_stimuli"] = len(np.unique(ids[-1].astype(str))) if ids else len(correct)
        score.attrs["n_trials"] = len(correct)
        score.attrs["quantity"] = self.quantity
        return score


def _is_aligned_by_id(side: object) -> bool:
    return isinstance(side, xr.DataArray) and has_coordinate(side, "stimulus_id")


def _labels(side: DataAssembly | ArrayLike, role: str) -> Labels:
    values = np.asarray(side.values if isinstance(side, xr.DataArray) else side)
    if values.ndim > 1:
        if values.size != max(values.shape):
            raise AssemblyError(
                f"The {role} has shape {values.shape}; accuracy compares one label for each presentation. "
                "Take the most probable choice first, with argmax for instance."
            )
        values = values.reshape(-1)
    # Object arrays of strings compare like string arrays, which are what a selection may have turned the others into.
    return values.astype(str) if values.dtype == object else values
