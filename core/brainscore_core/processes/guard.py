"""End this process's programs even if it is killed.

A second process, the guard, learns of every program through a pipe. When the pipe closes, it ends the remaining
programs and their descendants. ``PR_SET_PDEATHSIG`` is no substitute: it is tied to the starting thread, ends only that
program, and misses programs that have not yet requested it.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import threading
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from brainscore_core.processes.tree import ProcessTree

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
                self.process = _start()
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


def _start() -> subprocess.Popen[bytes]:
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
