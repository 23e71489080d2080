"""Share the caller's large read-only files with the home of tests."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from brainscore_core.config import Settings


def lend_weights(caller: Settings, home: Path) -> None:
    """Link the caller's weights into ``BRAINSCORE_HOME`` of tests."""
    for name in ("weights", caller.s3_weight_folder):
        source, link = caller.home / name, home / name
        with contextlib.suppress(OSError):  # it exists, or this system has no links: tests then download themselves
            source.mkdir(parents=True, exist_ok=True)
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(source)
