"""Programs in a box try to exhaust resources, outlive their limit and hide; plain children first succeed at it."""

import os
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import uuid
from contextlib import suppress
from pathlib import Path

import pytest

import brainscore_core
from brainscore_core.files import LOCKS, locked
from brainscore_core.scoring.isolation.box import start_boxed
from brainscore_core.testing.machine import running_processes, wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="boxes are Linux's")

MB = 2**20
AS_ROOT = sys.platform == "linux" and os.geteuid() == 0


@pytest.fixture
def mark():
    """Yield a word to pass as an argument to programs; every process that has it is ended after the test."""
    word = f"mark-{uuid.uuid4().hex}"
    yield word
    for pid in running_processes(word):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


# -- outliving ---------------------------------------------------------------------------------------------------------

LEAVE = """
import os, sys, time
def leave(do):
    for _ in range(2):
        if os.fork():
            if _ == 0:
                os.wait()
                return
            os._exit(0)
        os.setsid()
    for number in (0, 1, 2):
        os.close(number)
    do()
    os._exit(0)
"""
STAY = f"{LEAVE}\nleave(lambda: time.sleep(600))"


def test_detached_process_ends_with_its_box(python, mark):
    assert python(STAY, boxed=False, arguments=(mark,)).status == 0
    assert len(running_processes(mark)) == 1  # the control: outside a box it is still running
    os.kill(running_processes(mark)[0], signal.SIGKILL)
    wait_until(lambda: not running_processes(mark))
    assert python(STAY, arguments=(mark,)).status == 0
    assert running_processes(mark) == []


TAKE_ELSEWHERE = f"""{LEAVE}
def take():
    kept = bytearray(400 * 2**20)
    for start in range(0, len(kept), 4096):
        kept[start] = 1
    time.sleep(600)
leave(take)
time.sleep(50)
"""


def test_memory_of_detached_processes_is_counted(python, mark):
    bounds = {"arguments": (mark,), "memory_bytes": 200 * MB, "timeout_s": 60}
    ended = python(TAKE_ELSEWHERE, **bounds)
    assert ended.problem == "MemoryLimit"
    assert ended.peak_memory_bytes > 200 * MB
    assert running_processes(mark) == []


STUBBORN = """
import signal, subprocess, sys, time
for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
    signal.signal(number, signal.SIG_IGN)
subprocess.Popen([sys.executable, '-I', '-c', 'import time; time.sleep(600)', *sys.argv[1:]], start_new_session=True)
time.sleep(600)
"""


def test_program_that_ignores_signals_is_ended_in_time(python, mark):
    ended = python(STUBBORN, arguments=(mark,), timeout_s=1.5)
    assert ended.problem == "Timeout"
    assert running_processes(mark) == []


def test_stopped_program_is_ended_in_time(python, mark):
    program = "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)"
    assert python(program, arguments=(mark,), timeout_s=1.5).problem == "Timeout"
    assert running_processes(mark) == []


def test_box_ends_if_its_judge_is_killed(mark, a_box):
    program = (
        "import sys\n"
        "from brainscore_core.scoring.isolation.box import Box, run_boxed\n"
        "from brainscore_core.scoring.isolation.box import interpreter_paths\n"
        f"run_boxed([sys.executable, '-I', '-c', {STUBBORN!r}, sys.argv[1]], Box(readable=interpreter_paths()))\n"
    )
    judge = subprocess.Popen([sys.executable, "-c", program, mark])
    wait_until(lambda: len(running_processes(mark)) >= 5)  # judge, two of bubblewrap, program and child
    judge.kill()
    judge.wait()
    wait_until(lambda: not running_processes(mark))


def test_abrupt_exit_counts_as_an_end(python):
    assert python("import os; print('begun', flush=True); os._exit(0)").status == 0
    assert python("import os, signal; os.kill(1, signal.SIGKILL); print('goes on')").output == "goes on\n"


# -- resources ---------------------------------------------------------------------------------------------------------

BOMB = """
kept = []
while True:
    kept.append(bytearray(b'1') * 2**24)
"""


def test_memory_flood_is_stopped(python):
    ended = python(BOMB, memory_bytes=300 * MB, timeout_s=60)
    assert ended.problem == "MemoryLimit"


FORKS = """
import os, sys, time
made = 0
try:
    for made in range(300):
        if os.fork() == 0:
            time.sleep(30)
            os._exit(0)
except OSError:
    print('refused')
else:
    print('reached', flush=True)
    time.sleep(float(sys.argv[1]))
"""


def test_process_flood_is_stopped(python, in_box, mark):
    bounds = {"arguments": (0, mark), "timeout_s": 60}
    assert python(FORKS, boxed=False, **bounds).output == "reached\n"
    assert python(FORKS, in_box(most_processes=1000), **bounds).output == "reached\n"
    ended = python(FORKS, in_box(most_processes=100), arguments=(25, mark), timeout_s=60)
    # If boxes run as root because they cannot change user, the kernel applies no limit, so the library counts
    # processes.
    assert ended.output == "refused\n" or (AS_ROOT and ended.problem == "ProcessLimit")
    assert running_processes(mark) == []


FILL = """
import errno, os, sys
refused = 0
for folder in sys.argv[2:]:
    written = 0
    try:
        with open(os.path.join(folder, 'filling'), 'wb') as file:
            while written < int(sys.argv[1]):
                written += file.write(bytes(2**20))
                file.flush()
    except OSError as error:
        refused += 1
        print(folder, errno.errorcode[error.errno])
print('refused' if refused == len(sys.argv[2:]) else 'reached')
"""


def test_disk_and_memory_cannot_be_filled(succeeds, in_box, tmp_path):
    folders = ["/tmp", "/dev/shm", "/dev", "/", "/etc", "/var", "/var/tmp", "/proc", "/home", "/run"]  # noqa: S108 - in the box
    assert succeeds(FILL, boxed=False, arguments=(40 * MB, tmp_path))
    assert not succeeds(FILL, in_box(private_bytes=16 * MB), arguments=(40 * MB, *folders))
    assert succeeds(FILL, in_box(private_bytes=64 * MB), arguments=(40 * MB, "/tmp"))  # noqa: S108 - in the box


def test_writable_folders_in_memory_are_limited(python, in_box, tmp_path):
    (tmp_path / "hidden").mkdir()
    box = in_box(readable=(tmp_path,), hidden=(tmp_path / "hidden",), private_bytes=16 * MB)
    mounts = [
        line.split()[1:4] for line in python("print(open('/proc/self/mounts').read())", box).output.splitlines() if line
    ]
    options = {folder: options.split(",") for folder, kind, options in mounts if kind == "tmpfs"}
    assert str(tmp_path / "hidden") in options
    writable = {folder for folder in options if "rw" in options[folder]}
    assert writable == {"/tmp", "/dev/shm"}  # noqa: S108 - in the box
    assert all("size=16384k" in options[folder] for folder in writable)


def test_file_cannot_exceed_its_limit(succeeds, in_box, tmp_path):
    box = in_box(writable=(tmp_path,), most_file_bytes=16 * MB)
    assert succeeds(FILL, box, arguments=(10 * MB, tmp_path))
    assert not succeeds(FILL, box, arguments=(40 * MB, tmp_path))


HIDDEN_MEMORY = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
done = []
try:
    os.close(os.memfd_create('kept'))
    done.append('file without a name')
except OSError:
    pass
if libc.shmget(0, 2**20, 0o1600) >= 0:
    done.append('shared memory')
if libc.msgget(0, 0o1600) >= 0:
    done.append('queue')
if libc.semget(0, 1, 0o1600) >= 0:
    done.append('semaphore')
if libc.mq_open(b'/kept', os.O_CREAT | os.O_RDWR, 0o600, None) >= 0:
    done.append('named queue')
print(done)
print('reached' if done else 'refused')
"""


@pytest.mark.parametrize("content", [b"", bytes(2**20)])
def test_files_in_memory_count_as_memory(python, in_box, content):
    program = f"""
        import itertools, time
        for number in itertools.count():
            with open(f'/tmp/{{number}}', 'wb') as stream:
                stream.write(bytes({len(content)}))
    """
    ended = python(program, in_box(private_bytes=900 * MB), memory_bytes=100 * MB, timeout_s=120)
    assert ended.problem == "MemoryLimit"


def test_box_has_a_default_memory_limit(python, monkeypatch):
    monkeypatch.setattr("brainscore_core.scoring.isolation.box.available_memory", lambda: 200 * MB)
    assert python("import time; kept = b'x' * (300 * 2**20); time.sleep(60)").problem == "MemoryLimit"


def test_memory_without_a_process_cannot_be_allocated(succeeds):
    assert succeeds(HIDDEN_MEMORY, boxed=False)
    assert not succeeds(HIDDEN_MEMORY)


def test_number_of_open_files_is_limited(python, in_box):
    program = "kept = [open('/dev/null') for _ in range(200)]; print('reached')"
    assert python(program).output == "reached\n"
    assert "Too many open files" in python(program, in_box(most_open_files=100)).output


def test_box_inherits_no_open_files(python, tmp_path):
    with (tmp_path / "record.json").open("w") as record:
        os.set_inheritable(record.fileno(), True)
        program = """
            import os
            with os.scandir('/proc/self/fd') as numbers:
                print(*(os.readlink(each.path).split(':')[0] for each in numbers))
        """
        assert set(python(program).output.split()) <= {"/dev/null", "pipe", "/proc/2/fd"}


def test_output_flood_is_cut(python):
    lines = []
    ended = python("for _ in range(20_000): print('x' * 999)", show=lines.append, most_shown=MB, timeout_s=60)
    assert ended.status == 0
    assert sum(map(len, lines)) <= MB
    assert len(ended.output) < MB


# -- as an ordinary user -----------------------------------------------------------------------------------------------

AS_OTHERS = """
import sys
import textwrap
import threading
from pathlib import Path
from brainscore_core.scoring.isolation.box import Box, run_boxed, why_no_box
print(why_no_box())
program = sys.argv[1]
ended = run_boxed(['/usr/bin/python3', '-I', '-c', program, '25'], Box(most_processes=100), timeout_s=60)
print(ended.output, ended.problem)
"""


@pytest.mark.skipif(not AS_ROOT, reason="only root can become somebody else; the other tests are of an ordinary user")
def test_limits_hold_for_an_ordinary_user(a_box):
    """It uses the system's interpreter and a copy of the library, because the user may not be able to read root's."""
    system = Path("/usr/bin/python3")
    if not system.exists() or subprocess.run([system, "-c", "import tomllib"], capture_output=True).returncode:
        pytest.skip("the system has no Python 3.11")
    folder = Path("/var/tmp", f"brainscore-{uuid.uuid4().hex}")  # noqa: S108 - only root can read pytest's folder
    try:
        shutil.copytree(Path(brainscore_core.__file__).parent, folder / "brainscore_core")
        command = [system, "-P", "-c", AS_OTHERS, FORKS]
        given = {"HOME": "/nonexistent", "PATH": os.environ["PATH"], "PYTHONPATH": str(folder)}
        ended = subprocess.run(
            ["/usr/bin/setpriv", "--reuid=12345", "--regid=12345", "--clear-groups", *command],
            env=given, cwd="/", capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        assert ended.stdout.split() == ["None", "refused", "None"], ended
    finally:
        shutil.rmtree(folder)


# -- as root -----------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not AS_ROOT, reason="only root can become somebody else")
def test_box_of_root_runs_as_a_user_who_owns_nothing(python, in_box, tmp_path, mark, caplog):
    (tmp_path / "private").mkdir(mode=0o700)
    (tmp_path / "private/given").write_text("read")
    (tmp_path / "private/given").chmod(0o600)
    (tmp_path / "out").mkdir(mode=0o700)
    program = """
        import os, pathlib, sys, time
        given, out = map(pathlib.Path, sys.argv[2:])
        (out / "answer").write_text(given.read_text())
        while not (out / "seen").exists():
            time.sleep(0.01)
        (out / "seen").unlink()
    """
    users = []

    def look():
        wait_until(lambda: (tmp_path / "out/answer").exists())
        users.extend({Path(f"/proc/{pid}").stat().st_uid for pid in running_processes(mark)})
        (tmp_path / "out/seen").touch(mode=0o600)

    thread = threading.Thread(target=look)
    thread.start()
    box = in_box(readable=(tmp_path / "private/given",), writable=(tmp_path / "out",))
    ended = python(program, box, arguments=(mark, tmp_path / "private/given", tmp_path / "out"), timeout_s=60)
    thread.join()
    if caplog.records:
        pytest.skip(caplog.records[0].getMessage())  # the file system lacks idmapped mounts
    assert (ended.output, ended.status) == ("", 0)
    (user,) = users
    assert 61184 <= user < 65520
    answer = tmp_path / "out/answer"
    assert (answer.read_text(), answer.stat().st_uid) == ("read", 0)


def test_socket_buffers_count_as_memory_and_cannot_grow(python):
    """Without a control group nothing else limits them: 500 pairs held 8 GB, and a process may have 2,000 pairs."""
    program = """
        import socket, sys, time
        ends = []
        for _ in range(int(sys.argv[1])):
            ends += socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
            for end in ends[-2:]:
                end.setblocking(False)
                end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2**22)
        n_bytes = 0
        for end in ends:
            try:
                while True:
                    n_bytes += end.send(bytes(50_000))
            except OSError:
                pass
        print(n_bytes / len(ends) < 2 * 212_992, flush=True)
        time.sleep(float(sys.argv[2]))
    """
    few = python(program, arguments=(50, 0.5), memory_bytes=200 * MB, timeout_s=60)
    assert few.output.split() == ["True"]
    assert 40 * MB < few.peak_memory_bytes < 80 * MB
    assert python(program, arguments=(400, 600), memory_bytes=200 * MB, timeout_s=60).problem == "MemoryLimit"


def test_terminals_cannot_be_created(python):
    """The machine's number of terminals is shared, so one box could take them all."""
    program = """
        import os
        made = []
        try:
            while len(made) < 10:
                made.append(os.openpty())
        except OSError as error:
            print(type(error).__name__)
        print(len(made))
    """
    assert python(program).output.split() == ["FileNotFoundError", "0"]


def test_locks_of_the_machine_cannot_be_held(in_box, tmp_path, monkeypatch):
    """Read access is enough to lock a file, so a download of weights or an installation would wait for the box."""
    import fcntl  # not on Windows

    monkeypatch.setenv("BRAINSCORE_HOME", str(tmp_path))
    monkeypatch.setenv("BRAINIO_HOME", str(tmp_path / "data"))
    homes = [tmp_path / "weights", tmp_path / "data"]
    for home in homes:
        with locked(home / "ab/file"):
            (home / "ab/file").write_bytes(b"content")
    lock_of_uv = tmp_path / "environment/.lock"
    lock_of_uv.parent.mkdir()
    lock_of_uv.touch()
    program = """
        import fcntl, os, sys, time
        held = []
        for folder, _, names in (entry for top in sys.argv[1:] for entry in os.walk(top)):
            for name in names:
                try:
                    held.append(open(os.path.join(folder, name), "rb"))
                    fcntl.flock(held[-1], fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError:
                    pass
        print(*(os.path.basename(file.name) for file in held), flush=True)
        time.sleep(600)
    """
    folders = (*homes, lock_of_uv.parent)
    command = [sys.executable, "-I", "-c", textwrap.dedent(program), *map(str, folders)]
    said = []
    with start_boxed(command, in_box(readable=folders), show=said.append):
        wait_until(lambda: said)
        assert "".join(said).split() == ["file", "file"]
        for home in homes:
            with locked(home / "ab/file", timeout_s=5), locked(home / "made later", timeout_s=5):
                assert (home / LOCKS / ".made later.lock").is_file()
        with lock_of_uv.open() as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
