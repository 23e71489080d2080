"""Run other programs with bounds on time, memory and output, and end all their descendants.

A program gets no shell, no input and its own session, which ends with it even if this process is killed
(see the guard below). Standard output and error share one pipe; most programs buffer the former outside a terminal.
"""

from __future__ import annotations

import atexit
import codecs
import io
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import IO, Literal, TypedDict, Unpack

from brainscore_core.processes.tree import ProcessTree, bytes_in_memory, bytes_in_sockets

# -- output ------------------------------------------------------------------------------------------------------------
#
# Collect and forward a program's output: bounded, line by line, without secrets.


MOST_SHOWN_BYTES = 4 * 2**20
"""Output that is passed on by default."""

_MOST_KEPT = 2**18  # characters of the output
_LONGEST_LINE = 2**16  # longer lines are forwarded in parts
_LARGEST_SECRET = 8192  # characters, encoded


def scrub(text: str, secrets: Iterable[str]) -> str:
    """Return the text with every secret replaced by ``***``."""
    for secret in secrets:
        text = text.replace(secret, "***")
    return text


def _read(stream: IO[bytes] | None, takers: list[Callable[[bytes], object]], errors: list[Exception]) -> None:
    """Read to the end even if a consumer fails, as an unread program blocks."""
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


class Listener:
    """Collects the start and end of a program's output, and forwards its lines until that raises one of `errors`."""

    def __init__(self, secrets: Sequence[str], show: Callable[[str], object] | None, most_shown: float) -> None:
        self.errors: list[Exception] = []
        self._secrets = secrets
        self._kept = _Output(_MOST_KEPT)
        self._turn = threading.Lock()
        self._takers: list[Callable[[bytes], object]] = [self._keep]
        if show:
            self._takers.append(_Lines(show, most_shown).take)

    def listen(self, stream: IO[bytes] | None) -> None:
        """Read the output until every writer has closed it."""
        _read(stream, self._takers, self.errors)

    def take(self) -> str:
        """Return the output since the last call, without secrets."""
        with self._turn:
            output, self._kept = self._kept, _Output(_MOST_KEPT)
        return output.text(self._secrets)

    def _keep(self, chunk: bytes) -> None:
        with self._turn:
            self._kept.take(chunk)


class _Output:
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
        if not self.left_out:
            whole = scrub((bytes(self.head) + b"".join(self.tail)).decode("utf-8", "replace"), secrets)
            if len(whole) <= 2 * self.half:
                return whole
            left_out = f"\n[... {len(whole) - 2 * self.half} characters left out ...]\n"
            return whole[: self.half] + left_out + whole[-self.half :]
        # A truncated secret is hidden, as both parts are longer than shown.
        head = scrub(bytes(self.head).decode("utf-8", "replace"), secrets)
        tail = scrub(b"".join(self.tail).decode("utf-8", "replace"), secrets)
        keep = max(0, min(self.half, len(head) - _LARGEST_SECRET))
        start = max(_LARGEST_SECRET, len(tail) - self.half)
        return f"{head[:keep]}\n[... more than {self.left_out} characters left out ...]\n{tail[start:]}"


class _Lines:
    """Forwards output line by line up to a number of bytes."""

    def __init__(self, show: Callable[[str], object], most: float) -> None:
        self.show, self.left = show, most
        self.begun = ""
        self.decoder = io.IncrementalNewlineDecoder(codecs.getincrementaldecoder("utf-8")("replace"), translate=True)

    def take(self, chunk: bytes) -> None:
        *lines, self.begun = (self.begun + self.decoder.decode(chunk, final=not chunk)).split("\n")
        if self.begun and (not chunk or len(self.begun) > _LONGEST_LINE):
            lines.append(self.begun)
            self.begun = ""
        for line in lines:
            if self.left < 0:
                return
            self.left -= len(line.encode()) + 1
            self.show(line if self.left >= 0 else "[further output is not shown]")


# -- the guard ---------------------------------------------------------------------------------------------------------
#
# End this process's programs even if it is killed.
#
# A second process, the guard, learns of every program through a pipe. When the pipe closes, it ends the remaining
# programs and their descendants. ``PR_SET_PDEATHSIG`` is not a substitute: it is tied to the starting thread, ends only
# that program, and misses programs that have not yet requested it.


# Without environment, which may hold credentials, site-packages and byte code.
_COMMAND = "import sys; sys.path.append(sys.argv[1]); import tree; tree.end_when_closed(sys.stdin.buffer)"


def guard(tree: ProcessTree) -> None:
    """Let the guard end a process tree if this process dies before `release`; `OSError` if that fails."""
    if os.name != "nt":
        _guard().add(tree)


def release(pid: int) -> None:
    """Forget a program that has ended."""
    if os.name != "nt":
        _guard().remove(pid)


class _Guard:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.process: subprocess.Popen[bytes] | None = None
        self.lines: dict[int, str] = {}

    def add(self, tree: ProcessTree) -> None:
        with self.lock:
            self.lines[tree.root] = f"+{tree.root} {'' if tree.started is None else tree.started}\n"
            if not self._tell(self.lines[tree.root]):  # not started yet, or killed since the last program started
                self.process = _start_guard()
                self._tell("".join(self.lines.values()))

    def remove(self, pid: int) -> None:
        with self.lock:
            self.lines.pop(pid, None)
            self._tell(f"-{pid}\n")

    def end(self) -> None:
        with self.lock:
            process, self.process = self.process, None
            if process is not None and process.stdin is not None:
                process.stdin.close()
                process.wait()

    def after_fork(self) -> None:
        """Leave the guard to the parent in a forked child."""
        process, self.lock, self.process, self.lines = self.process, threading.Lock(), None, {}
        if process is not None and process.stdin is not None:
            process.stdin.close()  # an open copy would keep the guard alive after the parent's death
            process.returncode = 0  # the parent waits for it, not this process

    def _tell(self, lines: str) -> bool:
        if self.process is None or self.process.stdin is None:
            return False
        try:
            os.write(self.process.stdin.fileno(), lines.encode("ascii"))
        except BrokenPipeError:
            self.process.stdin.close()
            self.process.wait()
            self.process = None
            return False
        return True


def _start_guard() -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-I", "-S", "-B", "-c", _COMMAND, str(Path(__file__).parent)],
        env={},
        cwd="/",
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # keeps signals to this process group, such as Ctrl-C, away from it
    )


@cache
def _guard() -> _Guard:
    process_guard = _Guard()
    atexit.register(process_guard.end)
    os.register_at_fork(after_in_child=process_guard.after_fork)
    return process_guard


# -- programs ----------------------------------------------------------------------------------------------------------


Stopped = Literal["Timeout", "MemoryLimit", "ProcessLimit"]

_LOOK_EVERY_S = 0.2
_DRAIN_S = 5.0


@dataclass(frozen=True, kw_only=True)
class Ended:
    """How a program ended."""

    command: tuple[str, ...] = ()
    status: int  # negative: the signal that ended it
    stopped: Stopped | None = None  # bound at which it was ended
    output: str = ""  # start and end of its standard output and standard error together
    seconds: float = field(default=0.0, compare=False)
    peak_memory_bytes: int | None = field(default=None, compare=False)  # as in `RunOptions`; None if unmeasured

    @property
    def signal(self) -> str | None:
        """Name of the signal that ended it, such as 'SIGSEGV'; None if it exited."""
        if self.status >= 0:
            return None
        return signal.Signals(-self.status).name if -self.status in set(signal.Signals) else f"Signal{-self.status}"

    @property
    def problem(self) -> str | None:
        """Class of the failure, such as 'Timeout', 'SIGSEGV' or 'Exit3'; None for success."""
        return self.stopped or self.signal or (f"Exit{self.status}" if self.status else None)

    @property
    def tail(self) -> str:
        """The last 20 lines of output."""
        return "\n".join(line.rstrip() for line in self.output.splitlines()[-20:])

    def __str__(self) -> str:
        return f"command: {' '.join(self.command)}\nexit status: {self.status}\nlast lines of output:\n{self.tail}"


class RunOptions(TypedDict, total=False):
    """Options of `running` and `run_bounded`.

    Attributes
    ----------
    environment, folder
        All of its environment variables, and its working directory; None: the same as for this process.
    timeout_s, most_processes
        Longest duration and largest number of processes including descendants; None: unlimited.
    memory_bytes
        Largest memory of the program and all descendants, checked five times a second: resident memory and
        `bytes_in_sockets`. None, or no ``/proc`` (macOS, Windows): unlimited.
    memory_events
        File of the program's control group that counts processes ended by the kernel for their memory.
    """

    environment: Mapping[str, str] | None
    folder: Path | None
    timeout_s: float | None
    memory_bytes: float | None
    most_processes: float | None
    secrets: Sequence[str]  # texts to remove from the output
    show: Callable[[str], object] | None  # receives each line of output at once
    most_shown: float  # bytes of output forwarded to `show`
    pass_fds: Sequence[int]  # open files to inherit, under the same numbers
    reports_signals: bool  # whether an exit status above 128 encodes a signal, as for shells and bubblewrap
    memory_folders: Sequence[str]  # folders in memory of its own root, such as ``/tmp``; their files count as memory
    memory_events: Path | None


def run_bounded(command: Sequence[str | Path], **options: Unpack[RunOptions]) -> Ended:
    """Run a program to its end, or until it exceeds a bound; raise an error of `show` then."""
    with running(command, **options) as program:
        return program.result()


@contextmanager
def running(
    command: Sequence[str | Path],
    *,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    timeout_s: float | None = None,
    memory_bytes: float | None = None,
    most_processes: float | None = None,
    secrets: Sequence[str] = (),
    show: Callable[[str], object] | None = None,
    most_shown: float = MOST_SHOWN_BYTES,
    pass_fds: Sequence[int] = (),
    reports_signals: bool = False,
    memory_folders: Sequence[str] = (),
    memory_events: Path | None = None,
) -> Iterator[Program]:
    """Start a program, bounded by `RunOptions`; it and its descendants end with the block."""
    bounds = _Bounds(timeout_s, memory_bytes, most_processes, reports_signals, tuple(memory_folders), memory_events)
    listener = Listener(secrets, show, most_shown)
    with _running(
        tuple(map(str, command)),
        environment,
        folder,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.STDOUT,
        pass_fds=pass_fds,
    ) as (process, tree):
        with suppress(OSError):  # if memory runs out anyway, the system ends this process first
            Path(f"/proc/{process.pid}/oom_score_adj").write_text("1000", encoding="ascii")
        program = Program(process, tree, bounds, listener)
        try:
            yield program
        finally:
            program.stop()


def run_attached(command: Sequence[str | Path], *, environment: Mapping[str, str], folder: Path) -> Ended:
    """Run a program on this process's input and output, as for a debugger, without a time limit."""
    arguments = tuple(map(str, command))
    return Ended(command=arguments, status=subprocess.call(arguments, env=environment, cwd=folder))  # noqa: S603 - no shell


@dataclass(frozen=True)
class Captured:
    """Output and status; a negative one is the signal that ended the program."""

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
    """Run a trusted program, such as git, and return all of its output; `TimeoutError` at the time limit."""
    with _running(tuple(map(str, command)), environment, None, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as (
        process,
        _,
    ):
        try:
            stdout, stderr = process.communicate(stdin, timeout_s)
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"{command[0]} did not end within {timeout_s:g} s and was stopped") from None
    return Captured(process.returncode, stdout, stderr)


# -- processes ---------------------------------------------------------------------------------------------------------


class Program:
    """A running program, started by `running`."""

    def __init__(
        self, process: subprocess.Popen[bytes], tree: ProcessTree, bounds: _Bounds, listener: Listener
    ) -> None:
        self.pid = process.pid
        self._process, self._tree, self._bounds, self._listener = process, tree, bounds, listener
        self._started = time.monotonic()
        self._stopped: Stopped | None = None
        self._peak: int | None = None
        self._seconds = 0.0
        # In the background, since a leftover process may hold the output open for ever.
        self._reader = threading.Thread(target=listener.listen, args=(process.stdout,), daemon=True)
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._reader.start()
        self._watcher.start()

    def wait(self, seconds: float) -> Ended | None:
        """Wait up to that long for the end; return it, without output, or None if the program still runs."""
        self._watcher.join(seconds)
        return None if self._watcher.is_alive() else self._ended()

    def result(self) -> Ended:
        """Wait for its end and return how it ended; raise an error of `show`."""
        self._watcher.join()
        self.stop()
        ended = self._ended()
        for error in self._listener.errors:
            raise error
        return replace(ended, output=self._listener.take())

    def memory_bytes(self) -> int:
        """Return the resident memory of the program and its descendants, if the system reports it."""
        return sum(self._tree.look().values())

    def take_output(self, secrets: Sequence[str] = ()) -> str:
        """Return the start and end of the output since the last call, without secrets."""
        return scrub(self._listener.take(), secrets)

    def stop(self) -> None:
        """End it and its descendants."""
        _end_all(self._process, self._tree)
        self._watcher.join()

    def _ended(self) -> Ended:
        self._reader.join(_DRAIN_S)
        return Ended(
            command=tuple(map(str, self._process.args)),  # type: ignore[arg-type]  # always a sequence here
            status=self._bounds.status_of(self._process.returncode),
            stopped=self._stopped,
            seconds=self._seconds,
            peak_memory_bytes=self._peak,
        )

    def _watch(self) -> None:
        """Wait until it ends, or end it at a bound."""
        try:
            self._stopped = self._wait()
            if self._stopped:
                _end_all(self._process, self._tree)
        finally:
            self._seconds = time.monotonic() - self._started

    def _wait(self) -> Stopped | None:
        bounds = self._bounds
        deadline = self._started + (float("inf") if bounds.timeout_s is None else bounds.timeout_s)
        while True:
            remaining_s = max(0.0, deadline - time.monotonic())
            wait_s = min(_LOOK_EVERY_S, remaining_s) if bounds.need_looks else remaining_s
            try:
                self._process.wait(None if wait_s == float("inf") else wait_s)
            except subprocess.TimeoutExpired:
                stopped = "Timeout" if time.monotonic() >= deadline else self._look()
            else:
                return bounds.stopped_by_kernel()
            if stopped:
                return stopped

    def _look(self) -> Stopped | None:
        bounds = self._bounds
        if not bounds.need_looks:
            return None
        running = self._tree.look()
        used = sum(running.values()) + bytes_in_memory(running, bounds.memory_folders) + bytes_in_sockets(running)
        self._peak = max(self._peak or 0, used)
        if bounds.memory_bytes is not None and used > bounds.memory_bytes:
            return "MemoryLimit"
        return "ProcessLimit" if len(running) > (bounds.most_processes or float("inf")) else None


@dataclass(frozen=True)
class _Bounds:
    timeout_s: float | None
    memory_bytes: float | None
    most_processes: float | None
    reports_signals: bool
    memory_folders: tuple[str, ...]
    memory_events: Path | None

    @property
    def need_looks(self) -> bool:
        return self.memory_bytes is not None or self.most_processes is not None

    def stopped_by_kernel(self) -> Stopped | None:
        if self.memory_events is not None:
            with suppress(OSError):
                if re.search(r"^oom_kill [1-9]", self.memory_events.read_text("ascii"), re.MULTILINE):
                    return "MemoryLimit"
        return None

    def status_of(self, status: int) -> int:
        return 128 - status if self.reports_signals and status - 128 in set(signal.Signals) else status


@contextmanager
def _running(
    arguments: tuple[str, ...],
    environment: Mapping[str, str] | None,
    folder: Path | None,
    *,
    stdin: int,
    stderr: int,
    pass_fds: Sequence[int] = (),
) -> Iterator[tuple[subprocess.Popen[bytes], ProcessTree]]:
    process = subprocess.Popen(  # noqa: S603 - no shell; callers name their own programs
        arguments,
        env=environment,
        cwd=folder,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=stderr,
        start_new_session=True,
        pass_fds=tuple(pass_fds),
    )
    tree = ProcessTree(process.pid)
    try:
        guard(tree)
        yield process, tree
    finally:
        _end_all(process, tree)
        release(process.pid)


def _end_all(process: subprocess.Popen[bytes], tree: ProcessTree) -> None:
    """End a process and its remaining descendants, also in other sessions."""
    if os.name == "nt":
        process.kill()
    else:
        tree.end()
    process.wait()
