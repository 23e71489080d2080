"""A program always ends in time with everything it started, and its output is kept and passed on."""

import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

import brainscore_core
from brainscore_core import processes
from brainscore_core.processes import MOST_SHOWN_BYTES, run_bounded, run_captured, runner
from brainscore_core.testing.machine import running_processes, wait_until


def run(tmp_path, program, **kwargs):
    lines = []
    ended = run_bounded([sys.executable, "-c", program], folder=tmp_path, show=lines.append, **kwargs)
    return ended, lines


def test_ordinary_end_has_output_and_status(tmp_path):
    ended, lines = run(tmp_path, "import sys, os; print(os.getcwd()); print('e', file=sys.stderr); sys.exit(3)")
    assert (ended.status, ended.stopped, ended.signal) == (3, None, None)
    assert ended.problem == "Exit3"
    assert sorted(lines) == sorted([str(tmp_path), "e"])


@pytest.mark.parametrize(("number", "name"), [(signal.SIGSEGV, "SIGSEGV"), (signal.SIGKILL, "SIGKILL")])
def test_crash_is_named_by_its_signal(tmp_path, number, name):
    ended, _ = run(tmp_path, f"import os; os.kill(os.getpid(), {int(number)})")
    assert ended.status == -number
    assert ended.signal == ended.problem == name


@pytest.mark.slow
def test_timeout_ends_the_program_and_its_children(tmp_path):
    program = (
        "import subprocess, sys, time\n"
        "print(subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']).pid, flush=True)\n"
        "time.sleep(600)"
    )
    ended, (child,) = run(tmp_path, program, timeout_s=3.0)
    assert ended.problem == ended.stopped == "Timeout"
    assert 3 <= ended.seconds < 600
    wait_until(lambda: int(child) not in running_processes())


def test_background_child_does_not_delay_the_end(tmp_path):
    program = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])"
    started = time.monotonic()
    ended, _ = run(tmp_path, program)
    assert time.monotonic() - started < 30
    assert (ended.status, ended.stopped, ended.problem) == (0, None, None)


def test_excess_output_is_cut(tmp_path):
    _, lines = run(tmp_path, f"for _ in range({MOST_SHOWN_BYTES // 1000 + 500}): print('x' * 999)")
    assert sum(map(len, lines)) <= MOST_SHOWN_BYTES
    assert lines[-1] == "[further output is not shown]"


@pytest.mark.parametrize("unbuffered", [{}, {"PYTHONUNBUFFERED": "1"}])
def test_each_stream_keeps_its_order_with_and_without_buffering(tmp_path, unbuffered):
    surroundings = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    program = "import sys; [print(kind, n, file=getattr(sys, kind)) for n in range(3) for kind in ('stdout', 'stderr')]"
    ended, lines = run(tmp_path, program, environment={**surroundings, **unbuffered})
    assert ended.output.splitlines() == lines
    for kind in ("stdout", "stderr"):
        assert [line for line in lines if line.startswith(kind)] == [f"{kind} {n}" for n in range(3)]


def test_lines_are_passed_on_complete(tmp_path):
    program = "import sys; w = sys.stdout.buffer.write; e = '\u00e9'.encode(); w(b'1%\\r2%\\r\\n' + e[:1]); "
    program += "sys.stdout.flush(); w(e[1:] + b'\\xff\\n\\nend')"
    assert run(tmp_path, program)[1] == ["1%", "2%", "\u00e9\ufffd", "", "end"]
    assert len(run(tmp_path, "print('x' * 300_000)")[1][0]) >= 2**16


def test_error_of_the_output_callback_is_raised(tmp_path):
    def fail(line):
        raise BrokenPipeError(line)

    with pytest.raises(BrokenPipeError, match="first"):
        run_bounded([sys.executable, "-c", "print('first'); print('x' * 2**20)"], folder=tmp_path, show=fail)


def test_captured_streams_are_complete_and_separate():
    program = "import sys; data = sys.stdin.buffer.read(); sys.stdout.buffer.write(data); sys.exit('bad')"
    done = run_captured([sys.executable, "-c", program], stdin=b"\0" * 10**6)
    assert (done.status, done.stdout, done.stderr) == (1, b"\0" * 10**6, b"bad\n")
    with pytest.raises(TimeoutError, match=r"did not end within 0\.2 s"):
        run_captured([sys.executable, "-c", "import time; time.sleep(60)"], timeout_s=0.2)


@pytest.mark.parametrize("chunk", [1000, 65536])
@pytest.mark.parametrize("at", [0, 500, 990, 1000, 1010, 5000, 9000, 9990])
def test_secret_split_by_a_cut_is_not_shown(chunk, at, monkeypatch):
    secret = "s3cret-" * 3
    monkeypatch.setattr(runner, "_LARGEST_SECRET", 200)
    text = ("." * at + secret + "." * (10_000 - at)).encode()
    said = runner._Output(2000)
    reader, writer = os.pipe()
    os.write(writer, text)
    os.close(writer)
    original = os.read
    monkeypatch.setattr(os, "read", lambda handle, size: original(handle, min(size, chunk)))
    runner._read(os.fdopen(reader, "rb"), [said.take], [])
    shown = said.text([secret])
    assert not [part for part in ("s3cret", "cret-", "s3cre") if part in shown]
    assert len(shown) < 2600


def test_interrupt_ends_the_program(tmp_path):
    """If the waiting process is interrupted, no program is left running."""
    sleeper = tmp_path / "sleeper.py"
    sleeper.write_text(f"import pathlib, time\npathlib.Path({str(tmp_path / 'ready')!r}).touch()\ntime.sleep(300)\n")
    # A process that a shell starts in the background ignores interrupts, so the handler is set again.
    program = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "import sys; from brainscore_core.processes import run_bounded; "
        f"run_bounded([sys.executable, {str(sleeper)!r}], environment={{}}, timeout_s=300, memory_bytes=1e12)"
    )
    waiting = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.DEVNULL)
    wait_until(lambda: (tmp_path / "ready").exists() or waiting.poll() is not None)
    waiting.send_signal(signal.SIGINT)
    assert waiting.wait(60) != 0
    assert running_processes(str(sleeper)) == []


def test_program_that_cannot_be_started_raises_oserror(tmp_path):
    with pytest.raises(OSError, match="no/such"):
        run_bounded(["/no/such/program"], environment={}, folder=tmp_path, timeout_s=1, memory_bytes=1)


# The program has a child in a separate session, which a signal to the process group does not reach.
SLEEPER = """
    import os, pathlib, subprocess, sys, time
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(299)"], start_new_session=True)
    pathlib.Path(sys.argv[1]).write_text(f"{os.getpid()} {child.pid}")
    time.sleep(299)
"""
PARENT = """
    import os, signal, subprocess, sys, threading, time
    from brainscore_core.processes import running
    from brainscore_core.processes.runner import _guard

    def start():
        stack.append(running([sys.executable, "-c", *sys.argv[1:3]]))
        stack[0].__enter__()

    stack = []
    HOW
    if stack:  # not in the parent of a fork
        print("guarded", flush=True)
    time.sleep(299)
"""


def test_running_a_program_writes_no_bytecode(tmp_path):
    package = Path(brainscore_core.__file__).parent
    shutil.copytree(package, tmp_path / package.name, ignore=shutil.ignore_patterns("__pycache__"))
    program = f"""
import brainscore_core, sys
from brainscore_core.processes import run_bounded
assert brainscore_core.__file__.startswith({str(tmp_path)!r})
assert run_bounded([sys.executable, "-S", "-c", "print(1)"]).output == "1\\n"
"""
    variables = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run([sys.executable, "-c", program], env=variables, check=True)
    assert not list(tmp_path.rglob("__pycache__"))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no sessions")
@pytest.mark.parametrize(
    "how",
    [
        "start()",
        "thread = threading.Thread(target=start); thread.start(); thread.join()",  # the thread ends before the process
        "start(); _guard().process.kill(); _guard().process.wait(); running(['true']).__enter__()",
        "running(['true']).__enter__(); os.fork() or start()",  # the forked child has its own guard
    ],
)
def test_program_ends_if_its_parent_is_killed(tmp_path, how):
    ready = tmp_path / "ready"
    sleeper, parent = (textwrap.dedent(program) for program in (SLEEPER, PARENT.replace("HOW", how)))
    command = [sys.executable, "-c", parent, sleeper, ready]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout.readline() == b"guarded\n"
        wait_until(lambda: ready.exists() and len(ready.read_text().split()) == 2)
        pids = [int(pid) for pid in ready.read_text().split()]
        assert {*pids} <= {*running_processes()}
        os.killpg(process.pid, signal.SIGKILL)
    wait_until(lambda: not {*pids} & {*running_processes()})


def test_running_program_can_be_observed(tmp_path):
    program = """if True:
        import pathlib, time
        print("first", flush=True)
        while not pathlib.Path("go").exists():
            time.sleep(0.01)
        print("second")
    """
    with processes.running([sys.executable, "-c", program], folder=tmp_path) as started:
        said = ""
        while not said:
            assert started.wait(0.1) is None
            said = started.take_output()
        assert started.memory_bytes() > 0 or sys.platform != "linux"
        (tmp_path / "go").touch()
        assert started.result().output == "second\n"
    assert said == "first\n"
