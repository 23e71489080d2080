"""Control groups of boxes, in a folder that replaces the kernel's, since this machine may lack cgroup v2."""

import math
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from brainscore_core.scoring.isolation import box
from brainscore_core.scoring.isolation.box import control_group, entering, parent_group, start_boxed

V2 = (
    "24 1 0:21 / /sys rw shared:7 - sysfs sysfs rw\n"
    "30 24 0:26 {root} /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
)
SCOPE = "/user.slice/user-1000.slice/user@1000.service/app.slice/run-r7.scope"


@pytest.mark.parametrize(
    ("own", "root", "expected"),
    [
        (f"0::{SCOPE}", "/", f"/sys/fs/cgroup{SCOPE.removesuffix('/run-r7.scope')}"),
        ("1:name=systemd:/\n0::/init.scope", "/", "/sys/fs/cgroup"),
        ("0::/", "/", "/sys/fs/cgroup"),
        ("0::/jobs/7/step", "/jobs/7", "/sys/fs/cgroup"),
        ("0::/jobs/7", "/jobs/7", "/sys/fs/cgroup"),
        ("0::/elsewhere", "/jobs/7", None),
        ("0::/../outside", "/", None),
        ("8:pids:/\n4:memory:/jobs", "/", None),
        ("", "/", None),
    ],
)
def test_group_is_created_next_to_the_group_of_this_process(own, root, expected):
    assert parent_group(own, V2.format(root=root)) == (expected and Path(expected))
    assert parent_group(own, "32 31 0:29 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n") is None


@pytest.fixture
def parent(tmp_path, monkeypatch):
    """Return an imitated parent group; as with the kernel's, removing a group removes its files."""
    folder = tmp_path / "tree" / "session"
    (folder / "own.scope").mkdir(parents=True)
    for name, content in {"controllers": "cpu memory pids\n", "subtree_control": "memory pids\n", "procs": ""}.items():
        (folder / f"cgroup.{name}").write_text(content)
    (tmp_path / "cgroup").write_text("0::/session/own.scope\n")
    (tmp_path / "mountinfo").write_text(f"30 24 0:26 / {tmp_path}/tree rw - cgroup2 cgroup2 rw\n")
    monkeypatch.setattr(box, "_PROC", tmp_path)
    real = Path.rmdir

    def rmdir(group):
        for file in group.iterdir():
            file.unlink()
        real(group)

    monkeypatch.setattr(Path, "rmdir", rmdir)
    return folder


def groups(parent):
    return sorted(path.name for path in parent.iterdir() if path.name.startswith("brainscore-box-"))


@pytest.mark.parametrize(("memory_bytes", "written"), [(2.5e9, "2500000000"), (math.inf, "max")])
def test_group_has_limits_and_is_removed_after_its_block(parent, memory_bytes, written):
    with control_group(memory_bytes, 70) as group, control_group(1, 2) as other:
        assert groups(parent) == sorted([group.name, other.name])
        assert group.parent == parent
        limits = {"memory.max": written, "memory.swap.max": "0", "memory.oom.group": "1", "pids.max": "70"}
        assert {path.name: path.read_text() for path in group.iterdir()} == limits
        ended = subprocess.run([*entering(group), "/bin/echo", "a b", "$0"], capture_output=True, text=True)
        assert (ended.stdout, ended.stderr) == ("a b $0\n", "")
        assert (group / "cgroup.procs").read_text() == "0\n"  # 0 stands for the process that writes it
        assert subprocess.run([*entering(group), "/usr/bin/env"], capture_output=True).stdout == b""
    assert groups(parent) == []


def test_controllers_are_enabled_in_the_parent(parent):
    (parent / "cgroup.subtree_control").write_text("cpu\n")
    with control_group(1, 1) as group:
        assert group is not None
        assert (parent / "cgroup.subtree_control").read_text() == "+memory +pids"


def _no_controller(parent):
    (parent / "cgroup.controllers").write_text("cpu pids\n")


def _no_folder(parent):
    (parent.parents[1] / "cgroup").write_text("0::/gone/own.scope (deleted)\n")


def _no_hierarchy(parent):
    (parent.parents[1] / "mountinfo").write_text("")


def _no_writing(parent):
    (parent / "cgroup.procs").unlink()


@pytest.mark.parametrize("lack", [_no_controller, _no_folder, _no_hierarchy, _no_writing])
def test_without_usable_cgroups_programs_run_without_a_group(parent, lack):
    lack(parent)
    with control_group(1, 1) as group:
        assert group is None
        assert entering(group) == []
    assert groups(parent) == []


def test_group_is_none_if_its_limit_cannot_be_set(parent, monkeypatch):
    real = Path.write_text

    def refuse(path, *given, **options):
        if path.name == "memory.max":
            raise PermissionError(path)
        return real(path, *given, **options)

    monkeypatch.setattr(Path, "write_text", refuse)
    with control_group(1, 1) as group:
        assert group is None
    assert groups(parent) == []


def test_program_runs_even_if_it_cannot_enter_the_group(tmp_path):
    ended = subprocess.run([*entering(tmp_path / "gone"), "/bin/echo", "ran"], capture_output=True, text=True)
    assert (ended.stdout, ended.stderr) == ("ran\n", "")


def test_groups_of_ended_judges_are_removed_at_the_next_start(parent):
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    for name in (f"brainscore-box-{ended.pid}-0", f"brainscore-box-{os.getppid()}-0", "of-another-0"):
        (parent / name).mkdir()
    with control_group(1, 1) as group:
        assert groups(parent) == sorted([group.name, f"brainscore-box-{os.getppid()}-0"])
        assert (parent / "of-another-0").is_dir()


@pytest.mark.parametrize(("events", "expected"), [("oom 3\noom_kill 0\n", "SIGKILL"), ("oom_kill 2\n", "MemoryLimit")])
def test_box_reports_a_memory_kill_by_its_group(parent, in_box, events, expected):
    command = [sys.executable, "-I", "-c", "import time; print('here', flush=True); time.sleep(600)"]
    said = []
    with start_boxed(command, in_box(most_processes=50), memory_bytes=3e9, show=said.append) as program:
        while not said:
            time.sleep(0.01)
        (name,) = groups(parent)
        contents = {path.name: path.read_text() for path in (parent / name).iterdir()}
        assert (contents["memory.max"], contents["pids.max"], contents["cgroup.procs"]) == ("3000000000", "52", "0\n")
        (parent / name / "memory.events").write_text(events)
        os.kill(program.pid, 9)
        assert program.result().problem == expected
    assert groups(parent) == []
