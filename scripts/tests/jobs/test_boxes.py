"""The steps that a runner needs for boxes are found; none if nothing is missing."""

import subprocess
import sys
from pathlib import Path

import pytest

from brainscore_ci.jobs.boxes import PROFILE, profile_needed, steps_to_boxes

ROOT = Path(__file__).parents[3]


def write(root, path, text):
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)


def test_profile_is_needed_if_restricted_and_absent(tmp_path):
    assert not profile_needed(tmp_path)
    write(tmp_path, "proc/sys/kernel/apparmor_restrict_unprivileged_userns", "0\n")
    assert not profile_needed(tmp_path)
    write(tmp_path, "proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n")
    assert profile_needed(tmp_path)
    write(tmp_path, "etc/apparmor.d/bwrap-userns-restrict", "")
    assert not profile_needed(tmp_path)


@pytest.mark.parametrize(
    ("needed", "has", "programs"),
    [
        (False, True, []),
        (False, False, ["apt-get", "apt-get"]),
        (True, True, ["tee", "apparmor_parser"]),
        (True, False, ["apt-get", "apt-get", "tee", "apparmor_parser"]),
    ],
)
def test_missing_steps_are_in_order(needed, has, programs, monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}" if has else None)
    steps = steps_to_boxes(profile_needed=needed)
    assert [command[:2] for command, _ in steps] == [["sudo", program] for program in programs]
    assert [given for command, given in steps if command[1] == "tee"] == [PROFILE] * needed


@pytest.mark.skipif(sys.platform != "linux", reason="other: boxes are of Linux")
@pytest.mark.parametrize(
    ("installs", "starts", "said"),
    [
        ("cp bwrap.there bwrap", "exit 0", []),
        ("cp bwrap.there bwrap", "exit 1", ["::error::No box can be made here", "nothing is scored"]),
        ("exit 3", "exit 0", ["::error::apt-get ended with status 3", "nothing is scored"]),
        ("true", "exit 0", ["::error::No box can be made here", "nothing is scored"]),
    ],
    ids=["works", "is refused", "not installed", "not found"],
)
def test_job_without_boxes_fails_before_running_a_plugin(tmp_path, installs, starts, said):
    """The script needs only the standard library. Fake `sudo` and `bwrap` run: no test may change the machine."""
    programs = {"sudo": f'echo "did $*"; cd {tmp_path}; {installs}', "bwrap.there": starts}
    for name, text in programs.items():
        (tmp_path / name).write_text(f"#!/bin/sh\nPATH=/bin\n{text}\n")
        (tmp_path / name).chmod(0o755)
    command = [sys.executable, "-S", ROOT / "scripts/allow_boxes.py"]
    environment = {"PATH": str(tmp_path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (bool(said), "")
    assert not [text for text in ("did apt-get", *said) if text not in done.stdout]
