"""Checks of a benchmark's parts, and of its metric's and model's results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from brainscore_core.errors import AssemblyError, ContractError
from brainscore_core.metrics import Score, described, single_score
from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
from brainscore_vision.metric_helpers.labelled.alignment import has_coordinate
from brainscore_vision.utils import loaded

if TYPE_CHECKING:
    from brainscore_vision.model_interface import BrainModel

__all__ = [
    "answer_of",
    "check_standard_format",
    "checked_metric",
    "checked_recordings",
    "compare",
    "name_tested",
    "say_why_undefined",
    "score_of_constant",
]


def checked_metric(metric: Any, *, benchmark: str, name: str = "similarity_metric") -> Callable[..., Any]:
    """Return a metric if it can be called with assemblies; `ContractError` for a text, a class or None."""
    if callable(metric) and not isinstance(metric, type):
        return metric  # type: ignore[no-any-return]  # whatever the plugin calls a metric
    remedy = f"Load one: {name}=load_metric({metric if isinstance(metric, str) else 'pls'!r})."
    if isinstance(metric, type):
        remedy = f"Make one of the class: {name}={metric.__name__}(...)."
    raise ContractError(
        f"The {name} of benchmark {benchmark!r} is {described(metric)}; expected a metric, which is called with the "
        f"assemblies of a model and of the measurement. {remedy}"
    )


def checked_recordings(assembly: Any, *, benchmark: str) -> NeuroidAssembly:
    """Return a benchmark's measurements; `AssemblyError` unless they are labelled real numbers, and not empty."""
    whose = f"The assembly of benchmark {benchmark!r}"
    assembly = loaded(assembly)
    if not isinstance(assembly, xr.DataArray):
        remedy = (
            f"Load it: load_dataset({assembly!r})."
            if isinstance(assembly, str)
            else "Label it: NeuroidAssembly(values, coords={'stimulus_id': ('presentation', [...]), 'neuroid_id': "
            "('neuroid', [...]), 'region': ('neuroid', [...])}, dims=['presentation', 'neuroid'])."
        )
        raise AssemblyError(f"{whose} is {described(assembly)}; expected a NeuroidAssembly. {remedy}")
    if not assembly.size:
        raise AssemblyError(
            f"{whose} is empty: its sizes are {dict(assembly.sizes)}. A selection matched nothing; compare the "
            "selected values with those present, such as np.unique(assembly['region'])."
        )
    if assembly.dtype.kind not in "biuf":
        raise AssemblyError(
            f"{whose} holds values of type {assembly.dtype}; expected real numbers. Convert them, such as by "
            "assembly.astype(float)."
        )
    return assembly  # type: ignore[return-value]  # any labelled array will do


def compare(metric: Callable[..., Any], *assemblies: Any, benchmark: str, **named: Any) -> Score:
    """Return ``metric(*assemblies, **named)``; `ContractError` unless that is one finite or NaN 0-d score."""
    whole = metric.func if isinstance(metric, partial) else metric
    name = getattr(whole, "__name__", type(whole).__name__)
    return single_score(metric(*assemblies, **named), by=f"metric {name!r} of benchmark {benchmark!r}")


def name_tested(score: Score, assembly: xr.DataArray) -> None:
    """Write the measurements' identifiers into a score, to let averages recognise shared data."""
    for key, source in (("stimulus_set", "stimulus_set_identifier"), ("assembly", "identifier")):
        if assembly.attrs.get(source):
            score.attrs[key] = str(assembly.attrs[source])


def answer_of(candidate: BrainModel, answer: Any, dims: Sequence[str]) -> Any:
    """Return a model's answer if it is an assembly with ``stimulus_id`` and at least these dimensions.

    `AssemblyError` also if it is empty, or has neuroids but no real numbers.
    """
    whose = f"Model {getattr(candidate, 'identifier', type(candidate).__name__)!r} answered"
    names = " and ".join(map(repr, dims))
    expected = f"expected an assembly with the dimension{'s' * (len(dims) > 1)} {names}, which look_at returns"
    expected += " while it records." if "neuroid" in dims else " for a task."
    if not hasattr(answer, "dims"):
        raise AssemblyError(f"{whose} with {described(answer)}; {expected}")
    if not set(dims) <= set(answer.dims):
        actual = f"dimensions {tuple(answer.dims)} of sizes {tuple(answer.shape)}"
        raise AssemblyError(f"{whose} with {actual}; {expected}")
    if not answer.size:
        raise AssemblyError(
            f"{whose} with nothing: the sizes are {dict(answer.sizes)}. Check how its layers, units or "
            "stimuli are selected."
        )
    if not has_coordinate(answer, "stimulus_id"):
        coords = [str(name) for name in answer.coords]
        raise AssemblyError(
            f"{whose} without the coordinate 'stimulus_id', so its stimuli cannot be identified; it has "
            f"{', '.join(coords) or 'none'}. Keep the columns of the stimulus set: "
            "coords={'stimulus_id': ('presentation', stimuli['stimulus_id'].to_numpy()), ...}."
        )
    if "neuroid" in dims and answer.dtype.kind not in "biuf":
        raise AssemblyError(f"{whose} with values of type {answer.dtype}; expected real numbers, its activity.")
    return answer


def score_of_constant(candidate: BrainModel, ceiling: Score, *sources: xr.DataArray) -> Score | None:
    """Return NaN, with the reason, for a model that gives the same answer to all stimuli, otherwise None."""
    rows_of = [np.moveaxis(source.values, source.get_axis_num("presentation"), 0) for source in sources]
    # Comparing stops at the first difference.
    constant = [rows for rows in rows_of if len(rows) > 1 and all(np.array_equal(row, rows[0]) for row in rows[1:])]
    if not constant:
        return None
    score = Score(float("nan"))
    reason = (
        f"Model {candidate.identifier!r} answers the same to all of {len(constant[0])} stimuli, so "
        "that there is nothing to compare. Look at its weights, at its preprocessing and at the layer that stands for "
        "the region."
    )
    score.attrs.update(raw=Score(float("nan")), ceiling=ceiling, not_applicable=reason)
    return score


def say_why_undefined(score: Score, candidate: BrainModel) -> None:
    """Add the reason (``not_applicable``) to a score that is NaN, unless it states one."""
    if not np.isnan(float(score)) or score.attrs.get("not_applicable"):
        return
    n_undefined = score.attrs.get("n_undefined")
    what = f"{n_undefined} values of the metric are" if n_undefined else "the metric is"
    score.attrs["not_applicable"] = (
        f"For model {candidate.identifier!r}, {what} not defined, though its answers to the stimuli differ."
    )


# -- standard format ---------------------------------------------------------------------------------------------------
# The standard format of recordings.


def check_standard_format(assembly: xr.DataArray, nans_expected: bool = False) -> None:
    """Raise `AssemblyError` with all problems unless recordings have the standard format.

    It has at least dims (presentation, neuroid), ``stimulus_id`` on presentation, ``neuroid_id`` on neuroid and the
    attribute ``stimulus_set_identifier``.
    """
    problems = []
    if not isinstance(assembly, NeuroidAssembly):
        problems.append(f"it is a {type(assembly).__name__}, expected a NeuroidAssembly")
    dims = tuple(getattr(assembly, "dims", ()))
    missing = [dim for dim in ("presentation", "neuroid") if dim not in dims]
    if missing:
        problems.append(f"its dims {dims} lack {missing}")
    problems += [
        f"it has no coordinate {name!r}; expected it on dim {dim!r}"
        for dim, name in (("presentation", "stimulus_id"), ("neuroid", "neuroid_id"))
        if not hasattr(assembly, name)
    ]
    if not nans_expected and dims:
        n_missing = int(np.isnan(np.asarray(assembly.values, dtype=float)).sum())
        if n_missing:
            problems.append(f"{n_missing} of its {assembly.size} values are NaN; drop them or pass nans_expected=True")
    if not getattr(assembly, "attrs", {}).get("stimulus_set_identifier"):
        problems.append("it has no attribute 'stimulus_set_identifier'")
    if problems:
        raise AssemblyError("The assembly is not in the standard format: " + "; ".join(problems) + ".")
