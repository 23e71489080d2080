"""Keep credentials out of the environment of processes that run or install plugins."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping

_CREDENTIALS = re.compile(
    r"AWS_.*|ACTIONS_.*|.*_TOKEN|.*SECRET.*|.*PASSWORD.*|.*_KEY|SSH_AUTH_SOCK"
    # Files through which a step affects later ones.
    r"|GITHUB_(ENV|OUTPUT|PATH|STATE|STEP_SUMMARY)",
    re.IGNORECASE,
)
_NO_CREDENTIALS = frozenset({"AWS_CA_BUNDLE", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"})  # only addresses of servers


def without_credentials(environment: Mapping[str, str]) -> dict[str, str]:
    """Return environment variables without possible credentials and without those that control the job's runner.

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
    """Remove credentials from this process before it runs or installs a plugin.

    A deleted variable stays readable in ``/proc/<pid>/environ``, so the program replaces itself, unless another one
    called this.
    """
    harmless = without_credentials(os.environ)
    if harmless.keys() == os.environ.keys():
        return
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    if spec is not None and spec.parent == __name__.partition(".")[0] and os.name != "nt":
        sys.stdout.flush()
        sys.stderr.flush()
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], harmless)  # noqa: S606 - this program itself
    for name in os.environ.keys() - harmless.keys():
        del os.environ[name]
