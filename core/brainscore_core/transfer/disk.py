"""Check the free space of a disk and show the progress of a transfer."""

from __future__ import annotations

import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from brainscore_core.errors import DownloadError, harmless

_ALWAYS_SHOW_PROGRESS_BYTES = 5_000_000


def check_free_space(path: Path, needed_bytes: int, what: str) -> None:
    """Raise a `DownloadError` if a file does not fit on the disk."""
    free_bytes = shutil.disk_usage(path.parent).free
    if needed_bytes > free_bytes:
        raise DownloadError(
            f"{what} needs {needed_bytes} bytes in {path.parent}, where {free_bytes} are free. Make room, or move the "
            "cache to another disk (BRAINIO_HOME for data, BRAINSCORE_HOME for weights)."
        )


@contextmanager
def progress_bar(description: str, size_bytes: int, arrived_bytes: int = 0) -> Iterator[Callable[[int], None]]:
    """Show the progress of a transfer, at a terminal or of over 5 MB; yield a thread-safe function that adds bytes."""
    from tqdm import tqdm

    hidden = size_bytes <= _ALWAYS_SHOW_PROGRESS_BYTES and not sys.stderr.isatty()
    lock = threading.Lock()  # parts of a file arrive in several threads
    options: dict[str, Any] = {"unit": "B", "unit_scale": True, "desc": harmless(description), "disable": hidden}
    with tqdm(total=size_bytes, initial=arrived_bytes, **options) as bar:

        def advance(arrived_bytes: int) -> None:
            with lock:
                bar.update(arrived_bytes)

        yield advance
