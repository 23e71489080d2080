"""Score how alike single neuroids are, each with its own partners on the other side.

Partners are those whose correlations over training stimuli add up to most; they are correlated over test stimuli:

- `one_to_one`: every neuroid of the target has one of the source for itself, ``score = mean_s median_j r(x_pi(j),
  y_j)`` with ``pi = argmax sum_j r(x_pi(j), y_j)`` over injective maps.
- `soft_matching`: masses are moved from source neuroids, 1 / p each, to target neuroids, 1 / q each: ``score = mean_s
  sum_ij T_ij r(x_i, y_j)`` with the plan T that maximises this sum on training stimuli. With
  p = q it is an assignment.

- Input: as of all metrics.
- Output: Score in [-1, 1], a correlation (not explained variance); ``raw`` has dims (split, neuroid), for
  `soft_matching` ``q sum_i T_ij r(x_i, y_j)``. NaN if either side is the same for all stimuli.
- Invariances: order of stimuli and of neuroids; shift and positive scaling of each neuroid on either side. Not of
  rotations: what single neuroids are tuned to counts. `soft_matching` also: exchange of the sides with the same splits,
  and copies of all neuroids of a side.
- When: single neuroids are to correspond. `neuron_to_neuron` lets target neuroids share a few good units; `one_to_one`
  needs as many as were recorded; `soft_matching` is lower for models with units that the recording lacks.
- Time: twice and some twenty times that of `neuron_to_neuron` (`perf/costs.py`).
- Ceiling: `internal_consistency`, with `explained_variance`.

References
----------
Khosla & Williams (2024), arXiv:2311.09466.
Li et al. (2016), arXiv:1511.07543.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from brainscore_core.metrics import Metric, Score
from brainscore_core.metrics.errors import attach_influence
from brainscore_core.statistics.influence import Influence
from brainscore_vision.metric_helpers import Defaults
from brainscore_vision.metric_helpers.arrays.influence import mean_influence
from brainscore_vision.metric_helpers.arrays.matching.transport import soft_matching_splits
from brainscore_vision.metric_helpers.arrays.summaries import mean_known
from brainscore_vision.metric_helpers.labelled.alignment import coordinate, matching_order
from brainscore_vision.metric_helpers.labelled.cross_validation import CrossValidation
from brainscore_vision.metric_helpers.labelled.uncertainty import unique_names
from brainscore_vision.metric_helpers.regression.estimators import Assignment, PearsonR
from brainscore_vision.metric_helpers.regression.metrics import CrossRegressedCorrelation
from brainscore_vision.metric_helpers.regression.on_assemblies import XarrayCorrelation, XarrayRegression
from brainscore_vision.metric_helpers.regression.sides import Side, as_array, in_ordinary_units, take_rows
from brainscore_vision.metric_helpers.uncertainty.errors import attach_split_error

if TYPE_CHECKING:
    from brainscore_core.metrics import Quantity
    from brainscore_vision.metric_helpers.regression.sides import Features

Options = Mapping[str, Any] | None  # arguments of `CrossValidation`


def one_to_one(crossvalidation_kwargs: Options = None) -> CrossRegressedCorrelation:
    """Make the metric ``one_to_one``, which raises a ValueError if the target has more neuroids than the source."""
    return CrossRegressedCorrelation(
        XarrayRegression(Assignment()), XarrayCorrelation(PearsonR()), crossvalidation_kwargs
    )


class SoftMatching(Metric):
    """Correlation of neuroids that are matched in parts."""

    quantity: ClassVar[Quantity] = "correlation"
    of_any_unit: ClassVar = ("source", "target")  # see `in_ordinary_units`

    def __init__(self, crossvalidation_kwargs: Options = None) -> None:
        kwargs = {"train_size": 0.9, "test_size": None, **(crossvalidation_kwargs or {})}
        self.cross_validation = CrossValidation(**kwargs)

    def __call__(self, source: Features, target: Features) -> Score:
        """Compare; the source may be `StreamedFeatures`."""
        x, y = Side.of(source, "source"), Side.of(target, "target")
        neuroids = y.neuroids()
        stimuli, shown_to_model = (coordinate(side.labels, Defaults.stimulus_coord) for side in (y, x))
        plan = self.cross_validation.plan(y.labels)
        features = take_rows(x.finite(), matching_order(stimuli, shown_to_model))
        (features,) = in_ordinary_units([features], "source", self)
        (responses,) = in_ordinary_units([as_array(y.columns(neuroids.used))], "target", self)
        splits = plan.presentations(y.labels)
        matches = soft_matching_splits(features, responses, splits)
        raw = y.labelled(np.stack([match.scores for match in matches]), neuroids)
        means = mean_known(raw.values, axis=1)
        score = attach_split_error(Score(means.mean()), means)
        names, place = np.unique(stimuli, return_inverse=True)
        cells = np.zeros((len(names), int(neuroids.used.sum())))
        for (_, test), match in zip(splits, matches, strict=True):
            np.add.at(cells, place[test], match.influence / len(matches))
            cells += mean_influence(match.scores) / (len(matches) * len(names))
        units = unique_names(neuroids.names[neuroids.used])
        attach_influence(
            score, Influence(cells if np.isfinite(score) else cells * np.nan, names, units), scale="fisher"
        )
        if undefined := sum(int(np.isnan(match.scores).sum()) for match in matches):
            score.attrs["n_undefined"] = undefined
        score.attrs.update(raw=raw, **plan.notes, **neuroids.attrs)
        score.attrs.update(n_stimuli=len(names), quantity=self.quantity)
        return score
