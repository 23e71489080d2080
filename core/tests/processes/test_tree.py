"""Test that what came of a process is found and ended, and nothing else."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from brainscore_core.processes import running
from brainscore_core.processes.tree import ProcessTree
from brainscore_core.testing.machine import running_processes, wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc")

SLEEP = [sys.executable, "-I", "-c", "import time; time.sleep(600)"]


@pytest.fixture
def start():
    """Return a function that starts a program in a session of its own, and waits for what it prints."""
    started = []

    def run(program):
        command = [sys.executable, "-I", "-c", program]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
        started.append(process)
        return process, [int(word) for word in process.stdout.readline().split()]

    yield run
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


def test_children_in_sessions_of_their_own_are_counted_and_ended(start):
    parent, (child,) = start(
        "import subprocess, time; "
        f"print(subprocess.Popen({SLEEP!r}, start_new_session=True).pid, flush=True); time.sleep(600)"
    )
    tree = ProcessTree(parent.pid)
    wait_until(lambda: all(resident > 2**20 for resident in tree.look().values()))  # it has only just been started
    assert set(tree.look()) == {parent.pid, child}
    tree.end()
    wait_until(lambda: child not in running_processes())
    assert tree.look() == {}
    assert parent.wait(60) < 0


def test_what_was_once_seen_is_known_when_its_parents_are_gone(start):
    parent, (child,) = start(
        "import subprocess, time; "
        f"print(subprocess.Popen({SLEEP!r}, start_new_session=True, stdout=subprocess.DEVNULL).pid, flush=True); "
        "time.sleep(600)"
    )
    tree = ProcessTree(parent.pid)
    tree.look()
    parent.kill()
    parent.wait()
    assert set(tree.look()) == {child}
    tree.end()
    wait_until(lambda: child not in running_processes())


def test_others_are_none_of_it(start):
    parent, _ = start("import time; print(flush=True); time.sleep(600)")
    other, _ = start("import time; print(flush=True); time.sleep(600)")
    tree = ProcessTree(parent.pid)
    assert not {other.pid, os.getpid()} & set(tree.look())
    tree.end()
    assert other.poll() is None


def test_a_number_that_is_used_again_is_somebody_else(start):
    parent, _ = start("import time; print(flush=True); time.sleep(600)")
    tree = ProcessTree(parent.pid)
    tree._seen = {os.getpid(): 1}  # another one had it, long ago
    assert os.getpid() not in tree.look()


LAST = Path("/proc/sys/kernel/ns_last_pid")  # the next process gets the number after it


@pytest.fixture
def start_as():
    """Return a function that starts a session with the number of a process that has ended, as a busy machine does."""
    others = []

    def run(pid):
        time.sleep(0.05)  # Linux tells when a process started to 10 ms; no machine gives a number again within that
        for _ in range(100):
            LAST.write_text(str(pid - 1))
            others.append(subprocess.Popen(SLEEP, start_new_session=True))
            if others[-1].pid == pid:
                return others[-1]
            others[-1].kill()
        pytest.skip("another process has taken the number")

    yield run
    for process in others:
        process.kill()
        process.wait()


@pytest.mark.skipif(not os.access(LAST, os.W_OK), reason="only root says which number a process gets")
def test_who_gets_the_number_of_a_program_that_has_ended_is_left_alone(start_as):
    with running(["true"]) as program:
        assert program.wait(20) is not None
        stranger = start_as(program.pid)
        assert program.memory_bytes() == 0
    assert stranger.poll() is None


@pytest.mark.skipif(not os.access(LAST, os.W_OK), reason="only root says which number a process gets")
def test_the_guard_leaves_alone_who_gets_the_number_of_a_program_that_has_ended(start_as):
    judge = "import os, signal, sys; from brainscore_core.processes import running\n"
    judge += "with running(['true']) as program:\n    program.wait(20); print(program.pid, flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", judge], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        stranger = start_as(int(process.stdout.readline()))
        process.kill()
    time.sleep(1)  # within which the guard acts
    assert stranger.poll() is None
