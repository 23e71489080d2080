"""Refuse HDF5 files that refer to other files or claim to hold more than they can, before anything in them is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from brainscore_core.errors import CorruptFileError, listed

__all__ = ["UNREADABLE", "check_self_contained", "corrupt"]

UNREADABLE = (OSError, RuntimeError, KeyError, ValueError, TypeError)
"""What the libraries below raise for damaged files, depending on where the damage is."""

_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_CLAIM_FROM_BYTES = 2**30
# Deflate makes a file at the most 1032 times smaller; more than that was never written.
_CLAIM_MOST = 2000


def check_self_contained(path: str | Path) -> None:
    """Refuse a netCDF4 (HDF5) file whose values lie in other files, or that would fill the memory with nothing.

    HDF5 can link to data sets of other files, take values from raw bytes of any file, and put together virtual data
    sets. A file from outside could so make us read files of this machine. Files of other formats are left alone.

    Raises
    ------
    CorruptFileError
        If there is any such data set, or the file is damaged.
    """
    import h5py  # not needed to fetch

    path = Path(path)
    with path.open("rb") as stream:
        if stream.read(len(_SIGNATURE)) != _SIGNATURE:
            return
    problems: list[str] = []
    try:
        with h5py.File(path, "r") as file:
            _check_group(file, path.stat().st_size, problems, set())
    except UNREADABLE as error:
        raise corrupt(path, error) from error
    if problems:
        raise CorruptFileError(f"{path} is not read, because it is not safe:{listed(problems)}")


def corrupt(path: Path, error: Exception) -> CorruptFileError:
    """Return the error to raise for a file that a library could not read."""
    return CorruptFileError(
        f"{path} ({path.stat().st_size} bytes) is truncated or not a netCDF file: {error}. Delete it and fetch or "
        "write it again."
    )


def _check_group(group: Any, file_bytes: int, problems: list[str], seen: set[Any]) -> None:
    import h5py

    if group.id.__hash__() in seen:  # groups may contain each other
        return
    seen.add(group.id.__hash__())
    for name in group:
        if isinstance(group.get(name, getlink=True), h5py.ExternalLink):
            problems.append(f"{group.name}: {name!r} is a link to another file")
            continue
        item = group.get(name)
        if isinstance(item, h5py.Group):
            _check_group(item, file_bytes, problems, seen)
        elif isinstance(item, h5py.Dataset):
            problems += _problems_of(item, file_bytes)


def _problems_of(dataset: Any, file_bytes: int) -> list[str]:
    if dataset.external:
        return [f"{dataset.name!r} takes its values from another file"]
    if dataset.is_virtual:
        return [f"{dataset.name!r} is put together from other files"]
    claimed_bytes = (dataset.size or 0) * dataset.dtype.itemsize
    if claimed_bytes > max(_CLAIM_FROM_BYTES, _CLAIM_MOST * file_bytes):
        return [f"{dataset.name!r} claims to hold {claimed_bytes} bytes, in a file of {file_bytes}"]
    return []
