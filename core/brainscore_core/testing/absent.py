"""Distinguish errors about unavailable data and packages from errors in the code."""

from __future__ import annotations

from pathlib import Path

from brainscore_core.config import settings
from brainscore_core.errors import BrainScoreError, DownloadError, OfflineError, PrivateDataError, count
from brainscore_core.own_code import chain
from brainscore_core.testing.machine import has_network

# Errors of libraries that plugins use.
_CONNECTION_ERRORS = frozenset(
    {
        *("URLError", "gaierror", "ConnectionError", "ConnectTimeout", "ConnectionResetError", "ConnectError"),
        *("ConnectionRefusedError", "EndpointConnectionError", "MaxRetryError", "NameResolutionError", "TimeoutError"),
        *("LocalEntryNotFoundError", "OfflineModeIsEnabled", "ReadTimeout"),
    }
)
_MOST = 900  # characters


def reason_of_absence(
    error: BaseException, *, private: bool = False, why: str = "there is no network, or BRAINSCORE_OFFLINE=1"
) -> str | None:
    """Return why a test's data are unavailable and how to get them; None if the error has another cause.

    It starts with ``'private: '`` or ``'network: '``. A `PrivateDataError` always counts; a failed download only
    without a network or with ``BRAINSCORE_OFFLINE=1``, else the download is broken. ``private`` says how the test marks
    its data, ``why`` that downloads are off.
    """
    if isinstance(error, PrivateDataError):
        return f"private: {error}"[:_MOST]
    causes = list(chain(error))
    classes = {parent.__name__ for cause in causes for parent in type(cause).__mro__}
    is_download = any(isinstance(cause, DownloadError) for cause in causes) or classes & _CONNECTION_ERRORS
    if not is_download or not (settings().offline or not has_network()):
        return None
    kind = "private" if private else "network"
    absent = next((cause.absent for cause in causes if isinstance(cause, OfflineError)), "")
    if not absent:
        return f"{kind}: {why}: {type(error).__name__}: {error}"[:_MOST]
    access = ", with AWS credentials that give access (ask the Brain-Score team, then `aws configure`)"
    is_in_s3 = absent.startswith("s3://")  # other hosts know no AWS credentials
    remedy = f"Put the file there, or run the test where it may be downloaded{access if private and is_in_s3 else ''}."
    message = "" if type(error) is OfflineError else f" {error}"
    return f"{kind}: {absent}; {why}. {remedy}{message}"[:_MOST]


def reason_of_requirements(error: BaseException, plugin: Path) -> str | None:
    """Return which requirements of a plugin's folder are not installed here, if an import failed; else None."""
    # Most runs never get here, and what reads requirements would slow down the start of every one.
    from brainscore_core.plugin_management.requirements import read_requirements, unsatisfied

    if not any(isinstance(cause, ImportError) for cause in chain(error)):
        return None
    try:
        unmet = [line.text for line in unsatisfied(read_requirements(plugin))]
    except BrainScoreError:
        return None
    if not unmet:
        return None
    what = f"{count(len(unmet), 'requirement')} of {plugin.name} not installed here: {', '.join(unmet)}"
    return f"{what}; nox -s test_plugin -- {plugin.name} tests it in an environment of its own"[:_MOST]
