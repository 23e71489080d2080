"""All descendants of a process are found and ended, and no other process is."""

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
    """Return a function that starts a program in a new session and returns it with the numbers it prints."""
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


def test_child_in_another_session_is_counted_and_ended(start):
    parent, (child,) = start(
        "import subprocess, time; "
        f"print(subprocess.Popen({SLEEP!r}, start_new_session=True).pid, flush=True); time.sleep(600)"
    )
    tree = ProcessTree(parent.pid)
    wait_until(lambda: all(resident > 2**20 for resident in tree.look().values()))  # the child has only just started
    assert set(tree.look()) == {parent.pid, child}
    tree.end()
    wait_until(lambda: child not in running_processes())
    assert tree.look() == {}
    assert parent.wait(60) < 0


def test_known_child_is_found_after_its_parent_ended(start):
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


def test_unrelated_processes_are_untouched(start):
    parent, _ = start("import time; print(flush=True); time.sleep(600)")
    other, _ = start("import time; print(flush=True); time.sleep(600)")
    tree = ProcessTree(parent.pid)
    assert not {other.pid, os.getpid()} & set(tree.look())
    tree.end()
    assert other.poll() is None


def test_reused_pid_is_not_in_the_tree(start):
    parent, _ = start("import time; print(flush=True); time.sleep(600)")
    tree = ProcessTree(parent.pid)
    tree._seen = {os.getpid(): 1}  # as if another process had it long ago
    assert os.getpid() not in tree.look()


LAST = Path("/proc/sys/kernel/ns_last_pid")  # the next process gets the following number


@pytest.fixture
def start_as():
    """Return a function that starts a session with the pid of an ended process, as happens on a busy machine."""
    others = []

    def run(pid):
        time.sleep(0.05)  # Linux records start times to 10 ms; no machine reuses a pid within that time
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
def test_reused_pid_is_not_killed(start_as):
    with running(["true"]) as program:
        assert program.wait(20) is not None
        stranger = start_as(program.pid)
        assert program.memory_bytes() == 0
    assert stranger.poll() is None


@pytest.mark.skipif(not os.access(LAST, os.W_OK), reason="only root says which number a process gets")
def test_guard_does_not_kill_a_reused_pid(start_as):
    judge = "import os, signal, sys; from brainscore_core.processes import running\n"
    judge += "with running(['true']) as program:\n    program.wait(20); print(program.pid, flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", judge], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        stranger = start_as(int(process.stdout.readline()))
        process.kill()
    time.sleep(1)  # the guard acts within this time
    assert stranger.poll() is None
