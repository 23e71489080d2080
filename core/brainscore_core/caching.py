"""Cache results by their content; the only place that knows how.

A key is the digest of everything that changes the result. An entry is written under a temporary name in the same
folder and renamed, so that it is either absent or whole; a file lock lets one process compute while others wait.
"""

from __future__ import annotations

import hashlib
import json
import logging
import secrets
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TypeVar

from brainscore_core.config import settings

__all__ = ["atomic_directory", "atomic_path", "cached_file", "content_digest", "file_digest", "locked"]

Result = TypeVar("Result")

_logger = logging.getLogger(__name__)


def file_digest(path: str | Path, algorithm: str = "sha1") -> str:
    """Return the hexadecimal digest of a file's bytes, by any algorithm that :func:`hashlib.new` knows."""
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, algorithm).hexdigest()


def content_digest(*parts: object) -> str:
    """Return a 64-character digest of the values of the parts, equal across processes and machines.

    Parameters
    ----------
    *parts : object
        ``None``, bool, int, float, str, bytes, `Path` (the *content* of that file counts, not its name), NumPy
        arrays (dtype, shape and bytes), and mappings, sequences and sets of these. Mappings and sets count without
        their order.

    Raises
    ------
    TypeError
        For any other type: a key that silently ignored a part could cause a wrong hit.
    """
    digest = hashlib.sha256()
    for part in parts:
        _feed(digest, part)
    return digest.hexdigest()


def _feed(digest: hashlib._Hash, part: object) -> None:
    # Before float and str, which NumPy's float64 and str_ also are. Whoever passes such a value has imported NumPy.
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
        part = np.asarray(part)  # dates, complex and long numbers: no Python number holds all that they are
    if not isinstance(part, np.ndarray) or isinstance(part, np.ma.MaskedArray):  # its mask would not count
        return False
    if part.dtype.hasobject:
        _feed_token(digest, f"array{part.shape}", content_digest(part.tolist()).encode())
    else:
        flat = np.ascontiguousarray(part).reshape(-1)
        # Fed as it lies in memory, without a copy; texts of no length cannot be looked at as bytes.
        value = flat.view(np.uint8).data if part.dtype.itemsize else flat.tobytes()
        _feed_token(digest, f"array{part.shape}{part.dtype.descr}", value)
    return True


def _feed_token(digest: hashlib._Hash, kind: str, value: bytes | memoryview) -> None:
    # Kind and length in front, so that no two different sequences of parts give the same stream of bytes.
    digest.update(f"{kind}:{len(value)}:".encode())
    digest.update(value)


@contextmanager
def locked(path: str | Path, *, timeout_s: float = -1) -> Iterator[None]:
    """Hold a lock between processes on ``path``: a file ``<path>.lock`` beside it, whose folder is made if absent.

    Waits at most ``timeout_s`` seconds and raises `filelock.Timeout` then; -1 waits for ever.
    """
    from filelock import FileLock  # imported when needed: start-up stays fast

    lock_path = Path(f"{path}.lock")
    lock_path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(lock_path, timeout=timeout_s):
        yield


@contextmanager
def atomic_path(target: str | Path) -> Iterator[Path]:
    """Give a temporary path to write to and rename it to ``target`` if the block ends without an error.

    Parameters
    ----------
    target : path-like
        Where the file shall appear, whole or not at all. Its folder is made if it is absent.

    Yields
    ------
    Path
        A path in the same folder with the same suffix; removed again on any error, Ctrl-C included.
    """
    target = Path(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = _temporary_name(target)
    temporary.touch(exist_ok=False)  # with the rights of any new file; those of `tempfile` would stay private
    try:
        yield temporary
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


@contextmanager
def atomic_directory(target: str | Path) -> Iterator[Path]:
    """Give a temporary folder to fill and rename it to ``target`` if the block ends without an error.

    Parameters
    ----------
    target : path-like
        Where the folder shall appear. It must not exist yet.

    Yields
    ------
    Path
        An empty folder beside ``target``; removed again on any error.
    """
    target = Path(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = _temporary_name(target)
    temporary.mkdir()
    try:
        yield temporary
        temporary.rename(target)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def _temporary_name(target: Path) -> Path:
    return target.with_name(f".{target.stem[:60]}.{secrets.token_hex(8)}{target.suffix}")


def cached_file(
    kind: str,
    key: str,
    suffix: str,
    *,
    write: Callable[[Result, Path], object],
    read: Callable[[Path], Result],
    compute: Callable[[], Result],
) -> Result:
    """Return the cached result under a content key, computing and storing it the first time.

    Parameters
    ----------
    kind : str
        Folder below the cache home, such as ``'activations'``.
    key : str
        A `content_digest` of everything that changes the result.
    suffix : str
        File name ending, such as ``'.nc'``.
    write : callable
        ``write(result, path)`` stores a result.
    read : callable
        ``read(path)`` restores it; an entry that cannot be read (`OSError`, `ValueError`) is computed anew.
    compute : callable
        Makes the result. Runs in one process at a time for one key, where the disk has locks.

    Notes
    -----
    A disk that is full, or may only be read, costs time and a warning, never the result.
    """
    current = settings()
    if current.caching_disabled:
        return compute()
    path = current.cache_home / kind / key[:2] / f"{key}{suffix}"
    found = _read_entry(path, read)  # whole or absent, so that no lock is needed
    if found:
        return found[0]
    with ExitStack() as held:
        try:
            held.enter_context(locked(path))
        except (OSError, NotImplementedError) as error:  # the latter where the file system has no locks
            _logger.warning("%s is computed without the cache, which cannot be used: %s", kind, error)
            return compute()
        found = _read_entry(path, read)  # somebody else may have computed it by now
        if found:
            return found[0]
        result = compute()
        try:
            with atomic_path(path) as temporary:
                write(result, temporary)
        except OSError as error:
            _logger.warning("%s is not cached, because %s cannot be written: %s", kind, path, error)
        return result


def _read_entry(path: Path, read: Callable[[Path], Result]) -> tuple[Result] | None:
    try:
        return (read(path),) if path.is_file() else None
    except (OSError, ValueError):
        return None
