"""Keep credentials away from code of plugins: out of the environment of what runs or installs it."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping

__all__ = ["start_again_without_credentials", "without_credentials"]

_CREDENTIALS = re.compile(
    r"AWS_.*|ACTIONS_.*|.*_TOKEN|.*SECRET.*|.*PASSWORD.*|.*_API_KEY|SSH_AUTH_SOCK"
    # Files through which a step talks to the runner: what is written there changes the steps after it.
    r"|GITHUB_(ENV|OUTPUT|PATH|STATE|STEP_SUMMARY)",
    re.IGNORECASE,
)
_NO_CREDENTIALS = frozenset({"AWS_CA_BUNDLE", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"})  # only where a server is


def without_credentials(environment: Mapping[str, str]) -> dict[str, str]:
    """Return environment variables without those that may hold credentials, or that steer the runner of a job.

    Examples
    --------
    >>> without_credentials({'PATH': '/bin', 'AWS_ACCESS_KEY_ID': '1', 'GITHUB_TOKEN': '2', 'MY_SECRET_1': '3'})
    {'PATH': '/bin'}
    """
    return {
        name: value
        for name, value in environment.items()
        if name in _NO_CREDENTIALS or not _CREDENTIALS.fullmatch(name)
    }


def start_again_without_credentials() -> None:
    """Take credentials out of this process, before it runs or installs anything of a plugin.

    A variable that is deleted can still be read in ``/proc/<pid>/environ``, so the program is started anew in this very
    process. Where this is called by another program, variables are deleted and nothing is started.
    """
    kept = without_credentials(os.environ)
    if kept.keys() == os.environ.keys():
        return
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    if spec is not None and spec.parent == __name__.partition(".")[0] and os.name != "nt":
        sys.stdout.flush()
        sys.stderr.flush()
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], kept)  # noqa: S606 - this program itself
    for name in os.environ.keys() - kept.keys():
        del os.environ[name]
