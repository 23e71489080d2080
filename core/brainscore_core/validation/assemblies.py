"""Check assemblies against the data standard: dims, coordinates, values, time bins, repetitions and stimuli.

The class of an array counts by its name.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from brainscore_core.errors import nearest
from brainscore_core.validation.problem import Problem
from brainscore_core.validation.standards import (
    NANS_EXPECTED,
    PRESENTATION,
    REPETITION,
    STIMULUS_ID,
    TIME_BIN,
    TIME_BIN_END,
    TIME_BIN_START,
    AssemblyStandard,
    standard_of,
)
from brainscore_core.validation.stimuli import check_texts

if TYPE_CHECKING:
    import xarray as xr

__all__ = [
    "check_alignment",
    "check_assembly",
    "check_missing",
    "check_repetitions",
    "check_standard",
    "check_time_bins",
    "check_units",
    "check_values",
]

_EXAMPLES = 5
_WHO_AND_WHEN = ("subject", "animal", "session")
_UNITS = ("units", "unit")
_WITHOUT_UNITS = ("BehavioralAssembly", "MetadataAssembly")
_IDS_TO_TEXT = "convert them: coords={'stimulus_id': ('presentation', [str(id) for id in stimulus_ids]), ...}"


def check_assembly(assembly: xr.DataArray, *, nans_expected: bool = False) -> list[Problem]:
    """Check an assembly: the standard of its class, values, stimulus identifiers, time bins, repetitions and units.

    ``nans_expected``, also in ``attrs``, says that missing values are part of the data.
    """
    if assembly.size == 0:
        what = f"the assembly has no values; its sizes are {dict(assembly.sizes)}"
        return [Problem("values", what, "package an assembly that has values")]
    problems = _check_required(assembly)
    if STIMULUS_ID in assembly.coords and not any(STIMULUS_ID in problem.what for problem in problems):
        identifiers = np.atleast_1d(assembly[STIMULUS_ID].values).tolist()
        problems += check_texts(identifiers, f"coordinate '{STIMULUS_ID}'", _IDS_TO_TEXT)
    return [
        *problems,
        *check_values(assembly, nans_expected=nans_expected),
        *check_time_bins(assembly),
        *check_repetitions(assembly),
        *check_units(assembly),
    ]


def check_standard(assembly: xr.DataArray) -> list[Problem]:
    """Check dims, coordinates, kind of values, keys that must not repeat and time bins as the class requires them."""
    repeated = _check_unique(assembly, standard_of(type(assembly)), TIME_BIN)
    return [*_check_required(assembly), *_check_responses(assembly), *repeated, *_check_edges(assembly)]


def _check_required(assembly: xr.DataArray) -> list[Problem]:
    """Check the requirements of the class, except time bins."""
    standard = standard_of(type(assembly))
    problems = _check_dims(assembly, standard)
    for along, names in standard.coords.items():
        for name in names if along in assembly.dims else ():
            if fault := _coordinate_fault(assembly, along, name):
                what, fix = fault
                problems.append(Problem(f"coordinate {name!r}", f"The coordinate {name!r} {what}", fix))
    for dim in assembly.dims:
        if dim != TIME_BIN:
            problems += _check_unique(assembly, standard, dim)
    return problems


def _check_dims(assembly: xr.DataArray, standard: AssemblyStandard) -> list[Problem]:
    problems = []
    if len(set(assembly.dims)) < len(assembly.dims):
        what = f"A dimension occurs twice in {assembly.dims}"
        problems.append(Problem("dimensions", what, "give every dimension a unique name"))
    if standard.dims is None:
        return problems
    name_them = f"name the dimensions of a {type(assembly).__name__} when you build it: dims=[...]"
    problems += [
        Problem(f"dimension '{dim}'", f"The dimension '{dim}' is absent; there are {assembly.dims}", name_them)
        for dim in standard.dims
        if dim not in assembly.dims
    ]
    allowed = (*standard.dims, *standard.optional_dims)
    return problems + [
        Problem(
            f"dimension '{dim}'",
            f"The dimension '{dim}' is not allowed here; expected {' x '.join(allowed)}",
            "rename or select that dimension, or package the data as a DataAssembly",
        )
        for dim in assembly.dims
        if dim not in allowed
    ]


def _coordinate_fault(assembly: xr.DataArray, dim: str, name: str) -> tuple[str, str] | None:
    """Return the problem of a required coordinate and its remedy."""
    if name not in assembly.coords:
        close = nearest(name, [str(coord) for coord in assembly.coords])
        hint = f" (is it {close[0]!r}?)" if close else ""
        return f"along {dim!r} is absent{hint}", f"add it: coords={{'{name}': ('{dim}', [...]), ...}}"
    dims, values = assembly.coords[name].dims, _values(assembly, name)
    if dims != (dim,):
        fix = "attach it to the expected dimension: coords={name: (dimension, values)}"
        return f"lies along {dims}; expected ({dim!r},)", fix
    missing = int(np.asarray(pd.isna(values)).sum())
    if missing:
        return f"has {missing} missing values", "give every entry a value, or leave those entries out"
    if name == STIMULUS_ID and values.size and not isinstance(values.flat[0], str):
        return f"holds {values.dtype}; expected text, such as {str(values.flat[0])!r}", _IDS_TO_TEXT
    return None


def _check_unique(assembly: xr.DataArray, standard: AssemblyStandard, dim: Hashable) -> list[Problem]:
    names = [name for name in standard.unique if name in assembly.coords and assembly.coords[name].dims == (dim,)]
    table = pd.DataFrame({name: _values(assembly, name) for name in names})
    repeated = int(table.duplicated().sum()) if names else 0
    if not repeated:
        return []
    example = np.atleast_1d(np.asarray(table.groupby(names, dropna=False).size().idxmax(), dtype=object))
    what = (
        f"{repeated} entries along '{dim}' repeat the {', '.join(names)} of another, such as "
        f"{', '.join(map(str, example))}"
    )
    fix = "give each entry a unique name; repeated showings belong along presentation"
    return [Problem(f"dimension '{dim}'", what, fix)]


def _check_edges(assembly: xr.DataArray) -> list[Problem]:
    return [
        Problem(
            f"dimension '{TIME_BIN}'", f"the time bin {low} to {high} ms does not end after it starts", "swap its edges"
        )
        for low, high in _time_bins(assembly)
        if not low < high
    ]


def _time_bins(assembly: xr.DataArray) -> list[tuple[Any, Any]]:
    """Return (start, end) of each time bin; empty without both edges, which is reported elsewhere."""
    edges = (TIME_BIN_START, TIME_BIN_END)
    if not all(name in assembly.coords and assembly.coords[name].dims == (TIME_BIN,) for name in edges):
        return []
    return list(zip(*(_values(assembly, name).tolist() for name in edges), strict=True))


def _values(assembly: xr.DataArray, name: str) -> npt.NDArray[Any]:
    return np.asarray(assembly.coords[name].values)


def check_missing(assembly: xr.DataArray) -> list[Problem]:
    """Check that no value is missing."""
    missing = np.asarray(pd.isna(assembly.values))
    if not missing.any():
        return []
    touched = []
    for axis, dim in enumerate(assembly.dims):
        others = tuple(other for other in range(missing.ndim) if other != axis)
        touched.append(f"{int(missing.any(axis=others).sum())} of {missing.shape[axis]} {dim}")
    what = f"{int(missing.sum())} of {missing.size} values are NaN (in {', '.join(touched)})"
    return [Problem("values", what, "correct the data, or declare missing values as expected: nans_expected=True")]


def check_values(assembly: xr.DataArray, *, nans_expected: bool = False) -> list[Problem]:
    """Check that values are finite, and present unless declared otherwise; a hint, except for responses."""
    problems = [] if nans_expected or assembly.attrs.get(NANS_EXPECTED) else check_missing(assembly)
    responses = _check_responses(assembly)
    infinite = int(np.isinf(assembly.values).sum()) if assembly.dtype.kind in "fc" and not responses else 0
    problems += responses
    if infinite:
        what = f"{infinite} of {assembly.size} values are infinite"
        fix = "metrics cannot use them; correct the data"
        problems.append(Problem("values", what, fix, is_hint=True))
    return problems


def _check_responses(assembly: xr.DataArray) -> list[Problem]:
    """Check that responses of neuroids are finite real numbers, or NaN if missing."""
    if not any(kind.__name__ == "NeuroidAssembly" for kind in type(assembly).__mro__):
        return []
    if assembly.dtype.kind not in "biuf":
        what = f"the values are of type {assembly.dtype}; expected real numbers"
        return [Problem("values", what, "convert them: assembly.astype(float), or package another kind of assembly")]
    infinite = int(np.isinf(assembly.values).sum()) if assembly.dtype.kind == "f" else 0
    if not infinite:
        return []
    what = f"{infinite} of {assembly.size} values are infinite"
    return [Problem("values", what, "metrics cannot use them; correct the data, or put NaN where nothing was measured")]


def check_time_bins(assembly: xr.DataArray) -> list[Problem]:
    """Check that time bins end after they start and differ, and (hints) that they ascend and do not overlap."""
    bins = _time_bins(assembly)
    where = f"dimension '{TIME_BIN}'"
    types = [assembly.coords[name].dtype for name in (TIME_BIN_START, TIME_BIN_END) if bins]
    if any(dtype.kind not in "iuf" for dtype in types):
        what = f"the edges are of type {' and '.join(map(str, types))}"
        return [Problem(where, what, "give numbers, in ms after stimulus onset")]
    problems = _check_edges(assembly)
    problems += [
        Problem(where, f"the time bin {low} to {high} ms occurs {count} times", "keep one of them")
        for (low, high), count in Counter(bins).items()
        if count > 1
    ]
    if problems:
        return problems
    ascending = sorted(bins)
    if bins != ascending:
        fix = "sort them: assembly.sortby('time_bin_start')"
        problems.append(Problem(where, "the time bins do not ascend", fix, is_hint=True))
    overlapping = [(one, other) for one, other in itertools.pairwise(ascending) if other[0] < one[1]]
    if overlapping:
        (low, high), (next_low, next_high) = overlapping[0]
        what = f"time bins overlap, such as {low} to {high} and {next_low} to {next_high} ms"
        fix = "fine for sliding windows; otherwise correct the edges"
        problems.append(Problem(where, what, fix, is_hint=True))
    return problems


def check_repetitions(assembly: xr.DataArray) -> list[Problem]:
    """Check that repetitions are distinguishable, and (hints) that every stimulus has all of them."""
    along = {
        str(name): np.asarray(coord.values)
        for name, coord in assembly.coords.items()
        if coord.dims == (PRESENTATION,) and name != PRESENTATION
    }
    if STIMULUS_ID not in along:
        return []
    where = f"coordinate '{REPETITION}'"
    table = pd.DataFrame(along)
    who = [STIMULUS_ID, *(name for name in _WHO_AND_WHEN if name in along)]
    if REPETITION not in along:
        if type(assembly).__name__ in _WITHOUT_UNITS or not table.duplicated(who).any():
            return []
        what = "stimuli are shown more than once, but the repetitions are not numbered"
        fix = "add coords={'repetition': ('presentation', [0, 1, ...]), ...}; ceilings need it"
        return [Problem(where, what, fix, is_hint=True)]
    key = [*who, REPETITION]
    return _check_repeated(table, key, where) or _check_balance(table, who, where)


def _check_repeated(table: pd.DataFrame, key: list[str], where: str) -> list[Problem]:
    same = table[table.duplicated(keep=False)]
    if len(same):
        example = ", ".join(f"{name}={same.iloc[0][name]}" for name in key)
        what = f"{len(same)} presentations agree in all coordinates with another, such as {example}"
        fix = "number the repetitions of a stimulus differently, or drop the duplicates"
        return [Problem(where, what, fix)]
    alike = int(table.duplicated(key, keep=False).sum())
    if not alike:
        return []
    what = f"{alike} presentations agree in {', '.join(key)} with another, though not in all coordinates"
    fix = "fine if conditions tell them apart; otherwise number the repetitions differently"
    return [Problem(where, what, fix, is_hint=True)]


def _check_balance(table: pd.DataFrame, who: list[str], where: str) -> list[Problem]:
    counts = table.groupby(who, sort=False, dropna=False).size()
    repetitions = table[REPETITION].nunique(dropna=False)
    if int(counts.min()) == repetitions:
        return []
    what = (
        f"the repetitions are not complete: there are {repetitions}, but between {counts.min()} and {counts.max()} "
        f"for each {', '.join(who)}"
    )
    fix = "fine if the experiment was like that; ceilings then use fewer stimuli in each half"
    return [Problem(where, what, fix, is_hint=True)]


def check_units(assembly: xr.DataArray) -> list[Problem]:
    """Check (a hint) that ``attrs`` state the units of measured numbers."""
    without = any(kind.__name__ in _WITHOUT_UNITS for kind in type(assembly).__mro__)
    if without or assembly.dtype.kind not in "iuf" or any(name in assembly.attrs for name in _UNITS):
        return []
    what = "the units of the values are not stated"
    fix = "set assembly.attrs['units'] = 'spikes/s', or whatever they are"
    return [Problem("attrs", what, fix, is_hint=True)]


def check_alignment(assembly: xr.DataArray, stimulus_set: pd.DataFrame) -> list[Problem]:
    """Check that every ``stimulus_id`` of an assembly is in the stimulus set, and (a hint) that all were shown."""
    if "neuronal_property" in assembly.dims:
        return []
    where = f"coordinate '{STIMULUS_ID}'"
    if STIMULUS_ID not in assembly.coords:
        what = f"there is no coordinate '{STIMULUS_ID}' to look up in the stimulus set"
        return [Problem(where, what, "add coords={'stimulus_id': ('presentation', [...]), ...}")]
    if STIMULUS_ID not in stimulus_set.columns:
        return []  # `check_stimulus_ids` reports it
    stimulus_ids = list(dict.fromkeys(np.atleast_1d(assembly[STIMULUS_ID].values).tolist()))
    listed_ids = set(stimulus_set[STIMULUS_ID].tolist())
    unknown = [identifier for identifier in stimulus_ids if identifier not in listed_ids]
    if unknown:
        count = _counted(unknown, stimulus_ids)
        what = f"{count} stimulus_ids of the assembly are not in the stimulus set: {_first(unknown)}"
        fix = "use the same identifiers in both"
        if len(unknown) == len(stimulus_ids) and {str(identifier) for identifier in stimulus_ids} & {
            str(key) for key in listed_ids
        }:
            fix = "as texts they would agree: convert the stimulus_ids of both to str"
        return [Problem(where, what, fix)]
    unseen = sorted(map(str, listed_ids.difference(stimulus_ids)))
    if not unseen:
        return []
    what = f"{_counted(unseen, listed_ids)} stimuli are not in the assembly: {_first(unseen)}"
    fix = "fine if they belong to another assembly; otherwise check the identifiers"
    return [Problem(where, what, fix, is_hint=True)]


def _counted(some: Sequence[Any], of: Any) -> str:
    return f"{len(some)} of {len(of)}"


def _first(values: Sequence[Any]) -> str:
    rest = f" and {len(values) - _EXAMPLES} more" if len(values) > _EXAMPLES else ""
    return ", ".join(map(str, values[:_EXAMPLES])) + rest
