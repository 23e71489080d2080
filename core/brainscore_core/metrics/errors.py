"""Attach errors over new stimuli and units to scores, also normalised ones, and average scores over units."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING

import numpy as np

from brainscore_core.errors import ContractError
from brainscore_core.metrics._score import Score
from brainscore_core.statistics import FEW_CLUSTERS, FEW_STIMULI
from brainscore_core.statistics.influence import Influence, fieller_interval

if TYPE_CHECKING:
    from brainscore_core.statistics.influence import Scale

__all__ = ["attach_influence", "mean_over_units", "over_clusters", "propagate"]

_OF_STIMULI = ("error_df", "error_nan_reason", "interval", "interval_nan_reason", "interval_method")


def attach_influence(score: Score, influence: Influence, *, scale: Scale = "identity") -> Score:
    """Write errors and interval of a 0-d score, from its influences, into its attributes, and return it.

    The attrs are ``error`` (standard error over new stimuli and units), ``error_over`` (such as
    ``['stimulus', 'neuroid']``), ``stimulus_error`` (over new stimuli only), ``interval`` (95 %: low, high) on
    ``interval_scale``, ``influence``, ``error_nan_reason`` if the error is NaN, and ``few_stimuli`` below
    `brainscore_core.statistics.FEW_STIMULI`.
    """
    attrs: dict[str, object] = {
        "error": influence.error,
        "error_over": [influence.stimulus, influence.unit],
        "stimulus_error": influence.stimulus_error,
        "interval": influence.interval(float(score), scale=scale),
        "interval_scale": scale,
        "influence": influence,
    }
    for name in ("error_nan_reason", "few_stimuli"):
        score.attrs.pop(name, None)
    if influence.stimulus == "stimulus" and (n := len(influence.stimuli)) < FEW_STIMULI:
        attrs["few_stimuli"] = f"few stimuli: {n}, so the error is uncertain and the interval wide"
    if influence.why_unknown is not None:
        attrs["error_nan_reason"] = influence.why_unknown
    score.attrs.update(attrs)
    return score


def over_clusters(score: Score, clusters: Mapping[str, str], coordinate: str) -> Score:
    """Return a 0-d score with errors over new clusters of stimuli, also of its raw score and ceiling.

    A part without influences of stimuli keeps its errors.

    Parameters
    ----------
    clusters : mapping of str to str
        Stimulus -> cluster, such as the object in a picture; a stimulus without one is a `ContractError`.
    coordinate : str
        Coordinate with the clusters, such as ``'object_name'``.

    Returns
    -------
    Score
        A copy. ``error_over`` names `coordinate` in place of ``'stimulus'``; ``n_clusters`` is their number. With fewer
        than `brainscore_core.statistics.FEW_CLUSTERS`, ``few_clusters`` is set, and ``interval`` includes the one over
        stimuli.
    """
    result = score.copy(deep=False)
    result.attrs = dict(score.attrs)
    for name in ("raw", "ceiling"):
        part = score.attrs.get(name)
        if isinstance(part, Score) and part.ndim == 0:
            result.attrs[name] = over_clusters(part, clusters, coordinate)
    is_ratio = "normalization" in score.attrs
    influence = (result.attrs["raw"] if is_ratio else score).attrs.get("influence")
    if not isinstance(influence, Influence) or "stimulus" not in score.attrs.get("error_over", ()):
        return result
    narrow = score.attrs.get("interval")
    for name in _OF_STIMULI:
        result.attrs.pop(name, None)
    if is_ratio:
        squared, chance = score.attrs["normalization"] == "explained_variance", score.attrs.get("chance", 0.0)
        propagate(result.attrs["raw"], result.attrs["ceiling"], result, squared=squared, chance=chance)
    else:
        influence = _grouped(influence, clusters, coordinate)
        attach_influence(result, influence, scale=score.attrs.get("interval_scale", "identity"))
    n = result.attrs["n_clusters"] = len(influence.stimuli)
    if n < FEW_CLUSTERS:
        result.attrs["few_clusters"] = f"few clusters: {n} of {coordinate}, so the interval is the wider one"
        if narrow is not None and "interval" in result.attrs:
            ends = zip(narrow, result.attrs["interval"], strict=True)
            result.attrs["interval"] = tuple(choose(pair) for choose, pair in zip((min, max), ends, strict=True))
    return result


def _grouped(influence: Influence, clusters: Mapping[str, str], coordinate: str) -> Influence:
    names = influence.stimuli.astype(str).tolist()
    unknown = [name for name in names if name not in clusters]
    if unknown:
        raise ContractError(
            f"{len(unknown)} stimuli that the score depends on have no {coordinate!r}, such as {unknown[0]!r}. Use a "
            "metric that names stimuli by stimulus_id, or set no cluster."
        )
    return influence.over_clusters(np.array([clusters[name] for name in names], dtype=object), coordinate)


def mean_over_units(scores: Mapping[str, Score], *, unit: str = "subject") -> Score:
    """Average the 0-d scores of sampled units, such as subjects.

    Only the stimuli of their ``attrs['influence']`` count (`ContractError` without it). If ``attrs['stimulus_set']``
    differs, equal names are different stimuli.

    Returns
    -------
    Score
        0-d, with attrs ``raw`` (Score, dims (`unit`)) and those of `attach_influence`.
    """
    for name, score in scores.items():
        if not isinstance(score.attrs.get("influence"), Influence):
            raise ContractError(
                f"The score of {unit} {name!r} has no influences of stimuli (attrs['influence']), so the mean has no "
                "error. Average the plain numbers, or use a metric with influences."
            )
    names, n = np.array(list(scores), dtype=object), len(scores)
    values = np.array([float(score) for score in scores.values()])
    sets = [score.attrs.get("stimulus_set") for score in scores.values()]
    whole = [score.attrs["influence"] for score in scores.values()]
    if len(set(sets)) > 1:
        whole = [influence.within(stimuli=f"{name}/") for influence, name in zip(whole, sets, strict=True)]
    margins = [
        replace(
            influence,
            cells=influence.by_stimulus[:, None],
            units=names[[place]],
            unit=unit,
            columns=None,
            of_units=None,
            freedom=np.inf,
        )
        for place, influence in enumerate(whole)
    ]
    table = reduce(add, margins)
    influence = Influence.of_margins(
        table.stimuli,
        table.units,
        table.cells.sum(axis=1) / n,
        (values - values.mean()) / math.sqrt(max(n * (n - 1), 1)),
        table.cells / math.sqrt(max(n * (n - 1), 1)),
        unit=unit,
    )
    influence = replace(influence, stimulus=table.stimulus, stimulus_freedom=table.stimulus_freedom)
    result = Score(values.mean())
    result.attrs["raw"] = Score(values, coords={unit: names.astype(str)}, dims=[unit])
    return attach_influence(result, influence)


UNCERTAIN_CEILING = "the ceiling does not differ from 0, so that any ratio to it is possible"


def propagate(raw: Score, ceiling: Score, normalized: Score, *, squared: bool, chance: float = 0.0) -> bool:
    r"""Write error, interval and influences of a ratio, or of a square over a ceiling, into its attributes.

    A squared score is :math:`\operatorname{sign}(t) t^2` of :math:`t = r / \sqrt{\rho}`: its interval is that of t with
    squared ends; its variance :math:`4 t^2 V_t + 2 V_t^2` does not vanish at t = 0. A ceiling without influences counts
    as exact. Does nothing unless all are 0-d.

    Parameters
    ----------
    squared
        Whether the normalised score is ``raw * abs(raw) / ceiling`` instead of ``raw / ceiling``.
    chance
        Subtracted from raw score and ceiling.

    Returns
    -------
    bool
        Whether the raw score has influences. Otherwise only its interval is propagated, if the ceiling is exact.
    """
    of_raw, of_ceiling = (score.attrs.get("influence") for score in (raw, ceiling))
    if normalized.ndim or not np.isfinite(float(normalized)):
        return False
    score, top = float(raw) - chance, float(ceiling) - chance
    divisor = np.sqrt(top) if squared else top
    if not isinstance(of_raw, Influence):
        if "interval" in raw.attrs and not isinstance(of_ceiling, Influence):
            low, high = ((float(end) - chance) / divisor for end in raw.attrs["interval"])
            normalized.attrs["interval"] = (low * abs(low), high * abs(high)) if squared else (low, high)
        return False
    ratio = score / divisor
    influence = of_raw * (1 / divisor)
    if isinstance(of_ceiling, Influence):
        of_divisor = of_ceiling * (1 / (2 * divisor)) if squared else of_ceiling
        influence = influence - of_divisor * (ratio / divisor)
        low, high = fieller_interval(score, divisor, of_raw, of_divisor)
    else:
        low, high = ((float(end) - chance) / divisor for end in raw.attrs.get("interval", of_raw.interval(score)))
    attach_influence(normalized, influence * (2 * abs(ratio)) if squared else influence)
    if squared:
        normalized.attrs["error"] = float(np.sqrt(4 * ratio**2 * influence.error**2 + 2 * influence.error**4))
        low, high = low * abs(low), high * abs(high)
    normalized.attrs["interval"] = (low, high)
    if np.isnan((low, high)).any() and "error_nan_reason" not in normalized.attrs:
        normalized.attrs["interval_nan_reason"] = UNCERTAIN_CEILING
    return True
