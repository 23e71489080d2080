"""Upload packaged files to S3."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from brainscore_core.errors import ConfigurationError, UploadError
from brainscore_core.transfer.disk import progress_bar
from brainscore_core.transfer.s3 import split_bucket

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
