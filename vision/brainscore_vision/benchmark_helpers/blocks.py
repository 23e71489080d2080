"""Put assemblies of different stimuli and neuroids into one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from brainscore_core.errors import AssemblyError
from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
from brainscore_vision.metric_helpers.labelled.alignment import coords_along

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["block_diagonal_concat"]


def block_diagonal_concat(
    slices: Sequence[xr.DataArray],
    presentation_coords: Sequence[str] | None = None,
    neuroid_coords: Sequence[str] | None = None,
) -> NeuroidAssembly:
    """Put assemblies of different stimuli and neuroids into one, side by side along both dimensions.

    Parameters
    ----------
    slices : sequence of NeuroidAssembly, dims (presentation, neuroid)
        Such as one for each subject.
    presentation_coords, neuroid_coords : sequence of str or None
        Coordinates to keep; those that some slice lacks are left out. None: all that every slice has.

    Returns
    -------
    NeuroidAssembly, dims (presentation, neuroid)
        Each slice is a block on the diagonal; NaN elsewhere. Of the type of the first slice if that is a float, else
        float32.

    Raises
    ------
    AssemblyError
        If there is no slice, or one has other dimensions.
    """
    dims = ("presentation", "neuroid")
    wrong = [tuple(each.dims) for each in slices if set(each.dims) != set(dims)]
    if wrong or not slices:
        raise AssemblyError(
            f"Expected at least one assembly, all of dimensions {dims}; got {len(slices)}, of which {len(wrong)} have "
            f"others{f', such as {wrong[0]}' if wrong else ''}. Select or average other dimensions first."
        )
    dtype = slices[0].dtype if slices[0].dtype.kind == "f" else np.dtype(np.float32)
    values = np.full([sum(each.sizes[dim] for each in slices) for dim in dims], np.nan, dtype=dtype)
    row = column = 0
    for each in slices:
        block = each.transpose(*dims).values
        values[row : row + block.shape[0], column : column + block.shape[1]] = block
        row, column = row + block.shape[0], column + block.shape[1]
    coords = {}
    for dim, wanted in zip(dims, (presentation_coords, neuroid_coords), strict=True):
        tables = [coords_along(each, dim) for each in slices]
        for name in tables[0] if wanted is None else wanted:
            if all(name in table for table in tables):
                coords[name] = (dim, np.concatenate([table[name][1] for table in tables]))
    return NeuroidAssembly(values, coords=coords, dims=list(dims))
