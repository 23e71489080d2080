"""Score the share of stimuli that two observers, or an observer and the truth, label the same.

    ``score = mean_i [source_i == target_i]``

- Input: two lists of labels, or behavioural assemblies along presentation, aligned by `stimulus_id` if both have it. A
  missing answer (None or NaN) is wrong; a missing truth raises AssemblyError.
- Output: Score in [0, 1]; ``raw`` says for each presentation, in the order of `target`, whether it is right.
- Invariances: order of stimuli; renaming of labels on both sides.
- Error: over stimuli, whose presentations stay together, and over people where `subject` tells several apart; for
  single answers ``sqrt(p (1 - p) / (n - 1))``. The interval is Wilson's, defined also where all are right.
  `compat=True` gives the standard deviation of single answers.
- When: there is one right answer. For agreement beyond that, see `error_consistency`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd
import xarray as xr

from brainscore_core.errors import AssemblyError
from brainscore_core.metrics import Metric, Quantity, Score
from brainscore_vision.metric_helpers.labelled.alignment import coords_along, has_coordinate, matching_order
from brainscore_vision.metric_helpers.labelled.judgements import same_label
from brainscore_vision.metric_helpers.uncertainty.errors import (
    attach_spread,
    crossed_influence,
    crossed_spread,
    note_error,
    proportion_interval,
    spread_of_units,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly
    from brainscore_vision.metric_helpers.arrays.types import ArrayLike, Labels, NDArray


class Accuracy(Metric):
    """Part of answers that are right."""

    quantity: ClassVar[Quantity | None] = "accuracy"

    def __init__(self, *, compat: bool = False) -> None:
        self._compat = compat

    def __call__(self, source: DataAssembly | ArrayLike, target: DataAssembly | ArrayLike) -> Score:
        """Compare answers along presentation; arrays in their order.

        A further dimension, such as choice, has length one.
        """
        answers, truth = _labels(source, "source"), _labels(target, "target")
        assemblies = [side for side in (source, target) if isinstance(side, xr.DataArray)]
        ids = [side["stimulus_id"].values for side in assemblies if has_coordinate(side, "stimulus_id")]
        if len(ids) == 2:
            answers = answers[matching_order(ids[1], ids[0])]
        elif len(answers) != len(truth):
            raise AssemblyError(
                f"The source has {len(answers)} labels and the target {len(truth)}; expected equal numbers."
            )
        if len(truth) == 0:
            raise AssemblyError("Nothing to compare: source and target are empty.")
        unknown = np.flatnonzero(pd.isna(truth))
        if len(unknown):
            raise AssemblyError(
                f"{len(unknown)} of {len(truth)} target labels are missing, the first at position {unknown[0]}, so no "
                "answer to them can be right or wrong. Leave these presentations out of both sides."
            )
        if (answers.dtype.kind in "OSU") != (truth.dtype.kind in "OSU"):
            raise AssemblyError(
                f"Source labels are {answers.dtype} (such as {answers[0]!r}) and target labels {truth.dtype} (such as "
                f"{truth[0]!r}), so they can never be equal. Convert one side, for example with .astype(str)."
            )
        correct = same_label(answers, truth)
        score = Score(correct.mean())
        coords = coords_along(assemblies[-1], "presentation") if assemblies else {}
        score.attrs["raw"] = Score(correct, coords=coords, dims=["presentation"])
        if self._compat:
            note_error(score, correct.std(), over="presentation", n=len(correct))
        else:
            _say_how_certain(score, correct, ids[-1] if ids else np.arange(len(correct)), coords)
        score.attrs["n_stimuli"] = len(np.unique(ids[-1].astype(str))) if ids else len(correct)
        score.attrs["n_trials"] = len(correct)
        score.attrs["quantity"] = self.quantity
        return score


def _say_how_certain(score: Score, correct: NDArray[np.bool_], stimuli: Labels, coords: Mapping[str, Any]) -> None:
    names = coords["subject"][1] if "subject" in coords else np.zeros(len(correct), dtype=int)
    (subjects, subject), (ids, stimulus) = (
        np.unique(np.asarray(labels).astype(str), return_inverse=True) for labels in (names, stimuli)
    )
    table = np.zeros((2, len(subjects), len(ids)))
    np.add.at(
        table, (slice(None), subject, stimulus), [(correct - correct.mean()) / len(correct), np.ones(len(correct))]
    )
    over, missing = ["stimulus"], "a single stimulus" if len(ids) < 2 else None
    if len(subjects) > 1:
        over, spread = ["stimulus", "subject"], crossed_spread(*table)
        score.attrs["influence"] = crossed_influence(table[0], ids, subjects)
    else:
        spread = spread_of_units(table[0].sum(axis=0))
    interval = proportion_interval(score.item(), spread, len(ids))
    attach_spread(score, spread, over=over, interval=interval, missing=missing)


def _labels(side: DataAssembly | ArrayLike, role: str) -> Labels:
    if side is None:
        raise AssemblyError(f"The {role} is None; expected one label for each presentation. Pass the answers.")
    values = np.asarray(side.values if isinstance(side, xr.DataArray) else side)
    if values.ndim > 1:
        if values.size != max(values.shape):
            raise AssemblyError(
                f"The {role} has shape {values.shape}; accuracy compares one label for each presentation. Take the "
                "most probable choice first, for example with argmax."
            )
        values = values.reshape(-1)
    return values
