"""Track the descendants of a process, including those in other sessions, and their memory.

Without ``/proc`` (macOS, Windows) every answer is empty.
"""

from __future__ import annotations

import os
import signal
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import BinaryIO, NamedTuple

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
_GONE_AFTER_S = 10.0
_LOOK_AGAIN_S = 0.01
_INODE_BYTES = 1024  # of the kernel's memory for a file or folder of a tmpfs
# A socket may send while its buffer holds less than the kernel's default, notes on messages included, and a message is
# at most as large. Measured: at most 365 kB for messages of 1 to 212,000 bytes.
_SOCKET_BYTES = 2 * 212_992


class _Process(NamedTuple):
    parent: int
    session: int
    started: int  # ticks since the machine was
    resident_bytes: int


class ProcessTree:
    """A session leader, given by its process id, and its descendants.

    One that leaves the session *and* loses its parents between two looks is missed; only a PID namespace prevents that.
    ``started``, read now by default, tells the root from later processes with its number.
    """

    def __init__(self, root: int, started: int | None = None) -> None:
        self.root = root
        self.started = _started(root) if started is None else started
        self._seen: dict[int, int | None] = {root: self.started}  # pid -> start time, because pids are reused

    def look(self) -> dict[int, int]:
        """Return pid -> resident bytes of all running descendants."""
        try:
            table = _processes(name for name in os.listdir("/proc") if name.isdecimal())  # noqa: PTH208 - five times a second
        except OSError:
            table = {}
        children = defaultdict(list)
        for pid, process in table.items():
            children[process.parent].append(pid)
        session = None if self._is_reused else self.root
        pending = [pid for pid, process in table.items() if process.session == session]
        pending += [pid for pid, started in self._seen.items() if pid in table and table[pid].started == started]
        resident: dict[int, int] = {}
        while pending:
            pid = pending.pop()
            if pid not in resident:
                resident[pid] = table[pid].resident_bytes
                pending += children[pid]
        self._seen = {pid: table[pid].started for pid in resident}
        return resident

    @property
    def _is_reused(self) -> bool:
        """Whether another process has the number of the root, and so its session and group."""
        return _started(self.root) not in (None, self.started)

    def end(self) -> None:
        """End root and descendants, and wait until these have released their files and memory."""
        self.look()  # parentage is only visible while the parents run
        if not self._is_reused:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.root, signal.SIGKILL)  # works without /proc too
        deadline = time.monotonic() + _GONE_AFTER_S
        while (running := self.look()) and time.monotonic() < deadline:
            for pid in running:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(_LOOK_AGAIN_S)


def bytes_in_memory(pids: Iterable[int], folders: Sequence[str]) -> int:
    """Return the size of in-memory folders, as processes with their own root see them."""
    seen = set()
    size = 0
    for pid in pids:
        for folder in folders:
            with suppress(OSError):  # it has ended, or has no such folder
                inside = f"/proc/{pid}/root{folder}"
                device = os.stat(inside).st_dev  # noqa: PTH116 - five times a second
                if device not in seen and device != os.stat(folder).st_dev:  # noqa: PTH116 - the same
                    seen.add(device)
                    held = os.statvfs(inside)
                    size += (held.f_blocks - held.f_bfree) * held.f_frsize
                    size += (held.f_files - held.f_ffree) * _INODE_BYTES
    return size


def bytes_in_sockets(pids: Iterable[int]) -> int:
    """Return the most bytes that the sockets in the network namespaces of processes, except this one's, can hold.

    The kernel shows their number, not how full they are.
    """
    numbers: dict[int, int] = {}
    for pid in pids:
        with suppress(OSError):  # it has ended
            namespace = os.stat(f"/proc/{pid}/ns/net").st_ino  # noqa: PTH116 - five times a second
            if namespace not in numbers and namespace != os.stat("/proc/self/ns/net").st_ino:  # noqa: PTH116 - the same
                with open(f"/proc/{pid}/net/sockstat", "rb") as stream:  # noqa: PTH123 - the same
                    numbers[namespace] = int(stream.readline().split()[2])
    return sum(numbers.values()) * _SOCKET_BYTES


def end_when_closed(stream: BinaryIO) -> None:
    """Read starts (``+pid start``) and ends (``-pid``) of programs, and end the remaining ones once the input closes.

    This is the guard's main loop.
    """
    trees: dict[int, ProcessTree] = {}
    for line in stream:
        pid, *started = map(int, line[1:].split())
        if line.startswith(b"+"):
            trees[pid] = ProcessTree(pid, *started)
        else:
            trees.pop(pid, None)
    for tree in trees.values():
        tree.end()


def _started(pid: int) -> int | None:
    """Return when a process, or zombie, was started."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stream:  # noqa: PTH123 - five times a second
            return int(stream.read().rpartition(b")")[2].split()[19])
    except OSError:
        return None


def _processes(pids: Iterable[str]) -> dict[int, _Process]:
    """Return the running processes; zombies are left out."""
    processes: dict[int, _Process] = {}
    for pid in pids:
        try:
            with open(f"/proc/{pid}/stat", "rb") as stream:  # noqa: PTH123 - five times a second, for each process
                fields = stream.read().rpartition(b")")[2].split()
        except OSError:  # it has ended
            continue
        if len(fields) > 21 and fields[0] not in (b"Z", b"X"):
            processes[int(pid)] = _Process(
                int(fields[1]), int(fields[3]), int(fields[19]), int(fields[21]) * _PAGE_BYTES
            )
    return processes
