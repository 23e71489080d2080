import os
import signal
import sys
import time

import pytest

from brainscore_ci.jobs._processes import MOST_SHOWN_BYTES, Ended, run_tests


def run(tmp_path, program, **kwargs):
    lines = []
    ended = run_tests([sys.executable, "-c", program], dict(os.environ), folder=tmp_path, show=lines.append, **kwargs)
    return ended, lines


def test_output_and_status_of_an_ordinary_end(tmp_path):
    ended, lines = run(tmp_path, "import sys, os; print(os.getcwd()); print('e', file=sys.stderr); sys.exit(3)")
    assert ended == Ended(status=3)
    assert ended.problem is None
    assert sorted(lines) == sorted([str(tmp_path), "e"])


@pytest.mark.parametrize(("number", "name"), [(signal.SIGSEGV, "SIGSEGV"), (signal.SIGKILL, "memory")])
def test_a_crash_is_named(tmp_path, number, name):
    ended, _ = run(tmp_path, f"import os; os.kill(os.getpid(), {int(number)})")
    assert ended.status == -number
    assert name in ended.problem


def test_what_takes_too_long_is_ended_with_all_it_started(tmp_path):
    child = "import pathlib, time; time.sleep(3); pathlib.Path('alive').touch()"
    program = f"import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', {child!r}]); time.sleep(60)"
    started = time.monotonic()
    ended, _ = run(tmp_path, program, timeout_s=1.0)
    assert time.monotonic() - started < 30
    assert "did not end within 0.0 minutes" in ended.problem
    time.sleep(3)
    assert not (tmp_path / "alive").exists()


def test_something_left_running_does_not_hold_up(tmp_path):
    program = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])"
    started = time.monotonic()
    ended, _ = run(tmp_path, program)
    assert time.monotonic() - started < 30
    assert ended == Ended(status=0)


def test_a_flood_of_output_is_cut(tmp_path):
    _, lines = run(tmp_path, f"for _ in range({MOST_SHOWN_BYTES // 1000 + 500}): print('x' * 999)")
    assert sum(map(len, lines)) <= MOST_SHOWN_BYTES
    assert lines[-1] == "[there is more output, which is not shown]"
