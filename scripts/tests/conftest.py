"""Provide small repositories of plugins, and the modules available to a job with a small installation."""

import http.server
import json
import os
import runpy
import subprocess
import sys
import textwrap
import threading
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, distribution, packages_distributions
from pathlib import Path
from types import SimpleNamespace

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from brainscore_ci.planning.areas import PluginName
from brainscore_ci.planning.plan import Plan, Refusal, Skip, TestTask
from brainscore_core.scoring.pairs import Pair

SCRIPTS = Path(__file__).parents[1]


class Tree:
    """A repository with plugins below vision/brainscore_vision, written as files."""

    def __init__(self, path):
        self.path = path
        self.library = path / "vision/brainscore_vision"
        for folder in ("data", "metrics", "benchmarks", "models"):
            (self.library / folder).mkdir(parents=True, exist_ok=True)

    def write(self, path, text):
        file = self.path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text))
        return file

    def git(self, *arguments):
        """Run git in this repository and return its output."""
        identity = ["-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"]
        command = ["git", "-C", self.path, *identity, *map(str, arguments)]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def commit(self, *forced):
        """Commit everything, including ignored paths given as `forced`, and return the commit."""
        if not (self.path / ".git").exists():
            self.git("init", "-q", "-b", "main")
        self.git("add", "-A")
        for path in forced:
            self.git("add", "--force", "--", path)
        self.git("commit", "-q", "--allow-empty", "-m", "change")
        return self.git("rev-parse", "HEAD")

    def plugin(self, name, *, registers=(), test="def test_it():\n    assert load\n", **files):
        """Write a plugin such as 'models/alexnet' that registers (registry, identifier) pairs."""
        lines = [f"{registry}_registry[{identifier!r}] = lambda: None" for registry, identifier in registers]
        self.write(f"vision/brainscore_vision/{name}/__init__.py", "\n".join(lines) + "\n")
        if test is not None:
            self.write(f"vision/brainscore_vision/{name}/test.py", test)
        for file, text in files.items():
            self.write(f"vision/brainscore_vision/{name}/{file.replace('__', '.')}", text)


@pytest.fixture
def script(capfd):
    """Return a function that runs a file of scripts/ in this process, without the variables that GitHub sets."""

    def run(name, *arguments, cwd=".", **environment):
        capfd.readouterr()
        with pytest.MonkeyPatch.context() as patch:
            for variable in [each for each in os.environ if each.startswith("GITHUB")]:
                patch.delenv(variable)
            for variable, value in environment.items():
                patch.setenv(variable, str(value))
            patch.chdir(cwd)
            patch.setattr(sys, "argv", [name, *map(str, arguments)])
            with pytest.raises(SystemExit) as ended:
                runpy.run_path(str(SCRIPTS / name), run_name="__main__")
        out, err = capfd.readouterr()
        return SimpleNamespace(returncode=ended.value.code, stdout=out, stderr=err)

    return run


@pytest.fixture(scope="session")
def modules_of():
    """Return a function that lists the modules importable where a lock of .github/requirements is installed."""
    modules = {}
    for module, distributions in packages_distributions().items():
        for each in distributions:
            modules.setdefault(canonicalize_name(each), set()).add(module)

    def of(lock):
        lines = (SCRIPTS.parent / f".github/requirements/{lock}.txt").read_text(encoding="utf-8").splitlines()
        pins = applying(line.rstrip("\\") for line in lines if not line.startswith((" ", "#")))
        names = list(pins)
        for name in names:
            with suppress(PackageNotFoundError):
                found = distribution(name)
                if name not in pins or not pins[name].specifier.contains(
                    found.version
                ):  # another version than the lock's
                    names += applying(found.requires or ()).keys() - set(names)
        return sorted(set().union(*(modules.get(name, ()) for name in names)))

    def applying(lines):
        requirements = [Requirement(line) for line in lines]
        return {
            canonicalize_name(each.name): each
            for each in requirements
            if each.marker is None or each.marker.evaluate({"extra": ""})
        }

    return of


class GitHubHere(http.server.BaseHTTPRequestHandler):
    """Answers like GitHub's REST interface with `answers` (path -> content); records requests in `told`."""

    def do_GET(self):
        self.answer(self.server.answers[self.path.partition("?")[0].removeprefix("/repos/owner/name")])

    def do_POST(self):
        content = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.told.append((self.path, self.headers["authorization"], content))
        self.answer({"number": 4})

    def answer(self, content):
        data = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        """Say nothing."""


@pytest.fixture
def github_here(monkeypatch):
    """Run a server that answers like GitHub for the repository owner/name."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), GitHubHere) as server:
        server.answers, server.told = {}, []
        monkeypatch.setenv("GITHUB_API_URL", f"http://127.0.0.1:{server.server_port}")
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture(scope="session")
def full_plan():
    """Return a plan with every field filled."""
    task = TestTask(
        plugin=PluginName("models", "network"), reasons=("changed",), minutes=2.0, memory_gb=4, private_tests=1,
        with_private=True,
    )  # fmt: skip
    return Plan(
        base="b" * 40,
        head=None,
        event="pull_request",
        changed=("a\nb", "\udcff"),  # git's names need not be UTF-8
        tests=(task,),
        pairs=(Pair(model="network", benchmark="B", reasons=("x", "y"), minutes=1, memory_gb=1, private=True),),
        previews=(Pair(model="network", benchmark="C", reasons=(), minutes=1, memory_gb=1),),
        skipped=(Skip("what", "why"),),
        refused=(Refusal("path", "why"),),
        notes=("note",),
    )


@pytest.fixture
def tree(tmp_path):
    """Return a repository with a plugin of each kind, including a benchmark that uses the data and the metric."""
    tree = Tree(tmp_path / "tree")
    tree.plugin("data/recordings", registers=[("data", "Recordings"), ("stimulus_set", "Recordings")])
    tree.plugin("metrics/similarity", registers=[("metric", "similarity")])
    tree.plugin("metrics/other", registers=[("metric", "other")])
    tree.plugin(
        "benchmarks/experiment",
        registers=[("benchmark", "Experiment-similarity")],
        benchmark__py="""
            from brainscore_vision import load_dataset, load_metric

            def make():
                return load_dataset("Recordings"), load_metric("similarity")
        """,
    )
    tree.plugin("benchmarks/unrelated", registers=[("benchmark", "Unrelated")])
    tree.plugin("models/network", registers=[("model", "network"), ("model", "network_small")])
    tree.plugin("models/pixels", registers=[("model", "pixels")])
    tree.write(
        "pyproject.toml",
        """
        [tool.brainscore.ci]
        libraries = ["vision/brainscore_vision"]
        representatives = ["benchmarks/unrelated", "models/pixels"]
        reference-models = ["pixels"]
        reference-benchmarks = ["Unrelated"]
        """,
    )
    return tree


@pytest.fixture
def repository(tree):
    """Return the tree as a repository with one commit on main."""
    tree.commit()
    return tree
