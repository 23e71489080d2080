"""Decide which tests this machine cannot or should not run, and why; tell absent data from errors in code."""

from __future__ import annotations

import contextlib
import os
import random
import re
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from brainscore_core.config import settings
from brainscore_core.errors import BrainScoreError, DownloadError, OfflineError, PrivateDataError, count
from brainscore_core.own_code import chain

if TYPE_CHECKING:
    from brainscore_core.config import Settings


SkipKind = Literal["private", "slow", "gpu", "network", "memory", "other"]
"""Kind of reason why a test did not run; the reason starts with it."""

MEMORY_GB = 3.0
"""Minimum memory for tests marked ``memory_intense``."""

_KIND_OF_MARKER: Mapping[str, SkipKind] = {
    "private_access": "private",
    "slow": "slow",
    "travis_slow": "slow",
    "memory_intense": "memory",
    "gpu": "gpu",
    "requires_gpu": "gpu",
}
_STORE = ("brainscore-storage.s3.amazonaws.com", 443)


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """Resources that tests may use."""

    private: bool = True  # whether tests may try private data
    # Whether to run tests with these markers
    slow: bool = False
    gpu: bool = False
    memory_gb: float | None = None  # free memory; None: unknown


def skip_reason(markers: Collection[str], conditions: Conditions, *, wanted: Collection[str] = ()) -> str | None:
    """Return why a test with some markers, unless ``wanted`` by name, does not run, or None if it does.

    Examples
    --------
    >>> skip_reason({'slow'}, Conditions())
    'slow: takes more than a minute; --slow runs it, with pytest itself --brainscore-slow'
    """
    reasons: dict[SkipKind, tuple[bool, str]] = {
        "private": (conditions.private, "needs private data; not run with --ci"),
        "slow": (conditions.slow, "takes more than a minute; --slow runs it, with pytest itself --brainscore-slow"),
        "memory": (
            conditions.memory_gb is None or conditions.memory_gb >= MEMORY_GB,
            f"needs more than {MEMORY_GB:.0f} GB, and {conditions.memory_gb or 0:.1f} GB are free here",
        ),
        "gpu": (conditions.gpu, "this machine has none"),
    }
    kinds = [kind for marker, kind in _KIND_OF_MARKER.items() if marker in markers and marker not in wanted]
    return next((f"{kind}: {reasons[kind][1]}" for kind in kinds if not reasons[kind][0]), None)


def kind_of_reason(reason: str) -> SkipKind:
    """Return the kind that a reason starts with, or 'other'."""
    match = re.match(r"(?:Skipped: )?(\w+): ", reason)
    return next((kind for kind in get_args(SkipKind) if match and match[1] == kind), "other")


@cache
def has_gpu() -> bool:
    """Whether an NVIDIA GPU is usable."""
    if os.environ.get("CUDA_VISIBLE_DEVICES", "all").strip() in ("", "-1"):
        return False
    return Path("/dev/nvidiactl").exists() or shutil.which("nvidia-smi") is not None


def available_memory_gb() -> float | None:
    """Return free memory in GB, if known."""
    try:
        text = Path("/proc/meminfo").read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        return None
    match = re.search(r"^MemAvailable:\s+(\d+) kB", text, re.MULTILINE)
    return int(match[1]) / 2**20 if match else None


def free_port() -> int:
    """Return a free port of this machine, below those of clients (from 32768 on), for a server started later."""
    for port in random.SystemRandom().sample(range(15_000, 32_000), 100):
        with socket.socket() as free:
            try:
                free.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise OSError("None of 100 ports of 127.0.0.1 between 15000 and 32000 is free: stop servers that are not needed.")


def running_processes(text: str = "") -> list[int]:
    """Return the numbers of processes whose arguments contain a text.

    Zombies are left out: an orphan may stay one for a while.
    """
    command = ["ps", "-wweo", "pid=,stat=,args="]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603 - of the system
    rows = [line.split(maxsplit=2) for line in listed.splitlines()]
    return [int(pid) for pid, state, *arguments in rows if state[0] != "Z" and text in "".join(arguments)]


def wait_until(condition: Callable[[], object], problem: str = "", *, most_s: float = 60.0) -> None:
    """Return once a condition holds.

    Raises
    ------
    TimeoutError
        With the `problem`, after `most_s` seconds.
    """
    deadline = time.monotonic() + most_s
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(problem or f"Not fulfilled within {most_s:g} s.")
        time.sleep(0.02)


def has_network(timeout_s: float = 1.5) -> bool:
    """Whether the public data store is reachable within ``timeout_s``, or a proxy or mirror configured."""
    elsewhere = ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3")
    if any(os.environ.get(name) for name in elsewhere):
        return True
    reached = threading.Event()

    def reach() -> None:
        try:
            with socket.create_connection(_STORE, timeout=timeout_s):
                reached.set()
        except OSError:
            pass  # unreachable: the event stays unset

    thread = threading.Thread(target=reach, daemon=True)
    thread.start()
    thread.join(timeout_s)
    return reached.is_set()


# -- absent data and packages ------------------------------------------------------------------------------------------
#
# Distinguish errors about unavailable data and packages from errors in the code.


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
    without a network or with ``BRAINSCORE_OFFLINE=1``, since otherwise the download is broken. ``private`` says how the
    test marks its data, ``why`` that downloads are off.
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
    is_in_s3 = absent.startswith("s3://")  # other hosts do not use AWS credentials
    remedy = f"Put the file there, or run the test where it may be downloaded{access if private and is_in_s3 else ''}."
    message = "" if type(error) is OfflineError else f" {error}"
    return f"{kind}: {absent}; {why}. {remedy}{message}"[:_MOST]


def reason_of_requirements(error: BaseException, plugin: Path) -> str | None:
    """Return which requirements of a plugin's folder are not installed here, if an import failed; otherwise None."""
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
    return f"{what}; nox -s test_plugin -- {plugin.name} tests it in a separate environment"[:_MOST]


# -- the caller's weights ----------------------------------------------------------------------------------------------
#
# Share the caller's large read-only files with the home of tests.


def lend_weights(caller: Settings, home: Path) -> None:
    """Link the caller's weights into ``BRAINSCORE_HOME`` of tests."""
    for name in ("weights", caller.s3_weight_folder):
        source, link = caller.home / name, home / name
        with contextlib.suppress(OSError):  # it exists, or this system has no links: tests then download themselves
            source.mkdir(parents=True, exist_ok=True)
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(source)
