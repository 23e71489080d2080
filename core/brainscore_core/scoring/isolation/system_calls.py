"""Make the `seccomp` filter that lets a program in a box make only the listed system calls.

Namespaces separate only some resources. Excluded are calls that reach around them (the kernel's keys, the machine's
virtual sockets, its interpreters of programs), make new namespaces, or hold uncountable memory, and all calls of later
kernels, without which the C library falls back to older ones.

The list was recorded with ``perf/system_calls.py`` from Python with process pools, NumPy, PyTorch with loaders and
memory maps, ``venv`` with pip, uv and the shipped models: 110 calls on x86-64. The other 130 leave a margin for other
packages and C libraries; they too act only on files, memory, processes and sockets of the box, and Docker's default
profile has them all. Numbers are those of Linux 6.1 (``asm/unistd_64.h``, ``asm-generic/unistd.h``).
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Iterator, Mapping
from types import MappingProxyType

ALLOWED: Mapping[str, tuple[int | None, int | None]] = MappingProxyType({
    # files and folders
    "access": (21, None), "chdir": (80, 49), "chmod": (90, None), "chown": (92, None), "close": (3, 57),
    "close_range": (436, 436), "copy_file_range": (326, 285), "creat": (85, None), "dup": (32, 23), "dup2": (33, None),
    "dup3": (292, 24), "faccessat": (269, 48), "faccessat2": (439, 439), "fadvise64": (221, 223),
    "fallocate": (285, 47), "fchdir": (81, 50), "fchmod": (91, 52), "fchmodat": (268, 53), "fchown": (93, 55),
    "fchownat": (260, 54), "fcntl": (72, 25), "fdatasync": (75, 83), "fgetxattr": (193, 10), "flistxattr": (196, 13),
    "flock": (73, 32), "fremovexattr": (199, 16), "fsetxattr": (190, 7), "fstat": (5, 80), "fstatfs": (138, 44),
    "fsync": (74, 82), "ftruncate": (77, 46), "futimesat": (261, None), "getcwd": (79, 17), "getdents": (78, None),
    "getdents64": (217, 61), "getxattr": (191, 8), "inotify_add_watch": (254, 27), "inotify_init": (253, None),
    "inotify_init1": (294, 26), "inotify_rm_watch": (255, 28), "lchown": (94, None), "lgetxattr": (192, 9),
    "link": (86, None), "linkat": (265, 37), "listxattr": (194, 11), "llistxattr": (195, 12), "lremovexattr": (198, 15),
    "lseek": (8, 62), "lsetxattr": (189, 6), "lstat": (6, None), "mkdir": (83, None), "mkdirat": (258, 34),
    "mknod": (133, None), "mknodat": (259, 33), "newfstatat": (262, 79), "open": (2, None), "openat": (257, 56),
    "openat2": (437, 437), "pipe": (22, None), "pipe2": (293, 59), "pread64": (17, 67), "preadv": (295, 69),
    "preadv2": (327, 286), "pwrite64": (18, 68), "pwritev": (296, 70), "pwritev2": (328, 287), "read": (0, 63),
    "readahead": (187, 213), "readlink": (89, None), "readlinkat": (267, 78), "readv": (19, 65),
    "removexattr": (197, 14), "rename": (82, None), "renameat": (264, 38), "renameat2": (316, 276), "rmdir": (84, None),
    "sendfile": (40, 71), "setxattr": (188, 5), "stat": (4, None), "statfs": (137, 43), "statx": (332, 291),
    "symlink": (88, None), "symlinkat": (266, 36), "sync_file_range": (277, 84), "truncate": (76, 45),
    "umask": (95, 166), "unlink": (87, None), "unlinkat": (263, 35), "utime": (132, None), "utimensat": (280, 88),
    "utimes": (235, None), "write": (1, 64), "writev": (20, 66),
    # memory of the process
    "brk": (12, 214), "get_mempolicy": (239, 236), "madvise": (28, 233), "mbind": (237, 235), "membarrier": (324, 283),
    "mincore": (27, 232), "mlock": (149, 228), "mlock2": (325, 284), "mmap": (9, 222), "mprotect": (10, 226),
    "mremap": (25, 216), "msync": (26, 227), "munlock": (150, 229), "munmap": (11, 215), "set_mempolicy": (238, 237),
    # processes, threads and their rights
    "arch_prctl": (158, None), "capget": (125, 90), "capset": (126, 91), "clone": (56, 220), "execve": (59, 221),
    "execveat": (322, 281), "exit": (60, 93), "exit_group": (231, 94), "fork": (57, None), "futex": (202, 98),
    "futex_waitv": (449, 449), "get_robust_list": (274, 100), "getcpu": (309, 168), "getegid": (108, 177),
    "geteuid": (107, 175), "getgid": (104, 176), "getgroups": (115, 158), "getpgid": (121, 155), "getpgrp": (111, None),
    "getpid": (39, 172), "getppid": (110, 173), "getpriority": (140, 141), "getrandom": (318, 278),
    "getresgid": (120, 150), "getresuid": (118, 148), "getrlimit": (97, 163), "getrusage": (98, 165),
    "getsid": (124, 156), "gettid": (186, 178), "getuid": (102, 174), "kill": (62, 129), "pidfd_open": (434, 434),
    "pidfd_send_signal": (424, 424), "prctl": (157, 167), "prlimit64": (302, 261), "restart_syscall": (219, 128),
    "rseq": (334, 293), "sched_get_priority_max": (146, 125), "sched_get_priority_min": (147, 126),
    "sched_getaffinity": (204, 123), "sched_getattr": (315, 275), "sched_getparam": (143, 121),
    "sched_getscheduler": (145, 120), "sched_rr_get_interval": (148, 127), "sched_setaffinity": (203, 122),
    "sched_setattr": (314, 274), "sched_setparam": (142, 118), "sched_setscheduler": (144, 119),
    "sched_yield": (24, 124), "set_robust_list": (273, 99), "set_tid_address": (218, 96), "setfsgid": (123, 152),
    "setfsuid": (122, 151), "setgid": (106, 144), "setgroups": (116, 159), "setpgid": (109, 154),
    "setpriority": (141, 140), "setregid": (114, 143), "setresgid": (119, 149), "setresuid": (117, 147),
    "setreuid": (113, 145), "setrlimit": (160, 164), "setsid": (112, 157), "setuid": (105, 146), "sysinfo": (99, 179),
    "tgkill": (234, 131), "times": (100, 153), "tkill": (200, 130), "uname": (63, 160), "vfork": (58, None),
    "wait4": (61, 260), "waitid": (247, 95),
    # signals
    "alarm": (37, None), "pause": (34, None), "rt_sigaction": (13, 134), "rt_sigpending": (127, 136),
    "rt_sigprocmask": (14, 135), "rt_sigqueueinfo": (129, 138), "rt_sigreturn": (15, 139), "rt_sigsuspend": (130, 133),
    "rt_sigtimedwait": (128, 137), "rt_tgsigqueueinfo": (297, 240), "sigaltstack": (131, 132), "signalfd": (282, None),
    "signalfd4": (289, 74),
    # time
    "clock_getres": (229, 114), "clock_gettime": (228, 113), "clock_nanosleep": (230, 115), "getitimer": (36, 102),
    "gettimeofday": (96, 169), "nanosleep": (35, 101), "setitimer": (38, 103), "time": (201, None),
    "timer_create": (222, 107), "timer_delete": (226, 111), "timer_getoverrun": (225, 109), "timer_gettime": (224, 108),
    "timer_settime": (223, 110), "timerfd_create": (283, 85), "timerfd_gettime": (287, 87),
    "timerfd_settime": (286, 86),
    # pipes, sockets and waiting for them
    "accept": (43, 202), "accept4": (288, 242), "bind": (49, 200), "connect": (42, 203), "epoll_create": (213, None),
    "epoll_create1": (291, 20), "epoll_ctl": (233, 21), "epoll_pwait": (281, 22), "epoll_pwait2": (441, 441),
    "epoll_wait": (232, None), "eventfd": (284, None), "eventfd2": (290, 19), "getpeername": (52, 205),
    "getsockname": (51, 204), "getsockopt": (55, 209), "ioctl": (16, 29), "listen": (50, 201), "poll": (7, None),
    "ppoll": (271, 73), "pselect6": (270, 72), "recvfrom": (45, 207), "recvmmsg": (299, 243), "recvmsg": (47, 212),
    "select": (23, None), "sendmmsg": (307, 269), "sendmsg": (46, 211), "sendto": (44, 206), "setsockopt": (54, 208),
    "shutdown": (48, 210), "socket": (41, 198), "socketpair": (53, 199),
})  # fmt: skip
"""System call that a program in a box may make -> its number on x86-64 and on ARM 64 (None: not there)."""


# -- the filter --------------------------------------------------------------------------------------------------------


_X86_64, _AARCH64 = (
    {name: number for name, numbers in ALLOWED.items() if (number := numbers[column]) is not None} for column in (0, 1)
)
MACHINES: Mapping[str, tuple[int, Mapping[str, int]]] = MappingProxyType(
    {"x86_64": (0xC000003E, _X86_64), "aarch64": (0xC00000B7, _AARCH64)}
)
"""Machine, as `platform.machine` names it -> (its name in the kernel, allowed call -> number)."""

_LOOKED_INTO = ("clone", "ioctl", "setsockopt", "socket")
_NEW_NAMESPACES = 0x7E020080  # CLONE_NEWUSER, NEWPID, NEWNS, NEWNET, NEWIPC, NEWUTS, NEWCGROUP, NEWTIME
_TYPING_FOR_OTHERS = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX
# AF_UNIX, AF_INET, AF_INET6: these have namespaces. Of their protocols 0 is the usual one, 6 and 17 are TCP and UDP:
# the code of others in the kernel (MPTCP, UDP-Lite, SCTP) is not needed here, and has had its flaws.
_SOCKETS, _PROTOCOLS = (1, 2, 10), (6, 17)
_NETLINK = 16  # only with protocol 0, which names interfaces; others reach audit, netfilter, crypto ...
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
