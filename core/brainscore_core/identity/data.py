"""Digest the content of stimulus sets and assemblies: equal across processes, machines and versions of pandas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import xarray as xr

from brainscore_core.identity.digest import content_digest, file_stamp, stamped_file_digest

if TYPE_CHECKING:
    import numpy.typing as npt

UNKNOWN = "unknown"

_PLAIN = (type(None), bool, int, float, str, bytes)


def data_digest(data: object) -> str:
    """Return a digest of a loaded data set, 64 hexadecimal digits; `UNKNOWN` if that is impossible.

    A stimulus set counts by identifier, columns and files' content; an assembly by dimensions, coordinates and values,
    not attributes; others as in `content_digest`.
    """
    try:
        if isinstance(data, pd.DataFrame):
            return _of_stimuli(data)
        if isinstance(data, xr.DataArray):
            return _of_assembly(data)
        return content_digest(data)
    except (TypeError, OSError):
        return UNKNOWN


def _of_stimuli(stimuli: pd.DataFrame) -> str:
    columns = [[str(name), _of_values(stimuli[name].to_numpy())] for name in stimuli.columns]
    paths = getattr(stimuli, "stimulus_paths", None) or {}
    identifiers = dict.fromkeys(stimuli["stimulus_id"]) if "stimulus_id" in stimuli.columns else ()
    files = {str(name): str(paths[name]) for name in identifiers if name in paths}
    stamps = [file_stamp(path) for path in files.values()]
    digests = map(stamped_file_digest, files.values(), stamps)
    return content_digest(
        "stimuli", str(getattr(stimuli, "identifier", None)), columns, list(zip(files, digests, strict=True))
    )


def _of_assembly(assembly: xr.DataArray) -> str:
    # xarray lists both a multi-index and its levels.
    coordinates = [
        [str(name), list(map(str, coordinate.dims)), _of_values(coordinate.values)]
        for name, coordinate in sorted(assembly.coords.items(), key=lambda item: str(item[0]))
        if not (name in assembly.dims and isinstance(assembly.indexes.get(name), pd.MultiIndex))
    ]
    return content_digest("assembly", list(map(str, assembly.dims)), coordinates, _of_values(assembly.values))


def _of_values(values: npt.NDArray[Any]) -> str:
    if values.dtype.kind not in "OUT":
        return content_digest(values)
    codes, uniques = pd.factorize(values.ravel())  # long columns repeat a few texts
    return content_digest(list(values.shape), codes.astype(np.int64), _texts(np.asarray(uniques).tolist()))


def _texts(values: Sequence[object]) -> str:
    if all(type(value) is str for value in values):  # at once: one by one takes microseconds each
        texts = [str(value).encode("utf-8", "surrogatepass") for value in values]
        return content_digest(np.array([len(text) for text in texts], dtype=np.int64), b"".join(texts))
    return content_digest([value if isinstance(value, _PLAIN) else repr(value) for value in values])
