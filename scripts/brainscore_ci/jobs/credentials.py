"""Keep credentials away from code of plugins: out of the environment of what runs or installs it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

__all__ = ["credentials_aside", "forget_credentials", "without_credentials"]

_CREDENTIALS = re.compile(
    r"AWS_.*|ACTIONS_.*|.*_TOKEN|.*SECRET.*|.*PASSWORD.*|.*_API_KEY|SSH_AUTH_SOCK"
    # Files through which a step talks to the runner: what is written there changes the steps after it.
    r"|GITHUB_(ENV|OUTPUT|PATH|STATE|STEP_SUMMARY)",
    re.IGNORECASE,
)
_NO_CREDENTIALS = frozenset({"AWS_CA_BUNDLE", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"})  # only where a server is


def without_credentials(environment: Mapping[str, str], *, keep_aws: bool = False) -> dict[str, str]:
    """Return environment variables without those that may hold credentials, or that steer the runner of a job.

    Parameters
    ----------
    keep_aws : bool
        Whether those that private data are read with stay.

    Examples
    --------
    >>> without_credentials({'PATH': '/bin', 'AWS_ACCESS_KEY_ID': '1', 'GITHUB_TOKEN': '2', 'MY_SECRET_1': '3'})
    {'PATH': '/bin'}
    """
    return {
        name: value
        for name, value in environment.items()
        if name in _NO_CREDENTIALS or (keep_aws and name.startswith("AWS_")) or not _CREDENTIALS.fullmatch(name)
    }


def forget_credentials(*, keep_aws: bool = False) -> None:
    """Take credentials out of the environment of this process, and so of all that it starts."""
    for name in os.environ.keys() - without_credentials(os.environ, keep_aws=keep_aws).keys():
        del os.environ[name]


@contextmanager
def credentials_aside() -> Iterator[None]:
    """Take credentials out of the environment of this process while something is installed, which may run code."""
    before = dict(os.environ)
    forget_credentials()
    try:
        yield
    finally:
        os.environ.update(before)
