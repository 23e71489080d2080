"""Read the cluster of each stimulus, such as the object in a picture, from measurements."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from brainscore_core.errors import AssemblyError, did_you_mean

if TYPE_CHECKING:
    import xarray as xr


def clusters_of(assembly: xr.DataArray, coordinate: str) -> dict[str, str]:
    """Return stimulus -> its one cluster, from a coordinate of presentation or else a column of the stimulus set."""
    dim = assembly["stimulus_id"].dims[0]
    coords = {str(name): coord.values for name, coord in assembly.coords.items() if coord.dims == (dim,)}
    stimuli = assembly.attrs.get("stimulus_set")
    columns = {} if stimuli is None else {str(name): stimuli[name].to_numpy() for name in stimuli.columns}
    table = coords if coordinate in coords else columns
    whose = f"The clusters of stimuli, stimulus_cluster={coordinate!r},"
    if coordinate not in table:
        known = sorted({*coords, *columns} - {dim})
        raise AssemblyError(
            f"{whose} are neither a coordinate of {dim} nor a column of the stimulus set, which have "
            f"{', '.join(known)}.{did_you_mean(coordinate, known)}"
        )
    values = np.asarray(table[coordinate], dtype=object)
    pairs = pd.DataFrame({"stimulus": np.asarray(table["stimulus_id"]).astype(str), "cluster": values})
    absent, pairs = pairs[pairs["cluster"].isna()], pairs.drop_duplicates()
    several = pairs[pairs["stimulus"].duplicated()]
    for problem, wrong in (("missing for", absent), ("not the same in all presentations of", several)):
        if len(wrong):
            names = wrong["stimulus"].unique()
            raise AssemblyError(
                f"{whose} are {problem} {len(names)} stimuli, such as {names[0]!r}; expected one cluster for each. "
                "Correct the coordinate, or name another one."
            )
    return dict(zip(pairs["stimulus"], pairs["cluster"].astype(str), strict=True))
