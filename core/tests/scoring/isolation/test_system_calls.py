"""Test the filter of system calls: a small machine runs it for each call, as the kernel would."""

import errno
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brainscore_core.scoring.isolation.system_calls import MACHINES, refused_calls

ALLOWED, KILLED = 0x7FFF0000, 0x80000000
X86 = dict(MACHINES["x86_64"][1])


def answer(machine, number, arguments=(), *, kernel_name=None):
    """Return what the filter of a machine answers to a call: 'allowed', 'killed' or the name of the error."""
    name = MACHINES[machine][0] if kernel_name is None else kernel_name
    data = struct.pack("<IIQ6Q", number, name, 0, *arguments, *[0] * (6 - len(arguments)))
    program = list(struct.iter_unpack("<HBBI", refused_calls(machine)))
    at = loaded = 0
    for _ in range(len(program)):
        code, if_true, if_false, value = program[at]
        at += 1
        if code == 0x06:
            known = {ALLOWED: "allowed", KILLED: "killed"}
            return known.get(value) or errno.errorcode[value & 0xFFFF]
        if code == 0x20:
            (loaded,) = struct.unpack_from("<I", data, value)
        else:
            holds = {0x15: loaded == value, 0x35: loaded >= value, 0x45: bool(loaded & value)}[code]
            at += if_true if holds else if_false
    raise AssertionError("no answer")


@pytest.mark.parametrize("machine", MACHINES)
def test_each_call_is_refused(machine):
    _, numbers = MACHINES[machine]
    absent = {"clone3", "memfd_create", "memfd_secret", "io_uring_setup", "io_uring_enter", "io_uring_register"}
    for name, number in numbers.items():
        if name not in ("clone", "ioctl", "socket"):
            assert answer(machine, number) == ("ENOSYS" if name in absent else "EPERM"), name


@pytest.mark.parametrize("machine", MACHINES)
def test_some_are_refused_for_some_arguments(machine):
    numbers = MACHINES[machine][1]
    new_thread, new_user, new_network = 0x3D0F00, 0x10000011, 0x40000011
    assert answer(machine, numbers["clone"], [new_thread]) == "allowed"
    assert answer(machine, numbers["clone"], [new_user]) == answer(machine, numbers["clone"], [new_network]) == "EPERM"
    assert [answer(machine, numbers["ioctl"], [0, each]) for each in (0x5401, 0x5412, 0x541C)] == [
        *("allowed", "EPERM", "EPERM")
    ]
    # The kernel looks at the lower half of the argument only, and so must the filter.
    assert answer(machine, numbers["ioctl"], [0, 2**32 + 0x5412]) == "EPERM"
    allowed = [family for family in range(50) if answer(machine, numbers["socket"], [family]) == "allowed"]
    assert allowed == [1, 2, 10, 16]
    assert answer(machine, numbers["socket"], [40]) == "EAFNOSUPPORT"


@given(st.integers(0, 2**30 - 1), st.lists(st.integers(0, 2**64 - 1), max_size=6))
def test_all_others_are_allowed(number, arguments):
    if number not in X86.values():
        assert answer("x86_64", number, arguments) == "allowed"


def test_other_sets_of_calls_are_no_way_around():
    i386 = 0x40000003
    assert answer("x86_64", 1, kernel_name=i386) == "killed"
    assert answer("x86_64", 0x40000000 + X86["ptrace"]) == "ENOSYS"
