"""Run a process that may do anything: bounded in time, memory and words, and ended with everything it started."""

from __future__ import annotations

import base64
import os
import re
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal
from urllib.parse import quote

__all__ = ["Ended", "environment_of", "run_watched", "scrub", "secrets_of"]

_LOOK_EVERY_S = 0.2
_DRAIN_S = 5.0
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
_LARGEST_SECRET = 8192  # characters, encoded
_SHORTEST_SECRET = 6  # shorter values stand in any text

# Only what is named here is handed on: a list of what is not would never be complete.
_HANDED_ON = re.compile(
    r"PATH|HOME|USER|LOGNAME|LANG|LANGUAGE|TZ|TMPDIR|TEMP|TMP|TERM|SHELL|CI|GITHUB_ACTIONS|RUNNER_OS"
    r"|SYSTEMROOT|SYSTEMDRIVE|WINDIR|PATHEXT|COMSPEC|APPDATA|LOCALAPPDATA|USERPROFILE|PROGRAMDATA"
    r"|(LC|OMP|MKL|OPENBLAS|NUMEXPR|BRAINSCORE|BRAINIO|BS|RESULTCACHING|PYTHON|VIRTUAL|CONDA|LD|DYLD|CUDA|NVIDIA|TORCH"
    r"|HF|XDG|SSL|REQUESTS|CURL|PIP|UV|COVERAGE|HTTP|HTTPS|ALL|NO|FTP)(_\w+)?"
    r"|PYTHON\w*|PYTORCH\w*",
    re.IGNORECASE,
)
_SECRET = re.compile(r"TOKEN|SECRET|PASSW|PASSPHRASE|_KEY|KEY_|APIKEY|CREDENTIAL|(^|_)AUTH", re.IGNORECASE)
_WITH_PASSWORD = re.compile(r"://[^/@\s]*:[^/@\s]*@")


@dataclass(frozen=True, kw_only=True)
class Ended:
    """How a process ended.

    Attributes
    ----------
    status : int
        Exit status; a negative number is the signal that ended it.
    stopped : 'Timeout', 'MemoryLimit' or None
        Why it was ended; None if it ended by itself.
    output : str
        The start and the end of what it said, standard output and standard error together.
    """

    status: int
    stopped: Literal["Timeout", "MemoryLimit"] | None
    output: str

    @property
    def problem(self) -> str | None:
        """Class of what went wrong, such as 'Timeout', 'SIGSEGV' or 'Exit3'; None for success."""
        if self.stopped is not None:
            return self.stopped
        if self.status < 0:
            return signal.Signals(-self.status).name if -self.status in set(signal.Signals) else f"Signal{-self.status}"
        return f"Exit{self.status}" if self.status else None


def environment_of(environment: Mapping[str, str], *, with_aws: bool) -> dict[str, str]:
    """Return the environment variables that a pair is given.

    Parameters
    ----------
    environment : mapping of str to str
        Of this process.
    with_aws : bool
        Whether it may read private data. Without, credentials in files are hidden from the usual programs too.
    """
    given = {
        name: value
        for name, value in environment.items()
        if _HANDED_ON.fullmatch(name) and not _SECRET.search(name) and not _WITH_PASSWORD.search(value)
    }
    if with_aws:
        return {**given, **{name: value for name, value in environment.items() if name.startswith("AWS_")}}
    nothing = {"AWS_SHARED_CREDENTIALS_FILE": os.devnull, "AWS_CONFIG_FILE": os.devnull}
    return {**given, **nothing, "AWS_EC2_METADATA_DISABLED": "true"}


def secrets_of(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values that must be in no log, longest first, also as they stand in addresses and in base64."""
    values = {value for name, value in environment.items() if _SECRET.search(name)}
    values |= {found for value in environment.values() for found in re.findall(r"://[^/@\s:]*:([^/@\s]+)@", value)}
    values |= {line for value in values for line in value.splitlines()}
    forms: set[str] = set()
    for value in values:
        if len(value) < _SHORTEST_SECRET:
            continue
        forms |= {value, quote(value.encode("utf-8", "surrogateescape"), safe="")}
        for shift in range(3):  # a byte of base64 depends on where in a group of three it stands
            encoded = base64.b64encode(b"\0" * shift + value.encode("utf-8", "surrogateescape")).decode()
            forms.add(encoded.rstrip("=")[4 * (shift > 0) : -1])
    return tuple(sorted((form for form in forms if len(form) >= _SHORTEST_SECRET), key=len, reverse=True))


def scrub(text: str, secrets: Iterable[str]) -> str:
    """Return text with ``***`` in the place of secrets."""
    for secret in secrets:
        text = text.replace(secret, "***")
    return text


def run_watched(
    command: Sequence[str],
    environment: Mapping[str, str],
    *,
    folder: Path,
    timeout_s: float,
    memory_bytes: float,
    secrets: Sequence[str] = (),
    most_characters: int = 2**18,
) -> Ended:
    """Run a process to its end, or until it takes too long or too much.

    Parameters
    ----------
    command : sequence of str
    environment : mapping of str to str
        All of its environment variables.
    folder : Path
        Where to start it.
    timeout_s : float
    memory_bytes : float
        Resident memory of the process and of what it started, together; looked at five times a second. Where there is
        no ``/proc`` (macOS, Windows) it is not limited.
    secrets : sequence of str
        What must not be in the output, see `secrets_of`.
    most_characters : int
        Of the output that are kept.
    """
    process = subprocess.Popen(  # noqa: S603 - no shell; a command of the library
        command,
        env=dict(environment),
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    with suppress(OSError):  # where memory runs out all the same, this is what the system ends
        Path(f"/proc/{process.pid}/oom_score_adj").write_text("1000", encoding="ascii")
    said = _Output(most_characters)
    # Read beside, and never wait for the end of the output: something left running may hold it open for ever.
    reader = threading.Thread(target=said.read, args=(process.stdout,), daemon=True)
    reader.start()
    try:
        stopped = _watch(process, timeout_s, memory_bytes)
    finally:
        _end_all(process)
        process.wait()
        reader.join(_DRAIN_S)
    return Ended(status=process.returncode, stopped=stopped, output=said.text(secrets))


def _watch(
    process: subprocess.Popen[bytes], timeout_s: float, memory_bytes: float
) -> Literal["Timeout", "MemoryLimit"] | None:
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            process.wait(max(0.0, min(_LOOK_EVERY_S, deadline - time.monotonic())))
        except subprocess.TimeoutExpired:
            if time.monotonic() >= deadline:
                return "Timeout"
            if sum(_in_session(process.pid).values()) > memory_bytes:
                return "MemoryLimit"
        else:
            return None


def _in_session(session: int) -> dict[int, int]:
    """Return pid -> resident bytes of all processes of a session; empty where the system does not tell."""
    found: dict[int, int] = {}
    try:
        pids = [name for name in os.listdir("/proc") if name.isdecimal()]  # noqa: PTH208 - five times a second
    except OSError:
        return found
    for pid in pids:
        try:
            with open(f"/proc/{pid}/stat", "rb") as stream:  # noqa: PTH123 - five times a second, for each process
                fields = stream.read().rpartition(b")")[2].split()
        except OSError:  # it has ended
            continue
        if len(fields) > 21 and int(fields[3]) == session:
            found[int(pid)] = int(fields[21]) * _PAGE_BYTES
    return found


def _end_all(process: subprocess.Popen[bytes]) -> None:
    """End a process and what it started and left running, also in process groups of its own."""
    if os.name == "nt":
        process.kill()
        return
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    for pid in _in_session(process.pid):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


class _Output:
    """Keeps the start and the end of what a process says."""

    def __init__(self, most: int) -> None:
        self.half = most // 2
        self.head = bytearray()
        self.tail: deque[bytes] = deque()
        self.in_tail = 0
        self.left_out = 0

    def read(self, stream: IO[bytes] | None) -> None:
        if stream is None:
            return
        margin = self.half + _LARGEST_SECRET
        while chunk := os.read(stream.fileno(), 2**16):
            room = margin - len(self.head)
            self.head += chunk[: max(0, room)]
            rest = chunk[max(0, room) :]
            if rest:
                self.tail.append(rest)
                self.in_tail += len(rest)
            while self.tail and self.in_tail - len(self.tail[0]) >= margin:
                self.left_out += len(self.tail[0])
                self.in_tail -= len(self.tail.popleft())

    def text(self, secrets: Sequence[str]) -> str:
        """Return what is kept, without secrets, also where one was cut in two."""
        if not self.left_out:
            whole = scrub((bytes(self.head) + b"".join(self.tail)).decode("utf-8", "replace"), secrets)
            if len(whole) <= 2 * self.half:
                return whole
            left_out = f"\n[... {len(whole) - 2 * self.half} characters left out ...]\n"
            return whole[: self.half] + left_out + whole[-self.half :]
        # Both parts hold more than is shown, so that a secret that was cut is in what is not shown.
        head = scrub(bytes(self.head).decode("utf-8", "replace"), secrets)
        tail = scrub(b"".join(self.tail).decode("utf-8", "replace"), secrets)
        keep = max(0, min(self.half, len(head) - _LARGEST_SECRET))
        start = max(_LARGEST_SECRET, len(tail) - self.half)
        return f"{head[:keep]}\n[... more than {self.left_out} characters left out ...]\n{tail[start:]}"
