"""Fetch a file once, verified and whole: local copy, mirror, then download; offline if the settings say so."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from brainscore_core.config import settings
from brainscore_core.errors import ChecksumError, OfflineError
from brainscore_core.files import locked
from brainscore_core.identity.digest import file_digest
from brainscore_core.identity.stamp import recall, remember
from brainscore_core.transfer.disk import check_free_space
from brainscore_core.transfer.partial import PartialFile, storing

__all__ = ["RemoteFile", "fetch", "mirrored_copy"]

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
        _logger.warning("The mirror holds another file; downloading instead. %s", error)
        return False
    return True


def _absent(source: RemoteFile, target: Path) -> OfflineError:
    mirror = settings().mirror
    version = " in the version asked for" if target.exists() else ""
    mirrored = f" nor at {mirror / source.mirror_path}" if mirror else ""
    # Name the folder that stays: a home may hold links to lasting weights.
    absent = f"{source} is not at {target.resolve()}{version}{mirrored}"
    remedy = "BRAINSCORE_OFFLINE=1 forbids to download it. Unset that variable, or put the file there."
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
                f"{target.name} from {origin} {reason} ({size_bytes} bytes). What arrived was removed. Try again; if "
                "that does not help, the file was replaced at its source, something between it and this machine "
                f"answers in its place, or the registered {algorithm} or version is wrong."
            )
    partial.publish(target)
    _remember(source, target, digests)
    source.record(target, digests)


def _remember(source: RemoteFile, target: Path, digests: Mapping[str, str]) -> None:
    remember(target, {"source": source.address, "version_id": source.version_id or None, **digests})
