"""Name files in S3."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["S3Object", "split_bucket"]


@dataclass(frozen=True, kw_only=True)
class S3Object:
    """A file in S3.

    Attributes
    ----------
    bucket : str
        Name of the bucket, without folders (see `split_bucket`).
    key : str
        Path within the bucket.
    version_id : str, optional
        Which version; None or ``''`` is the newest. ``'null'`` is S3's name for the version that was stored before
        versioning was switched on.
    sha1 : str, optional
        Hexadecimal digest that the file has to have; None or ``''`` is not verified.
    sha256 : str, optional
        The same by SHA-256, of which nobody can make another file; where there are both, both are verified.
    """

    bucket: str
    key: str
    version_id: str | None = None
    sha1: str | None = None
    sha256: str | None = None

    @property
    def digests(self) -> dict[str, str]:
        """Algorithm -> digest that the file has to have, in lower case, of those that are given."""
        given = {"sha1": self.sha1, "sha256": self.sha256}
        return {algorithm: digest.lower() for algorithm, digest in given.items() if digest}

    @classmethod
    def below(
        cls,
        bucket: str,
        path: str,
        version_id: str | None = None,
        sha1: str | None = None,
        sha256: str | None = None,
    ) -> S3Object:
        """Return the file at a path below a bucket that is written as ``name`` or ``name/folder/sub``."""
        name, key = split_bucket(bucket, path)
        return cls(bucket=name, key=key, version_id=version_id, sha1=sha1, sha256=sha256)

    def __str__(self) -> str:
        version = f" (version {self.version_id})" if self.version_id else ""
        return f"s3://{self.bucket}/{self.key}{version}"


def split_bucket(bucket: str, path: str) -> tuple[str, str]:
    """Return the name of the bucket and the key of a file, for a bucket written as ``name`` or ``name/folder/sub``.

    Examples
    --------
    >>> split_bucket('brainscore-storage/mine/data', 'assy_A.nc')
    ('brainscore-storage', 'mine/data/assy_A.nc')
    """
    name, _, folder = bucket.strip("/").partition("/")
    return name, f"{folder}/{path}" if folder else path
