"""Run a program in a box, with only the given access; it ends with its descendants.

``docs/explanation/isolation.md`` states the guarantees and their limits.
"""

# Why boxes of bubblewrap
#
# Problem. Scoring runs a stranger's model on a machine that has private measurements, records, credentials and other
# people's plugins. The model must not read, change, outlive or exhaust any of them. It still has to run at full speed,
# with the installed interpreter and packages, for ordinary users on laptops, clusters and GitHub's machines.
#
# Sources. namespaces(7), seccomp(2), cgroups(7) and mount_setattr(2) of Linux; the documentation of bubblewrap
# (github.com/containers/bubblewrap), which Flatpak uses for the same purpose; Docker's default seccomp profile, with
# which `system_calls.py` was compared.
#
# What else was tried or considered, and why not.
# - A list of forbidden system calls (tried): a new kernel adds calls that the list lacks. Now only listed calls are
#   allowed; `perf/system_calls.py` recorded those that real programs make.
# - Counting the memory of processes only (tried): files in memory, queues and socket buffers belong to no process. Now
#   they count or are refused, and a control group limits them wherever the user may make one.
# - Root's boxes as root (tried): a program that gets out has root's rights. `another_user.py` now starts them as a user
#   who owns nothing, or warns that this is impossible.
# - Reusing the files of a box with the network in place (tried): links, devices and exchanged folders would lead out of
#   the next box. `handover.take_over` copies regular files, and `_checked` refuses links and exchangeable folders.
# - Docker or Podman (considered): an engine to install, and an image for each set of requirements. A box mounts the
#   interpreter that is already there, see docs/explanation/decisions.
# - A virtual machine for each model (considered): it also protects against flaws of the kernel, but needs a second
#   system on every machine, and a pass-through for each GPU. GitHub's machines are virtual anyway.
# - Restricting Python itself, for instance by audit hooks (considered): code in the same process can undo that, and
#   compiled code is not bound by it.
#
# Cost. A box adds 0.02 s to the start of a program, and 0.5 s to a pair with the protocol (perf/RESULTS.md). Making it
# is O(paths + allowed calls). Memory is counted five times a second, O(processes in the box).
#
# Where it breaks. Flaws of the kernel, and side channels. Without a control group, memory may exceed its limit until
# the next count. A box with the network reaches nearby servers. A GPU may show the memory of its former user. The total
# size of a writable folder has no limit. Boxes need Linux on x86-64 or ARM 64, and user namespaces, which AppArmor or a
# container may forbid: `why_no_box` gives the remedy, and private data are not scored there.

from __future__ import annotations

import functools
import itertools
import json
import logging
import math
import os
import platform
import shutil
import stat
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import IO, TypedDict, Unpack
from urllib.parse import unquote, urlsplit

from brainscore_core.config import available_memory
from brainscore_core.errors import IsolationError
from brainscore_core.files import LOCKS
from brainscore_core.processes import Ended, Program, running
from brainscore_core.scoring.isolation.another_user import changing_user, staged, why_not_another_user
from brainscore_core.scoring.isolation.bubblewrap import (
    MEMORY_FOLDERS,
    PROGRAMS,
    Box,
    arguments_of,
    files_of,
    limits_of,
)
from brainscore_core.scoring.isolation.system_calls import MACHINES, filter_of_calls

__all__ = [
    "Box",
    "BoxOptions",
    "control_group",
    "entering",
    "interpreter_paths",
    "parent_group",
    "run_boxed",
    "start_boxed",
    "why_no_box",
]


# -- boxes -------------------------------------------------------------------------------------------------------------


_NOT_PRIVATE = "Until then, nothing is scored with private data."
_RESTRICTED = Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
_logger = logging.getLogger(__name__)
_PROBE_S = 30.0
_MOST_MEMORY = 0.9  # of the machine, for a box without a stated limit
_OWN_PROCESSES = 2  # of bubblewrap: one outside, and the first within
_lent: Counter[Path] = Counter()  # folders that running boxes of this process may write


@functools.cache
def why_no_box() -> str | None:
    """Return why no box can be made here, and the remedy; None if a trial succeeded."""
    if sys.platform != "linux":
        return (
            f"Models cannot be isolated on {platform.system()}, so nothing is scored with private data here. That "
            "needs Linux with bubblewrap, for example in a virtual machine."
        )
    if platform.machine() not in MACHINES:
        return (
            f"Models can be isolated on {' and '.join(MACHINES)}; this machine is {platform.machine()}. {_NOT_PRIVATE}"
        )
    missing = [package for program, package in PROGRAMS.items() if not shutil.which(program)]
    if missing:
        return (
            f"To isolate models, install {' and '.join(missing)}: on Debian and Ubuntu with 'sudo apt-get install "
            f"{' '.join(missing)}', on Fedora with 'sudo dnf install {' '.join(missing)}'. {_NOT_PRIVATE}"
        )
    try:
        with _start(["/usr/bin/env", "true"], Box(), timeout_s=_PROBE_S) as program:
            ended = program.result()
    except (OSError, IsolationError) as error:
        return f"A box with bubblewrap cannot be started: {str(error).rstrip('.')}. {_NOT_PRIVATE}"
    return None if ended.problem is None else _explained(ended)


def _explained(ended: Ended) -> str:
    if "nknown option" in ended.output:
        remedy = "Its version must be 0.8 or newer."
    elif _RESTRICTED.is_file() and _RESTRICTED.read_text("ascii").strip() == "1":
        remedy = (
            "AppArmor prevents ordinary users from creating namespaces: run 'sudo sysctl "
            "kernel.apparmor_restrict_unprivileged_userns=0', or give /usr/bin/bwrap a profile that allows 'userns'."
        )
    else:
        remedy = (
            "The kernel refuses new namespaces: in a container, start it with 'podman run' or with 'docker run "
            "--security-opt seccomp=unconfined --security-opt apparmor=unconfined "
            "--security-opt systempaths=unconfined --cap-add SYS_ADMIN'; on a machine, "
            "see whether 'sysctl user.max_user_namespaces' is above 0."
        )
    return f"bubblewrap is installed, but does not work: {ended.tail or ended.problem}\n{remedy} {_NOT_PRIVATE}"


class BoxOptions(TypedDict, total=False):
    """Limits and output of a program in a box, as for `processes.run_bounded`.

    Memory counts all processes in the box and its ``/tmp`` and ``/dev/shm``; by default nine tenths of the machine's.
    `pass_fds` must not include folders, which would lead out of the box.
    """

    timeout_s: float | None
    memory_bytes: float | None
    secrets: Sequence[str]
    show: Callable[[str], object] | None
    most_shown: float
    pass_fds: Sequence[int]


def run_boxed(command: Sequence[str | Path], box: Box, **bounds: Unpack[BoxOptions]) -> Ended:
    """Run a program, at its path in the box, until it ends or exceeds a limit; raise `IsolationError` without a box."""
    with start_boxed(command, box, **bounds) as program:
        return program.result()


@contextmanager
def start_boxed(command: Sequence[str | Path], box: Box, **bounds: Unpack[BoxOptions]) -> Iterator[Program]:
    """Start a program in a box, to talk to over open files; leaving the context ends all in the box."""
    why = why_no_box()
    if why:
        raise IsolationError(why)
    with _start(command, box, **bounds) as program:
        yield program


@contextmanager
def _start(command: Sequence[str | Path], box: Box, **bounds: Unpack[BoxOptions]) -> Iterator[Program]:
    """Start a program in a box, if possible as another user than root."""
    box = _checked(box)
    why = why_not_another_user()
    if why is None:
        given = (*box.readable, *box.writable)
        with ExitStack() as stack:
            ours, theirs = (stack.enter_context(open(end, "rb", buffering=0)) for end in os.pipe())  # noqa: PTH123 - a pipe
            before = changing_user(given, theirs.fileno())
            inside = _run(command, box, before=before, sources=staged(given), own_fds=[theirs.fileno()], **bounds)
            program = stack.enter_context(inside)
            theirs.close()
            why = ours.read().decode()  # ends when bubblewrap starts
            if not why:
                yield program
                return
    if why:
        _warn(why)
    with _run(command, box, **bounds) as program:
        yield program


@functools.cache
def _warn(why: str) -> None:
    _logger.warning(
        "Boxes run as root, so a program that escapes from one would have root's rights (%s). Score as an ordinary "
        "user.",
        why,
    )


@contextmanager
def _run(
    command: Sequence[str | Path],
    box: Box,
    *,
    before: Sequence[str] = (),
    sources: Mapping[Path, Path] = MappingProxyType({}),
    own_fds: Sequence[int] = (),
    **bounds: Unpack[BoxOptions],
) -> Iterator[Program]:
    with ExitStack() as stack:
        _lent.update(box.writable)
        stack.callback(_lent.subtract, box.writable)
        files = {path: stack.enter_context(_holding(content)) for path, content in files_of(box).items()}
        calls = stack.enter_context(_holding(filter_of_calls(platform.machine())))
        numbers = {path: file.fileno() for path, file in files.items()}
        words = arguments_of(box, files=numbers, filter_fd=calls.fileno(), sources=sources)
        # In a file, as arguments of its first process, which describe the machine, would be readable in the box.
        arguments = stack.enter_context(_holding("".join(f"{word}\0" for word in words).encode()))
        own = [*own_fds, *numbers.values(), calls.fileno(), arguments.fileno()]
        options: BoxOptions = {**bounds, "pass_fds": [*own, *bounds.get("pass_fds", ())]}
        memory_bytes = options.get("memory_bytes")
        if memory_bytes is None:
            options["memory_bytes"] = memory_bytes = _MOST_MEMORY * available_memory()
        most_processes = box.most_processes + _OWN_PROCESSES
        group = stack.enter_context(control_group(memory_bytes, most_processes))
        bubblewrap = [shutil.which("bwrap") or "bwrap", "--args", str(arguments.fileno()), "--"]
        inside = running(
            [*entering(group), *before, *bubblewrap, *limits_of(box), *command],
            environment={},  # readable in its /proc/1; the box has its own
            folder=Path("/"),
            most_processes=most_processes,
            reports_signals=True,
            memory_folders=MEMORY_FOLDERS,
            memory_events=None if group is None else group / "memory.events",
            **options,
        )
        yield stack.enter_context(inside)


@contextmanager
def _holding(content: bytes) -> Iterator[IO[bytes]]:
    with tempfile.TemporaryFile() as stream:
        stream.write(content)
        stream.seek(0)
        yield stream


def _checked(box: Box) -> Box:
    """Return the box with absolute paths; raise unless they exist and are permitted."""
    readable, writable, hidden, devices = (
        tuple(dict.fromkeys(Path(os.path.abspath(path)) for path in paths))  # noqa: PTH100 - keeps links as they are
        for paths in (box.readable, box.writable, box.hidden, box.devices)
    )
    homes, own = _homes(), interpreter_paths()  # whose links are the system's or the user's
    for path in (*readable, *writable, *devices):
        if not path.exists():
            raise IsolationError(f"A box cannot include {path}: it does not exist.")
        home = next((home for home in homes if home.is_relative_to(path.resolve())), None)
        if path.resolve() != path and path not in own:
            raise IsolationError(f"A box cannot include {path}: it passes through a link to {path.resolve()}.")
        if path not in own:
            _refuse_exchangeable(path)
        if home is not None:
            raise IsolationError(
                f"A box must not see {path}: it contains the home folder {home}. Name the folders that are "
                "needed; if Python imports from it, remove it from PYTHONPATH."
            )
    # A file that can only be read can be locked: who waits for its lock, or that of uv, would wait for the box.
    locks = (path / name for path in (*readable, Path(sys.prefix)) for name in (LOCKS, ".lock"))
    hidden = tuple(path for path in (*hidden, *locks) if path.exists())
    return replace(box, readable=readable, writable=writable, hidden=hidden, devices=devices)


def _refuse_exchangeable(path: Path) -> None:
    """Raise an `IsolationError` if a stranger may write to a parent folder, and so replace mounted files."""
    for above in path.parents:
        mode = above.stat().st_mode
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            raise IsolationError(
                f"A box cannot include {path}: everybody may write to {above}, and so replace it. Run 'chmod o-w "
                f"{above}' to prevent that."
            )
        if _lent[above] > 0:
            raise IsolationError(
                f"A box cannot include {path}: a running box may write to {above}, and so replace it. When that box "
                "has ended, copy its output to your own folder (`take_over`)."
            )


def _homes() -> list[Path]:
    """Return the homes that the environment and the system name."""
    try:
        import pwd  # not on Windows

        return [Path.home().resolve(), Path(pwd.getpwuid(os.getuid()).pw_dir).resolve()]
    except (ImportError, KeyError):  # KeyError: a user of a container without an entry
        return [Path.home().resolve()]


# -- control groups ----------------------------------------------------------------------------------------------------
#
# Give a box a control group of the kernel (cgroup v2), which limits its memory and processes.
#
# It also counts files in memory, queues, inodes and buffers, which belong to no process. The group is made next to this
# process's, if this user may.


_PROC = Path("/proc/self")
_PREFIX = "brainscore-box-"
_CONTROLLERS = ("memory", "pids")
_EMPTY_AFTER_S = 2.0
_LOOK_AGAIN_S = 0.01
_numbers = itertools.count()


def parent_group(own: str, mounts: str) -> Path | None:
    """Return the folder for groups next to a process's own, by its cgroup and mountinfo; None without cgroup v2."""
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


# -- the interpreter ---------------------------------------------------------------------------------------------------
#
# List what this Python interpreter reads: itself, its libraries, and the folders that it imports from.


def interpreter_paths(environment: Path | None = None) -> tuple[Path, ...]:
    """Return the existing folders and files that this interpreter needs, without those in ``/usr``, sorted.

    A stranger may have filled an `environment` made from it: other folders that this names do not count.
    """
    imports = sys.path if sys.flags.safe_path else sys.path[1:]
    paths = [Path(path) for path in (sys.prefix, sys.base_prefix, sys.exec_prefix, *imports) if path]
    paths += _links(Path(os.path.abspath(sys.executable)))  # noqa: PTH100 - links are followed one by one
    for path in imports:
        paths += _checkouts(Path(path)) if path else []
    if environment is not None:
        paths.append(environment.parent.parent)
    existing = {path for one in paths if one.exists() for path in (one.absolute(), one.resolve())}
    roots: list[Path] = []
    for candidate in sorted(existing):
        if not any(candidate.is_relative_to(above) for above in (Path("/usr"), *roots)):
            roots.append(candidate)
    return tuple(roots)


def _links(file: Path) -> Iterator[Path]:
    for _ in range(40):
        yield file
        if not file.is_symlink():
            return
        file = Path(os.path.normpath(file.parent / os.readlink(file)))  # noqa: PTH115 - as text: it may be relative


def _checkouts(packages: Path) -> Iterator[Path]:
    """Yield the folders that packages are imported from by their own finder."""
    for finder in packages.glob("__editable__*_finder.py"):
        # Such as __editable___house_1_0_finder.py next to house-1.0.dist-info.
        name = finder.name.removeprefix("__editable__").strip("_").removesuffix("_finder.py")
        for file in packages.glob("*.dist-info/direct_url.json"):
            if name.startswith(file.parent.name.partition("-")[0]):
                try:
                    yield Path(unquote(urlsplit(json.loads(file.read_bytes())["url"]).path))
                except (ValueError, KeyError, TypeError):
                    continue
