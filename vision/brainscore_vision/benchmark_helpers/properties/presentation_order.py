"""Require responses in the order of their conditions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from brainscore_core.errors import AssemblyError

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["require_gratings", "require_textures"]

Labels = Mapping[str, NDArray[Any]]  # numbers or strings

_GRATING_COORDS = ("position_y", "position_x", "contrast", "radius", "spatial_frequency", "orientation", "phase")


def require_gratings(activations: xr.DataArray) -> None:
    """Require gratings in the order of the product of their conditions, phases fastest; `AssemblyError` otherwise.

    Sets that are no full product vary the last three (spatial frequency, orientation, phase) fully within each other
    condition.
    """
    values = {name: np.asarray(activations[name].values) for name in _GRATING_COORDS}
    if len(values["phase"]) != _number_of_combinations(values):
        values = {name: values[name] for name in _GRATING_COORDS[-3:]}
    _require_product(values)


def require_textures(activations: xr.DataArray) -> None:
    """Require every combination of ``type``, ``family`` and ``sample`` once, in any order; else `AssemblyError`."""
    names = ("type", "family", "sample")
    columns = {name: np.asarray(activations[name].values) for name in names}
    order = np.lexsort([columns[name] for name in reversed(names)])
    values = {name: column[order] for name, column in columns.items()}
    _require_product(values, repeats=False)


def _number_of_combinations(values: Labels) -> int:
    return int(np.prod([len(np.unique(column)) for column in values.values()]))


def _require_product(values: Labels, *, repeats: bool = True) -> None:
    size, n_stimuli = _number_of_combinations(values), len(next(iter(values.values())))
    problems = []
    if n_stimuli % size or (n_stimuli != size and not repeats):
        problems.append(f"{n_stimuli} presentations are not {'a multiple of ' if repeats else ''}{size}")
    else:
        grid = np.meshgrid(*(np.unique(column) for column in values.values()), indexing="ij")
        for (name, column), expected in zip(values.items(), grid, strict=True):
            if not np.array_equal(np.tile(expected.ravel(), n_stimuli // size), column):
                problems.append(f"{name!r} is not in its place")
    if problems:
        raise AssemblyError(
            f"Presentations are no ordered product of {', '.join(values)}: {'; '.join(problems)}. The model must "
            "answer with the stimuli it was shown, in their order."
        )
