"""Test which credentials a job passes to plugins, and which can be read from the job itself."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
GIVEN = {
    "AWS_ACCESS_KEY_ID": "AKIA-secret",
    "AWS_SESSION_TOKEN": "session-secret",
    "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "oidc-secret",
    "GITHUB_TOKEN": "ghs-secret",
    "GITHUB_ENV": "/secret/file",
}
# Ends the job where it reads its plan and prints the variables that can be read from the process at that point.
STOP = """
import os, sys
from brainscore_ci.planning import plan

def read(file):
    initial = open("/proc/self/environ", "rb").read().decode()
    sys.stderr.write("INITIAL " + initial.replace("\\0", " ") + "\\nNOW " + " ".join(os.environ.values()) + "\\n")
    os._exit(9)

plan.Plan.read = staticmethod(read)
"""


def run(command, folder):
    (folder / "sitecustomize.py").write_text(STOP)
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, **GIVEN, "PYTHONPATH": path}
    arguments = [sys.executable, "-m", "brainscore_ci", *command.split()]
    done = subprocess.run(arguments, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 9, done.stderr
    return done.stderr


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="other: there is no /proc here")
@pytest.mark.parametrize(
    "command",
    [
        "score_pairs --plan plan.json --records records --shard 0",
        "test_plugin --ci --shard 0 --plan plan.json --results results",
    ],
    ids=["score_pairs", "test_plugin"],
)
def test_credentials_cannot_be_read_in_a_plugin_job(tmp_path, command):
    """Deleting a variable is not enough: `/proc` shows the initial variables of a process."""
    said = run(command, tmp_path)
    assert "INITIAL" in said
    assert not [value for value in GIVEN.values() if value in said]


def test_fetching_job_has_credentials(tmp_path):
    """This shows that the test above can fail."""
    assert run("fetch_data --plan plan.json --archive x --recipient x", tmp_path).count("AKIA-secret") == 2
