"""Return verified local copies of files on the web: from the disk, from a mirror folder, or downloaded."""

from __future__ import annotations

import logging
import re
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn
from urllib.parse import unquote, urlsplit

from brainscore_core.config import settings
from brainscore_core.errors import ChecksumError, ConfigurationError, DownloadError, OfflineError
from brainscore_core.files import locked
from brainscore_core.identity.digest import file_digest
from brainscore_core.identity.stamp import note, recall, remember
from brainscore_core.transfer.disk import check_free_space, progress_bar
from brainscore_core.transfer.partial import PartialFile, storing

if TYPE_CHECKING:
    import httpx

__all__ = ["fetch_url"]

logger = logging.getLogger(__name__)

_ATTEMPTS = 5
_CONNECT_TIMEOUT_S = 20
_READ_TIMEOUT_S = 60
_FIRST_PAUSE_S = 0.2
_PART_BYTES = 2**20  # a killed process loses less than this
_CHUNK_BYTES = 2**16
_RETRIED_STATUSES = frozenset({408, 416, 425, 429, 500, 502, 503, 504})
_DIGEST = re.compile("[0-9a-f]{8,64}")
_FULL_DIGITS = 64


def fetch_url(url: str, target: str | Path, *, sha256: str | None) -> Path:
    """Return a local copy of a file on the web, getting it if there is none yet.

    A file that is there already is used if it has the digest (an unchanged file is not hashed again). Else it is
    copied from the mirror folder (``BRAINSCORE_MIRROR``) if that holds ``<host>/<path of the URL>``, or downloaded; an
    interrupted download is continued by the next one. Processes that ask at the same time download once. A file
    appears under its name only when it is whole and verified.

    Parameters
    ----------
    sha256 : str or None
        Digest of the file: 64 hexadecimal digits, or the first ones (at least 8) where its publisher states no more
        than these; None where nothing is stated, so that whatever comes first is believed. Then all digits of the
        first copy are written beside it, to ``<name>.sha256``, and every later copy has to have them.

    Returns
    -------
    Path
        ``target``.

    Raises
    ------
    ChecksumError
        The downloaded file does not have the digest; it is removed.
    DownloadError
        It does not exist, cannot be reached or stored, or ``BRAINSCORE_OFFLINE=1`` forbids to try.
    ConfigurationError
        The digest is none, or the address is not of the web.
    """
    digest = "" if sha256 is None else sha256.lower()
    if sha256 is not None and not _DIGEST.fullmatch(digest):
        raise ConfigurationError(
            f"{sha256!r} given for {url} is no SHA-256 digest; expected 64 hexadecimal digits, or the first 8 or more."
        )
    if urlsplit(url).scheme not in {"http", "https"}:
        raise ConfigurationError(f"{url!r} is no address of a file on the web; expected https://...")
    wanted = _Wanted(url, Path(target), digest)
    if wanted.is_there():
        return wanted.target
    with storing(url, wanted.target), locked(wanted.target):
        if not wanted.is_there():  # nobody else has fetched it while we waited for the lock
            partial = PartialFile(wanted.target)
            if not _copy_from_mirror(wanted, partial):
                _download(wanted, partial)
    return wanted.target


class _Wanted:
    """A file that shall be at ``target`` and have a digest, or the first digits of one and those that were recorded."""

    def __init__(self, url: str, target: Path, digest: str) -> None:
        self.url, self.target, self.digest = url, target, digest
        self._record_path = target.with_name(f"{target.name}.sha256")

    def is_there(self) -> bool:
        """Say whether the target has the digest."""
        if not self.target.is_file():
            return False
        try:
            found = str(recall(self.target).get("sha256") or file_digest(self.target, "sha256"))
        except FileNotFoundError:  # removed meanwhile
            return False
        if reason := self._refusal(found):
            logger.warning("%s %s: it will be fetched from %s", self.target, reason, self.url)
            return False
        self._note(found)
        return True

    def publish(self, partial: PartialFile, origin: str) -> None:
        """Verify a complete file and give it its name, or remove it."""
        found = file_digest(partial.path, "sha256")
        if reason := self._refusal(found):
            size_bytes = partial.path.stat().st_size
            partial.discard()
            raise ChecksumError(
                f"{self.target.name} from {origin} {reason} ({size_bytes} bytes). What arrived was removed. Try again; "
                "if that does not help, the file was replaced at its source, or something between it and this "
                "machine answers in its place."
            )
        partial.publish(self.target)
        self._note(found)

    def _refusal(self, found: str) -> str:
        if not found.startswith(self.digest):
            return f"does not have the promised content: expected sha256 {self.digest}, found {found}"
        if len(self.digest) < _FULL_DIGITS and found != (recorded := self._recorded() or found):
            return (
                f"is another file than the one that was fetched first: sha256 is {found}, and {self._record_path} says "
                f"{recorded} (remove that if you know why)"
            )
        return ""

    def _recorded(self) -> str:
        try:
            return self._record_path.read_text(encoding="utf-8").partition(" ")[0]
        except FileNotFoundError:
            return ""

    def _note(self, found: str) -> None:
        if recall(self.target).get("sha256") != found:
            remember(self.target, {"source": self.url, "sha256": found})
        if len(self.digest) < _FULL_DIGITS and not self._record_path.exists():
            note(self._record_path, f"{found}  {self.target.name}\n")  # as `sha256sum -c` reads it


def _copy_from_mirror(wanted: _Wanted, partial: PartialFile) -> bool:
    """Put the mirror's copy at the target; False if there is none or (unless offline) it is not the wanted one."""
    current = settings()
    if current.mirror is None:
        return False
    parts = urlsplit(wanted.url)
    place = Path(parts.hostname or "", *unquote(parts.path).strip("/").split("/"))
    original = current.mirror / place
    if ".." in place.parts or not original.is_file():
        return False
    check_free_space(partial.path, original.stat().st_size, str(original))
    partial.discard()
    shutil.copyfile(original, partial.path)
    try:
        wanted.publish(partial, str(original))
    except ChecksumError as error:
        if current.offline:
            raise
        logger.warning("The mirror holds another file; downloading instead. %s", error)
        return False
    return True


def _download(wanted: _Wanted, partial: PartialFile) -> None:
    current = settings()
    if current.offline:
        parts = urlsplit(wanted.url)
        mirrored = f" nor at {current.mirror}/{parts.hostname}{parts.path}" if current.mirror else ""
        absent = f"{wanted.url} is not at {wanted.target}{mirrored}"
        forbidden = "BRAINSCORE_OFFLINE=1 forbids to download it. Unset that variable, or put the file there."
        raise OfflineError(f"{absent}, and {forbidden}", absent)
    continued = _Transfer(wanted, partial).run()
    try:
        wanted.publish(partial, wanted.url)
    except ChecksumError:
        if not continued:
            raise
        # What an earlier process left may have suffered, from a power failure for instance: once more, all of it.
        _Transfer(wanted, partial).run()
        wanted.publish(partial, wanted.url)


class _RefusedForNowError(Exception):
    """The server answered with a status that may be another one soon."""


class _Transfer:
    """Complete a partial file from the web, continuing after faults."""

    def __init__(self, wanted: _Wanted, partial: PartialFile) -> None:
        self._url = wanted.url
        self._is_verified = bool(wanted.digest)
        self._partial = partial
        self._identity: Mapping[str, object] = {}
        self._position = 0  # up to where the file of that identity has arrived
        self._continued = False

    def run(self) -> bool:
        """Download what is missing; return whether some of it was there before."""
        import httpx  # only needed to download

        headers = {"Accept-Encoding": "identity", "User-Agent": "brainscore"}
        timeout = httpx.Timeout(_READ_TIMEOUT_S, connect=_CONNECT_TIMEOUT_S)
        failures = 0
        with httpx.Client(follow_redirects=True, timeout=timeout, headers=headers) as client:
            while True:
                before = self._position
                try:
                    self._attempt(client)
                except (httpx.TransportError, _RefusedForNowError) as error:
                    # A connection that breaks after it got somewhere does not count as a failed attempt.
                    failures = 1 if self._position - before >= _CHUNK_BYTES else failures + 1
                    if failures >= _ATTEMPTS:
                        raise DownloadError(
                            f"Cannot download {self._url}: {error or type(error).__name__}. Check the connection and "
                            f"try again: what has arrived is kept. {_ATTEMPTS} attempts were made."
                        ) from error
                    logger.info("The download of %s broke at byte %d (%s)", self._url, self._position, error)
                    time.sleep(_FIRST_PAUSE_S * 2 ** (failures - 1))
                except (httpx.HTTPError, httpx.InvalidURL) as error:
                    raise DownloadError(f"Cannot download {self._url}: {error}. Compare the address.") from error
                else:
                    return self._continued

    def _attempt(self, client: httpx.Client) -> None:
        with client.stream("GET", self._url) as answer:
            self._check(answer)
            begin, size_bytes = self._begin(answer)
            if begin == 0:
                self._receive(answer, begin, size_bytes)
                return
            self._continued = True
            if begin == size_bytes:
                return
            wanted = _rest_of(answer, begin)
        with client.stream("GET", self._url, headers=wanted) as answer:
            self._check(answer)
            if not answer.headers.get("Content-Range", "").startswith(f"bytes {begin}-"):
                # The server knows no ranges, or the file is another one by now: all of it comes.
                self._partial.discard()
                self._identity, self._continued = {}, False
                begin, size_bytes = self._begin(answer)
            self._receive(answer, begin, size_bytes)

    def _begin(self, answer: httpx.Response) -> tuple[int, int | None]:
        """Return from which byte on the file is missing, and how many it has (None: the server does not say)."""
        length = answer.headers.get("Content-Length")
        if length is None:
            self._partial.discard()
            return 0, None
        size_bytes = int(length)
        identity = {
            "url": self._url,
            "size_bytes": size_bytes,
            **{name: answer.headers.get(name) for name in ("ETag", "Last-Modified")},
        }
        if not (self._is_verified or identity["ETag"] or identity["Last-Modified"]):
            self._partial.discard()  # nothing could tell whether old and new parts fit together
            self._identity = {}
        missing = self._partial.start(identity, size_bytes, _PART_BYTES)
        listed = missing[0][0] if missing else size_bytes
        if identity != self._identity:
            self._identity, self._position = identity, listed
        return max(listed, self._position), size_bytes

    def _receive(self, answer: httpx.Response, begin: int, size_bytes: int | None) -> None:
        if size_bytes is None:
            with self._partial.path.open("wb") as stream:
                stream.writelines(answer.iter_raw(_CHUNK_BYTES))
            return
        check_free_space(self._partial.path, size_bytes - begin, self._url)
        next_part = begin // _PART_BYTES * _PART_BYTES
        with self._partial.opened(begin) as stream, progress_bar(_name(self._url), size_bytes, begin) as advance:
            self._position = begin
            for chunk in answer.iter_raw(_CHUNK_BYTES):
                stream.write(chunk)
                self._position += len(chunk)
                advance(len(chunk))
                while min(next_part + _PART_BYTES, size_bytes) <= self._position and next_part < size_bytes:
                    stream.flush()  # a part is listed after all of it is written
                    self._partial.add(next_part)
                    next_part += _PART_BYTES

    def _check(self, answer: httpx.Response) -> None:
        if answer.status_code in {200, 206}:
            return
        if answer.status_code in _RETRIED_STATUSES:
            if answer.status_code == 416:
                self._partial.discard()
            raise _RefusedForNowError(f"the server answers {answer.status_code} {answer.reason_phrase}")
        _raise_refused(self._url, answer.status_code, answer.reason_phrase)


def _rest_of(answer: httpx.Response, begin: int) -> Mapping[str, str]:
    """Return the headers of a request for the rest of the file that an answer brings, unless it is replaced."""
    etag, modified = answer.headers.get("ETag", ""), answer.headers.get("Last-Modified")
    unchanged = etag if etag and not etag.startswith("W/") else modified  # a weak one does not promise equal bytes
    return {"Range": f"bytes={begin}-", **({"If-Range": unchanged} if unchanged else {})}


def _raise_refused(url: str, status: int, phrase: str) -> NoReturn:
    if status in {404, 410}:
        reason = "there is no such file. It was moved or removed by its publisher: compare the address"
    elif status in {401, 403}:
        reason = "the server refuses to give it to us. Ask its publisher for access"
    else:
        reason = "that is no answer with a file in it"
    raise DownloadError(
        f"Cannot download {url} ({status} {phrase}): {reason}, or put the file into a mirror folder "
        "(BRAINSCORE_MIRROR)."
    )


def _name(url: str) -> str:
    return urlsplit(url).path.rpartition("/")[2] or url
