"""Run a program in a box, with only the given access; it ends with its descendants.

``docs/explanation/isolation.md`` states the guarantees and their limits.
"""

from __future__ import annotations

import functools
import logging
import os
import platform
import shutil
import stat
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import IO, TypedDict, Unpack

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
from brainscore_core.scoring.isolation.control_groups import control_group, entering
from brainscore_core.scoring.isolation.interpreter import interpreter_paths
from brainscore_core.scoring.isolation.system_calls import MACHINES, filter_of_calls

__all__ = ["Box", "BoxOptions", "run_boxed", "start_boxed", "why_no_box"]

_NOT_PRIVATE = "Until then nothing is scored beside private data."
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
            f"This is {platform.system()}, where models cannot be isolated: nothing is scored beside private data "
            "here. That needs Linux with bubblewrap, also in a virtual machine."
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
            "AppArmor keeps ordinary users from making namespaces: 'sudo sysctl "
            "kernel.apparmor_restrict_unprivileged_userns=0', or give /usr/bin/bwrap a profile that allows 'userns'."
        )
    else:
        remedy = (
            "The kernel refuses new namespaces: in a container, start it with 'podman run' or with 'docker run "
            "--security-opt seccomp=unconfined --security-opt apparmor=unconfined "
            "--security-opt systempaths=unconfined --cap-add SYS_ADMIN'; on a machine, "
            "see whether 'sysctl user.max_user_namespaces' is above 0."
        )
    return f"bubblewrap is here, but does not work: {ended.tail or ended.problem}\n{remedy} {_NOT_PRIVATE}"


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
        "Boxes run as root, so a program that gets out of one would have its rights (%s). Score as an ordinary user.",
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
            raise IsolationError(f"A box cannot have {path}: it does not exist.")
        home = next((home for home in homes if home.is_relative_to(path.resolve())), None)
        if path.resolve() != path and path not in own:
            raise IsolationError(f"A box cannot have {path}: it leads over a link to {path.resolve()}.")
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
    """Raise an `IsolationError` if a stranger may write in a folder above, and so exchange mounted files."""
    for above in path.parents:
        mode = above.stat().st_mode
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            raise IsolationError(
                f"A box cannot have {path}: everybody may write in {above}, and so exchange it. 'chmod o-w {above}' "
                "stops that."
            )
        if _lent[above] > 0:
            raise IsolationError(
                f"A box cannot have {path}: a box that runs may write in {above}, and so exchange it. Copy what it "
                "wrote into a folder of your own when it has ended (`take_over`)."
            )


def _homes() -> list[Path]:
    """Return the homes that the environment and the system name."""
    try:
        import pwd  # not on Windows

        return [Path.home().resolve(), Path(pwd.getpwuid(os.getuid()).pw_dir).resolve()]
    except (ImportError, KeyError):  # KeyError: a user of a container without an entry
        return [Path.home().resolve()]
