"""Run other programs: bounded in time, memory and output, and ended with everything that they started.

A program gets no shell, no input and a session of its own, which ends with it: whoever is interrupted while waiting
leaves nothing running either.

**Order of output.** Standard output and standard error go through one pipe. The lines of each are kept and passed on in
the order in which the program wrote them. Between the two the order is the one in which they reached the pipe, which is
that of writing only where the program does not hold its output back: Python, like most programs, holds standard output
back (but not standard error) when nobody watches, unless it is told to flush.
"""

from __future__ import annotations

import codecs
import io
import os
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Literal

__all__ = ["MOST_SHOWN_BYTES", "Captured", "Ended", "run_attached", "run_bounded", "run_captured", "scrub"]

MOST_SHOWN_BYTES = 4 * 2**20
"""How much output is passed on unless a caller says otherwise; a flood would bury the log of a job."""

_MOST_KEPT = 2**18  # characters of the output
_LOOK_EVERY_S = 0.2
_DRAIN_S = 5.0
_LONGEST_LINE = 2**16  # what is longer is passed on in parts
_LARGEST_SECRET = 8192  # characters, encoded
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


@dataclass(frozen=True, kw_only=True)
class Ended:
    """How a program ended.

    Attributes
    ----------
    command : tuple of str
        The program and its arguments.
    status : int
        Exit status; a negative number is the signal that ended it.
    stopped : 'Timeout', 'MemoryLimit' or None
        Why it was ended; None if it ended by itself.
    output : str
        The start and the end of what it said, standard output and standard error together.
    seconds : float
        How long it ran.
    """

    command: tuple[str, ...] = ()
    status: int
    stopped: Literal["Timeout", "MemoryLimit"] | None = None
    output: str = ""
    seconds: float = field(default=0.0, compare=False)

    @property
    def signal(self) -> str | None:
        """Name of the signal that ended it, such as 'SIGSEGV'; None if it exited."""
        if self.status >= 0:
            return None
        return signal.Signals(-self.status).name if -self.status in set(signal.Signals) else f"Signal{-self.status}"

    @property
    def problem(self) -> str | None:
        """Class of what went wrong, such as 'Timeout', 'SIGSEGV' or 'Exit3'; None for success."""
        return self.stopped or self.signal or (f"Exit{self.status}" if self.status else None)

    @property
    def tail(self) -> str:
        """The last 20 lines of output."""
        return "\n".join(line.rstrip() for line in self.output.splitlines()[-20:])

    def __str__(self) -> str:
        return f"command: {' '.join(self.command)}\nexit status: {self.status}\nlast lines of output:\n{self.tail}"


def run_bounded(
    command: Sequence[str | Path],
    *,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    timeout_s: float | None = None,
    memory_bytes: float | None = None,
    secrets: Sequence[str] = (),
    show: Callable[[str], object] | None = None,
    most_shown: float = MOST_SHOWN_BYTES,
) -> Ended:
    """Run a program to its end, or until it takes too long or too much.

    Parameters
    ----------
    command : sequence of str or Path
        The program and its arguments.
    environment : mapping of str to str, optional
        All of its environment variables; None: those of this process.
    folder : Path, optional
        Where to start it; None: where this process is.
    timeout_s : float, optional
        None: it may take as long as it likes.
    memory_bytes : float, optional
        Resident memory of the program and of what it started, together; looked at five times a second. Where there is
        no ``/proc`` (macOS, Windows), or None is given, it is not limited.
    secrets : sequence of str
        What must not be in the output that is kept.
    show : callable, optional
        Takes each line of output, without its end, while the program runs. A carriage return ends a line too.
    most_shown : float
        Bytes of output that are passed to `show`, which is told where there is more.

    Raises
    ------
    OSError
        If the program cannot be started.
    ValueError
        If an argument holds a null byte.
    Exception
        What `show` raises, after the program has ended.
    """
    arguments = tuple(map(str, command))
    started = time.monotonic()
    kept = _Output(_MOST_KEPT)
    takers: list[Callable[[bytes], object]] = [kept.take, *([_Lines(show, most_shown).take] if show else [])]
    errors: list[Exception] = []
    with _running(arguments, environment, folder, stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT) as process:
        if memory_bytes is not None:
            with suppress(OSError):  # where memory runs out all the same, this is what the system ends
                Path(f"/proc/{process.pid}/oom_score_adj").write_text("1000", encoding="ascii")
        # Read beside, and never wait for the end of the output: something left running may hold it open for ever.
        reader = threading.Thread(target=_read, args=(process.stdout, takers, errors), daemon=True)
        reader.start()
        stopped = _watch(process, timeout_s, memory_bytes)
    reader.join(_DRAIN_S)
    for error in errors:
        raise error
    seconds = time.monotonic() - started
    output = kept.text(secrets)
    return Ended(command=arguments, status=process.returncode, stopped=stopped, output=output, seconds=seconds)


def run_attached(command: Sequence[str | Path], *, environment: Mapping[str, str], folder: Path) -> Ended:
    """Run a program whose input and output are those of this process, as a debugger needs it; it may take any time.

    Parameters and errors are those of `run_bounded`.
    """
    arguments = tuple(map(str, command))
    return Ended(command=arguments, status=subprocess.call(arguments, env=environment, cwd=folder))  # noqa: S603 - no shell


@dataclass(frozen=True)
class Captured:
    """What a program gave.

    Attributes
    ----------
    status : int
        Exit status; a negative number is the signal that ended it.
    """

    status: int
    stdout: bytes
    stderr: bytes


def run_captured(
    command: Sequence[str | Path],
    *,
    environment: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    timeout_s: float | None = None,
) -> Captured:
    """Run a program that is trusted, such as git, and keep all that it says.

    Parameters
    ----------
    command, environment, timeout_s
        As for `run_bounded`.
    stdin : bytes
        What it reads.

    Raises
    ------
    OSError
        If the program cannot be started.
    TimeoutError
        If it took too long.
    """
    with _running(
        tuple(map(str, command)), environment, None, stdin=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        try:
            stdout, stderr = process.communicate(stdin, timeout_s)
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"{command[0]} did not end within {timeout_s:g} s and was stopped") from None
    return Captured(process.returncode, stdout, stderr)


def scrub(text: str, secrets: Iterable[str]) -> str:
    """Return text with ``***`` in the place of secrets."""
    for secret in secrets:
        text = text.replace(secret, "***")
    return text


# -- processes ---------------------------------------------------------------------------------------------------------


@contextmanager
def _running(
    arguments: tuple[str, ...], environment: Mapping[str, str] | None, folder: Path | None, *, stdin: int, stderr: int
) -> Iterator[subprocess.Popen[bytes]]:
    """Give a process in a session of its own, which is ended whatever happens."""
    process = subprocess.Popen(  # noqa: S603 - no shell; callers name programs of their own
        arguments,
        env=environment,
        cwd=folder,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=stderr,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        _end_all(process)
        process.wait()


def _watch(
    process: subprocess.Popen[bytes], timeout_s: float | None, memory_bytes: float | None
) -> Literal["Timeout", "MemoryLimit"] | None:
    deadline = time.monotonic() + (float("inf") if timeout_s is None else timeout_s)
    while True:
        left = max(0.0, deadline - time.monotonic())
        wait_s = left if memory_bytes is None else min(_LOOK_EVERY_S, left)
        try:
            process.wait(None if wait_s == float("inf") else wait_s)
        except subprocess.TimeoutExpired:
            if time.monotonic() >= deadline:
                return "Timeout"
            if memory_bytes is not None and sum(_in_session(process.pid).values()) > memory_bytes:
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


# -- output ------------------------------------------------------------------------------------------------------------


def _read(stream: IO[bytes] | None, takers: list[Callable[[bytes], object]], errors: list[Exception]) -> None:
    """Read to the end, also where something that takes the output fails: who is not read cannot go on."""
    chunk = b"-"
    while chunk and stream is not None:
        chunk = os.read(stream.fileno(), 2**16)
        for take in list(takers):
            try:
                take(chunk)
            except Exception as error:  # noqa: BLE001 - raised where it can be handled, in the thread that waits
                errors.append(error)
                takers.remove(take)
    if stream is not None:
        stream.close()


class _Output:
    """Keeps the start and the end of what a process says."""

    def __init__(self, most: int) -> None:
        self.half = most // 2
        self.head = bytearray()
        self.tail: deque[bytes] = deque()
        self.in_tail = 0
        self.left_out = 0

    def take(self, chunk: bytes) -> None:
        margin = self.half + _LARGEST_SECRET
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


class _Lines:
    """Passes on what a process says, line by line, as long as it is not too much."""

    def __init__(self, show: Callable[[str], object], most: float) -> None:
        self.show, self.left = show, most
        self.begun = ""
        self.decoder = io.IncrementalNewlineDecoder(codecs.getincrementaldecoder("utf-8")("replace"), translate=True)

    def take(self, chunk: bytes) -> None:
        """Take what came; nothing means that it was the end."""
        *lines, self.begun = (self.begun + self.decoder.decode(chunk, final=not chunk)).split("\n")
        if self.begun and (not chunk or len(self.begun) > _LONGEST_LINE):
            lines.append(self.begun)
            self.begun = ""
        for line in lines:
            if self.left < 0:
                return
            self.left -= len(line.encode()) + 1
            self.show(line if self.left >= 0 else "[there is more output, which is not shown]")
