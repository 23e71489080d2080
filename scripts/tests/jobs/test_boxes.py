"""What a runner lacks is found, and nothing is done where nothing is missing."""

import subprocess
import sys
from pathlib import Path

import pytest

from brainscore_ci.jobs.boxes import PROFILE, profile_needed, steps_to_boxes

ROOT = Path(__file__).parents[3]


def write(root, path, text):
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)


def test_a_profile_is_needed_where_namespaces_are_restricted_and_none_is_there(tmp_path):
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
def test_what_is_missing_is_done_in_order(needed, has, programs):
    steps = steps_to_boxes(profile_needed=needed, has_bubblewrap=has)
    assert [command[:2] for command, _ in steps] == [["sudo", program] for program in programs]
    assert [given for command, given in steps if command[1] == "tee"] == [PROFILE] * needed


def test_the_script_needs_nothing_but_the_standard_library(tmp_path):
    """What is missing is done by stand-ins of `sudo`: no test may change the machine."""
    sudo = tmp_path / "sudo"
    sudo.write_text('#!/bin/sh\necho "did $*"\n')
    sudo.chmod(0o755)
    command = [sys.executable, "-S", ROOT / "scripts/allow_boxes.py"]
    environment = {"PATH": str(tmp_path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "did apt-get install --yes --no-install-recommends bubblewrap" in done.stdout
    sudo.write_text("#!/bin/sh\nexit 3\n")
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "::warning::apt-get ended with status 3" in done.stdout
