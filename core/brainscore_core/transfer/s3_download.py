"""Download an object of S3 in parts, several at once, continuing after faults. Import it late: it imports boto3."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn

import boto3
from boto3.exceptions import Boto3Error
from botocore import UNSIGNED
from botocore import exceptions as botocore_exceptions
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError, IncompleteReadError

from brainscore_core.errors import DownloadError, PrivateDataError
from brainscore_core.transfer.fetch import check_free_space, check_reachable, progress_bar
from brainscore_core.transfer.s3 import S3Object, StoppedError

if TYPE_CHECKING:
    from brainscore_core.transfer.fetch import PartialFile

logger = logging.getLogger(__name__)

_ATTEMPTS = 5
_CONNECT_TIMEOUT_S = 20
_READ_TIMEOUT_S = 60
_FIRST_PAUSE_S = 0.2
_PART_BYTES = 8 * 2**20
_PARTS_AT_ONCE = 8
_QUESTIONS_AT_ONCE = 8
_CHUNK_BYTES = 2**16  # lost at most by a broken connection
_PROGRESS_BYTES = 2**20  # resets the count of failed attempts
_CREDENTIAL_STATUSES = (400, 401, 403)  # expired, unknown or insufficient credentials: an unsigned request may succeed
_REPLACED_STATUS = 412


def make_s3_clients() -> list[Any]:
    """Return the clients to try in turn, signed if there are credentials, then unsigned; they repeat requests."""
    base = Config(
        retries={"mode": "standard", "max_attempts": _ATTEMPTS},
        connect_timeout=_CONNECT_TIMEOUT_S,
        read_timeout=_READ_TIMEOUT_S,
        max_pool_connections=2 * _PARTS_AT_ONCE,
    )
    session = boto3.session.Session()
    unsigned = session.client("s3", config=base.merge(Config(signature_version=UNSIGNED)))
    if session.get_credentials() is None:
        return [unsigned]
    return [session.client("s3", config=base), unsigned]


def bring(source: S3Object, stop: threading.Event, partial: PartialFile) -> bool:
    """Download the missing bytes of a file; return whether earlier ones were continued.

    Bytes of an earlier process are continued only if a digest verifies the whole file. Setting `stop` ends it
    (`DownloadError`); after an error the bytes stay.
    """
    signed: list[Any] = []
    try:
        *signed, unsigned = make_s3_clients()
        check_reachable(unsigned.meta.endpoint_url, str(source))
        for client in signed:
            try:
                return _Transfer(client, source, partial, stop).run()
            except (ClientError, BotoCoreError) as error:
                if not _is_about_credentials(error):
                    raise
                logger.debug("Signed download of %s failed, trying without credentials: %s", source, error)
        return _Transfer(unsigned, source, partial, stop).run()
    except ClientError as error:
        _raise_refused(source, error, signed=bool(signed))
    except (BotoCoreError, Boto3Error) as error:
        raise DownloadError(
            f"Cannot download {source}: {error}. Check the connection (and AWS_ENDPOINT_URL, if you use another "
            f"server) and try again; the partial download is kept. {_ATTEMPTS} attempts were made."
        ) from error


def remote_sizes(sources: Sequence[S3Object]) -> list[int | None]:
    """Return the sizes of files in bytes; None if S3 does not say. An unreachable server is asked once."""
    if not sources:
        return []
    clients = make_s3_clients()
    try:
        check_reachable(clients[0].meta.endpoint_url, str(sources[0]))
    except DownloadError as error:
        logger.debug("Sizes are not available: %s", error)
        return [None] * len(sources)
    unreachable = threading.Event()

    def ask(source: S3Object) -> int | None:
        for client in clients:
            if unreachable.is_set():
                return None
            try:
                return int(head_of(client, source)[1]["ContentLength"])
            except ClientError as error:
                logger.debug("The size of %s is not available: %s", source, error)
            except BotoCoreError as error:
                if _is_about_credentials(error):
                    continue
                logger.debug("The server cannot be reached, so the size of %s is not available: %s", source, error)
                unreachable.set()
        return None

    first = ask(sources[0])
    with ThreadPoolExecutor(_QUESTIONS_AT_ONCE, thread_name_prefix="sizes") as pool:
        return [first, *pool.map(ask, sources[1:])]


def head_of(client: Any, source: S3Object) -> tuple[dict[str, str], Mapping[str, Any]]:
    """Return the request that the server understood and its answer."""
    request = {"Bucket": source.bucket, "Key": source.key}
    if source.version_id:
        request["VersionId"] = source.version_id
    try:
        return request, client.head_object(**request)
    except ClientError as error:
        if source.version_id != "null" or _http_status(error) != 400:
            raise
        del request["VersionId"]  # some servers do not know version 'null' in a bucket without versions
        return request, client.head_object(**request)


class _Transfer:
    def __init__(self, client: Any, source: S3Object, partial: PartialFile, stop: threading.Event) -> None:
        self._client = client
        self._source = source
        self._partial = partial
        self._stop = stop
        self._request: dict[str, Any] = {"Bucket": source.bucket, "Key": source.key}
        self._size_bytes = 0
        self._advance: Callable[[int], None] = lambda _: None
        self._failed = threading.Event()
        self._errors: list[BaseException] = []

    def run(self) -> bool:
        """Download the missing bytes, or all if the file changes; return whether earlier ones stayed."""
        if not self._source.digests:
            self._partial.discard()  # nothing would reveal parts of different files
        for remaining in reversed(range(_ATTEMPTS)):
            identity = self._inspect()
            missing = self._partial.start(identity, self._size_bytes, _PART_BYTES)
            missing_bytes = sum(end - begin for begin, end in missing)
            check_free_space(self._partial.path, missing_bytes, str(self._source))
            label = f"{self._source.bucket}/{self._source.key}"
            try:
                with progress_bar(label, self._size_bytes, self._size_bytes - missing_bytes) as self._advance:
                    self._bring(missing)
            except ClientError as error:
                if _http_status(error) != _REPLACED_STATUS or not remaining:
                    raise
                logger.warning("%s was replaced during its download; starting again", self._source)
                self._partial.discard()
            else:
                return missing_bytes < self._size_bytes
        raise StoppedError(str(self._source))  # not reached: the last round returns or raises

    def _inspect(self) -> Mapping[str, object]:
        """Ask for size and kind of content, and pin it for later requests."""
        request, head = head_of(self._client, self._source)
        self._size_bytes = int(head["ContentLength"])
        etag = head.get("ETag")
        self._request = {**request, "IfMatch": etag} if etag else request
        return {**request, "etag": etag, **self._source.digests}

    def _bring(self, parts: list[tuple[int, int]]) -> None:
        if len(parts) <= 1:
            for part in parts:
                self._bring_part(*part)
            return
        self._failed, self._errors = threading.Event(), []
        with ThreadPoolExecutor(min(len(parts), _PARTS_AT_ONCE), thread_name_prefix="download") as pool:
            futures = [pool.submit(self._bring_part_with_others, *part) for part in parts]
            try:
                for future in as_completed(futures):
                    future.result()
            except BaseException as error:  # also Ctrl-C: leaving the pool waits for running parts
                self._failed.set()
                for future in futures:
                    future.cancel()
                if isinstance(error, StoppedError) and self._errors:
                    raise self._errors[0] from error
                raise

    def _bring_part_with_others(self, begin: int, end: int) -> None:
        try:
            self._check_stopped()
            self._bring_part(begin, end)
        except BaseException as error:
            self._errors.append(error)  # the first one is why the others stop
            self._failed.set()
            raise

    def _bring_part(self, begin: int, end: int) -> None:
        position, failures = begin, 0
        with self._partial.opened(begin) as stream:
            while position < end:
                start = position
                position, error = self._receive(stream, position, end)
                if error is None:
                    continue
                failures = 1 if position - start >= _PROGRESS_BYTES else failures + 1
                if failures >= _ATTEMPTS:
                    raise error
                logger.info("The download of %s broke at byte %d (%s); continuing", self._source, position, error)
                time.sleep(_FIRST_PAUSE_S * 2 ** (failures - 1))
        self._partial.add(begin)

    def _receive(self, stream: BinaryIO, position: int, end: int) -> tuple[int, Exception | None]:
        """Write the content of one answer; return the new position and the error that ended it early."""
        whole = end - position == self._size_bytes
        extent = {} if whole else {"Range": f"bytes={position}-{end - 1}"}
        answer = self._client.get_object(**self._request, **extent)
        expected = None if whole else f"bytes {position}-{end - 1}/{self._size_bytes}"
        with closing(answer["Body"]) as body:
            if answer.get("ContentRange") != expected or answer.get("ContentLength") != end - position:
                raise DownloadError(
                    f"The server was asked for bytes {position} to {end - 1} of {self._source} but sends "
                    f"{answer.get('ContentLength')} bytes ({answer.get('ContentRange') or 'no Content-Range'}). Use a "
                    "server that supports ranges, or a mirror folder (BRAINSCORE_MIRROR)."
                )
            try:
                while position < end and (chunk := body.read(min(_CHUNK_BYTES, end - position))):
                    stream.write(chunk)
                    position += len(chunk)
                    self._advance(len(chunk))
                    self._check_stopped()
            except (HTTPClientError, IncompleteReadError, ConnectionError) as error:
                return position, error
        if position < end:
            return position, IncompleteReadError(actual_bytes=position, expected_bytes=end)
        return position, None

    def _check_stopped(self) -> None:
        if self._stop.is_set() or self._failed.is_set():
            raise StoppedError(f"The download of {self._source} was abandoned; the partial download is kept.")


def _is_about_credentials(error: Exception) -> bool:
    if isinstance(error, ClientError):
        return _http_status(error) in _CREDENTIAL_STATUSES
    return isinstance(
        error,
        (
            botocore_exceptions.CredentialRetrievalError,
            botocore_exceptions.NoCredentialsError,
            botocore_exceptions.PartialCredentialsError,
            botocore_exceptions.SSOError,
            botocore_exceptions.TokenRetrievalError,
        ),
    )


def _http_status(error: Any) -> int:
    return int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))


def _raise_refused(source: S3Object, error: Any, *, signed: bool) -> NoReturn:
    status = _http_status(error)
    where = f"bucket '{source.bucket}', key '{source.key}'" + (
        f", version '{source.version_id}'" if source.version_id else ""
    )
    if status in {401, 403}:
        reason = (
            "is private and the AWS credentials found here do not give access to it"
            if signed
            else "is private (or does not exist) and there are no AWS credentials here"
        )
        raise PrivateDataError(
            f"Cannot download {where}: it {reason}. Private data belongs to its owners: ask the Brain-Score team for "
            "access and run `aws configure`, or use a public benchmark."
        ) from error
    if status in {400, 404}:
        raise DownloadError(
            f"Cannot download {where}: there is no such file or version ({error}). Compare bucket, identifier, "
            "filename_prefix and version_id with the output of the upload."
        ) from error
    raise DownloadError(f"Cannot download {where}: {error}") from error
