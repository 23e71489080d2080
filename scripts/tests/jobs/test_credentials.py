"""What a job hands on to plugins, and what can be read of the job itself."""

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
# Ends where a job reads its plan, and says what can be read of the process then.
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
def test_a_job_that_runs_plugins_has_no_credentials_that_could_be_read(tmp_path, command):
    """Deleting a variable is not enough: `/proc` shows what a process was started with."""
    said = run(command, tmp_path)
    assert "INITIAL" in said
    assert not [value for value in GIVEN.values() if value in said]


def test_the_job_that_fetches_has_them(tmp_path):
    """So that the test above can fail."""
    assert run("fetch_data --plan plan.json --archive x --recipient x", tmp_path).count("AKIA-secret") == 2
