"""Let what this process has started end with it, also when it is killed and can do nothing about that any more.

Beside a process that starts programs runs another one, its guard, which hears of each of them through a pipe. The
system closes the pipe when the process is gone, however that came about, and then the guard ends what is left, each
program with all that it started. A signal on the death of the parent (``PR_SET_PDEATHSIG``) would not do: it is bound
to the thread that started a program, ends that program alone, and is missed by one that has not yet asked for it.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import threading
from functools import cache
from pathlib import Path

__all__ = ["guard", "release"]

# Neither the environment, in which there may be credentials, nor site-packages: it needs the standard library only. It
# writes no byte code either: what runs in a checkout leaves nothing there.
_COMMAND = "import sys; sys.path.append(sys.argv[1]); import tree; tree.end_when_closed(sys.stdin.buffer)"


def guard(pid: int) -> None:
    """End a program that leads a session, and what it started, should this process be gone before it is released.

    Between the start of a program and this lies a moment in which a kill leaves the program running. On Windows, which
    has no sessions, nothing is done.

    Raises
    ------
    OSError
        If no further process can be started.
    """
    if os.name != "nt":
        _guard().add(pid)


def release(pid: int) -> None:
    """Forget a program that has ended."""
    if os.name != "nt":
        _guard().remove(pid)


class _Guard:
    """The guard of this process, which is started with the first program."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.process: subprocess.Popen[bytes] | None = None
        self.pids: set[int] = set()

    def add(self, pid: int) -> None:
        with self.lock:
            self.pids.add(pid)
            if not self._tell(f"+{pid}\n"):  # there is none yet, or it was killed since the last program started
                self.process = _start()
                self._tell("".join(f"+{each}\n" for each in self.pids))

    def remove(self, pid: int) -> None:
        with self.lock:
            self.pids.discard(pid)
            self._tell(f"-{pid}\n")

    def end(self) -> None:
        """Let the guard end, with what is left."""
        with self.lock:
            process, self.process = self.process, None
            if process is not None and process.stdin is not None:
                process.stdin.close()
                process.wait()

    def after_fork(self) -> None:
        """Leave the guard to the parent, in a child that goes on in this program: what it starts is its own."""
        process, self.lock, self.process, self.pids = self.process, threading.Lock(), None, set()
        if process is not None and process.stdin is not None:
            process.stdin.close()  # else the pipe would stay open when the parent is gone
            process.returncode = 0  # it is not this process that waits for it

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


def _start() -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-I", "-S", "-B", "-c", _COMMAND, str(Path(__file__).parent)],
        env={},
        cwd="/",
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # what is sent to the group of this process, such as Ctrl-C, is not for it
    )


@cache
def _guard() -> _Guard:
    """Return the guard of this process, made when it is first needed."""
    made = _Guard()
    atexit.register(made.end)
    os.register_at_fork(after_in_child=made.after_fork)
    return made
