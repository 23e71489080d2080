"""Store files in S3: parts into quarantine, copies from there into the final buckets."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
from boto3.s3.transfer import TransferConfig
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from brainscore_web.portal.states import refuse

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

    from brainscore_web.portal.settings import PortalSettings

_MOST_ATTEMPTS = 5
_CHUNK_BYTES = 2**20
_LONGEST_S = 20  # until a piece of an answer comes
_RETRY_S = 5
_CLOCK = ("RequestTimeTooSkewed", "RequestExpired")


class Objects:
    """The buckets of a portal.

    S3's own retries apply: errors of the request are final, 429 and 5xx are tried five times at most. Then requests
    are refused with 503.
    """

    def __init__(self, settings: PortalSettings) -> None:
        self._settings = settings
        self.quarantine = settings.quarantine_bucket
        self._client = _client(settings.s3_endpoint)
        self._signer = _client(settings.browser_s3)  # the signature covers the host that browsers use

    def check(self) -> None:
        """Raise unless the buckets can be reached and keep versions."""
        with _translated():
            for bucket in (self.quarantine, *(self.bucket_of(name) for name in ("public", "private"))):
                if self._client.get_bucket_versioning(Bucket=bucket).get("Status") != "Enabled":
                    raise refuse(503, f"the bucket {bucket} has versioning switched off", remedy="switch versioning on")

    def bucket_of(self, visibility: str) -> str:
        """Return the final bucket of uploads that everybody, or only their owner, may see."""
        return self._settings.public_bucket if visibility == "public" else self._settings.private_bucket

    def start(self, key: str) -> str:
        """Start a file in quarantine and return S3's name for its parts."""
        with _translated():
            started = self._client.create_multipart_upload(
                Bucket=self.quarantine, Key=key, ChecksumAlgorithm="SHA256", ChecksumType="COMPOSITE"
            )
            return started["UploadId"]

    def parts(self, key: str, multipart: str) -> dict[int, dict[str, Any]]:
        """Return number -> part (``Size``, ``ETag``, and its checksum where S3 states it) that S3 has received."""
        pages = self._client.get_paginator("list_parts").paginate(Bucket=self.quarantine, Key=key, UploadId=multipart)
        with _translated(), _absent("NoSuchUpload"):  # a completed one has none any more
            return {part["PartNumber"]: dict(part) for page in pages for part in page.get("Parts", [])}
        return {}

    def sign_part(self, key: str, multipart: str, number: int, sha256: str, size: int) -> tuple[str, dict[str, str]]:
        """Return an URL that takes exactly these bytes, and the headers to send with them."""
        url = self._signer.generate_presigned_url(
            "upload_part",
            Params={
                "Bucket": self.quarantine,
                "Key": key,
                "UploadId": multipart,
                "PartNumber": number,
                "ChecksumSHA256": sha256,
                "ContentLength": size,
            },
            ExpiresIn=self._settings.url_s,
        )
        return url, {"x-amz-checksum-sha256": sha256}

    def complete(self, key: str, multipart: str, parts: Sequence[dict[str, Any]]) -> str:
        """Make one object of parts, and return its version."""
        listed = [{k: part[k] for k in ("PartNumber", "ETag", "ChecksumSHA256") if k in part} for part in parts]
        with _translated(), _absent("NoSuchUpload"):  # completed already, but the answer was lost
            done: Any = self._client.complete_multipart_upload(
                Bucket=self.quarantine,
                Key=key,
                UploadId=multipart,
                MultipartUpload={"Parts": listed},  # type: ignore[typeddict-item] # the keys are a part's
            )
            return str(done["VersionId"])
        if (version := self.newest(key)) is None:
            raise refuse(409, "the parts are no longer in the storage", remedy="start the upload again")
        return version

    def newest(self, key: str) -> str | None:
        """Return the version of an object in quarantine; None if there is none."""
        with _translated(), _absent("404"):
            return str(self._client.head_object(Bucket=self.quarantine, Key=key)["VersionId"])
        return None

    def download(self, key: str, version: str, target: Path, part_bytes: int) -> tuple[str, str, str]:
        """Write an object in quarantine to a file; return SHA-1, SHA-256 and `composite_of` the bytes that arrived."""
        sha1, sha256, part = hashlib.sha1(usedforsecurity=False), hashlib.sha256(), hashlib.sha256()
        parts, left = [], part_bytes
        with _translated(), target.open("xb") as stream:
            body = self._client.get_object(Bucket=self.quarantine, Key=key, VersionId=version)["Body"]
            while chunk := body.read(min(_CHUNK_BYTES, left)):
                stream.write(chunk)
                for digest in (sha1, sha256, part):
                    digest.update(chunk)
                left -= len(chunk)
                if left == 0:
                    parts.append(part.digest())
                    part, left = hashlib.sha256(), part_bytes
        if left < part_bytes:
            parts.append(part.digest())
        return sha1.hexdigest(), sha256.hexdigest(), composite_of(parts)

    def publish(self, source: Path | tuple[str, str], bucket: str, key: str) -> str:
        """Store a file, or copy a version in quarantine (key, version) within S3, and return the new version."""
        with _translated():
            if isinstance(source, Path):
                self._client.upload_file(str(source), bucket, key, Config=_TRANSFER)
            else:
                copied: Any = {"Bucket": self.quarantine, "Key": source[0], "VersionId": source[1]}
                self._client.copy(copied, bucket, key, Config=_TRANSFER)
            return str(self._client.head_object(Bucket=bucket, Key=key)["VersionId"])

    def remove(self, bucket: str, prefix: str) -> None:
        """Remove all versions of all objects below a prefix, and parts of unfinished ones."""
        with _translated():
            for page in self._client.get_paginator("list_object_versions").paginate(Bucket=bucket, Prefix=prefix):
                for entry in (*page.get("Versions", []), *page.get("DeleteMarkers", [])):
                    self._client.delete_object(Bucket=bucket, Key=entry["Key"], VersionId=entry["VersionId"])
            for listed in self._client.get_paginator("list_multipart_uploads").paginate(Bucket=bucket, Prefix=prefix):
                for unfinished in listed.get("Uploads", []):
                    self._client.abort_multipart_upload(
                        Bucket=bucket, Key=unfinished["Key"], UploadId=unfinished["UploadId"]
                    )

    def sign_download(self, bucket: str, key: str, version: str, name: str) -> str:
        """Return an URL that downloads a version under a name for a minute."""
        return self._signer.generate_presigned_url(
            "get_object",
            Params={
                "Bucket": bucket,
                "Key": key,
                "VersionId": version,
                "ResponseContentDisposition": f'attachment; filename="{name}"',
                "ResponseContentType": "application/octet-stream",
            },
            ExpiresIn=60,
        )


def composite_of(digests: Sequence[bytes]) -> str:
    """Return the SHA-256 that S3 states for an object of parts with these digests."""
    return f"{base64.b64encode(hashlib.sha256(b''.join(digests)).digest()).decode()}-{len(digests)}"


_TRANSFER = TransferConfig(multipart_threshold=2**30, multipart_chunksize=2**28, max_concurrency=2)


def _client(endpoint: str) -> S3Client:
    # A session of its own: the one that modules share may have been made with other keys.
    return boto3.Session().client(
        "s3",
        endpoint_url=endpoint or None,
        config=Config(
            signature_version="s3v4",
            s3={"addressing_style": "path" if endpoint else "auto"},
            retries={"total_max_attempts": _MOST_ATTEMPTS, "mode": "standard"},
            connect_timeout=5,
            read_timeout=_LONGEST_S,
            max_pool_connections=64,
        ),
    )


@contextmanager
def _absent(code: str) -> Iterator[None]:
    try:
        yield
    except ClientError as error:
        if error.response.get("Error", {}).get("Code", "") != code:
            raise


@contextmanager
def _translated() -> Iterator[None]:
    """Refuse with 503 if S3 does not answer, or denies a request."""
    try:
        yield
    except ClientError as error:
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        code = error.response.get("Error", {}).get("Code", "")
        if code in ("NoSuchUpload", "NoSuchKey", "NoSuchVersion"):
            raise refuse(409, "the parts are no longer in the storage", remedy="start the upload again") from error
        if code in _CLOCK:
            what, remedy = (
                f"the portal's clock differs from the storage's ({code})",
                "tell the maintainers of the portal",
            )
        elif code == "SlowDown" or status == 429 or status >= 500:
            what, remedy = "the storage is busy or does not respond", "try again later"
        else:
            what, remedy = f"the storage refuses the portal ({code})", "tell the maintainers of the portal"
        raise refuse(503, what, where="storage", remedy=remedy, retry_s=_RETRY_S) from error
    except BotoCoreError as error:
        what = f"the storage cannot be reached ({type(error).__name__})"
        raise refuse(503, what, where="storage", remedy="try again later", retry_s=_RETRY_S) from error
