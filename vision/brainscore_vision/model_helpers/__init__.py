"""Help to bring models."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["download_weights"]


def download_weights(
    bucket: str, folder_path: str, filename_version_sha: list[tuple[str, str, str]], save_directory: str | Path
) -> None:
    """Download files of a model from an S3 bucket, see `load_folder_from_s3`.

    `filename_version_sha` lists name, version id and SHA1 of each file.
    """
    from brainscore_core.supported_data_standards.brainio.s3 import load_folder_from_s3  # heavy: boto3

    load_folder_from_s3(bucket, folder_path, filename_version_sha, save_directory)
