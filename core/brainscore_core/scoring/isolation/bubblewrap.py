"""Make the arguments of bubblewrap for a box; pure functions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

NOBODY = 65534
"""User and group of a program in a box."""

MEMORY_FOLDERS = ("/dev/shm", "/tmp")  # noqa: S108 - the box's own
"""Writable folders of every box, which lie in memory."""

PROGRAMS = MappingProxyType({"bwrap": "bubblewrap", "prlimit": "util-linux"})
"""Program that boxes need -> its Debian package."""

# What programs need to find libraries, time and certificates; the rest of /etc describes the machine.
_SYSTEM = (
    *("alternatives", "ca-certificates", "ld.so.cache", "localtime", "mime.types", "nsswitch.conf"),
    *("pki/ca-trust", "pki/tls/certs", "ssl/certs", "ssl/openssl.cnf"),
)
_NETWORK = ("gai.conf", "host.conf", "hosts", "protocols", "resolv.conf", "services")
_LINKED = ("bin", "lib", "lib32", "lib64", "libx32", "sbin")  # links into /usr on most systems
_STORES = ("/nix/store", "/gnu/store")  # the /usr of some systems
_MACHINE = ("/sys/devices/system/cpu", "/sys/devices/system/node")  # for the number of threads
# Files of /proc about the whole machine; root may open them without any capability.
_COVERED = (
    *("kallsyms", "kcore", "key-users", "keys", "kmsg", "kpagecgroup", "kpagecount", "kpageflags", "latency_stats"),
    *("pagetypeinfo", "sched_debug", "slabinfo", "sysrq-trigger", "timer_list", "vmallocinfo"),
)
_SURROUNDINGS = MappingProxyType({"HOME": "/tmp", "LANG": "C.UTF-8", "PATH": "/usr/bin:/bin", "TMPDIR": "/tmp"})  # noqa: S108 - the box's own


@dataclass(frozen=True, kw_only=True)
class Box:
    """Files, devices and resources of a program.

    It also sees ``/usr`` and what programs need of ``/etc``, read-only, and has its own ``/proc``, ``/dev``,
    ``/dev/shm`` and ``/tmp``.
    """

    # Files and folders at their own paths; `interpreter_paths` lists those of Python. There is no limit on the size of
    # those written.
    readable: tuple[Path, ...] = ()
    writable: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()  # folders among the above that appear empty, and files that cannot be opened
    devices: tuple[Path, ...] = ()  # such as ``/dev/nvidia0``, shared with its other users
    # Whether it has the machine's network, including local servers; otherwise none, not even to itself
    network: bool = False
    # Variables besides ``HOME``, ``LANG``, ``PATH`` and ``TMPDIR``
    environment: Mapping[str, str] = field(default_factory=dict)
    folder: Path | None = None  # working folder; None: ``/tmp``
    private_bytes: int = 2 * 2**30  # limit of ``/tmp``, and of ``/dev/shm``, in memory
    most_processes: int = 1024  # processes and threads at a time; for root, processes are counted five times a second
    most_file_bytes: int = 16 * 2**30  # for each file
    most_open_files: int = 4096  # for each process


def files_of(box: Box) -> dict[str, bytes]:
    """Return a box's own small files: path in it -> content."""
    home = {**_SURROUNDINGS, **box.environment}["HOME"]
    return {
        "/etc/group": f"nogroup:x:{NOBODY}:\n".encode(),
        "/etc/hostname": b"box\n",
        "/etc/passwd": f"nobody:x:{NOBODY}:{NOBODY}:nobody:{home}:/usr/sbin/nologin\n".encode(),
    }


def limits_of(box: Box) -> list[str]:
    """Return the start of a command within the box, which sets each process's limits."""
    return [
        *("/usr/bin/prlimit", "--core=0", f"--fsize={box.most_file_bytes}"),
        *(f"--nofile={box.most_open_files}", f"--nproc={box.most_processes}", "--"),
    ]


def arguments_of(
    box: Box,
    *,
    files: Mapping[str, int],
    filter_fd: int,
    sources: Mapping[Path, Path] = MappingProxyType({}),
    root: Path = Path("/"),
) -> list[str]:
    """Return the arguments of ``bwrap`` for a box with absolute, existing paths, without the command.

    Parameters
    ----------
    files, filter_fd
        Numbers of open files: by path in the box (`files_of`), and with the `filter_of_calls`.
    sources
        Readable or writable path -> its place for bubblewrap, if elsewhere.
    root
        Root of the machine.
    """
    return [
        *("--unshare-all", "--unshare-user", "--disable-userns", *(["--share-net"] if box.network else [])),
        *("--uid", str(NOBODY), "--gid", str(NOBODY), "--hostname", "box", "--cap-drop", "ALL"),
        *("--die-with-parent", "--new-session", "--seccomp", str(filter_fd)),
        *_own_system(box, root),
        *(word for path, number in files.items() for word in ("--ro-bind-data", str(number), path)),
        *_own_folders(box, root),
        *_given(box, sources),
        *("--remount-ro", "/dev", "--remount-ro", "/"),
        *("--clearenv", *_variables(box)),
        *("--chdir", str(box.folder or "/tmp")),  # noqa: S108 - the box's own
    ]


def _own_system(box: Box, root: Path) -> Iterator[str]:
    """Yield the parts of the system that programs need, if they exist."""
    yield from ("--ro-bind", "/usr", "/usr")
    for name in _LINKED:
        path = root / name
        if path.is_symlink():
            yield from ("--symlink", str(path.readlink()), f"/{name}")
        elif path.is_dir():
            yield from ("--ro-bind", f"/{name}", f"/{name}")
    for name in (*_SYSTEM, *(_NETWORK if box.network else ())):
        yield from ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")
    for folder in (*_STORES, *_MACHINE):
        yield from ("--ro-bind-try", folder, folder)


def _own_folders(box: Box, root: Path) -> Iterator[str]:
    yield from ("--proc", "/proc")
    for name in _COVERED:
        if (root / "proc" / name).exists():
            yield from ("--ro-bind", "/dev/null", f"/proc/{name}")  # cannot even be opened without devices
    # If started as root, every process may write /proc/sys, where core_pattern is a way out.
    yield from ("--remount-ro", "/proc", "--dev", "/dev")
    yield from ("--tmpfs", "/dev/pts", "--remount-ro", "/dev/pts")  # terminals are counted for the whole machine
    for path in MEMORY_FOLDERS:
        yield from ("--perms", "1777", "--size", str(box.private_bytes), "--tmpfs", path)
    yield from ("--symlink", "../tmp", "/var/tmp")  # noqa: S108 - the box's own


def _given(box: Box, sources: Mapping[Path, Path]) -> Iterator[str]:
    """Yield the mounts of a box, outer before inner: a later mount covers an earlier one."""
    mounts = [(path, "--ro-bind") for path in box.readable] + [(path, "--bind") for path in box.writable]
    in_sight = [path for path, _ in mounts]
    mounts += [(path, "") for path in box.hidden if _is_below(path, in_sight)]
    # Parents of folders below /tmp would lie in the box's own /tmp, where it could write next to them.
    own_tmp = Path("/tmp")  # noqa: S108 - the box's own
    ways = {own_tmp / path.relative_to(own_tmp).parts[0] for path in in_sight if own_tmp in path.parents}
    mounts += [(path, "") for path in sorted(ways.difference(in_sight))]
    for path, option in sorted(mounts, key=lambda mount: (len(mount[0].parts), not mount[1])):
        if option:
            yield from (option, str(sources.get(path, path)), str(path))
        elif path.is_file():
            yield from ("--ro-bind", "/dev/null", str(path))  # cannot even be opened without devices
        else:
            yield from ("--tmpfs", str(path))
    for path, option in mounts:  # last: mounts in it need a writable place
        if not option and not path.is_file():
            yield from ("--remount-ro", str(path))
    for device in box.devices:
        yield from ("--dev-bind", str(device), str(device))


def _is_below(path: Path, others: Sequence[Path]) -> bool:
    return any(path.is_relative_to(other) for other in (*others, Path("/usr")))


def _variables(box: Box) -> Iterator[str]:
    for name, value in {**_SURROUNDINGS, **box.environment}.items():
        yield from ("--setenv", name, value)
