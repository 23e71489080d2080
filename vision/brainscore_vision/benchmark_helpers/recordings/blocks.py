"""Join assemblies with different neuroids, and the same or different stimuli."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from brainscore_core.errors import AssemblyError
from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
from brainscore_vision.metric_helpers.labelled.alignment import coordinate, coords_along

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["block_diagonal_concat", "neuroid_concat"]


def block_diagonal_concat(
    slices: Sequence[xr.DataArray],
    presentation_coords: Sequence[str] | None = None,
    neuroid_coords: Sequence[str] | None = None,
) -> NeuroidAssembly:
    """Join assemblies with different stimuli and neuroids along both dimensions, such as one per subject.

    Parameters
    ----------
    presentation_coords, neuroid_coords
        Coordinates to keep, of those that every slice has. None: all.

    Returns
    -------
    NeuroidAssembly, dims (presentation, neuroid)
        Slices are blocks on the diagonal; NaN elsewhere. The dtype of the first slice if that is a float, else float32.
    """
    dims = ("presentation", "neuroid")
    wrong = [tuple(assembly.dims) for assembly in slices if set(assembly.dims) != set(dims)]
    if wrong or not slices:
        raise AssemblyError(
            f"Expected at least one assembly, all of dimensions {dims}; got {len(slices)}, of which {len(wrong)} have "
            f"others{f', such as {wrong[0]}' if wrong else ''}. Select or average other dimensions first."
        )
    dtype = slices[0].dtype if slices[0].dtype.kind == "f" else np.dtype(np.float32)
    values = np.full([sum(assembly.sizes[dim] for assembly in slices) for dim in dims], np.nan, dtype=dtype)
    row = column = 0
    for part in slices:
        block = part.transpose(*dims).values
        values[row : row + block.shape[0], column : column + block.shape[1]] = block
        row, column = row + block.shape[0], column + block.shape[1]
    coords = {}
    for dim, selection in zip(dims, (presentation_coords, neuroid_coords), strict=True):
        tables = [coords_along(assembly, dim) for assembly in slices]
        for name in tables[0] if selection is None else selection:
            if all(name in table for table in tables):
                coords[name] = (dim, np.concatenate([table[name][1] for table in tables]))
    return NeuroidAssembly(values, coords=coords, dims=list(dims))


def neuroid_concat(parts: Sequence[xr.DataArray]) -> NeuroidAssembly:
    """Join assemblies with different neuroids, such as one per subject, keeping shared stimuli.

    Stimuli are in the order of the first part, with ``stimulus_id``; neuroids with the coordinates that every part has.
    `AssemblyError` if a stimulus repeats within a part, or none is shared by all.
    """
    ids = [coordinate(part, "stimulus_id") for part in parts]
    common = set(ids[0]).intersection(*ids[1:])
    repeated = [position for position, names in enumerate(ids) if len(set(names)) < len(names)]
    if repeated or not common:
        reason = f"stimuli of the assemblies {repeated} occur more than once" if repeated else "no stimulus is in all"
        raise AssemblyError(f"Assemblies cannot be joined: {reason}. Average repetitions, or take other stimuli.")
    shared = [name for name in ids[0] if name in common]
    rows = [{name: row for row, name in enumerate(names)} for names in ids]
    values = [
        part.transpose("presentation", "neuroid").values[[row[name] for name in shared]]
        for part, row in zip(parts, rows, strict=True)
    ]
    tables = [coords_along(part, "neuroid") for part in parts]
    coords = {
        name: ("neuroid", np.concatenate([table[name][1] for table in tables]))
        for name in tables[0]
        if all(name in table for table in tables)
    }
    coords["stimulus_id"] = ("presentation", np.asarray(shared))
    return NeuroidAssembly(np.concatenate(values, axis=1), coords=coords, dims=["presentation", "neuroid"])
