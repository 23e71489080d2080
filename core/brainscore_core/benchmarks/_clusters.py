"""Read the cluster of each stimulus, such as the object in a picture or a part of a video, from measurements."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from brainscore_core.errors import AssemblyError, did_you_mean
from brainscore_core.statistics import FEW_CLUSTERS

if TYPE_CHECKING:
    import xarray as xr


class InSequence(str):
    """Coordinate that numbers the stimuli of a sequence, such as the frames of a video.

    As ``stimulus_cluster`` of a benchmark, errors are over new blocks of consecutive stimuli. Neighbours are alike, and
    squares over single stimuli miss their covariance; sums over blocks contain it (Künsch 1989,
    doi:10.1214/aos/1176347265). A few large blocks, of whatever dependence within, and Student's t with one degree of
    freedom less than blocks suffice (Ibragimov & Müller 2010, doi:10.1198/jbes.2009.08046): no length is estimated.
    Stimuli an eighth of the sequence apart should be about independent.

    Examples
    --------
    >>> InSequence("frame")
    InSequence('frame')
    """

    def __repr__(self) -> str:
        return f"InSequence({str(self)!r})"


def clusters_of(assembly: xr.DataArray, coordinate: str) -> dict[str, str]:
    """Return stimulus -> its one cluster, from a coordinate of presentation or else a column of the stimulus set.

    The clusters of a coordinate that is `InSequence` are eight blocks, in the order of its numbers.
    """
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
    if isinstance(coordinate, InSequence):
        numbers = pd.to_numeric(pairs["cluster"], errors="coerce")
        if numbers.isna().any():
            raise AssemblyError(f"{whose} are no numbers, such as {pairs['cluster'][numbers.isna()].iloc[0]!r}.")
        pairs["cluster"] = (numbers.rank(method="first").astype(int) - 1) * FEW_CLUSTERS // len(pairs)
    return dict(zip(pairs["stimulus"], pairs["cluster"].astype(str), strict=True))
