"""Store values of single neuroids and subjects next to a record, in one compressed file of plain arrays.

`numpy.load` opens the file, ``<model>.values.npz``. The record names its digest.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from brainscore_core.errors import CorruptFileError
from brainscore_core.files import atomic_path
from brainscore_core.records.record import values_path
from brainscore_core.untrusted import read_start, shown

if TYPE_CHECKING:
    import numpy.typing as npt
    import xarray as xr

    from brainscore_core.metrics import Score

__all__ = [
    "MOST_BYTES",
    "Values",
    "digest_of",
    "read_values",
    "values_bytes",
    "values_of",
    "values_path",
    "write_values",
]

MOST_BYTES = 64 * 2**20
"""Limit of one file, and of all arrays in it."""

Values = dict[str, "npt.NDArray[Any]"]

_DIMS = ("neuroid", "subject")
_MOST_ARRAYS, _KINDS = 16, "fiuU"
_EPOCH = (1980, 1, 1, 0, 0, 0)  # of every file in the archive: equal values then give equal bytes


def values_of(score: Score) -> Values:
    """Return the values of single neuroids and subjects of a score, without normalisation.

    Returns
    -------
    dict of str to ndarray
        ``'raw.neuroid'`` (n_neuroids,), float64, the raw score of each neuroid (mean over splits, NaN: none), and
        ``'raw.neuroid_id'``, their names; likewise ``'ceiling.'`` and ``'.subject'``. Empty if the score has none.
    """
    values: Values = {}
    for name in ("raw", "ceiling"):
        attrs = getattr(score.attrs.get(name), "attrs", {})
        array: Any = attrs.get("raw")
        for dim in _DIMS:
            if dim in getattr(array, "dims", ()):
                values[f"{name}.{dim}"] = _mean_over_others(array, dim)
                values[f"{name}.{dim}_id"] = _names(array, dim)
        subjects = attrs.get("subject_scores")
        if subjects is not None and f"{name}.subject" not in values:
            values[f"{name}.subject"] = np.asarray(subjects, dtype=np.float64).reshape(-1)
    return values if sum(part.nbytes for part in values.values()) <= MOST_BYTES else {}


def _mean_over_others(array: xr.DataArray, dim: str) -> npt.NDArray[np.float64]:
    values = np.asarray(array.variable.transpose(dim, ...).values, dtype=np.float64).reshape(array.sizes[dim], -1)
    is_present = ~np.isnan(values)
    counts = is_present.sum(axis=1)
    sums = np.where(is_present, values, 0.0).sum(axis=1)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def _names(array: xr.DataArray, dim: str) -> npt.NDArray[np.str_]:
    coordinate = next((name for name in (f"{dim}_id", dim) if name in array.coords), None)
    names = range(array.sizes[dim]) if coordinate is None else array[coordinate].values.tolist()
    return np.array([str(name) for name in names], dtype=np.str_)


def values_bytes(values: Mapping[str, npt.NDArray[Any]]) -> bytes:
    """Return the content of the file; equal values give equal bytes."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, array in sorted(values.items()):
            member = zipfile.ZipInfo(f"{name}.npy", _EPOCH)
            member.compress_type = zipfile.ZIP_DEFLATED
            content = io.BytesIO()
            np.lib.format.write_array(content, np.ascontiguousarray(array), allow_pickle=False)
            archive.writestr(member, content.getvalue())
    return stream.getvalue()


def digest_of(content: bytes) -> str:
    """Return the SHA-256 for `ScoreRecord.values`, 64 hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def write_values(record: Path, values: Mapping[str, npt.NDArray[Any]]) -> str:
    """Write values next to their future record, whole or not at all, and return their digest.

    Write them before the record: no record then lacks its values.
    """
    content = values_bytes(values)
    with atomic_path(values_path(record)) as temporary:
        temporary.write_bytes(content)
    return digest_of(content)


def read_values(record: Path, digest: str) -> Values:
    """Read the values of the record at a path, with the digest `ScoreRecord.values`, as untrusted data."""
    file = values_path(record)
    try:
        content = read_start(file, MOST_BYTES)
    except OSError as error:
        raise CorruptFileError(
            f"The values of the record {record} cannot be read: {error}. Score the pair again."
        ) from error
    if len(content) > MOST_BYTES or digest_of(content) != digest:
        raise CorruptFileError(f"{file} does not match its record: it is from another run. Score the pair again.")
    try:
        return _arrays(content)
    except (CorruptFileError, ValueError, KeyError, OSError, zipfile.BadZipFile, NotImplementedError) as error:
        raise CorruptFileError(
            f"{file} is not a valid file of values: {shown(str(error))}. Score the pair again."
        ) from error


def _arrays(content: bytes) -> Values:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = archive.infolist()
        if len(members) > _MOST_ARRAYS or sum(entry.file_size for entry in members) > MOST_BYTES:
            raise CorruptFileError(f"more than {_MOST_ARRAYS} arrays, or {MOST_BYTES // 2**20} MiB")
        arrays: Values = {}
        for member in members:
            with archive.open(member) as stream:
                arrays[member.filename.removesuffix(".npy")] = _array(stream.read(member.file_size + 1))
    return arrays


def _array(content: bytes) -> npt.NDArray[Any]:
    """Read an array without trusting its header: it has only the values that its bytes hold."""
    stream = io.BytesIO(content)
    if np.lib.format.read_magic(stream) != (1, 0):
        raise CorruptFileError("an array of another version of the format")
    shape, is_fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    rest = content[stream.tell() :]
    if is_fortran or dtype.kind not in _KINDS or len(shape) != 1:
        raise CorruptFileError(f"an array of type {dtype} and shape {shape}")
    if shape[0] * dtype.itemsize != len(rest):
        raise CorruptFileError(f"{len(rest)} bytes instead of {shape[0]} values of type {dtype}")
    if not rest:
        return np.zeros(shape, dtype)
    return np.frombuffer(rest, dtype)
