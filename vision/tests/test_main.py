"""The command line, tested by output and exit code; the interruption is tested in a separate process."""

import json
import signal
import subprocess
import sys
import time
from typing import NamedTuple

import pytest

from brainscore_vision.__main__ import main

COMMAND = [sys.executable, "-m", "brainscore_vision"]
V1 = "SimulatedCortex2026.V1-pls"


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


@pytest.fixture(scope="module")
def home(tmp_path_factory, lend_caches):
    return lend_caches(tmp_path_factory.mktemp("shared-home"))


@pytest.fixture
def run(home, monkeypatch, capfd):
    """Run a command in this process; the tests of this file simulate and record only once."""
    monkeypatch.setenv("BRAINSCORE_HOME", str(home))

    def run(*arguments):
        return Done(main(list(arguments)), *capfd.readouterr())

    return run


def test_score_prints_the_summary_and_writes_the_record(run, tmp_path):
    record = tmp_path / "record.json"
    pair = ["--conda_active", "--model_identifier=pixels", f"--benchmark_identifier={V1}"]
    done = run("score", *pair, "--record", str(record))
    assert done.returncode == 0, done.stderr
    assert "SIMULATED" in done.stdout
    assert str(record) in done.stdout
    content = json.loads(record.read_text())
    assert content["model"] == "pixels"
    assert 0 < content["score"] < 1
    assert 0 < content["ceiling"] <= 1
    assert [content[f"{part}_revision"][:7] for part in ("model", "benchmark")] == ["folder-", "folder-"]
    assert f"{content['score']:.4f}" in done.stdout


def test_failed_score_writes_the_record_of_the_failure(run, tmp_path):
    record, failure = tmp_path / "record.json", tmp_path / "failure.json"
    files = ["--record", str(record), "--failure", str(failure)]
    assert run("score", "--model", "pixls", "--benchmark", V1, *files).returncode == 2
    content = json.loads(failure.read_text())
    assert content["status"] == "failed:UnknownIdentifierError"
    assert "'pixels'" in content["message"]
    assert (content["model"], content["score"]) == ("pixls", None)
    assert (content["model_revision"], content["benchmark_revision"][:7]) == ("unregistered", "folder-")
    assert not record.exists()


@pytest.mark.slow
def test_new_environment_writes_the_requested_record(run, tmp_path, monkeypatch):
    monkeypatch.setenv("BS_INSTALL_DEPENDENCIES", "newenv")
    record = tmp_path / "record.json"
    done = run("score", "--model", "pixels", "--benchmark", V1, "--record", str(record))
    assert done.returncode == 0, done.stderr
    content = json.loads(record.read_text())
    assert (content["model"], content["benchmark"]) == ("pixels", V1)
    assert f"{content['score']:.4f}" in done.stdout


@pytest.fixture
def model_file(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(
        "import numpy as np\n\n"
        "def make():\n"
        "    return lambda images: np.stack([np.asarray(each.resize((9, 9)), dtype=float) for each in images])\n\n"
        "def fails():\n    raise ValueError('no weights here')\n"
    )
    return path


@pytest.mark.parametrize(
    ("model", "extra", "code", "said"),
    [
        ("{file}:mak", [], 2, "'mak' does not exist"),
        ("{file}", [], 2, "without the function"),
        ("absent.py:make", [], 2, "does not exist"),
        ("absent.onnx", [], 2, "'absent.onnx'"),
        ("{file}:fails", [], 1, "raised ValueError: no weights here (line 7)"),
        ("{file}:make", ["--layers", "putput"], 1, "Did you mean 'output'"),
        ("pixels", ["--layers", "a"], 2, "options layers are for models in files"),
    ],
)
def test_error_describes_the_problem_of_a_model_file(run, model_file, model, extra, code, said):
    done = run("score", "--model", model.format(file=model_file), "--benchmark", V1, *extra)
    assert done.returncode == (3 if model == "absent.onnx" and "pip install" in done.stderr else code), done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_missing_argument_and_unknown_command_exit_with_2(run):
    assert run("score", "--model", "pixels").returncode == 2
    assert run("scor").returncode == 2


def test_wrong_setting_is_reported_in_one_line(run, monkeypatch):
    monkeypatch.setenv("BS_INSTALL_DEPENDENCIES", "maybe")
    done = run("score", "--model", "pixels", "--benchmark", "x")
    assert done.returncode == 2
    assert "BS_INSTALL_DEPENDENCIES is 'maybe'" in done.stderr
    assert "Traceback" not in done.stderr


def test_unexpected_error_has_no_traceback_unless_asked(run, tmp_path):
    (tmp_path / "broken.py").write_text("def make():\n    raise RuntimeError('broken')\n")
    arguments = ["score", "--model", f"{tmp_path / 'broken.py'}:make", "--benchmark", V1]
    done = run(*arguments)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "Error: " in done.stderr
    assert "Traceback" in run(*arguments, "--traceback").stderr


@pytest.mark.usefixtures("shared_caches")
def test_ctrl_c_leaves_nothing_half_written(own_homes):
    process = subprocess.Popen(
        [*COMMAND, "score", "--model", "pixels", "--benchmark", V1],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A parent that runs in the background may have SIGINT ignored, which children inherit.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stderr.readline().startswith("Scoring ")
    time.sleep(1)  # somewhere in the middle; the assertions hold at any moment
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Interrupted" in errors
    assert "Traceback" not in errors
    leftovers = [path for path in own_homes.rglob("*") if path.is_file() and path.name.startswith(".")]
    assert leftovers == []
    assert not (own_homes / "brain-score" / "scores").exists()
