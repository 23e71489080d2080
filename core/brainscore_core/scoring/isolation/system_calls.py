"""Make the `seccomp` filter that lets a program in a box make only the listed system calls.

Namespaces separate only some resources. Excluded are calls that reach around them (the kernel's keys, the machine's
virtual sockets, its interpreters of programs), make new namespaces, or hold uncountable memory, and all calls of later
kernels, without which the C library falls back to older ones.
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from brainscore_core.scoring.isolation.allowed_calls import ALLOWED

_X86_64, _AARCH64 = (
    {name: number for name, numbers in ALLOWED.items() if (number := numbers[column]) is not None} for column in (0, 1)
)
MACHINES: Mapping[str, tuple[int, Mapping[str, int]]] = MappingProxyType(
    {"x86_64": (0xC000003E, _X86_64), "aarch64": (0xC00000B7, _AARCH64)}
)
"""Machine, as `platform.machine` names it -> (what the kernel calls it, allowed call -> number)."""

_LOOKED_INTO = ("clone", "ioctl", "setsockopt", "socket")
_NEW_NAMESPACES = 0x7E020080  # CLONE_NEWUSER, NEWPID, NEWNS, NEWNET, NEWIPC, NEWUTS, NEWCGROUP, NEWTIME
_TYPING_FOR_OTHERS = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX
# AF_UNIX, AF_INET, AF_INET6: these have namespaces. Of their protocols 0 is the usual one, 6 and 17 are TCP and UDP:
# the code of others in the kernel (MPTCP, UDP-Lite, SCTP) is needed by nobody here, and has had its flaws.
_SOCKETS, _PROTOCOLS = (1, 2, 10), (6, 17)
_NETLINK = 16  # with protocol 0 alone, which tells names of interfaces; others reach audit, netfilter, crypto ...
_SOL_SOCKET = 1
_PROGRAMS = (26, 50, 51, 52)  # SO_ATTACH_FILTER, _BPF, _REUSEPORT_CBPF, _EBPF: programs for the kernel's interpreter
# SO_SNDBUF, _RCVBUF, _SNDBUFFORCE, _RCVBUFFORCE seem to succeed, as where the machine's limit is low:
# `bytes_in_sockets` relies on the default sizes.
_SIZES = (7, 8, 32, 33)

_LOAD, _IF_EQUAL, _IF_ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06
_ALLOW, _KILL, _REFUSE = 0x7FFF0000, 0x80000000, 0x00050000
_NUMBER, _MACHINE, _FIRST, _SECOND, _THIRD = 0, 4, 16, 24, 32  # offsets in `struct seccomp_data`, little-endian


def filter_of_calls(machine: str) -> bytes:
    """Return the filter for one of `MACHINES`, an array of ``struct sock_filter``."""
    kernel_name, numbers = MACHINES[machine]
    program = [
        *((_LOAD, 0, 0, _MACHINE), (_IF_EQUAL, 1, 0, kernel_name), (_RETURN, 0, 0, _KILL), (_LOAD, 0, 0, _NUMBER)),
        *_looked_into(numbers),
    ]
    for name, number in sorted(numbers.items(), key=lambda item: item[1]):
        if name not in _LOOKED_INTO:
            program += [(_IF_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ALLOW)]
    program.append(_refuse(errno.ENOSYS))
    return b"".join(struct.pack("<HBBI", *line) for line in program)


_Line = tuple[int, int, int, int]  # what to do, lines to skip if true, lines to skip if false, value


def _refuse(number: int) -> _Line:
    return (_RETURN, 0, 0, _REFUSE | number)


def _looked_into(numbers: Mapping[str, int]) -> Iterator[_Line]:
    """Yield lines for calls that are refused for some arguments only."""
    for name, lines in (
        ("clone", _refusing(_FIRST, {_NEW_NAMESPACES: errno.EPERM}, test=_IF_ANY_BIT)),
        ("ioctl", _refusing(_SECOND, dict.fromkeys(_TYPING_FOR_OTHERS, errno.EPERM))),
        ("socket", _of_sockets()),
        ("setsockopt", _of_options()),
    ):
        yield (_IF_EQUAL, 0, len(lines), numbers[name])
        yield from lines


def _refusing(argument: int, errors: Mapping[int, int], test: int = _IF_EQUAL) -> list[_Line]:
    """Return the lines that answer some values of an argument with a number of an error, and allow all others."""
    tests = [line for value, number in errors.items() for line in ((test, 0, 1, value), _refuse(number))]
    return [(_LOAD, 0, 0, argument), *tests, (_RETURN, 0, 0, _ALLOW)]


def _of_sockets() -> list[_Line]:
    """Return the lines for a socket of a family (first argument) and a protocol (third)."""
    n = len(_PROTOCOLS)
    families = [(_IF_EQUAL, len(_SOCKETS) - place, 0, family) for place, family in enumerate(_SOCKETS)]
    return [
        (_LOAD, 0, 0, _FIRST),
        (_IF_EQUAL, len(_SOCKETS) + 2 + n, 0, _NETLINK),  # to the second line that loads the protocol
        *families,
        _refuse(errno.EAFNOSUPPORT),
        (_LOAD, 0, 0, _THIRD),
        *((_IF_EQUAL, n - place + 1, 0, protocol) for place, protocol in enumerate(_PROTOCOLS)),
        (_LOAD, 0, 0, _THIRD),
        (_IF_EQUAL, 0, 1, 0),
        (_RETURN, 0, 0, _ALLOW),
        _refuse(errno.EPROTONOSUPPORT),
    ]


def _of_options() -> list[_Line]:
    """Return the lines for an option of a socket: its level is the second argument, its number the third."""
    lines = _refusing(_THIRD, {**dict.fromkeys(_PROGRAMS, errno.EPERM), **dict.fromkeys(_SIZES, 0)})
    return [(_LOAD, 0, 0, _SECOND), (_IF_EQUAL, 0, len(lines) - 1, _SOL_SOCKET), *lines]
