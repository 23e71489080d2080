"""Name files in S3 by bucket, key, version and digests, and upload them; importing it needs no boto3."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from brainscore_core.errors import ConfigurationError, DownloadError, UploadError
from brainscore_core.transfer.fetch import progress_bar

__all__ = ["S3Object", "StoppedError", "get_user_info", "split_bucket", "upload_to_s3"]


class StoppedError(DownloadError):
    """A download was given up because another needed one failed."""


@dataclass(frozen=True, kw_only=True)
class S3Object:
    """A file in S3; see `split_bucket` for buckets with folders.

    A ``version_id`` of None or ``''`` is the newest version, ``'null'`` one stored without versioning. Digests of None
    or ``''`` are not verified.
    """

    bucket: str
    key: str
    version_id: str | None = None
    sha1: str | None = None
    sha256: str | None = None

    @property
    def digests(self) -> dict[str, str]:
        """Algorithm -> expected digest in lower case."""
        digests = {"sha1": self.sha1, "sha256": self.sha256}
        return {algorithm: digest.lower() for algorithm, digest in digests.items() if digest}

    @property
    def address(self) -> str:
        """URL without the version."""
        return f"s3://{self.bucket}/{self.key}"

    @property
    def mirror_path(self) -> Path:
        """``<bucket>/<key>``."""
        return Path(self.bucket, self.key)

    @classmethod
    def below(
        cls, bucket: str, path: str, version_id: str | None = None, sha1: str | None = None, sha256: str | None = None
    ) -> S3Object:
        """Return the file at a path below a bucket that is written as ``name`` or ``name/folder/sub``."""
        name, key = split_bucket(bucket, path)
        return cls(bucket=name, key=key, version_id=version_id, sha1=sha1, sha256=sha256)

    def refusal(self, algorithm: str, digest: str, _target: Path) -> str:
        """Return why a digest is wrong; empty if it is right."""
        expected = self.digests[algorithm]
        if digest == expected:
            return ""
        return f"does not have the promised content: expected {algorithm} {expected}, found {digest}"

    def record(self, _target: Path, _digests: Mapping[str, str]) -> None:
        """Do nothing: registrations state digests."""

    def __str__(self) -> str:
        return f"{self.address} (version {self.version_id})" if self.version_id else self.address


def split_bucket(bucket: str, path: str) -> tuple[str, str]:
    """Return bucket name and key for a bucket written as ``name`` or ``name/folder/sub``.

    Examples
    --------
    >>> split_bucket('brainscore-storage/mine/data', 'assy_A.nc')
    ('brainscore-storage', 'mine/data/assy_A.nc')
    """
    name, _, folder = bucket.strip("/").partition("/")
    return name, f"{folder}/{path}" if folder else path


# -- uploading ---------------------------------------------------------------------------------------------------------
#
# Upload packaged files to S3.


logger = logging.getLogger(__name__)


def upload_to_s3(source_file_path: str | Path, bucket_name: str, target_s3_key: str) -> dict[str, Any]:
    """Upload a file to a bucket, ``name`` or ``name/folder/sub``, below that folder; return its ``head_object``."""
    import boto3.exceptions  # slow to import and only needed to upload
    import botocore.exceptions

    refusals = (botocore.exceptions.BotoCoreError, botocore.exceptions.ClientError)
    path = Path(source_file_path)
    bucket, key = split_bucket(bucket_name, target_s3_key)
    session = boto3.session.Session()
    try:
        tag = {"Tagging": urlencode({"uploadedBy": get_user_info(session.client("sts"))[1]})}
    except refusals as error:
        # Servers other than AWS may not name the user.
        logger.debug("Uploading without a tag that names the uploader: %s", error)
        tag = {}
    try:
        client = session.client("s3")
        with progress_bar(f"upload {path.name}", path.stat().st_size) as advance:
            client.upload_file(str(path), bucket, key, ExtraArgs=tag, Callback=advance)
        return dict(client.head_object(Bucket=bucket, Key=key))
    except botocore.exceptions.NoCredentialsError as error:
        raise ConfigurationError(
            f"Cannot upload {path.name}: there are no AWS credentials here. Run `aws configure`, or package with "
            "package_stimulus_set_locally and package_data_assembly_locally and upload the files on the website."
        ) from error
    except (*refusals, boto3.exceptions.Boto3Error) as error:
        raise UploadError(f"Cannot upload {path} to s3://{bucket}/{key}: {error}. The local file is kept.") from error


def get_user_info(sts_client: Any) -> tuple[str, str]:
    """Return the number of the AWS account and the name of its user or role session."""
    identity = sts_client.get_caller_identity()
    user: str = identity["Arn"].rpartition("/")[2].rpartition(":")[2]
    return identity["Account"], user
