"""Start root's box as a user who owns nothing; a program that needs only the standard library.

Root's paths, which only root may see, are mounted again, at ``/tmp/0``, ``/tmp/1`` ... of a mount namespace where they
belong to that user (idmapped mounts), who starts bubblewrap.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

_USERS = range(61184, 65520)  # of services while they run, by systemd; in the map of most containers
_FOLDER = "/tmp"  # noqa: S108 - of the new namespace, where bubblewrap needs it too
_RIGHTS = {6: "CAP_SETGID", 7: "CAP_SETUID", 21: "CAP_SYS_ADMIN"}

_OPEN_TREE, _MOVE_MOUNT, _MOUNT_SETATTR = 428, 429, 442  # the same on all processors
_NEW_USERS, _NEW_MOUNTS = 0x10000000, 0x20000
_HERE, _EMPTY_PATH, _RECURSIVE, _CLONE, _FROM_FD = -100, 0x1000, 0x8000, 1, 4
_PRIVATE = 0x40000 | 0x4000
_IDMAP = 0x100000


def why_not_another_user() -> str | None:
    """Return why boxes are not started as another user, empty for an ordinary user; None if they may be."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return ""
    status = Path("/proc/self/status").read_text("ascii")
    rights = int(status.partition("CapEff:")[2].split()[0], 16)
    missing = [name for bit, name in _RIGHTS.items() if not rights >> bit & 1]
    return f"without {' and '.join(missing)} it cannot start them as another user" if missing else None


def staged(paths: Sequence[Path]) -> dict[Path, Path]:
    """Return path -> its second mount."""
    return {path: Path(_FOLDER, str(number)) for number, path in enumerate(paths)}


def changing_user(paths: Sequence[Path], report: int) -> list[str]:
    """Return the start of a command that mounts paths again and runs the rest as a random user without processes.

    If this fails, the reason is written to the open file `report`, and the rest does not run.
    """
    used = set()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended
            used.add(process.stat().st_uid)
    unused = [number for number in _USERS if number not in used]
    user = unused[int.from_bytes(os.urandom(4)) % len(unused)]
    return [sys.executable, "-I", "-S", __file__, str(report), str(user), str(len(paths)), *map(str, paths)]


def _main(report: int, user: int, count: int, *words: str) -> None:
    os.set_inheritable(report, False)  # closed when bubblewrap starts
    try:
        _mount(words[:count], user)
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
        os.execve(words[count], words[count:], {})  # noqa: S606 - no shell; Python has added a variable
    except OSError as error:
        os.write(report, str(error).encode())
        sys.exit(1)


def _mount(paths: Sequence[str], user: int) -> None:
    """Mount paths in a new namespace, where root's belong to a user."""
    _call("unshare", _NEW_MOUNTS)
    _call("mount", None, b"/", None, ctypes.c_ulong(_PRIVATE), None)
    attributes = struct.pack("QQQQ", _IDMAP, 0, 0, _users(user))
    trees = []
    for path in paths:
        tree = _call("syscall", _OPEN_TREE, _HERE, path.encode(), _CLONE | _RECURSIVE | os.O_CLOEXEC)
        try:
            flags, size = _EMPTY_PATH | _RECURSIVE, ctypes.c_size_t(len(attributes))
            _call("syscall", _MOUNT_SETATTR, tree, b"", flags, attributes, size)
        except OSError as error:
            raise OSError(f"{path} cannot be mounted for another user ({error.strerror})") from error
        trees.append((tree, Path(path).is_dir()))
    _call("mount", b"given", _FOLDER.encode(), b"tmpfs", ctypes.c_ulong(0), b"mode=0755,size=1m")
    for number, (tree, is_folder) in enumerate(trees):
        place = Path(_FOLDER, str(number))
        place.mkdir() if is_folder else place.touch()
        _call("syscall", _MOVE_MOUNT, tree, b"", _HERE, bytes(place), _FROM_FD)


def _users(user: int) -> int:
    """Return an open user namespace, a child's, that maps root to a user."""
    ready, told = os.pipe()
    waiting, over = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(over)
            _call("unshare", _NEW_USERS)
            os.write(told, b".")
            os.read(waiting, 1)
        finally:
            os._exit(0)
    try:
        os.close(told)
        os.read(ready, 1)
        for name in ("uid_map", "gid_map"):
            Path(f"/proc/{child}/{name}").write_text(f"0 {user} 1", encoding="ascii")
        return os.open(f"/proc/{child}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        os.close(over)
        os.waitpid(child, 0)


def _call(name: str, *arguments: object) -> int:
    result: int = getattr(ctypes.CDLL(None, use_errno=True), name)(*arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


if __name__ == "__main__":
    _main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:])
