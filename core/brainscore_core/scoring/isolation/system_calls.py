"""Say which calls the kernel refuses to a program in a box, as the filter that `seccomp` takes.

Namespaces separate only some resources; the calls refused here reach around them (the kernel's keys, virtual sockets of
the machine, its own interpreters of programs), make new namespaces with rights of their own, or hold memory that
belongs to no process and cannot be counted.
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Iterator, Mapping
from types import MappingProxyType

__all__ = ["MACHINES", "refused_calls"]

_COMMON = {  # newer calls have the same number on every machine
    "clone3": 435, "fsconfig": 431, "fsmount": 432, "fsopen": 430, "fspick": 433, "io_uring_enter": 426,
    "io_uring_register": 427, "io_uring_setup": 425, "memfd_secret": 447, "mount_setattr": 442, "move_mount": 429,
    "open_tree": 428, "pidfd_getfd": 438,
}  # fmt: skip
_X86_64 = {
    "acct": 163, "add_key": 248, "bpf": 321, "chroot": 161, "clone": 56, "delete_module": 176, "finit_module": 313,
    "init_module": 175, "ioctl": 16, "kcmp": 312, "kexec_file_load": 320, "kexec_load": 246, "keyctl": 250,
    "memfd_create": 319, "mount": 165, "mq_open": 240, "msgget": 68,
    "name_to_handle_at": 303, "open_by_handle_at": 304, "perf_event_open": 298,
    "pivot_root": 155, "process_vm_readv": 310, "process_vm_writev": 311, "ptrace": 101, "quotactl": 179,
    "reboot": 169, "request_key": 249, "setns": 308, "semget": 64, "shmget": 29,
    "socket": 41, "swapoff": 168, "swapon": 167,
    "syslog": 103, "umount2": 166, "unshare": 272, "userfaultfd": 323,
}  # fmt: skip
_AARCH64 = {
    "acct": 89, "add_key": 217, "bpf": 280, "chroot": 51, "clone": 220, "delete_module": 106, "finit_module": 273,
    "init_module": 105, "ioctl": 29, "kcmp": 272, "kexec_file_load": 294, "kexec_load": 104, "keyctl": 219,
    "memfd_create": 279, "mount": 40, "mq_open": 180, "msgget": 186,
    "name_to_handle_at": 264, "open_by_handle_at": 265, "perf_event_open": 241,
    "pivot_root": 41, "process_vm_readv": 270, "process_vm_writev": 271, "ptrace": 117, "quotactl": 60,
    "reboot": 142, "request_key": 218, "setns": 268, "semget": 190, "shmget": 194,
    "socket": 198, "swapoff": 225, "swapon": 224,
    "syslog": 116, "umount2": 39, "unshare": 97, "userfaultfd": 282,
}  # fmt: skip
MACHINES: Mapping[str, tuple[int, Mapping[str, int]]] = MappingProxyType(
    {"x86_64": (0xC000003E, _X86_64 | _COMMON), "aarch64": (0xC00000B7, _AARCH64 | _COMMON)}
)
"""Machine, as `platform.machine` names it -> (what the kernel calls it, call -> number)."""

# Programs fall back to older ways where these are not implemented; the flags of clone3 are out of a filter's sight.
_NOT_IMPLEMENTED = ("clone3", "io_uring_enter", "io_uring_register", "io_uring_setup", "memfd_create", "memfd_secret")
_LOOKED_INTO = ("clone", "ioctl", "socket")
_NEW_NAMESPACES = 0x7E020080  # CLONE_NEWUSER, NEWPID, NEWNS, NEWNET, NEWIPC, NEWUTS, NEWCGROUP, NEWTIME
_TYPING_FOR_OTHERS = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX
_SOCKETS = (
    1,
    2,
    10,
    16,
)  # AF_UNIX, AF_INET, AF_INET6, AF_NETLINK (names of hosts and interfaces): these have namespaces

_LOAD, _IF_EQUAL, _IF_AT_LEAST, _IF_ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _REFUSE = 0x7FFF0000, 0x80000000, 0x00050000
_NUMBER, _MACHINE, _FIRST, _SECOND = 0, 4, 16, 24  # offsets in `struct seccomp_data`, little-endian
_X32 = 0x40000000  # a second set of numbers for the same calls


def refused_calls(machine: str) -> bytes:
    """Return the filter for one of `MACHINES`, an array of ``struct sock_filter``."""
    kernel_name, numbers = MACHINES[machine]
    program = [
        *_if(_LOAD_MACHINE, _IF_EQUAL, kernel_name, then=[], otherwise=[(_RETURN, 0, 0, _KILL)]),
        *_if((_LOAD, 0, 0, _NUMBER), _IF_AT_LEAST, _X32, then=[_refuse(errno.ENOSYS)], otherwise=[]),
        *_looked_into(numbers),
    ]
    for name, number in sorted(numbers.items()):
        if name not in _LOOKED_INTO:
            refusal = _refuse(errno.ENOSYS if name in _NOT_IMPLEMENTED else errno.EPERM)
            program += [(_IF_EQUAL, 0, 1, number), refusal]
    program.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("<HBBI", *line) for line in program)


_Line = tuple[int, int, int, int]  # what to do, lines to skip if true, lines to skip if false, value
_LOAD_MACHINE: _Line = (_LOAD, 0, 0, _MACHINE)


def _refuse(number: int) -> _Line:
    return (_RETURN, 0, 0, _REFUSE | number)


def _if(load: _Line, test: int, value: int, *, then: list[_Line], otherwise: list[_Line]) -> list[_Line]:
    """Return lines that go on after `then` or `otherwise`; one of both must be empty, the other one return."""
    return [load, (test, 0 if then else len(otherwise), len(then), value), *then, *otherwise]


def _looked_into(numbers: Mapping[str, int]) -> Iterator[_Line]:
    """Yield lines for calls that are refused for some arguments only."""
    allow, refuse = (_RETURN, 0, 0, _ALLOW), _refuse(errno.EPERM)
    for name, load, test, values, otherwise, refusal in (
        ("clone", _FIRST, _IF_ANY_BIT, (_NEW_NAMESPACES,), allow, refuse),
        ("ioctl", _SECOND, _IF_EQUAL, _TYPING_FOR_OTHERS, allow, refuse),
        ("socket", _FIRST, _IF_EQUAL, _SOCKETS, _refuse(errno.EAFNOSUPPORT), allow),
    ):
        tests = [line for value in values for line in ((test, 0, 1, value), refusal)]
        yield (_IF_EQUAL, 0, len(tests) + 2, numbers[name])
        yield (_LOAD, 0, 0, load)
        yield from tests
        yield otherwise
