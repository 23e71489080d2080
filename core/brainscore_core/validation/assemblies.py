"""Check assemblies against the data standard: dims, coordinates, values, time bins, repetitions and stimuli."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from brainscore_core.supported_data_standards.brainio import conventions
from brainscore_core.supported_data_standards.brainio._index import coordinates
from brainscore_core.supported_data_standards.brainio.conventions import (
    PRESENTATION,
    REPETITION,
    STIMULUS_ID,
    TIME_BIN,
    TIME_BIN_END,
    TIME_BIN_START,
)
from brainscore_core.validation.problem import Problem
from brainscore_core.validation.stimuli import check_texts

if TYPE_CHECKING:
    import xarray as xr

    from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly

__all__ = [
    "NANS_EXPECTED",
    "check_alignment",
    "check_assembly",
    "check_repetitions",
    "check_time_bins",
    "check_units",
    "check_values",
]

NANS_EXPECTED = "nans_expected"
"""Attribute of an assembly whose missing values belong to the data."""

_EXAMPLES = 5
_WHO_AND_WHEN = ("subject", "animal", "session")
_UNITS = ("units", "unit")
_WITHOUT_UNITS = ("BehavioralAssembly", "MetadataAssembly")
_IDS_TO_TEXT = "convert them: coords={'stimulus_id': ('presentation', [str(id) for id in stimulus_ids]), ...}"


def check_assembly(assembly: DataAssembly, *, nans_expected: bool = False) -> list[Problem]:
    """Check an assembly: the standard of its class, values, stimulus identifiers, time bins, repetitions and units.

    Parameters
    ----------
    assembly : DataAssembly
        Any dims; its class says which dims and coordinates are required.
    nans_expected : bool
        Whether missing values are part of the data; ``attrs['nans_expected']`` says so too.
    """
    if assembly.size == 0:
        what = f"there are no values; the sizes are {dict(assembly.sizes)}"
        return [Problem(where="values", what=what, fix="package an assembly that has values")]
    problems = _check_standard(assembly)
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


def _check_standard(assembly: xr.DataArray) -> list[Problem]:
    """Check dims and required coordinates of the class; time bins are looked at more closely by `check_time_bins`."""
    return [
        Problem(where=_place(text), what=text.rstrip("."), fix=_standard_fix(text, type(assembly).__name__))
        for text in conventions.check_assembly(assembly)
        if not text.startswith("Time bin") and f"repeat the {TIME_BIN_START}" not in text
    ]


def _place(text: str) -> str:
    named = re.search(r"(dimension|coordinate) '(\w+)'", text)
    if named:
        return f"{named[1]} '{named[2]}'"
    along = re.search(r"along '(\w+)'", text)
    return f"dimension '{along[1]}'" if along else "dimensions"


def _standard_fix(text: str, class_name: str) -> str:
    absent = re.search(r"coordinate '(\w+)' along '(\w+)' is absent", text)
    if absent:
        return f"add it: coords={{'{absent[1]}': ('{absent[2]}', [...]), ...}}"
    for part, fix in (
        ("is absent", f"name the dimensions of a {class_name} when you build it: dims=[...]"),
        ("has no place", "rename or select that dimension, or package the data as a DataAssembly"),
        ("lies along", "attach it to the expected dimension: coords={name: (dimension, values)}"),
        ("missing values", "give every entry a value, or leave those entries out"),
        ("holds", _IDS_TO_TEXT),
        ("repeat the", "give each entry a name of its own; several showings belong along presentation"),
    ):
        if part in text:
            return fix
    return f"see what a {class_name} requires"


def check_values(assembly: xr.DataArray, *, nans_expected: bool = False) -> list[Problem]:
    """Check that no value is missing unless that is declared, and (a hint) that none is infinite."""
    values = np.asarray(assembly.values)
    problems = []
    missing = np.asarray(pd.isna(values))
    count = int(missing.sum())
    if count and not nans_expected and not assembly.attrs.get(NANS_EXPECTED):
        touched = []
        for axis, dim in enumerate(assembly.dims):
            others = tuple(other for other in range(missing.ndim) if other != axis)
            touched.append(f"{int(missing.any(axis=others).sum())} of {missing.shape[axis]} {dim}")
        what = f"{count} of {missing.size} values are NaN (in {', '.join(touched)})"
        fix = "mend the data, or say that they belong to it: nans_expected=True"
        problems.append(Problem(where="values", what=what, fix=fix))
    infinite = int(np.isinf(values).sum()) if values.dtype.kind in "fc" else 0
    if infinite:
        what = f"{infinite} of {values.size} values are infinite"
        fix = "metrics cannot use them; mend the data"
        problems.append(Problem(where="values", what=what, fix=fix, is_hint=True))
    return problems


def check_time_bins(assembly: xr.DataArray) -> list[Problem]:
    """Check that time bins end after they start and differ, and (hints) that they ascend and do not overlap."""
    edges = (TIME_BIN_START, TIME_BIN_END)
    if not all(name in assembly.coords and assembly.coords[name].dims == (TIME_BIN,) for name in edges):
        return []  # `_check_standard` says so where they are required
    start, end = (coordinates.values_of(assembly, name) for name in edges)
    where = f"dimension '{TIME_BIN}'"
    if start.dtype.kind not in "iuf" or end.dtype.kind not in "iuf":
        what = f"the edges are of type {start.dtype} and {end.dtype}"
        return [Problem(where=where, what=what, fix="give numbers, in ms after stimulus onset")]
    bins = list(zip(start.tolist(), end.tolist(), strict=True))
    problems = [
        Problem(where=where, what=f"the time bin {low} to {high} ms does not end after it starts", fix="swap its edges")
        for low, high in bins
        if not low < high
    ]
    problems += [
        Problem(where=where, what=f"the time bin {low} to {high} ms is there {count} times", fix="keep one of them")
        for (low, high), count in Counter(bins).items()
        if count > 1
    ]
    if problems:
        return problems
    ascending = sorted(bins)
    if bins != ascending:
        fix = "sort them: assembly.sortby('time_bin_start')"
        problems.append(Problem(where=where, what="the time bins do not ascend", fix=fix, is_hint=True))
    overlapping = [(one, other) for one, other in itertools.pairwise(ascending) if other[0] < one[1]]
    if overlapping:
        (low, high), (next_low, next_high) = overlapping[0]
        what = f"time bins overlap, such as {low} to {high} and {next_low} to {next_high} ms"
        fix = "fine for sliding windows; otherwise correct the edges"
        problems.append(Problem(where=where, what=what, fix=fix, is_hint=True))
    return problems


def check_repetitions(assembly: xr.DataArray) -> list[Problem]:
    """Check that repetitions can be told apart, and (hints) that every stimulus has all of them."""
    along = {
        str(name): np.asarray(coordinates.values_of(assembly, str(name)))
        for name in coordinates.coordinates_of(assembly, PRESENTATION)
        if PRESENTATION in assembly.dims
    }
    if STIMULUS_ID not in along:
        return []
    where = f"coordinate '{REPETITION}'"
    table = pd.DataFrame(along)
    who = [STIMULUS_ID, *(name for name in _WHO_AND_WHEN if name in along)]
    if REPETITION not in along:
        if type(assembly).__name__ in _WITHOUT_UNITS or not table.duplicated(who).any():
            return []
        what = "stimuli are shown more than once, but nothing says which repetition it is"
        fix = "add coords={'repetition': ('presentation', [0, 1, ...]), ...}; ceilings need it"
        return [Problem(where=where, what=what, fix=fix, is_hint=True)]
    key = [*who, REPETITION]
    return _check_repeated(table, key, where) or _check_balance(table, who, where)


def _check_repeated(table: pd.DataFrame, key: list[str], where: str) -> list[Problem]:
    same = table[table.duplicated(keep=False)]
    if len(same):
        example = ", ".join(f"{name}={same.iloc[0][name]}" for name in key)
        what = f"{len(same)} presentations agree in all coordinates with another, such as {example}"
        fix = "number the repetitions of a stimulus differently, or drop what is there twice"
        return [Problem(where=where, what=what, fix=fix)]
    alike = int(table.duplicated(key, keep=False).sum())
    if not alike:
        return []
    what = f"{alike} presentations agree in {', '.join(key)} with another, though not in all coordinates"
    fix = "fine if conditions tell them apart; otherwise number the repetitions differently"
    return [Problem(where=where, what=what, fix=fix, is_hint=True)]


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
    return [Problem(where=where, what=what, fix=fix, is_hint=True)]


def check_units(assembly: xr.DataArray) -> list[Problem]:
    """Check (a hint) that ``attrs`` say in which units measured numbers are."""
    without = any(kind.__name__ in _WITHOUT_UNITS for kind in type(assembly).__mro__)
    if without or assembly.dtype.kind not in "iuf" or any(name in assembly.attrs for name in _UNITS):
        return []
    what = "nothing says in which units the values are"
    fix = "set assembly.attrs['units'] = 'spikes/s', or whatever they are"
    return [Problem(where="attrs", what=what, fix=fix, is_hint=True)]


def check_alignment(assembly: xr.DataArray, stimulus_set: pd.DataFrame) -> list[Problem]:
    """Check that every ``stimulus_id`` of an assembly is in the stimulus set, and (a hint) that every one was shown."""
    where = f"coordinate '{STIMULUS_ID}'"
    if STIMULUS_ID not in assembly.coords:
        what = f"there is no coordinate '{STIMULUS_ID}' to look up in the stimulus set"
        return [Problem(where=where, what=what, fix="add coords={'stimulus_id': ('presentation', [...]), ...}")]
    if STIMULUS_ID not in stimulus_set.columns:
        return []  # `check_stimulus_ids` says so
    shown = list(dict.fromkeys(np.atleast_1d(assembly[STIMULUS_ID].values).tolist()))
    known = set(stimulus_set[STIMULUS_ID].tolist())
    unknown = [identifier for identifier in shown if identifier not in known]
    if unknown:
        what = f"{_counted(unknown, shown)} stimulus_ids of the assembly are not in the stimulus set: {_first(unknown)}"
        fix = "use the same identifiers in both"
        if len(unknown) == len(shown) and {str(identifier) for identifier in shown} & {str(key) for key in known}:
            fix = "as texts they would agree: convert the stimulus_ids of both to str"
        return [Problem(where=where, what=what, fix=fix)]
    unseen = sorted(map(str, known.difference(shown)))
    if not unseen:
        return []
    what = f"{_counted(unseen, known)} stimuli are not in the assembly: {_first(unseen)}"
    fix = "fine if they belong to another assembly; otherwise check the identifiers"
    return [Problem(where=where, what=what, fix=fix, is_hint=True)]


def _counted(some: Sequence[Any], of: Any) -> str:
    return f"{len(some)} of {len(of)}"


def _first(values: Sequence[Any]) -> str:
    rest = f" and {len(values) - _EXAMPLES} more" if len(values) > _EXAMPLES else ""
    return ", ".join(map(str, values[:_EXAMPLES])) + rest
