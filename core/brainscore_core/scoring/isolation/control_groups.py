"""Give a box a control group of the kernel (cgroup v2), which limits its memory and processes.

It also counts files in memory, queues, inodes and buffers, which belong to no process. The group is made beside this
process's, if this user may.
"""

from __future__ import annotations

import itertools
import math
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath

__all__ = ["control_group", "entering", "parent_group"]

_PROC = Path("/proc/self")
_PREFIX = "brainscore-box-"
_CONTROLLERS = ("memory", "pids")
_EMPTY_AFTER_S = 2.0
_LOOK_AGAIN_S = 0.01
_numbers = itertools.count()


def parent_group(own: str, mounts: str) -> Path | None:
    """Return the folder for groups beside a process's own, by its cgroup and mountinfo; None without cgroup v2."""
    path = next((PurePosixPath(line[3:]) for line in own.splitlines() if line.startswith("0::/")), None)
    for line in mounts.splitlines():
        mount, _, kind = line.partition(" - ")
        if path is not None and ".." not in path.parts and kind.startswith("cgroup2 "):
            root, folder = mount.split()[3:5]
            if path.is_relative_to(root):
                return Path(folder, *path.relative_to(root).parts[:-1])
    return None


@contextmanager
def control_group(memory_bytes: float, most_processes: int) -> Iterator[Path | None]:
    """Give the folder of a new group with these limits within the block; None if impossible."""
    group = None
    with suppress(OSError):
        group = _make(memory_bytes, most_processes)
    try:
        yield group
    finally:
        if group is not None:
            _remove(group)


def entering(group: Path | None) -> list[str]:
    """Return the start of a command that enters a group before the program starts, even if that is refused."""
    script = '{ echo 0 > "$0"; } 2>/dev/null; exec /usr/bin/env -i "$@"'  # without variables of the shell
    return [] if group is None else ["/bin/sh", "-c", script, str(group / "cgroup.procs")]


def _make(memory_bytes: float, most_processes: int) -> Path | None:
    parent = parent_group((_PROC / "cgroup").read_text("utf-8"), (_PROC / "mountinfo").read_text("utf-8"))
    # To move a process, the kernel asks for the right to write this file in a group above both.
    if parent is None or not os.access(parent / "cgroup.procs", os.W_OK):
        return None
    if not set(_CONTROLLERS) <= set((parent / "cgroup.controllers").read_text("ascii").split()):
        return None
    switches = parent / "cgroup.subtree_control"
    if not set(_CONTROLLERS) <= set(switches.read_text("ascii").split()):
        switches.write_text(" ".join(f"+{name}" for name in _CONTROLLERS), "ascii")
    for leftover in parent.glob(f"{_PREFIX}*"):  # of killed processes
        if not Path("/proc", leftover.name.removeprefix(_PREFIX).partition("-")[0]).exists():
            with suppress(OSError):  # its processes are just being ended, or another process removes it
                leftover.rmdir()
    group = parent / f"{_PREFIX}{os.getpid()}-{next(_numbers)}"
    group.mkdir()
    try:
        (group / "memory.max").write_text("max" if math.isinf(memory_bytes) else str(int(memory_bytes)), "ascii")
        (group / "pids.max").write_text(str(most_processes), "ascii")
        for name, value in {"memory.swap.max": "0", "memory.oom.group": "1"}.items():
            with suppress(OSError):  # a kernel without swap, or older
                (group / name).write_text(value, "ascii")
    except OSError:
        group.rmdir()
        raise
    return group


def _remove(group: Path) -> None:
    deadline = time.monotonic() + _EMPTY_AFTER_S
    while group.exists() and time.monotonic() < deadline:
        try:
            group.rmdir()
        except OSError:  # the kernel still ends its processes
            time.sleep(_LOOK_AGAIN_S)
