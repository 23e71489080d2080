"""Score whether a model solves images in the order of IT (object solution times).

In every split a linear decoder of the object is trained for each time bin of the model's responses. The model's
solution time of an image is when its d' against other objects (I1 of Rajalingham et al. 2018), interpolated between
bins, reaches the given one.

    ``score = mean_s spearman(t_model, t_IT)`` over the held-out images of split ``s`` that both solve

- Input: source, dims (presentation, neuroid, time_bin), with `stimulus_id`, `image_label` and `time_bin_start`, each
  stimulus once; target, dims (presentation), solution times in ms, NaN for images that are never solved, with
  `stimulus_id` and `i1`, the d' to reach.
- Output: Score in [-1, 1], a correlation; ``raw`` has dim (split).
- Invariances: order of presentations of the source; shift and positive scaling of each of its neuroids; increasing
  functions of the target.
- Error: over new images of the tests, with the same decoders. `compat=True` gives the ``split_error``.
- When: models whose responses change over time; of others the score is NaN.

The decoder is the minimum of the published objective, that of scikit-learn's `LogisticRegression` with ``C = 1 / (0.463
n)`` and a penalised intercept. ``compat=True`` takes the published 40 passes of small steps (1e-4); the first weights
are other draws.

References
----------
Kar et al. (2019), doi:10.1038/s41593-019-0392-5;
Kubilius, Schrimpf et al. (2019), arXiv:1909.06161;
Rajalingham et al. (2018), doi:10.1523/JNEUROSCI.0388-18.2018.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from brainscore_core.errors import AssemblyError
from brainscore_core.metrics import Metric, Score
from brainscore_vision.metric_helpers import Defaults
from brainscore_vision.metric_helpers.arrays.behavior.object_patterns import image_dprimes, two_way_rates
from brainscore_vision.metric_helpers.arrays.correlation import spearman
from brainscore_vision.metric_helpers.arrays.regression.decoding import (
    briefly_decoded_probabilities,
    decoded_probabilities,
    solution_times,
)
from brainscore_vision.metric_helpers.arrays.scale import ordinary
from brainscore_vision.metric_helpers.arrays.summaries import mean_known
from brainscore_vision.metric_helpers.labelled.alignment import (
    coordinate,
    has_coordinate,
    matching_order,
    matrix,
    require_assembly,
)
from brainscore_vision.metric_helpers.labelled.cross_validation import CrossValidation
from brainscore_vision.metric_helpers.labelled.gather import one_each
from brainscore_vision.metric_helpers.uncertainty.crossed import attach_spread, spread_of_units, t_interval
from brainscore_vision.metric_helpers.uncertainty.errors import attach_split_error, attach_standard_error

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly
    from brainscore_vision.metric_helpers.arrays.types import Floats, Indices

_BLOCK_BYTES = 2**28  # training responses of the time bins that are decoded together


class OSTCorrelation(Metric):
    """Correlation of object solution times.

    Parameters
    ----------
    crossvalidation_kwargs
        By default 10 splits with 10 % test stimuli, not stratified.
    label_coord
        Coordinate of the object, of source or else target.
    compat
        Train decoders as briefly, and split stimuli, as published.
    seed
        Seed of the initial weights with `compat`.
    """

    quantity: ClassVar = "correlation"

    def __init__(
        self,
        crossvalidation_kwargs: Mapping[str, Any] | None = None,  # arguments of `CrossValidation`
        *,
        label_coord: str = "image_label",
        compat: bool = False,
        seed: int = 0,
    ) -> None:
        own = {"stratification_coord": None, "splits": 10, "test_size": 0.1, "compat": compat}
        kwargs = {**own, **(crossvalidation_kwargs or {})}
        self._cross_validation = CrossValidation(**kwargs)
        self._label_coord = label_coord
        self._compat = compat
        self._seed = seed

    def __call__(self, source_recordings: DataAssembly, target_osts: DataAssembly) -> Score:
        """Compare.

        Attrs also hold ``n_undefined`` (splits with fewer than two images, or no two different times: NaN in ``raw``)
        and ``n_unsolved`` (images that the model does not solve, summed over splits).
        """
        for assembly in (source_recordings, target_osts):
            require_assembly(assembly)
        if "time_bin" not in source_recordings.dims:
            raise AssemblyError(
                f"Solution times need responses in several time bins; the source has dimensions "
                f"{tuple(source_recordings.dims)}. Record with candidate.start_recording('IT', time_bins=[...])."
            )
        ids = [coordinate(part, Defaults.stimulus_coord) for part in (target_osts, source_recordings)]
        rows = matching_order(*ids)
        labels = self._labels(source_recordings, target_osts, rows)
        starts = coordinate(source_recordings, "time_bin_start").astype(float)
        bins = np.argsort(starts, kind="stable")
        (responses,) = ordinary(matrix(source_recordings, ("time_bin", *Defaults.expected_dims), role="source"))
        if not np.isfinite(responses.sum()):
            raise AssemblyError("The source assembly has NaN or infinite values. A model's activations must be finite.")
        measured = matrix(target_osts, ("presentation",), role="target")
        threshold = coordinate(target_osts, "i1").astype(float)
        plan = self._cross_validation.plan(target_osts)
        correlations, moved, unsolved = [], [], 0
        for train, test in plan.presentations(target_osts):
            accuracy = self._accuracy(responses, bins, (rows[train], rows[test]), (labels[train], labels[test]))
            times = solution_times(accuracy, starts[bins], threshold[test])
            unsolved += int(np.isnan(times).sum())
            both = ~np.isnan(times) & ~np.isnan(measured[test])
            correlations.append(spearman(times[both], measured[test][both]))
            moved.append(np.zeros(len(rows)))
            moved[-1][test[both]] = _influences(times[both], measured[test][both])
        score = self._score(np.array(correlations), plan.notes, n_stimuli=len(rows), n_unsolved=unsolved)
        return score if self._compat else _with_error(score, np.array(moved))

    def _labels(self, source: DataAssembly, target: DataAssembly, rows: Indices) -> Indices:
        for assembly, order in ((source, rows), (target, slice(None))):
            if has_coordinate(assembly, self._label_coord):
                named = coordinate(assembly, self._label_coord).astype(str)[order]
                return np.asarray(np.unique(named, return_inverse=True)[1], dtype=np.intp)
        raise AssemblyError(
            f"Neither source nor target has a coordinate {self._label_coord!r} that names the object in each image. "
            "Add it, or say which one does: load_metric('ost', label_coord='object_name')."
        )

    def _accuracy(
        self, responses: Floats, bins: Indices, rows: tuple[Indices, Indices], labels: tuple[Indices, Indices]
    ) -> Floats:
        """Decode the test images in every bin; I1 of shape (bins, images)."""
        (train, test), (known, truth) = rows, labels
        n_classes = int(max(known.max(), truth.max())) + 1
        width = max(1, _BLOCK_BYTES // (8 * len(train) * responses.shape[2]))
        probabilities = []
        for start in range(0, len(bins), width):
            block = responses[bins[start : start + width]]
            parts = (block[:, train], known, block[:, test], n_classes)
            if self._compat:
                probabilities.append(briefly_decoded_probabilities(*parts, seed=self._seed))
            else:
                probabilities.append(decoded_probabilities(*parts))
        decoded = np.concatenate(probabilities)
        rates = two_way_rates(decoded.reshape(-1, n_classes), np.tile(truth, len(bins))).reshape(decoded.shape)
        return mean_known(image_dprimes(rates, truth), axis=2)

    def _score(self, correlations: Floats, notes: Mapping[str, object], **counts: int) -> Score:
        defined = correlations[~np.isnan(correlations)]
        score = Score(defined.mean() if len(defined) else np.nan)
        score.attrs["raw"] = one_each(correlations, "split")
        if self._compat:
            attach_standard_error(score, defined, over="split")
        else:
            attach_split_error(score, defined)
        score.attrs.update(notes, **counts, n_undefined=len(correlations) - len(defined), quantity=self.quantity)
        return score


def _influences(times: Floats, measured: Floats) -> Floats:
    """Return how leaving out each image moves the rank correlation; 0 where nothing is left."""
    n = len(times)
    without = np.array([spearman(np.delete(times, image), np.delete(measured, image)) for image in range(n)])
    defined = ~np.isnan(without)
    if not defined.any():
        return np.zeros(n)
    return np.where(defined, (without[defined].mean() - without) * (n - 1) / n, 0.0)


def _with_error(score: Score, moved: Floats) -> Score:
    defined = ~np.isnan(score.raw.values)
    tested = (moved != 0).any(axis=0)
    spread = spread_of_units(moved[defined][:, tested].mean(axis=0) if defined.any() else [])
    missing = None if tested.sum() > 1 else "fewer than two images are solved by both sides"
    return attach_spread(score, spread, over=["stimulus"], interval=t_interval(score.item(), spread), missing=missing)
