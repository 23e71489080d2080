"""Test a submission end to end: the command, git, a server on this machine, and the real checks."""

import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from brainscore_ci.__main__ import main
from brainscore_ci.submission.request import AGREEMENTS, FIELDS

ROOT = Path(__file__).parents[3]


@pytest.fixture
def server(github_here):
    agreed = "\n".join(f"- [X] {text}" for text in AGREEMENTS)
    issue = {"number": 3, "user": {"login": "ada", "id": 42}, "body": f"### {FIELDS['agreements']}\n\n{agreed}"}
    github_here.answers = {"/issues/3": issue, "/issues/3/comments": [], "/pulls": []}
    return github_here


@pytest.fixture
def origin(repository, tmp_path):
    """Return a bare repository with the small tree of plugins."""
    repository.git("clone", "--quiet", "--bare", repository.path, tmp_path / "origin.git")
    return tmp_path / "origin.git"


@pytest.fixture
def start(server, origin, tree, tmp_path, monkeypatch, capsys):
    def call(content):
        (tmp_path / "mine.zip").write_bytes(content)
        environment = {
            "GITHUB_REPOSITORY": "owner/name",
            "GITHUB_TOKEN": "t0ken",
            "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
            "XDG_CACHE_HOME": str(tmp_path / "cache"),
        }
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.chdir(tree.path)
        options = ["--issue", "3", "--archive", str(tmp_path / "mine.zip"), "--remote", str(origin), "--reply"]
        status = main(["submission", *options])
        out, err = capsys.readouterr()
        return SimpleNamespace(returncode=status, stdout=out, stderr=err)

    return call


@pytest.mark.slow
def test_sound_plugin_becomes_a_pull_request(start, server, origin, pack, tmp_path):
    source = ROOT / "vision/brainscore_vision/metrics/accuracy"
    files = {path.name: path.read_bytes() for path in source.iterdir() if path.is_file()}
    done = start(pack({f"metrics/accuracy/{name}": content for name, content in files.items()}))
    assert (done.returncode, done.stdout) == (
        0,
        "Opened pull request #4 from branch submission/3-metrics-accuracy.\n",
    ), done.stderr
    assert [path for path, _, _ in server.told] == ["/repos/owner/name/pulls", "/repos/owner/name/issues/3/comments"]
    assert server.told[0][1] == "Bearer t0ken"
    assert "#4" in (tmp_path / "summary.md").read_text()
    command = ["git", "-C", origin, "diff", "--name-only", "main", "submission/3-metrics-accuracy"]
    names = subprocess.check_output(command, text=True).split()
    assert {Path(name).name for name in names} == set(files)


@pytest.mark.slow
def test_unsound_plugin_is_refused_without_running_it(start, server, pack, tmp_path):
    done = start(pack.plugin(**{"__init__.py": "import os\nos.system('touch pwned')\nraise SystemExit\n"}))
    assert done.returncode == 1
    assert "vision/brainscore_vision/benchmarks/myexperiment2024/__init__.py:1: " in done.stdout
    assert [path for path, _, _ in server.told] == ["/repos/owner/name/issues/3/comments"]
    assert not list(tmp_path.rglob("pwned"))


@pytest.mark.slow
def test_hostile_archive_is_refused(start, server, pack):
    done = start(pack({"../../evil.py": "x"}))
    assert done.returncode == 1
    assert "../../evil.py: points outside of the archive" in done.stdout
