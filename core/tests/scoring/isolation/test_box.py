"""A box gives a program exactly what it should have; where boxes are not available, the reason is given."""

import json
import os
import socket
import subprocess
import sys
from contextlib import nullcontext

import pytest

from brainscore_core.errors import IsolationError
from brainscore_core.scoring.isolation import another_user
from brainscore_core.scoring.isolation import box as boxes
from brainscore_core.scoring.isolation.box import Box, run_boxed, start_boxed, why_no_box


def test_program_runs_in_a_box_and_reports_its_end(python):
    assert why_no_box() is None
    ended = python("import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)")
    assert (ended.problem, sorted(ended.output.split())) == ("Exit3", ["err", "out"])
    assert python("import os; os.kill(os.getpid(), 11)").problem == "SIGSEGV"


def test_box_has_only_the_given_variables(python, in_box, monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s3cret")
    ended = python("import json, os; print(json.dumps(dict(os.environ)))", in_box(environment={"A": "b c"}))
    own = {"HOME": "/tmp", "LANG": "C.UTF-8", "PATH": "/usr/bin:/bin", "PWD": "/tmp", "TMPDIR": "/tmp"}  # noqa: S108 - in the box
    assert json.loads(ended.output) == {"A": "b c", **own}


def test_box_has_the_given_files_at_their_paths(python, in_box, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "stimulus.txt").write_text("seen")
    (tmp_path / "out").mkdir()
    program = """
        import pathlib, sys
        source, target = map(pathlib.Path, sys.argv[1:])
        (target / "answer").write_text((source / "stimulus.txt").read_text())
        (source / "stimulus.txt").write_text("other")
    """
    box = in_box(readable=(tmp_path / "in",), writable=(tmp_path / "out",))
    ended = python(program, box, arguments=(tmp_path / "in", tmp_path / "out"))
    assert "Read-only file system" in ended.output
    assert (tmp_path / "out" / "answer").read_text() == "seen"
    assert (tmp_path / "in" / "stimulus.txt").read_text() == "seen"


def test_hidden_folder_is_empty_but_its_parent_is_readable(python, in_box, tmp_path):
    for name in ("home/records", "home/weights"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "file").touch()
    program = "import os, sys; print([os.listdir(path) for path in sys.argv[1:]]); open(sys.argv[1] + '/new', 'w')"
    folders = [tmp_path / "home" / "records", tmp_path / "home" / "weights"]
    box = in_box(readable=(tmp_path / "home",), hidden=(folders[0],), writable=(folders[1],))
    ended = python(program, box, arguments=folders)
    assert "[[], ['file']]" in ended.output
    assert "Read-only file system" in ended.output


def test_part_of_a_hidden_folder_can_be_readable(python, in_box, tmp_path):
    (tmp_path / "data" / "stimuli").mkdir(parents=True)
    (tmp_path / "data" / "stimuli" / "file").touch()
    (tmp_path / "data" / "measured").touch()
    data = tmp_path / "data"
    box = in_box(readable=(tmp_path, data / "stimuli"), hidden=(data,))
    program = "import os, sys; print(os.listdir(sys.argv[1]), os.listdir(sys.argv[1] + '/stimuli')); "
    ended = python(program + "os.mkdir(sys.argv[1] + '/new')", box, arguments=(data,))
    assert "['stimuli'] ['file']" in ended.output
    assert "Read-only file system" in ended.output


@pytest.mark.parametrize("path", ["link", "link/below", "real/out"])
def test_rejects_paths_through_links(in_box, tmp_path, path):
    (tmp_path / "real/below").mkdir(parents=True)
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "real/out").symlink_to("/etc/shadow")
    for access in ("readable", "writable"):
        with pytest.raises(IsolationError, match="passes through a link"):
            run_boxed(["/usr/bin/env", "true"], in_box(**{access: (tmp_path / path,)}))


@pytest.mark.parametrize(("mode", "is_given"), [(0o777, False), (0o1777, True), (0o755, True)])
def test_rejects_paths_that_any_user_could_replace(a_box, tmp_path, mode, is_given):
    """A user who may write in a parent could replace the path between check and mount, unless the sticky bit is set."""
    folder = tmp_path / "shared" / "between" / "weights"
    folder.mkdir(parents=True)
    (tmp_path / "shared").chmod(mode)
    with nullcontext() if is_given else pytest.raises(IsolationError, match=r"may write to \S*/shared.*chmod o-w"):
        assert run_boxed(["/usr/bin/true"], Box(readable=(folder,))).problem is None


@pytest.mark.parametrize("access", ["readable", "writable"])
def test_rejects_paths_that_a_running_box_could_replace(a_box, tmp_path, access):
    home, below = tmp_path / "home", tmp_path / "home" / "brain-score" / "weights"
    below.mkdir(parents=True)
    box = Box(**{access: (below,)})
    # The attack: in its network phase, a model replaces the folder of its weights with another one.
    attack = f"mv {home}/brain-score {home}/old; mkdir -p {below}; touch {below}/others; sleep 600"
    with start_boxed(["/usr/bin/sh", "-c", attack], Box(writable=(home,))) as attacker:
        while not (below / "others").exists():
            assert attacker.wait(0.01) is None
        with pytest.raises(IsolationError, match=r"a running box may write to \S*/home\b"):
            run_boxed(["/usr/bin/ls", below], box)
        assert run_boxed(["/usr/bin/true"], Box(writable=(home,))).problem is None  # itself it cannot replace
    assert run_boxed(["/usr/bin/true"], box).problem is None


def test_box_communicates_over_an_inherited_socket(in_box):
    mine, its = socket.socketpair()
    code = "import socket, sys; s = socket.socket(fileno=int(sys.argv[1])); s.sendall(s.recv(99)[::-1]); s.recv(1)"
    with (
        mine,
        start_boxed(
            [sys.executable, "-I", "-c", code, str(its.fileno())], in_box(), pass_fds=[its.fileno()], timeout_s=30
        ) as program,
    ):
        its.close()
        mine.sendall(b"hello")
        assert mine.recv(99) == b"olleh"
        assert program.wait(0) is None
        mine.sendall(b".")
        assert mine.recv(1) == b""  # when it ends, no other process holds its socket open
        assert program.result().problem is None


def test_leaving_the_context_ends_the_program(in_box):
    with start_boxed([sys.executable, "-I", "-c", "import time; time.sleep(600)"], in_box()) as program:
        assert program.wait(0) is None
    assert program.result().problem == "SIGKILL"


@pytest.mark.parametrize("path", ["/", "/root" if os.geteuid() == 0 else os.path.expanduser("~"), "~/.."])  # noqa: PTH111 - text
def test_rejects_paths_that_contain_the_home(a_box, path):
    with (
        pytest.raises(IsolationError, match="contains the home folder"),
        start_boxed(["/usr/bin/true"], Box(readable=(boxes.Path(path).expanduser(),))),
    ):
        raise AssertionError


def test_home_of_the_system_counts_despite_the_variable(a_box, tmp_path, monkeypatch):
    import pwd  # not on Windows

    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for path in (boxes.Path(pwd.getpwuid(os.getuid()).pw_dir), home, tmp_path):
        with pytest.raises(IsolationError, match="contains the home folder"):
            run_boxed(["/usr/bin/true"], Box(readable=(path.resolve(),)))


def test_missing_path_is_named(a_box, tmp_path):
    with pytest.raises(IsolationError, match="none: it does not exist"):
        run_boxed(["/usr/bin/true"], Box(writable=(tmp_path / "none",)))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root changes to another user")
def test_root_is_warned_once_if_boxes_cannot_change_user(python, monkeypatch, caplog):
    boxes._warn.cache_clear()
    monkeypatch.setattr(another_user, "_USERS", range(2**32 - 1, 2**32))  # no user has this number
    assert [python("print('runs')").output for _ in range(2)] == ["runs\n"] * 2
    (record,) = caplog.records
    assert "Boxes run as root" in record.getMessage()
    assert "Invalid argument" in record.getMessage()
    program = "from brainscore_core.scoring.isolation.another_user import why_not_another_user as why; print(why())"
    command = ["/usr/bin/setpriv", "--bounding-set=-sys_admin", sys.executable, "-c", program]
    assert "without CAP_SYS_ADMIN" in subprocess.run(command, capture_output=True, text=True).stdout
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert another_user.why_not_another_user() == ""


# -- where boxes are not available -------------------------------------------------------------------------------------


@pytest.fixture
def elsewhere():
    """Clear the cached answer on whether boxes are available, before and after the test."""
    why_no_box.cache_clear()
    yield
    why_no_box.cache_clear()


def error_without_box():
    assert why_no_box() is not None
    with pytest.raises(IsolationError) as raised:
        run_boxed(["/usr/bin/touch", "/tmp/never"], Box())  # noqa: S108 - the command does not run
    assert "with private data" in str(raised.value)
    return str(raised.value)


@pytest.mark.usefixtures("elsewhere")
def test_error_without_bubblewrap_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "sudo apt-get install bubblewrap util-linux" in error_without_box()


@pytest.mark.usefixtures("elsewhere")
def test_error_names_an_unsupported_system_or_machine(monkeypatch):
    monkeypatch.setattr(boxes.platform, "machine", lambda: "riscv64")
    assert "this machine is riscv64" in error_without_box()
    why_no_box.cache_clear()
    monkeypatch.setattr(boxes.platform, "system", lambda: "Darwin")
    monkeypatch.setattr(boxes.sys, "platform", "darwin")
    assert "on Darwin" in error_without_box()


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize(
    ("says", "restricted", "remedy"),
    [
        ("bwrap: Unknown option --disable-userns", "", "0.8 or newer"),
        ("bwrap: setting up uid map: Permission denied", "1", "apparmor_restrict_unprivileged_userns=0"),
        ("bwrap: setting up uid map: Permission denied", "0", "--security-opt seccomp=unconfined"),
    ],
)
def test_error_of_a_failing_bubblewrap_has_output_and_remedy(monkeypatch, tmp_path, says, restricted, remedy):
    program = tmp_path / "bwrap"
    program.write_text(f"#!/bin/sh\necho '{says}' >&2\nexit 1\n")
    program.chmod(0o755)
    (tmp_path / "restricted").write_text(f"{restricted}\n")
    monkeypatch.setattr(boxes, "_RESTRICTED", tmp_path / "restricted")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    message = error_without_box()
    assert says in message
    assert remedy in message
