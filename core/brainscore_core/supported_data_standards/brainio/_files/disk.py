"""Report disk problems when packaging, leave nothing half-written, and check free space for HDF5."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from brainscore_core.errors import BrainScoreError

if TYPE_CHECKING:
    import xarray as xr

_FILE_OVERHEAD_BYTES = 2**16
_TEXT_OVERHEAD_BYTES = 32


@contextmanager
def writing(identifier: str, folder: Path) -> Iterator[None]:
    """Turn an error of the disk into one `OSError` of the same number, and remove new folders."""
    created = [path for path in (folder, *folder.parents) if not path.exists()]  # innermost first
    try:
        yield
    # HDF5 raises RuntimeError if a full disk keeps it from closing a file.
    except (OSError, RuntimeError) as error:
        for path in created:
            if path.is_dir() and not any(path.iterdir()):
                path.rmdir()
        if isinstance(error, BrainScoreError):
            raise
        number = getattr(error, "errno", None)
        # HDF5's message about a full disk is pages long.
        reason = str(error) if number is None else os.strerror(number)
        message = (
            f"{identifier!r} cannot be packaged to {folder}: {reason}. Nothing was left there. Make room or allow "
            "writing there, or choose another folder (downloads_path; for uploads, BRAINIO_HOME)."
        )
        raise (OSError(message) if number is None else OSError(number, message)) from error


def check_room(folder: Path, arrays: Iterable[xr.DataArray]) -> None:
    """Raise if HDF5 might fill the disk, which can crash the process."""
    needed_bytes = _FILE_OVERHEAD_BYTES
    for array in arrays:
        coords = (coord for name, coord in array.coords.items() if name not in array.dims)
        needed_bytes += array.nbytes + sum(coord.nbytes + _TEXT_OVERHEAD_BYTES * coord.size for coord in coords)
    free_bytes = shutil.disk_usage(folder).free
    if free_bytes < needed_bytes:
        raise OSError(errno.ENOSPC, f"up to {needed_bytes} bytes are needed and {free_bytes} are free")
