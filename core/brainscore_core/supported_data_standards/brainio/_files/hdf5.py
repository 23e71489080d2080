"""Refuse HDF5 files that refer to other files or claim to hold more than they can, before reading them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from brainscore_core.errors import CorruptFileError, listed

__all__ = ["UNREADABLE", "check_self_contained", "corrupt", "is_classic"]

UNREADABLE = (OSError, RuntimeError, KeyError, ValueError, TypeError)
"""Errors that h5py and HDF5 raise for damaged files."""

_CLASSIC = b"CDF"  # how files of the classic netCDF format begin, which refer to nothing
_CLAIM_FROM_BYTES = 2**30
_CLAIM_MOST = 2000  # deflate shrinks a file at most 1032 times


def check_self_contained(path: str | Path) -> None:
    """Refuse a netCDF4 (HDF5) file whose values lie in other files, or that would fill the memory with nothing.

    HDF5 can link to data sets of other files, take values from raw bytes of any file, and assemble virtual data sets. A
    file from outside could thus make us read files of this machine, even if something else precedes its signature.
    Files of the classic format are left alone.

    Raises
    ------
    CorruptFileError
        If there is any such data set, all together claim more than a file of this size can hold, or the file is
        damaged.
    """
    import h5py  # not needed to fetch

    path = Path(path)
    if is_classic(path):
        return
    problems: list[str] = []
    sizes: dict[str, int] = {}
    try:
        with h5py.File(path, "r") as file:
            _check_group(file, problems, sizes, set())
    except UNREADABLE as error:
        raise corrupt(path, error) from error
    claimed_bytes, file_bytes = sum(sizes.values()), path.stat().st_size
    if claimed_bytes > max(_CLAIM_FROM_BYTES, _CLAIM_MOST * file_bytes):
        largest = max(sizes, key=lambda name: sizes[name])
        others = "" if sizes[largest] > _CLAIM_FROM_BYTES else f" (all {len(sizes)} together {claimed_bytes})"
        problems.append(f"{largest!r} claims to hold {sizes[largest]} bytes{others}, in a file of {file_bytes}")
    if problems:
        raise CorruptFileError(f"{path} is not read, because it is not safe:{listed(problems)}")


def is_classic(path: Path) -> bool:
    with path.open("rb") as stream:
        return stream.read(len(_CLASSIC)) == _CLASSIC


def corrupt(path: Path, error: Exception) -> CorruptFileError:
    return CorruptFileError(
        f"{path} ({path.stat().st_size} bytes) is truncated or not a netCDF file: {error}. Delete it and fetch or "
        "write it again."
    )


def _check_group(group: Any, problems: list[str], sizes: dict[str, int], seen: set[Any]) -> None:
    """Note problems, and how many bytes each data set claims to hold."""
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
            _check_group(item, problems, sizes, seen)
        elif isinstance(item, h5py.Dataset):
            if item.external:
                problems.append(f"{item.name!r} takes its values from another file")
            elif item.is_virtual:
                problems.append(f"{item.name!r} is put together from other files")
            sizes[str(item.name)] = (item.size or 0) * item.dtype.itemsize
