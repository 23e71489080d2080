"""The filter of system calls, run by a small interpreter as the kernel would run it."""

import errno
import platform
import re
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brainscore_core.scoring.isolation import system_calls
from brainscore_core.scoring.isolation.system_calls import MACHINES, filter_of_calls

ALLOWED, KILLED = 0x7FFF0000, 0x80000000


def answer(machine, number, arguments=(), *, kernel_name=None):
    """Return the answer of a machine's filter to a call: 'allowed', 'killed', 'without effect' or an error."""
    name = MACHINES[machine][0] if kernel_name is None else kernel_name
    data = struct.pack("<IIQ6Q", number, name, 0, *arguments, *[0] * (6 - len(arguments)))
    program = list(struct.iter_unpack("<HBBI", filter_of_calls(machine)))
    at = loaded = 0
    for _ in range(len(program)):
        code, if_true, if_false, value = program[at]
        at += 1
        if code == 0x06:
            known = {ALLOWED: "allowed", KILLED: "killed", 0x00050000: "without effect"}
            return known.get(value) or errno.errorcode[value & 0xFFFF]
        if code == 0x20:
            (loaded,) = struct.unpack_from("<I", data, value)
        else:
            holds = {0x15: loaded == value, 0x45: bool(loaded & value)}[code]
            at += if_true if holds else if_false
    raise AssertionError("no answer")


REFUSED = {  # number on x86-64 and on ARM 64
    "add_key": (248, 217), "bpf": (321, 280), "chroot": (161, 51), "clone3": (435, 435), "fanotify_init": (300, 262),
    "io_uring_enter": (426, 426), "io_uring_register": (427, 427), "io_uring_setup": (425, 425), "kcmp": (312, 272),
    "kexec_load": (246, 104), "keyctl": (250, 219), "memfd_create": (319, 279), "memfd_secret": (447, 447),
    "mount": (165, 40), "mq_open": (240, 180), "msgget": (68, 186), "open_by_handle_at": (304, 265),
    "open_tree": (428, 428), "perf_event_open": (298, 241), "personality": (135, 92), "pidfd_getfd": (438, 438),
    "pivot_root": (155, 41), "process_madvise": (440, 440), "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271), "ptrace": (101, 117), "request_key": (249, 218), "semget": (64, 190),
    "setns": (308, 268), "shmget": (29, 194), "swapon": (167, 224), "syslog": (103, 116), "umount2": (166, 39),
    "unshare": (272, 97), "userfaultfd": (323, 282), "of the future": (600, 600),
}  # fmt: skip


@pytest.mark.parametrize("machine", MACHINES)
def test_calls_that_could_escape_a_box_are_rejected(machine):
    column = [*MACHINES].index(machine)
    assert {name: answer(machine, numbers[column]) for name, numbers in REFUSED.items()} == dict.fromkeys(
        REFUSED, "ENOSYS"
    )


def test_rejected_calls_fail_in_a_real_box(python):
    column = [*MACHINES].index(platform.machine())
    program = """
        import ctypes, errno, sys
        libc = ctypes.CDLL(None, use_errno=True)
        for number in map(int, sys.argv[1:]):
            ctypes.set_errno(0)
            print(libc.syscall(number, -1, 0, 0, 0, 0, 0), errno.errorcode.get(ctypes.get_errno()))
    """
    ended = python(program, arguments=[numbers[column] for numbers in REFUSED.values()])
    assert set(ended.output.splitlines()) == {"-1 ENOSYS"}, ended.output


@pytest.mark.parametrize("machine", MACHINES)
def test_some_calls_depend_on_their_arguments(machine):
    numbers = MACHINES[machine][1]
    new_thread, new_user, new_network = 0x3D0F00, 0x10000011, 0x40000011
    assert answer(machine, numbers["clone"], [new_thread]) == "allowed"
    assert answer(machine, numbers["clone"], [new_user]) == answer(machine, numbers["clone"], [new_network]) == "EPERM"
    assert [answer(machine, numbers["ioctl"], [0, each]) for each in (0x5401, 0x5412, 0x541C)] == [
        *("allowed", "EPERM", "EPERM")
    ]
    # The kernel uses only the lower half of the argument, so the filter has to do the same.
    assert answer(machine, numbers["ioctl"], [0, 2**32 + 0x5412]) == "EPERM"
    allowed = [family for family in range(50) if answer(machine, numbers["socket"], [family]) == "allowed"]
    assert allowed == [1, 2, 10, 16]
    assert answer(machine, numbers["socket"], [40]) == "EAFNOSUPPORT"


@pytest.mark.parametrize("machine", MACHINES)
def test_only_usual_socket_protocols_and_options_are_allowed(machine):
    """TCP, UDP and names of interfaces, but not MPTCP (262), UDP-Lite (136), SCTP (132), audit (9), netfilter (12)."""
    numbers = MACHINES[machine][1]
    for family, expected in ((1, [0, 6, 17]), (2, [0, 6, 17]), (10, [0, 6, 17]), (16, [0])):
        answers = {protocol: answer(machine, numbers["socket"], [family, 1, protocol]) for protocol in range(300)}
        assert [protocol for protocol, given in answers.items() if given == "allowed"] == expected
        assert set(answers.values()) == {"allowed", "EPROTONOSUPPORT"}
    options = {option: answer(machine, numbers["setsockopt"], [3, 1, option]) for option in range(100)}
    assert [option for option, given in options.items() if given == "EPERM"] == [26, 50, 51, 52]
    sizes = [option for option, given in options.items() if given == "without effect"]
    assert sizes == [7, 8, 32, 33]  # SO_SNDBUF, SO_RCVBUF and their FORCE variants
    assert answer(machine, numbers["setsockopt"], [3, 6, 26]) == "allowed"  # at the TCP level


def test_socket_filters_and_rare_protocols_fail_in_a_real_box(python):
    program = """
        import socket
        def tried(make):
            try:
                make()
            except OSError as error:
                return error.errno
            return 0
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
            print(tried(lambda: line.setsockopt(socket.SOL_SOCKET, 26, bytes(16))))
        for family, kind, protocol in ((2, 1, 262), (2, 2, 136), (16, 3, 9), (16, 3, 12), (16, 3, 15), (16, 3, 16)):
            print(tried(lambda: socket.socket(family, kind, protocol).close()))
        print(tried(lambda: socket.socket(16, 3, 0).close()), tried(lambda: socket.socket(2, 1, 6).close()))
    """
    ended = python(program)
    assert ended.output.split() == [str(errno.EPERM), *[str(errno.EPROTONOSUPPORT)] * 6, "0", "0"]


@given(st.sampled_from([*MACHINES]), st.integers(0, 600) | st.integers(0, 2**32 - 1), st.integers(0, 2**64 - 1))
def test_only_listed_calls_are_allowed(machine, number, argument):
    listed = {value: name for name, value in MACHINES[machine][1].items()}
    if listed.get(number) not in ("clone", "ioctl", "setsockopt", "socket"):
        assert answer(machine, number, [argument]) == ("allowed" if number in listed else "ENOSYS")


def test_allowed_calls_are_unique_and_their_margin_is_documented():
    for _, numbers in MACHINES.values():
        assert len(set(numbers.values())) == len(numbers)
    recorded, margin = map(
        int, re.search(r"(\d+) calls on x86-64. The other (\d+) leave a margin", system_calls.__doc__).groups()
    )
    assert recorded + margin == len(MACHINES["x86_64"][1])


def test_other_call_tables_cannot_bypass_the_filter():
    i386 = 0x40000003
    assert answer("x86_64", 1, kernel_name=i386) == "killed"
    assert answer("x86_64", 0x40000000 + 1) == "ENOSYS"  # the second table of numbers, x32
