"""Say whether a disk has room and which errors mean that it is full or closed to us; leave nothing half-written."""

from __future__ import annotations

import errno
import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from brainscore_core.errors import BrainScoreError, DownloadError

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["DISK_FULL", "NOT_WRITABLE", "check_free_space", "check_room", "progress_bar", "writing"]

DISK_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
NOT_WRITABLE = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})

_ALWAYS_SHOW_PROGRESS_BYTES = 5_000_000
_FILE_OVERHEAD_BYTES = 2**16
_TEXT_OVERHEAD_BYTES = 32


def check_free_space(path: Path, needed_bytes: int, what: str) -> None:
    """Raise a `DownloadError` for what does not fit on the disk, before it is begun."""
    free_bytes = shutil.disk_usage(path.parent).free
    if needed_bytes > free_bytes:
        raise DownloadError(
            f"{what} needs {needed_bytes} bytes in {path.parent}, where {free_bytes} are free. Make room, or move the "
            "cache to another disk (BRAINIO_HOME for data, BRAINSCORE_HOME for weights)."
        )


@contextmanager
def progress_bar(description: str, size_bytes: int, arrived_bytes: int = 0) -> Iterator[Callable[[int], None]]:
    """Show how much of a file has come; gives a function of the bytes that came since, for any thread to call.

    Parameters
    ----------
    description : str
        What stands before the bar.
    size_bytes, arrived_bytes : int
        Size of the file, and how much of it is there at the start. Small files are shown on a terminal only.
    """
    from tqdm import tqdm

    hidden = size_bytes <= _ALWAYS_SHOW_PROGRESS_BYTES and not sys.stderr.isatty()
    lock = threading.Lock()  # parts of a file arrive in several threads
    with tqdm(
        total=size_bytes,
        initial=arrived_bytes,
        unit="B",
        unit_scale=True,
        desc=description,
        disable=hidden,
    ) as bar:

        def advance(arrived_bytes: int) -> None:
            with lock:
                bar.update(arrived_bytes)

        yield advance


@contextmanager
def writing(identifier: str, folder: Path) -> Iterator[None]:
    """Turn whatever goes wrong with the disk into one `OSError` of the same number, and leave no new folder."""
    created = _missing_folders(folder)
    try:
        yield
    # RuntimeError is what HDF5 raises when a full disk keeps it from closing a file.
    except (OSError, RuntimeError) as error:
        for path in created:
            if path.is_dir() and not any(path.iterdir()):
                path.rmdir()
        if isinstance(error, BrainScoreError):
            raise
        number = getattr(error, "errno", None)
        # What HDF5 says about a full disk is pages long.
        reason = str(error) if number is None else os.strerror(number)
        message = (
            f"{identifier!r} cannot be packaged to {folder}: {reason}. Nothing was left there. Make room or allow "
            "writing there, or choose another folder (downloads_path; for uploads, BRAINIO_HOME)."
        )
        raise (OSError(message) if number is None else OSError(number, message)) from error


def check_room(folder: Path, arrays: Iterable[xr.DataArray]) -> None:
    """Raise if a disk might become full while HDF5 writes to it, after which HDF5 can crash the whole process."""
    needed_bytes = _FILE_OVERHEAD_BYTES
    for array in arrays:
        coords = (coord for name, coord in array.coords.items() if name not in array.dims)
        needed_bytes += array.nbytes + sum(coord.nbytes + _TEXT_OVERHEAD_BYTES * coord.size for coord in coords)
    free_bytes = shutil.disk_usage(folder).free
    if free_bytes < needed_bytes:
        raise OSError(errno.ENOSPC, f"up to {needed_bytes} bytes are needed and {free_bytes} are free")


def _missing_folders(folder: Path) -> list[Path]:
    """Return the folders that do not exist yet, the innermost first."""
    return [path for path in (folder, *folder.parents) if not path.exists()]
