"""Fetch files on the web."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn
from urllib.parse import unquote, urlsplit

from brainscore_core.errors import ConfigurationError, DownloadError
from brainscore_core.identity.digest import note
from brainscore_core.transfer.fetch import check_free_space, check_reachable, fetch, note_silence, progress_bar

if TYPE_CHECKING:
    import httpx

    from brainscore_core.transfer.fetch import PartialFile

__all__ = ["fetch_url"]

logger = logging.getLogger(__name__)

_ATTEMPTS = 5
_CONNECT_TIMEOUT_S = 20
_READ_TIMEOUT_S = 60
_ANSWER_TIMEOUT_S = 8  # of the first answer: nothing is lost yet, and somebody waits
_FIRST_PAUSE_S = 0.2
_PART_BYTES = 2**20  # a killed process loses less than this
_CHUNK_BYTES = 2**16
_RETRIED_STATUSES = frozenset({408, 416, 425, 429, 500, 502, 503, 504})
_DIGEST = re.compile("[0-9a-f]{8,64}")
_FULL_DIGITS = 64


def fetch_url(url: str, target: str | Path, *, sha256: str | None) -> Path:
    """Return the verified local copy of a file on the web; see `brainscore_core.transfer.fetch.fetch`.

    A mirror folder holds it at ``<host>/<path of the URL>``.

    Parameters
    ----------
    sha256
        Digest of the file, 64 hexadecimal digits or at least its first 8. None accepts any first copy. Unless all
        digits are given, the digest of the first copy is written to ``<name>.sha256``, and later copies must match it.
    """
    digest = "" if sha256 is None else sha256.lower()
    if sha256 is not None and not _DIGEST.fullmatch(digest):
        raise ConfigurationError(
            f"{sha256!r} given for {url} is not a SHA-256 digest; expected 64 hexadecimal digits or the first 8."
        )
    if urlsplit(url).scheme not in {"http", "https"}:
        raise ConfigurationError(f"{url!r} is not the address of a file on the web; expected https://...")
    source = _WebFile(url, digest)
    return fetch(source, Path(target), lambda partial: _Transfer(source, partial).run())


@dataclass(frozen=True)
class _WebFile:
    """A file on the web with its SHA-256, or some first digits; then those recorded at the first download count."""

    address: str
    sha256: str

    version_id = None

    def __str__(self) -> str:
        return self.address

    @property
    def digests(self) -> dict[str, str]:
        return {"sha256": self.sha256}

    @property
    def mirror_path(self) -> Path:
        parts = urlsplit(self.address)
        return Path(parts.hostname or "", *unquote(parts.path).strip("/").split("/"))

    def refusal(self, algorithm: str, digest: str, target: Path) -> str:
        if not digest.startswith(self.sha256):
            return f"does not have the promised content: expected {algorithm} {self.sha256}, found {digest}"
        record = _record_path(target)
        if len(self.sha256) < _FULL_DIGITS and record.is_file():
            first = record.read_text(encoding="utf-8").partition(" ")[0]
            if first and digest != first:
                return (
                    f"differs from the file that was fetched first: sha256 is {digest}, but {record} has {first} "
                    "(remove that record if the change is expected)"
                )
        return ""

    def record(self, target: Path, digests: Mapping[str, str]) -> None:
        if len(self.sha256) < _FULL_DIGITS and not _record_path(target).exists():
            note(_record_path(target), f"{digests['sha256']}  {target.name}\n")  # as `sha256sum -c` reads it


def _record_path(target: Path) -> Path:
    return target.with_name(f"{target.name}.sha256")


class _RefusedForNowError(Exception):
    """The server answered with a status that may soon change."""


class _Transfer:
    """Complete a partial file from the web, continuing after faults."""

    def __init__(self, source: _WebFile, partial: PartialFile) -> None:
        self._url = source.address
        self._is_verified = bool(source.sha256)
        self._partial = partial
        self._identity: Mapping[str, object] = {}
        self._position = 0  # bytes of the file of that identity that have arrived
        self._continued = self._answered = False

    def run(self) -> bool:
        import httpx  # slow to import and only needed to download

        check_reachable(self._url, self._url)
        headers = {"Accept-Encoding": "identity", "User-Agent": "brainscore"}
        timeout = httpx.Timeout(_READ_TIMEOUT_S, connect=_CONNECT_TIMEOUT_S)
        failures = 0
        with httpx.Client(follow_redirects=True, timeout=timeout, headers=headers) as client:
            while True:
                start = self._position
                try:
                    self._attempt(client)
                except (httpx.TransportError, _RefusedForNowError) as error:
                    if isinstance(error, httpx.ReadTimeout) and not self._answered:
                        note_silence(self._url, TimeoutError(f"no answer within {_ANSWER_TIMEOUT_S} s"))
                        check_reachable(self._url, self._url)
                    # Progress resets the count of failed attempts.
                    failures = 1 if self._position - start >= _CHUNK_BYTES else failures + 1
                    if failures >= _ATTEMPTS:
                        raise DownloadError(
                            f"Cannot download {self._url}: {error or type(error).__name__}. Check the connection and "
                            f"try again; the partial download is kept. {_ATTEMPTS} attempts were made."
                        ) from error
                    logger.info("The download of %s broke at byte %d (%s)", self._url, self._position, error)
                    time.sleep(_FIRST_PAUSE_S * 2 ** (failures - 1))
                except (httpx.HTTPError, httpx.InvalidURL) as error:
                    raise DownloadError(f"Cannot download {self._url}: {error}. Check the address.") from error
                else:
                    return self._continued

    def _attempt(self, client: httpx.Client) -> None:
        wait_s = _READ_TIMEOUT_S if self._answered else _ANSWER_TIMEOUT_S
        with client.stream("GET", self._url, timeout=(_CONNECT_TIMEOUT_S, wait_s, wait_s, wait_s)) as answer:
            self._answered = True
            self._check(answer)
            begin, size_bytes = self._begin(answer)
            if begin == 0:
                self._receive(answer, begin, size_bytes)
                return
            self._continued = True
            if begin == size_bytes:
                return
            etag, modified = answer.headers.get("ETag", ""), answer.headers.get("Last-Modified")
            headers = {"Range": f"bytes={begin}-"}
            # The whole file arrives if it was replaced, as a weak ETag would not tell.
            if unchanged := etag if etag and not etag.startswith("W/") else modified:
                headers["If-Range"] = unchanged
        with client.stream("GET", self._url, headers=headers) as answer:
            self._check(answer)
            if not answer.headers.get("Content-Range", "").startswith(f"bytes {begin}-"):
                # The server ignores ranges, or the file was replaced: the whole file arrives.
                self._partial.discard()
                self._identity, self._continued = {}, False
                begin, size_bytes = self._begin(answer)
            self._receive(answer, begin, size_bytes)

    def _begin(self, answer: httpx.Response) -> tuple[int, int | None]:
        """Return the first missing byte and the file's size, None if unknown."""
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
            self._partial.discard()  # nothing would reveal parts of different files
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


def _raise_refused(url: str, status: int, phrase: str) -> NoReturn:
    if status in {404, 410}:
        reason = "there is no such file. It was moved or removed by its publisher: check the address"
    elif status in {401, 403}:
        reason = "the server denies access. Ask its publisher for it"
    else:
        reason = "the answer contains no file"
    raise DownloadError(
        f"Cannot download {url} ({status} {phrase}): {reason}, or put the file into a mirror folder "
        "(BRAINSCORE_MIRROR)."
    )


def _name(url: str) -> str:
    return urlsplit(url).path.rpartition("/")[2] or url
