"""Digest files and values: equal content gives an equal digest in every process and on every machine; stamp files."""

# Why digests of content, and no key without all of it
#
# Problem. Results that took hours are reused in other processes, on other machines and after updates. A key that omits
# something that changes the result returns a wrong number without a sign of it, the worst fault that this project can
# have. A key that includes too much only costs time.
#
# Sources. Git's object names, and Dolstra (2006), The purely functional software deployment model, which name results
# by the content of all inputs; Bernstein (1997), netstrings, for lengths before values; "Racy Git" (technical/racy-git
# in Git's documentation) for stamps of files.
#
# What else was tried or considered, and why not.
# - Names and versions as keys: the published system finds converted stimuli by the name of their set, and so returns
#   those of other pictures under the same name (perf/RESULTS.md).
# - `hash` (considered): it differs between processes. `repr` (considered): it abbreviates long arrays. Pickled bytes
#   (considered): they differ for equal values, by shared references and by version of Python or of a package.
# - Skipping parts without a digest (considered): the wrong hit described above. `content_digest` raises `TypeError`,
#   and the caller computes without a cache.
# - Concatenated parts (considered): `"ab", "c"` would equal `"a", "bc"`. Kind and length precede each value.
# - Time of modification as a stamp (considered): tools that copy or unpack files restore it. `Stamp` also has the time
#   of the last change of status, and the inode.
#
# Cost. O(bytes), by SHA-256; arrays are fed from memory without a copy. A file whose stamp has not changed is not read
# again (`stamped_file_digest` in one process, `recall` across processes). NumPy is imported only for its own values,
# since jobs that plan and report have none.
#
# Where it breaks. A file rewritten in place with the same size within one tick of the file system's clock keeps its
# stamp. On Windows, `changed_ns` is the time of creation. Equal values of different Python types (1 and 1.0) have
# different digests: a needless miss, never a wrong hit. A key is only as complete as its caller makes it.

from __future__ import annotations

import hashlib
import json
import logging
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from brainscore_core.files import DISK_FULL, NOT_WRITABLE, atomic_path

__all__ = [
    "Stamp",
    "content_digest",
    "file_digest",
    "file_stamp",
    "folder_stamps",
    "note",
    "recall",
    "remember",
    "stamp_of",
    "stamped_file_digest",
    "text_digest",
]


def text_digest(text: str) -> str:
    """Return the SHA-256 of a text, 64 hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()


def file_digest(path: str | Path, algorithm: str = "sha1") -> str:
    """Return the hexadecimal digest of a file's bytes, by any algorithm of :func:`hashlib.new`."""
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, algorithm).hexdigest()


@lru_cache(maxsize=2**17)
def stamped_file_digest(path: str, stamp: object) -> str:  # noqa: ARG001 - part of the key of lru_cache
    """Return the SHA-256 of a file's bytes, read again for another stamp."""
    return file_digest(path, "sha256")


def content_digest(*parts: object) -> str:
    """Return a 64-character digest of the values of the parts, equal across processes and machines.

    Parameters
    ----------
    *parts
        ``None``, bool, int, float, str, bytes, `Path` (the file's *content*, not its name), NumPy arrays (dtype, shape
        and bytes), and mappings, sequences and sets of these. Order in mappings and sets does not count. Others raise
        `TypeError`: a key that ignored a part could cause a wrong hit.
    """
    digest = hashlib.sha256()
    for part in parts:
        _feed(digest, part)
    return digest.hexdigest()


def _feed(digest: hashlib._Hash, part: object) -> None:
    # Before float and str, which NumPy's float64 and str_ also are.
    if "numpy" in sys.modules and _feed_numpy(digest, part):
        return
    if part is None or isinstance(part, (bool, int, float, str)):
        _feed_token(digest, type(part).__name__, repr(part).encode())
    elif isinstance(part, bytes):
        _feed_token(digest, "bytes", part)
    elif isinstance(part, Path):
        _feed_token(digest, "file", file_digest(part, "sha256").encode())
    elif isinstance(part, Mapping):
        items = sorted((content_digest(key), content_digest(value)) for key, value in part.items())
        _feed_token(digest, "mapping", json.dumps(items).encode())
    elif isinstance(part, (set, frozenset)):
        _feed_token(digest, "set", json.dumps(sorted(content_digest(item) for item in part)).encode())
    elif isinstance(part, Sequence):
        _feed_token(digest, "sequence", json.dumps([content_digest(item) for item in part]).encode())
    else:
        raise TypeError(
            f"A cache key cannot hold a {type(part).__qualname__}; expected None, bool, int, float, str, bytes, Path, "
            "a NumPy array, or a mapping, sequence or set of these. Convert it to one of these first."
        )


def _feed_numpy(digest: hashlib._Hash, part: object) -> bool:
    """Feed a scalar or an array of NumPy; return whether it is one."""
    import numpy as np

    if isinstance(part, np.generic):
        item = part.item()
        if part.dtype.kind in "biufSU" and isinstance(item, (bool, int, float, str, bytes)):
            _feed(digest, item)
            return True
        part = np.asarray(part)  # dates, complex and long numbers, without a Python equal
    if not isinstance(part, np.ndarray) or isinstance(part, np.ma.MaskedArray):  # its mask would not count
        return False
    if part.dtype.hasobject:
        _feed_token(digest, f"array{part.shape}", content_digest(part.tolist()).encode())
    else:
        flat = np.ascontiguousarray(part).reshape(-1)
        # Fed from memory without a copy; texts of length 0 have no view as bytes.
        value = flat.view(np.uint8).data if part.dtype.itemsize else flat.tobytes()
        _feed_token(digest, f"array{part.shape}{part.dtype.descr}", value)
    return True


def _feed_token(digest: hashlib._Hash, kind: str, value: bytes | memoryview) -> None:
    # Kind and length come first, so different sequences of parts never give the same stream of bytes.
    digest.update(f"{kind}:{len(value)}:".encode())
    digest.update(value)


# -- stamps of files ---------------------------------------------------------------------------------------------------
#
# Stamp files: a stamp differs after each change of the file, which need not be read.


_logger = logging.getLogger(__name__)


class Stamp(NamedTuple):
    """Size in bytes, times of the last change of content and of status (ns since 1970), and inode of a file.

    No program can set ``changed_ns``, so restoring times changes the stamp.
    """

    size_bytes: int
    modified_ns: int
    changed_ns: int
    inode: int


def stamp_of(status: os.stat_result) -> Stamp:
    """Return the stamp from the result of `os.stat`."""
    return Stamp(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)


def file_stamp(path: str | Path) -> Stamp | None:
    """Return the stamp of a file or folder, None if it cannot be reached."""
    try:
        return stamp_of(os.stat(path))  # noqa: PTH116 - thousands at a time: a Path each would double the time
    except OSError:
        return None


def folder_stamps(folder: Path, pattern: str = "*") -> Iterator[tuple[str, Stamp]]:
    """Yield path and stamp of each matching file below a folder, sorted, without byte code."""
    for file in sorted(folder.rglob(pattern)):
        if "__pycache__" not in file.parts and file.is_file() and (stamp := file_stamp(file)):
            yield str(file), stamp


# -- facts about a file, stored next to it -----------------------------------------------------------------------------


def recall(file: Path) -> dict[str, Any]:
    """Return the facts that `remember` stored about a file that has not changed since."""
    try:
        memo = json.loads(_memo_path(file).read_text(encoding="utf-8"))
    except (OSError, ValueError):  # absent or not ours
        return {}
    stamp = file_stamp(file)
    return memo if isinstance(memo, dict) and stamp and memo.get("stamp") == list(stamp) else {}


def remember(file: Path, facts: Mapping[str, str | None]) -> None:
    """Store facts about a file, such as its digest, until it changes."""
    note(_memo_path(file), json.dumps({"stamp": file_stamp(file), **facts}))


def note(path: Path, text: str) -> None:
    """Write a small file, unless the disk is full or read-only, which only costs hashing again."""
    try:
        with atomic_path(path) as temporary:
            temporary.write_text(text, encoding="utf-8")
    except OSError as error:
        if error.errno not in DISK_FULL | NOT_WRITABLE:
            raise
        _logger.debug("Cannot write %s: %s", path, error)


def _memo_path(file: Path) -> Path:
    return file.with_name(f".{file.name}.fetched.json")
