"""Fetch a file once, verified and whole: local copy, mirror, then download; offline if the settings say so."""

# Why an engine for downloads
#
# Problem. Data and weights have gigabytes, and connections, processes and machines fail. A download must continue where
# it stopped, in another process too. Several processes want the same file at once. A file under its final name must be
# whole, and the one that was registered.
#
# Sources. RFC 9110, sections 13.1.5 (If-Range) and 14 (ranges); If-Match and ranges in S3's GetObject; rename(2) and
# fsync(2).
#
# What else was tried or considered, and why not.
# - Two engines, for S3 and for the web (tried until 2026-11-23): mirror, offline mode, locks and checks were written
#   twice. Now HTTP and S3 only bring bytes.
# - pooch (considered): verifies and renames, but starts again from the first byte.
# - boto3's `download_file` (considered): parts in parallel, but it removes them after a failure.
# - The size of the partial file as the position (considered): S3's parts arrive out of order, and a file of full size
#   would look whole. A list names each part after its last byte.
# - One timeout for the whole file (considered): slow lines would never finish. Progress resets the count of failures,
#   and servers that are out of reach are reported in seconds (`check_reachable`).
#
# Cost. O(missing bytes) of transfer, then O(size) to verify it. A killed process loses less than 1 MiB from the web, or
# from S3 less than 8 MiB for each of eight parts. An unchanged file costs one stamp. Processes that want the same file
# wait for one download.
#
# Where it breaks. Without a size, or without anything that identifies the file (from S3 a digest, from the web also an
# ETag or a date), a download starts from the first byte. After a power failure, listed parts may not be on the disk:
# the digest reveals that, and the file is fetched whole; a web file without a stated digest is not protected. Waiting
# needs a file system with locks.

from __future__ import annotations

import json
import logging
import os
import shutil
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Protocol
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from brainscore_core.config import settings
from brainscore_core.errors import BrainScoreError, ChecksumError, DownloadError, OfflineError, harmless
from brainscore_core.files import DISK_FULL, NOT_WRITABLE, locked
from brainscore_core.identity.digest import file_digest, recall, remember

__all__ = ["RemoteFile", "fetch", "mirrored_copy"]


# -- whether a server is in reach --------------------------------------------------------------------------------------
#
# Report at once that a server is out of reach, before requests are repeated.


_CONNECT_TIMEOUT_S = 3  # for each address of a host; a lost packet is sent again after 1 s
_PAUSES_S = (0.2, 0.8)  # a busy name server may fail for a moment
_VALID_S = 60  # after a failure, a process asks again; a server that was reached stays so
_asked: dict[tuple[str, int], tuple[float, OSError | None]] = {}


def check_reachable(url: str, name: str) -> None:
    """Raise a `DownloadError` about the file `name` if no connection to the host of a URL can be made.

    Proxies are not asked; a host that refuses the connection may be starting.
    """
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or (80 if parts.scheme == "http" else 443)
    if getproxies().keys() & {parts.scheme, "all"} and not proxy_bypass(host):
        return
    asked, error = _asked.get((host, port), (0.0, None))
    if not asked or (error is not None and time.monotonic() - asked > _VALID_S):
        error = _connect(host, port)
        _asked[host, port] = time.monotonic(), error
    if error is not None:
        raise DownloadError(
            f"Cannot download {name}: {host} cannot be reached ({error}). Connect this machine, set HTTPS_PROXY if "
            "there is a proxy, or put the file into a mirror folder (BRAINSCORE_MIRROR)."
        ) from error


def note_silence(url: str, error: OSError) -> None:
    """Let `check_reachable` refuse the host of a URL, which takes connections and does not answer."""
    parts = urlsplit(url)
    _asked[parts.hostname or "", parts.port or (80 if parts.scheme == "http" else 443)] = time.monotonic(), error


def _connect(host: str, port: int) -> OSError | None:
    start = time.monotonic()
    for pause_s in (*_PAUSES_S, None):
        try:
            socket.create_connection((host, port), _CONNECT_TIMEOUT_S).close()
        except socket.gaierror as error:
            if pause_s is None or time.monotonic() - start > _CONNECT_TIMEOUT_S:  # it is not busy, but silent
                return error
            time.sleep(pause_s)
        except ConnectionError:
            break
        except OSError as error:
            return error
        else:
            break
    return None


# -- the disk and progress ---------------------------------------------------------------------------------------------
#
# Check the free space of a disk and show the progress of a transfer.


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


# -- partial files -----------------------------------------------------------------------------------------------------
#
# Keep the parts of a file that have arrived, so a later attempt only fetches the rest.


class PartialFile:
    """A hidden file next to its locked target, with a list of the parts in it, each added after its last byte."""

    def __init__(self, target: Path) -> None:
        self.path = target.with_name(f".{target.name}.part")
        self.list_path = target.with_name(f".{target.name}.part.list")
        self._mutex = threading.Lock()  # parts arrive in several threads

    def start(self, identity: Mapping[str, object], size_bytes: int, part_bytes: int) -> list[tuple[int, int]]:
        """Continue an earlier download of the same object, or start again; return (first byte, end) of missing parts.

        The object is the same if its ``identity`` and sizes are.
        """
        header = json.dumps({**identity, "size_bytes": size_bytes, "part_bytes": part_bytes}, sort_keys=True)
        begins = range(0, size_bytes, part_bytes)
        arrived = self._listed(header, size_bytes)
        if arrived is None:
            self.discard()
            with self.path.open("wb") as stream:
                stream.truncate(size_bytes)
            self.list_path.write_text(f"{header}\n", encoding="utf-8")
            arrived = set()
        return [(begin, min(begin + part_bytes, size_bytes)) for begin in begins if begin not in arrived]

    def _listed(self, header: str, size_bytes: int) -> set[int] | None:
        try:
            first, *begins = self.list_path.read_bytes().decode("utf-8").split("\n")
            if first != header or self.path.stat().st_size != size_bytes:
                return None
            return {int(begin) for begin in begins[:-1]}  # the text after the last line end was cut off
        except (OSError, ValueError):  # absent or damaged: start again
            return None

    def opened(self, position: int) -> BinaryIO:
        """Open the file for writing at a position."""
        stream = self.path.open("r+b")
        stream.seek(position)
        return stream

    def add(self, begin: int) -> None:
        """List the part that starts at a byte."""
        with self._mutex, self.list_path.open("a", encoding="utf-8") as stream:
            stream.write(f"{begin}\n")

    def publish(self, target: Path) -> None:
        """Give the complete file, once on the disk, its name."""
        with self.path.open("rb") as stream:
            os.fsync(stream.fileno())
        self.path.replace(target)
        self.list_path.unlink(missing_ok=True)

    def discard(self) -> None:
        """Remove file and list."""
        self.list_path.unlink(missing_ok=True)
        self.path.unlink(missing_ok=True)


@contextmanager
def storing(what: str, target: Path) -> Iterator[None]:
    """Turn the error of a full or read-only disk into a `DownloadError` that names the file and its target."""
    try:
        yield
    except BrainScoreError:
        raise
    except OSError as error:
        if error.errno in DISK_FULL:
            PartialFile(target).discard()  # a full disk hinders everybody
            raise DownloadError(
                f"The disk is full: {what} does not fit into {target.parent}. The partial download was removed. Make "
                "room, or move the cache to another disk (BRAINIO_HOME for data, BRAINSCORE_HOME for weights)."
            ) from error
        if error.errno in NOT_WRITABLE:
            raise DownloadError(
                f"{what} is not at {target}, and cannot be put there ({error.strerror}). Ask the owner of that folder "
                "to fetch it, or set BRAINIO_HOME (data) or BRAINSCORE_HOME (weights) to a folder of your own."
            ) from error
        raise


# -- fetching ----------------------------------------------------------------------------------------------------------


_logger = logging.getLogger(__name__)


class RemoteFile(Protocol):
    """A file on a server; its text names it in messages."""

    @property
    def address(self) -> str:
        """URL without a version."""

    @property
    def version_id(self) -> str | None:
        """Version of the file; None or ``''`` is the newest."""

    @property
    def mirror_path(self) -> Path:
        """Path of the file in a mirror folder, relative to that folder."""

    @property
    def digests(self) -> Mapping[str, str]:
        """Algorithm -> hexadecimal digest, in lower case."""

    def refusal(self, algorithm: str, digest: str, target: Path, /) -> str:
        """Return why content with a digest is not this file, to follow its name; empty if it may be."""

    def record(self, target: Path, digests: Mapping[str, str], /) -> None:
        """Store the digests of an accepted copy if later copies must match."""


def fetch(source: RemoteFile, target: Path, bring: Callable[[PartialFile], bool]) -> Path:
    """Return the verified local copy of a file, fetching it if it is absent, damaged or another version.

    Unchanged copies are not hashed again. Otherwise the mirror folder (``BRAINSCORE_MIRROR``) is tried, then
    ``bring(partial)``, which downloads the missing bytes and returns whether earlier ones were continued. An
    interrupted download continues at the next call. Concurrent processes download once. The file appears only when
    whole and verified.

    Raises
    ------
    ChecksumError
        The downloaded file has another digest; it is removed.
    DownloadError
        The file does not exist, is out of reach or cannot be stored, or ``BRAINSCORE_OFFLINE=1`` forbids downloads.
    """
    if _is_usable(source, target):
        return target
    if settings().offline and mirrored_copy(source) is None:
        raise _absent(source, target)  # also where nothing can be written, such as in a box
    with storing(str(source), target), locked(target):
        if not _is_usable(source, target):  # another process may have fetched it meanwhile
            partial = PartialFile(target)
            if not _copy_from_mirror(source, target, partial):
                _download(source, target, partial, bring)
    return target


def mirrored_copy(source: RemoteFile) -> Path | None:
    """Return the copy of a file in the mirror folder, if any."""
    mirror = settings().mirror
    if mirror is None or ".." in source.mirror_path.parts:
        return None
    copy = mirror / source.mirror_path
    return copy if copy.is_file() else None


def _is_usable(source: RemoteFile, target: Path) -> bool:
    if not target.is_file():
        return False
    facts = recall(target)
    if not source.digests:  # the version decides; a file that we have not fetched is trusted
        fetched = facts.get("version_id")
        is_other = bool(fetched and source.version_id and fetched != source.version_id)
        if is_other:
            _logger.warning("%s is version %s: fetching %s", target, fetched, source)
        return not is_other
    remembered = {algorithm: facts[algorithm] for algorithm in ("sha1", "sha256") if facts.get(algorithm)}
    digests = dict(remembered)
    for algorithm in source.digests:
        try:
            digests[algorithm] = remembered.get(algorithm) or file_digest(target, algorithm)
        except FileNotFoundError:  # removed meanwhile
            return False
        if reason := source.refusal(algorithm, digests[algorithm], target):
            _logger.warning("%s %s: fetching it from %s", target, reason, source)
            return False
    if digests != remembered:
        _remember(source, target, digests)
    source.record(target, digests)
    return True


def _copy_from_mirror(source: RemoteFile, target: Path, partial: PartialFile) -> bool:
    """Publish the mirror's copy; return False if it is absent or, unless offline, has another digest."""
    copy = mirrored_copy(source)
    if copy is None:
        return False
    check_free_space(partial.path, copy.stat().st_size, str(copy))
    partial.discard()
    shutil.copyfile(copy, partial.path)
    try:
        _publish(source, target, partial, str(copy))
    except ChecksumError as error:
        if settings().offline:
            raise
        _logger.warning("The file in the mirror is a different one; downloading instead. %s", error)
        return False
    return True


def _absent(source: RemoteFile, target: Path) -> OfflineError:
    mirror = settings().mirror
    version = " in the requested version" if target.exists() else ""
    mirrored = f" nor at {mirror / source.mirror_path}" if mirror else ""
    # Name the folder that stays: a home may hold links to lasting weights.
    absent = f"{source} is not at {target.resolve()}{version}{mirrored}"
    remedy = "BRAINSCORE_OFFLINE=1 prevents its download. Unset that variable, or put the file there."
    return OfflineError(f"{absent}, and {remedy}", absent)


def _download(source: RemoteFile, target: Path, partial: PartialFile, bring: Callable[[PartialFile], bool]) -> None:
    if settings().offline:
        raise _absent(source, target)
    is_continued = bring(partial)
    try:
        _publish(source, target, partial, str(source))
    except ChecksumError:
        if not is_continued:
            raise
        # Earlier bytes may be damaged, as by a power failure: download the whole file.
        bring(partial)
        _publish(source, target, partial, str(source))


def _publish(source: RemoteFile, target: Path, partial: PartialFile, origin: str) -> None:
    """Verify a complete file and give it its name, or remove it."""
    digests = {algorithm: file_digest(partial.path, algorithm) for algorithm in source.digests}
    for algorithm, digest in digests.items():
        if reason := source.refusal(algorithm, digest, target):
            size_bytes = partial.path.stat().st_size
            partial.discard()
            raise ChecksumError(
                f"{target.name} from {origin} {reason} ({size_bytes} bytes). The download was removed. Try again; if "
                "that does not help, the file was replaced at its source, something in between answers instead of the "
                f"server (such as a login page), or the registered {algorithm} or version is wrong."
            )
    partial.publish(target)
    _remember(source, target, digests)
    source.record(target, digests)


def _remember(source: RemoteFile, target: Path, digests: Mapping[str, str]) -> None:
    remember(target, {"source": source.address, "version_id": source.version_id or None, **digests})
