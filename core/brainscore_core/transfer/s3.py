"""Name files in S3 by bucket, key, version and digests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from brainscore_core.errors import DownloadError

__all__ = ["S3Object", "StoppedError", "split_bucket"]


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
