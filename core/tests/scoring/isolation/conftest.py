"""Programs that run in a box of this machine, and beside it."""

import subprocess
import sys
import textwrap

import pytest

from brainscore_core.processes import run_bounded
from brainscore_core.scoring.isolation.box import Box, run_boxed, why_no_box
from brainscore_core.scoring.isolation.interpreter import interpreter_paths


@pytest.fixture
def a_box():
    """Skip where there is none."""
    if why_no_box():
        pytest.skip(why_no_box())


@pytest.fixture
def python(a_box):
    """Return a function that runs a program of Python in a box, or beside it, and returns how it ended."""

    def run(program, box=None, *, boxed=True, arguments=(), **bounds):
        command = [sys.executable, "-I", "-c", textwrap.dedent(program), *map(str, arguments)]
        if not boxed:
            return run_bounded(command, environment={}, **bounds)
        return run_boxed(command, box or _box(), **bounds)

    return run


@pytest.fixture
def succeeds(python):
    """Return a function that tells whether an attack does; it prints 'reached' where it does."""

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
    """Give a process outside with a secret among its variables and in its memory; its address is the first line."""
    program = "import ctypes, time; b = ctypes.create_string_buffer(b's3cret-value'); "
    program += "print(ctypes.addressof(b), flush=True); time.sleep(600)"
    command = [sys.executable, "-I", "-c", program]
    with subprocess.Popen(command, env={"SECRET": "s3cret-value"}, stdout=subprocess.PIPE, text=True) as process:
        process.address = int(process.stdout.readline())
        yield process
        process.kill()
