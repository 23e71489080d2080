"""Ceilings for metrics of geometry and time courses."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from brainscore_core.metrics import Score
from brainscore_core.metrics.errors import attach_influence
from brainscore_core.statistics.influence import Influence
from brainscore_vision.loading import load_ceiling
from brainscore_vision.metric_helpers.arrays.correlation import constant_columns
from brainscore_vision.metric_helpers.uncertainty.errors import attach_split_error, declare_no_error

if TYPE_CHECKING:
    import xarray as xr

    from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
    from brainscore_vision.metric_helpers.arrays.types import Floats

__all__ = ["ceiling_over_time", "geometry_ceiling", "over_time"]

_OF_BINS = {"raw", "error", "interval", "influence", "split_error", "error_over", "error_nan_reason"}
_SILENT = "the values in time bins do not say how single stimuli and neuroids move them"


def geometry_ceiling(metric: Callable[..., Score], repetitions: NeuroidAssembly) -> Score:
    r"""Return the score of a population's true geometry: :math:`\sqrt{\rho}`.

    The reliability :math:`\rho` is the metric between random halves of the single `repetitions`, stepped up to all of
    them (Spearman-Brown). This holds for metrics that correlate geometries, such as ``rdm``, and for unbiased ``cka``.
    Attributes also hold the ``reliability``.
    """
    reliability = load_ceiling("internal_consistency", consistency_metric=metric)(repetitions)
    ceiling = Score(np.sqrt(max(float(reliability), 0.0)))
    attrs = {key: value for key, value in reliability.attrs.items() if key not in {*_OF_BINS, "quantity"}}
    ceiling.attrs.update(attrs, reliability=reliability, quantity=getattr(metric, "quantity", None))
    ceiling.attrs["estimator"] = f"root of the reliability: {reliability.attrs['estimator']}"
    ceiling.attrs.pop("stimulus_error", None)
    influence = reliability.attrs.get("influence")
    if isinstance(influence, Influence) and ceiling > 0:
        return attach_influence(ceiling, influence * (1 / (2 * float(ceiling))), scale="fisher")
    return declare_no_error(ceiling, reliability.attrs.get("error_nan_reason", "the geometry is not reliable"))


def over_time(metric: Callable[..., Score]) -> Callable[[xr.DataArray, xr.DataArray], Score]:
    r"""Combine the correlations of all time bins into one: the root of their mean square, with its sign.

    With `ceiling_over_time`, `explained_variance` gives :math:`\sum_t \operatorname{sign}(r_t) r_t^2 / \sum_t \rho_t`:
    bins weigh by their reliability.

    The `metric`, such as ``spantime_pls``, returns correlations, dims (time_bin), which are kept as ``per_time_bin``.
    Bins with a constant target are excluded; one that the source does not predict counts as 0.
    """

    def compare(source: xr.DataArray, target: xr.DataArray) -> Score:
        per_bin = metric(source, target)
        blocks = target.transpose("time_bin", "presentation", "neuroid").values
        starts = target["time_bin_start"].values.tolist()
        varies = {start: not constant_columns(block).all() for start, block in zip(starts, blocks, strict=True)}
        counted = np.flatnonzero([varies[start] for start in per_bin["time_bin_start"].values.tolist()])
        score = Score(_signed_root(per_bin.values[counted]))
        score.attrs.update({key: value for key, value in per_bin.attrs.items() if key not in _OF_BINS})
        score.attrs["per_time_bin"] = per_bin
        splits = _medians(per_bin)
        if splits is not None:
            attach_split_error(score, np.array([_signed_root(row[counted]) for row in splits]))
        weights = np.zeros(len(per_bin))
        if score:  # the root has no slope at 0
            weights[counted] = np.abs(np.nan_to_num(per_bin.values[counted])) / (len(counted) * abs(float(score)))
        return _attach(score, per_bin, weights)

    return compare


def ceiling_over_time(reliabilities: Score) -> Score:
    """Average the reliabilities of all time bins, kept as ``per_time_bin``, for `over_time`; NaN in excluded bins."""
    ceiling = Score(np.nanmean(reliabilities.values))
    ceiling.attrs.update({key: value for key, value in reliabilities.attrs.items() if key not in _OF_BINS})
    ceiling.attrs["per_time_bin"] = reliabilities
    splits = _medians(reliabilities)
    if splits is not None:
        attach_split_error(ceiling, np.nanmean(splits, axis=1))
    defined = ~np.isnan(reliabilities.values)
    return _attach(ceiling, reliabilities, defined / max(defined.sum(), 1))


def _attach(score: Score, per_bin: Score, weights: Floats) -> Score:
    """Add up the influences of time bins; weights, shape (n_bins,), are derivatives of the score by their values."""
    influences = per_bin.attrs.get("influence")
    if influences is None or not weights.any():
        return declare_no_error(score, _SILENT if influences is None else "the score is 0, where its root has no slope")
    parts = [influence * float(weight) for influence, weight in zip(influences, weights, strict=True) if weight]
    return attach_influence(score, reduce(operator.add, parts), scale="fisher")


def _medians(per_bin: Score) -> Floats | None:
    raw = per_bin.attrs.get("raw")
    if raw is None or set(raw.dims) != {"split", "time_bin", "neuroid"}:
        return None
    values = np.asarray(raw.transpose("split", "time_bin", "neuroid").values, dtype=float)
    medians = np.full(values.shape[:2], np.nan)
    defined = ~np.isnan(values).all(axis=2)
    medians[defined] = np.nanmedian(values[defined], axis=1)
    return medians


def _signed_root(correlations: Floats) -> float:
    values = np.nan_to_num(correlations)
    mean = float(np.mean(np.sign(values) * values**2))
    return float(np.sign(mean) * np.sqrt(abs(mean)))
