"""Digest files and values: equal content gives an equal digest in every process and on every machine."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

__all__ = ["content_digest", "file_digest", "stamped_file_digest", "text_digest"]


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
            "a NumPy array, or a mapping, sequence or set of these. Turn it into one of them first."
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
