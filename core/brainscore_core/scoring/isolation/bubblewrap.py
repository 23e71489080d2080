"""Say to bubblewrap what a program in a box sees; pure functions that make its arguments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

__all__ = ["NOBODY", "PROGRAMS", "Box", "arguments_of", "files_of", "limits_of"]

NOBODY = 65534
"""User and group of a program in a box."""

PROGRAMS = MappingProxyType({"bwrap": "bubblewrap", "prlimit": "util-linux"})
"""Program that a box is made with -> package of Debian that has it."""

# Of /etc only what programs need to find libraries, time and certificates: the rest tells of the machine.
_SYSTEM = (
    *("alternatives", "ca-certificates", "ld.so.cache", "localtime", "mime.types", "nsswitch.conf"),
    *("pki/ca-trust", "pki/tls/certs", "ssl/certs", "ssl/openssl.cnf"),
)
_NETWORK = ("gai.conf", "host.conf", "hosts", "protocols", "resolv.conf", "services")
_LINKED = ("bin", "lib", "lib32", "lib64", "libx32", "sbin")  # of most systems, links into /usr
_STORES = ("/nix/store", "/gnu/store")  # where some systems keep what others have in /usr
_MACHINE = ("/sys/devices/system/cpu", "/sys/devices/system/node")  # how many threads to start
# Files of /proc that tell of the whole machine, or act on it; root's own are open to root without any capability too.
_COVERED = (
    *("kallsyms", "kcore", "key-users", "keys", "kmsg", "kpagecgroup", "kpagecount", "kpageflags", "latency_stats"),
    *("pagetypeinfo", "sched_debug", "slabinfo", "sysrq-trigger", "timer_list", "vmallocinfo"),
)
_SURROUNDINGS = MappingProxyType({"HOME": "/tmp", "LANG": "C.UTF-8", "PATH": "/usr/bin:/bin", "TMPDIR": "/tmp"})  # noqa: S108 - the box's own


@dataclass(frozen=True, kw_only=True)
class Box:
    """What a program sees of the machine, and what each of its processes may take.

    Besides what is named here it sees ``/usr`` (read-only; nothing secret belongs there) and what programs need of
    ``/etc``, and has a ``/proc``, ``/dev``, ``/dev/shm`` and ``/tmp`` of its own. All else is not there.

    Attributes
    ----------
    readable : tuple of Path
        Files and folders that it sees where they are, read-only; `interpreter_paths` are those of Python.
    writable : tuple of Path
        Files and folders of the machine that it may change; how much it writes there is not limited.
    hidden : tuple of Path
        What it must not see of the above: an empty folder stands there. What is not in sight need not be named.
    devices : tuple of Path
        Such as ``/dev/nvidia0``; a device is shared with whoever else uses it.
    network : bool
        Whether it has the network of the machine, with the servers on it; else it has none, not even to itself.
    environment : mapping of str to str
        All of its environment variables, besides ``HOME``, ``LANG``, ``PATH`` and ``TMPDIR``.
    folder : Path, optional
        Where it starts; None: in ``/tmp``.
    private_bytes : int
        How much it can write into ``/tmp``, and as much into ``/dev/shm``. It is memory.
    most_processes : int
        Processes and threads at a time. The kernel counts those of an ordinary user; of root, processes are counted
        five times a second, and too many end the box.
    most_file_bytes : int
        Of each file that it writes.
    most_open_files : int
        Of each process.
    """

    readable: tuple[Path, ...] = ()
    writable: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()
    devices: tuple[Path, ...] = ()
    network: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)
    folder: Path | None = None
    private_bytes: int = 2 * 2**30
    most_processes: int = 1024
    most_file_bytes: int = 16 * 2**30
    most_open_files: int = 4096


def files_of(box: Box) -> dict[str, bytes]:
    """Return the small files that a box has of its own: path in it -> content."""
    home = {**_SURROUNDINGS, **box.environment}["HOME"]
    return {
        "/etc/group": f"nogroup:x:{NOBODY}:\n".encode(),
        "/etc/hostname": b"box\n",
        "/etc/passwd": f"nobody:x:{NOBODY}:{NOBODY}:nobody:{home}:/usr/sbin/nologin\n".encode(),
    }


def limits_of(box: Box) -> list[str]:
    """Return the start of a command within the box, that which sets the limits of each process."""
    return [
        *("/usr/bin/prlimit", "--core=0", f"--fsize={box.most_file_bytes}"),
        *(f"--nofile={box.most_open_files}", f"--nproc={box.most_processes}", "--"),
    ]


def arguments_of(box: Box, *, files: Mapping[str, int], filter_fd: int, root: Path = Path("/")) -> list[str]:
    """Return the arguments of ``bwrap``, without the command.

    Parameters
    ----------
    box : Box
        Its paths are absolute and exist.
    files : mapping of str to int
        Path in the box -> number of the open file with what `files_of` says.
    filter_fd : int
        Number of the open file with the `refused_calls`.
    root : Path
        Of the machine.
    """
    return [
        *("--unshare-all", "--unshare-user", "--disable-userns", *(["--share-net"] if box.network else [])),
        *("--uid", str(NOBODY), "--gid", str(NOBODY), "--hostname", "box", "--cap-drop", "ALL"),
        *("--die-with-parent", "--new-session", "--seccomp", str(filter_fd)),
        *_own_system(box, root),
        *(word for path, number in files.items() for word in ("--ro-bind-data", str(number), path)),
        *_own_folders(box, root),
        *_given(box),
        *("--remount-ro", "/dev", "--remount-ro", "/"),
        *("--clearenv", *_variables(box)),
        *("--chdir", str(box.folder or "/tmp")),  # noqa: S108 - the box's own
    ]


def _own_system(box: Box, root: Path) -> Iterator[str]:
    """Yield what programs need of the system, as far as the machine has it."""
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
            yield from ("--ro-bind", "/dev/null", f"/proc/{name}")  # without devices it cannot even be opened
    # Of what starts as root, the kernel lets every process write /proc/sys: core_pattern there is a way out.
    yield from ("--remount-ro", "/proc", "--dev", "/dev")
    for path in ("/dev/shm", "/tmp"):  # noqa: S108 - the box's own
        yield from ("--perms", "1777", "--size", str(box.private_bytes), "--tmpfs", path)
    yield from ("--symlink", "../tmp", "/var/tmp")  # noqa: S108 - the box's own


def _given(box: Box) -> Iterator[str]:
    """Yield what a box is given, the outer before the inner: what is mounted later lies over what was there."""
    given = [(path, "--ro-bind") for path in box.readable] + [(path, "--bind") for path in box.writable]
    in_sight = [path for path, _ in given]
    given += [(path, "") for path in box.hidden if _is_below(path, in_sight)]
    # Folders on the way to those below /tmp would lie in the box's own, where it could write beside them.
    own_tmp = Path("/tmp")  # noqa: S108 - the box's own
    ways = {own_tmp / path.relative_to(own_tmp).parts[0] for path in in_sight if own_tmp in path.parents}
    given += [(path, "") for path in sorted(ways.difference(in_sight))]
    for path, option in sorted(given, key=lambda each: (len(each[0].parts), not each[1])):
        if option:
            yield from (option, str(path), str(path))
        else:
            yield from ("--tmpfs", str(path))
    for path, _ in (each for each in given if not each[1]):  # at last: what lies in it needs a place to be put
        yield from ("--remount-ro", str(path))
    for device in box.devices:
        yield from ("--dev-bind", str(device), str(device))


def _is_below(path: Path, others: Sequence[Path]) -> bool:
    return any(path.is_relative_to(other) for other in (*others, Path("/usr")))


def _variables(box: Box) -> Iterator[str]:
    for name, value in {**_SURROUNDINGS, **box.environment}.items():
        yield from ("--setenv", name, value)
