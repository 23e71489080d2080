"""Run other programs with bounds on time, memory and output, and end all their descendants.

A program gets no shell, no input and its own session, which ends with it even if this process is killed
(`processes.guard`). Standard output and error share one pipe; most programs buffer the former outside a terminal.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, TypedDict, Unpack

from brainscore_core.processes.guard import guard, release
from brainscore_core.processes.output import MOST_SHOWN_BYTES, Listener, scrub
from brainscore_core.processes.tree import ProcessTree, bytes_in_memory, bytes_in_sockets

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
        All of its environment variables, and its working directory; None: those of this process.
    timeout_s, most_processes
        Longest duration and largest number of processes including descendants; None: unlimited.
    memory_bytes
        Largest memory of the program and all descendants, checked five times a second: what is resident, and what
        `bytes_in_sockets` says. None, or no ``/proc`` (macOS, Windows): unlimited.
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
    process = subprocess.Popen(  # noqa: S603 - no shell; callers name programs of their own
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
