"""Let the home of tests have what is large and not theirs to change."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from brainscore_core.config import Settings

__all__ = ["lend_weights"]


def lend_weights(caller: Settings, home: Path) -> None:
    """Let a home of tests have the weights that the caller keeps, and keep there what it downloads of them.

    Parameters
    ----------
    caller : Settings
        What the caller has set.
    home : Path
        ``BRAINSCORE_HOME`` of the tests; folders of weights that are there stay.
    """
    for name in ("weights", caller.s3_weight_folder):
        kept, lent = caller.home / name, home / name
        with contextlib.suppress(OSError):  # there is one, or this system has no links: tests download by themselves
            kept.mkdir(parents=True, exist_ok=True)
            lent.parent.mkdir(parents=True, exist_ok=True)
            lent.symlink_to(kept)
