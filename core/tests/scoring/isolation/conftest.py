"""Fixtures that run programs inside and outside a box on this machine."""

import subprocess
import sys
import textwrap

import pytest

from brainscore_core.processes import run_bounded
from brainscore_core.scoring.isolation.box import Box, interpreter_paths, run_boxed, why_no_box


@pytest.fixture
def a_box():
    """Skip the test where boxes are not available."""
    if why_no_box():
        pytest.skip(why_no_box())


@pytest.fixture
def python(a_box):
    """Return a function that runs a Python program in a box, or outside with ``boxed=False``; it returns the end."""

    def run(program, box=None, *, boxed=True, arguments=(), **bounds):
        command = [sys.executable, "-I", "-c", textwrap.dedent(program), *map(str, arguments)]
        if not boxed:
            return run_bounded(command, environment={}, **bounds)
        return run_boxed(command, box or _box(), **bounds)

    return run


@pytest.fixture
def succeeds(python):
    """Return a function that runs an attack and returns whether it succeeded, which it reports by printing
    'reached'."""

    def tell(program, box=None, **given):
        ended = python(program, box, timeout_s=60, **given)
        assert ended.output.split()[-1:] in (["reached"], ["refused"]), ended.output
        return ended.output.split()[-1] == "reached"

    return tell


@pytest.fixture
def in_box(a_box):
    return _box


def _box(**given):
    given["readable"] = (*interpreter_paths(), *given.get("readable", ()))
    return Box(**given)


@pytest.fixture
def victim():
    """Start a process outside with a secret in its environment and its memory; its first line is the memory address."""
    program = "import ctypes, time; b = ctypes.create_string_buffer(b's3cret-value'); "
    program += "print(ctypes.addressof(b), flush=True); time.sleep(600)"
    command = [sys.executable, "-I", "-c", program]
    with subprocess.Popen(command, env={"SECRET": "s3cret-value"}, stdout=subprocess.PIPE, text=True) as process:
        process.address = int(process.stdout.readline())
        yield process
        process.kill()
