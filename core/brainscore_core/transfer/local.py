"""Remember what was found out about a local file, as long as the file does not change: hashing it takes time."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from brainscore_core.files import atomic_path
from brainscore_core.transfer.disk import DISK_FULL, NOT_WRITABLE

__all__ = ["note", "recall", "remember"]

logger = logging.getLogger(__name__)


def recall(target: Path) -> dict[str, Any]:
    """Return what was noted when the file was fetched or verified; empty if nothing or if the file changed since."""
    try:
        memo = json.loads(_memo_path(target).read_text(encoding="utf-8"))
    except (OSError, ValueError):  # absent, or not ours: then the file is simply verified again
        return {}
    return memo if isinstance(memo, dict) and memo.get("stamp") == _stamp(target) else {}


def remember(target: Path, facts: Mapping[str, str | None]) -> None:
    """Note facts about a file as it is now; see `note`."""
    note(_memo_path(target), json.dumps({"stamp": _stamp(target), **facts}))


def note(path: Path, text: str) -> None:
    """Write a note beside a file. Where nothing can be written there is none, which costs hashing the file again."""
    try:
        with atomic_path(path) as temporary:
            temporary.write_text(text, encoding="utf-8")
    except OSError as error:
        if error.errno not in DISK_FULL | NOT_WRITABLE:
            raise
        logger.debug("Cannot write %s, on a full disk or in a shared cache that is read-only for us: %s", path, error)


def _memo_path(target: Path) -> Path:
    return target.with_name(f".{target.name}.fetched.json")


def _stamp(target: Path) -> list[int]:
    status = target.stat()
    return [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]
