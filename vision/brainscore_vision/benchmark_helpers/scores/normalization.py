"""Normalise and clip scores, and state errors of means."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np

from brainscore_core.benchmarks import explained_variance_ratio, validate_quantities
from brainscore_core.errors import AssemblyError, CeilingError
from brainscore_core.metrics import Score
from brainscore_core.metrics.errors import attach_influence, mean_over_units
from brainscore_core.statistics.influence import Influence
from brainscore_vision.metric_helpers.uncertainty.errors import (
    attach_split_error,
    attach_standard_error,
    declare_no_error,
    note_error,
    standard_error,
    standard_error_of_median,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import xarray as xr

    from brainscore_vision.metric_helpers.arrays.types import Floats

__all__ = ["bound_score", "ceiling_of", "neuroid_wise_explained_var", "note_error_over_folds", "note_error_over_units"]

_OF_RAW_ONLY = ("raw", "ceiling", "error", "interval", "quantity")
_ERRORS: dict[Callable[..., Any], Callable[..., float]] = {
    np.mean: standard_error,
    np.nanmean: standard_error,
    np.median: standard_error_of_median,
    np.nanmedian: standard_error_of_median,
}


def bound_score(score: Score) -> None:
    """Clip the values of a score to [0, 1] in place; NaN stays NaN.

    Attributes stay: ``error`` and ``interval`` are those before clipping.
    """
    score.data = np.clip(np.asarray(score.data), 0, 1)


def neuroid_wise_explained_var(
    score: Score, ceiling: Score, aggregate_func: Callable[[Floats], float] = np.mean
) -> Score:
    r"""Normalise each neuroid by its own ceiling, then summarise over neuroids.

    .. math:: \operatorname{aggregate}_i \left( \operatorname{sign}(r_i) \, r_i^2 / \rho_i \right)

    Parameters
    ----------
    score, ceiling
        With an attribute ``raw`` of dims (neuroid[, split]): correlation and reliability of each neuroid; NaN for
        excluded ones. Splits are averaged.
    aggregate_func
        Maps shape (n_neuroids,) to a number.

    Returns
    -------
    Score
        0-d. Attributes: ``raw`` (`score`), ``ceiling``, ``ceiled_scores`` (dims (neuroid)), ``error`` and the
        descriptive attributes of the raw score. The error is over neuroids, for a mean or median, without the effect of
        shared stimuli.

    Raises
    ------
    CeilingError
        If a neuroid's ceiling is not a finite number above 0.
    """
    validate_quantities(score, ceiling, normalization="explained_variance")
    per_neuroid = _mean_over_splits(score.attrs.get("raw"), "score")
    ceilings = _mean_over_splits(ceiling.attrs.get("raw"), "ceiling")
    r, rho = _paired(per_neuroid, ceilings)
    scored = ~np.isnan(r)  # neuroids that never vary may be excluded
    wrong = scored & ~(np.isfinite(rho) & (rho > 0))
    if wrong.any():
        raise CeilingError(
            f"{int(wrong.sum())} of {len(rho)} neuroids have a ceiling that is NaN, zero "
            "or negative; expected numbers above 0. Drop unreliable neuroids first, see filter_reliable_neuroids."
        )
    ratios = np.full(len(r), np.nan)
    ratios[scored] = explained_variance_ratio(r[scored], rho[scored])
    ceiled = per_neuroid.copy(data=ratios)
    ceiled.attrs = {}
    result = Score(float(aggregate_func(ratios[scored])) if scored.any() else float("nan"))
    attrs = {key: value for key, value in score.attrs.items() if not any(part in str(key) for part in _OF_RAW_ONLY)}
    result.attrs.update(attrs, raw=score, ceiling=ceiling, ceiled_scores=ceiled)
    error_of = _ERRORS.get(aggregate_func)
    if error_of is None:
        name = getattr(aggregate_func, "__name__", type(aggregate_func).__name__)
        return declare_no_error(result, f"no standard error is known of {name} over neuroids")
    return note_error(result, error_of(ratios[scored]), over="neuroid", n=int(scored.sum()))


def _paired(per_neuroid: xr.DataArray, ceilings: xr.DataArray) -> tuple[Floats, Floats]:
    ids, ceiling_ids = per_neuroid["neuroid_id"].values, ceilings["neuroid_id"].values
    if len(set(ids)) != len(ids) or set(ids) != set(ceiling_ids) or len(ids) != len(ceiling_ids):
        raise AssemblyError(
            f"The score is about {len(ids)} neuroids and the ceiling about {len(ceiling_ids)}; expected the same "
            "unique neuroid_id in both. Compute the ceiling from the neuroids that are scored."
        )
    position = {neuroid_id: index for index, neuroid_id in enumerate(ceiling_ids)}
    rho = np.asarray(ceilings.values, dtype=float)[[position[neuroid_id] for neuroid_id in ids]]
    return np.asarray(per_neuroid.values, dtype=float), rho


def _mean_over_splits(raw: xr.DataArray | None, what: str) -> xr.DataArray:
    if raw is None or "neuroid" not in getattr(raw, "dims", ()):
        raise AssemblyError(
            f"The {what} keeps no values for each neuroid: expected its attribute 'raw' with dims (neuroid[, split]). "
            "Use a metric and a ceiling that keep them, or per_voxel_ceilings=False."
        )
    return raw.mean(dim="split") if "split" in raw.dims else raw


def ceiling_of(neuroids: xr.DataArray, ceiling: Score, *, alike: str | None = None) -> Score:
    """Return the ceiling of some neuroids: the mean over splits of their median in ``raw``.

    Without values in ``raw`` it is the ceiling itself. `alike` is another coordinate to match, such as ``'subject'``,
    as many data sets number neuroids per subject.
    """
    per_neuroid = ceiling.attrs.get("raw")
    if per_neuroid is None or "neuroid" not in per_neuroid.dims:
        return ceiling
    selected = np.isin(per_neuroid["neuroid_id"].values, neuroids["neuroid_id"].values)
    if alike is not None and alike in per_neuroid.coords:
        selected &= np.isin(per_neuroid[alike].values, neuroids[alike].values)
    if not selected.any():
        raise AssemblyError(
            f"The ceiling is of none of the {neuroids.sizes['neuroid']} neuroids that are scored, such as "
            f"{neuroids['neuroid_id'].values[:3].tolist()}. Compute it from the same recordings."
        )
    values = per_neuroid[{"neuroid": np.flatnonzero(selected)}]
    medians = np.nanmedian(np.asarray(values.values, dtype=float), axis=values.dims.index("neuroid"))
    result = Score(float(np.mean(medians)))
    result.attrs["raw"] = values
    return result


def note_error_over_units(score: Score, scores: Mapping[str, Score], unit: str) -> Score:
    """Attach the error of a mean over units, such as subjects.

    It is over new stimuli and new units if all scores have influences (`mean_over_units`), otherwise over the units
    alone; NaN for a single unit.
    """
    if len(scores) > 1 and all(
        isinstance(unit_score.attrs.get("influence"), Influence) for unit_score in scores.values()
    ):
        attrs = mean_over_units(scores, unit=unit).attrs
        score.attrs.update({name: value for name, value in attrs.items() if name != "raw"})
        return score
    return attach_standard_error(score, np.array([float(unit_score) for unit_score in scores.values()]), over=unit)


def note_error_over_folds(score: Score, scores: Sequence[Score]) -> Score:
    """Attach the error of a mean over folds of one data set.

    ``error`` and ``interval`` follow from the mean influence, if all scores have influences; otherwise ``error`` is
    NaN. ``split_error`` is over folds.
    """
    attach_split_error(score, np.array([float(fold_score) for fold_score in scores]))
    influences = [fold_score.attrs.get("influence") for fold_score in scores]
    stated = [influence for influence in influences if isinstance(influence, Influence)]
    if not influences or len(stated) < len(influences):
        return declare_no_error(score, "folds share their data, and their scores do not say how stimuli move them")
    return attach_influence(score, reduce(add, stated) * (1 / len(stated)))
