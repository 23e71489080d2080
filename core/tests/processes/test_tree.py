"""Test that what came of a process is found and ended, and nothing else."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from brainscore_core.processes.tree import ProcessTree

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


def gone(pid):
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            if Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] == b"Z":
                return True
        except OSError:
            return True
        time.sleep(0.02)
    return False


def test_children_in_sessions_of_their_own_are_counted_and_ended(start):
    parent, (child,) = start(
        "import subprocess, time; "
        f"print(subprocess.Popen({SLEEP!r}, start_new_session=True).pid, flush=True); time.sleep(600)"
    )
    tree = ProcessTree(parent.pid)
    deadline = time.monotonic() + 20
    while not all(resident > 2**20 for resident in tree.look().values()):  # it has only just been started
        assert time.monotonic() < deadline
    assert set(tree.look()) == {parent.pid, child}
    tree.end()
    assert gone(child)
    assert tree.look() == {}
    assert parent.wait(10) < 0


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
    assert gone(child)


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
