"""Run the unchanged workflow files of this repository with act, on small repositories made here.

act runs the jobs of a workflow on this machine. The surroundings on GitHub are simulated: an origin with the references
of a pull request, the event's payload, the actions used, variables and secrets. If this process may create a network
namespace (root on Linux), a run reaches no network. `nox -s workflows` sets the path of act; without it, no test here
is collected.
"""

import contextlib
import ctypes
import json
import os
import re
import shlex
import shutil
import socket
import struct
import subprocess
import sys
import textwrap
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from brainscore_ci.planning.plan import Plan

if "ACT" not in os.environ:
    collect_ignore_glob = ["test_*.py"]

ROOT = Path(__file__).parents[3]
REPOSITORY = "lab/brain"
SECONDS = 300  # for one run of one workflow
USES = re.compile(r"uses: ([\w.-]+/[\w.-]+)@([0-9a-f]{40})")
# The parts of the library that a small repository needs; it has its own plugins.
COPIED = (
    *(".github/actions", ".github/requirements", ".github/workflows", "core/brainscore_core", "scripts"),
    "vision/brainscore_vision",
    "web/brainscore_web",
)
PLUGIN_FOLDERS = ("benchmarks", "data", "metrics", "models")

ACTIONS = {
    "actions/checkout": """
        here = os.environ["GITHUB_WORKSPACE"]
        def git(*arguments):
            subprocess.run(["git", "-C", here, *arguments], check=True, stdout=subprocess.DEVNULL)
        git("init", "-q")
        git("remote", "add", "origin", f"https://github.com/{os.environ['GITHUB_REPOSITORY']}")
        sha, whole = given["ref"] or os.environ["GITHUB_SHA"], given["fetch-depth"] == "0"
        if whole:
            git("fetch", "-q", "--no-tags", "origin", "+refs/heads/*:refs/remotes/origin/*")
        git("fetch", "-q", "--no-tags", "origin", *([] if whole else ["--depth=1"]), sha)
        git("checkout", "-q", "--force", "--detach", "FETCH_HEAD")
        byte_code = Path(os.environ["BYTE_CODE"] + here)
        byte_code.parent.mkdir(parents=True)
        byte_code.symlink_to(os.environ["BYTE_CODE"] + "/project")
    """,
    "actions/setup-python": """
        print("the Python of the tests is on the path")
    """,
    "actions/upload-artifact": """
        found = [file for file in files(given["path"])]
        kept = store / given["name"]
        if not found and given["if-no-files-found"] == "error":
            sys.exit(f"::error::nothing to keep at {given['path']}")
        if kept.exists():
            sys.exit(f"::error::an artifact {given['name']} exists")
        root = Path(given["path"]) if Path(given["path"]).is_dir() else Path(given["path"]).parent
        for file in found:
            (kept / file.relative_to(root)).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, kept / file.relative_to(root))
    """,
    "actions/download-artifact": """
        wanted = given["name"] or given["pattern"] or "*"
        patterns = wanted.strip("{}").split(",")
        found = sorted(each for each in store.iterdir() if any(fnmatch.fnmatchcase(each.name, p) for p in patterns))
        if given["name"] and not found:
            sys.exit(f"::error::no artifact {given['name']}")
        for each in found:
            apart = not given["name"] and given["merge-multiple"] != "true" and len(found) > 1
            target = Path(given["path"] or ".") / (each.name if apart else "")
            shutil.copytree(each, target, dirs_exist_ok=True)
    """,
    "actions/upload-pages-artifact": """
        kept = store / given["name"]
        if kept.exists():
            sys.exit(f"::error::an artifact {given['name']} exists")
        shutil.copytree(given["path"], kept)
    """,
    "actions/deploy-pages": """
        shutil.copytree(store / given["artifact_name"], store.parent / "pages")
        with open(os.environ["GITHUB_OUTPUT"], "a") as stream:
            stream.write("page_url=https://lab.github.io/brain/\\n")
    """,
    "aws-actions/configure-aws-credentials": """
        if given["output-env-credentials"] != "false":
            with open(os.environ["GITHUB_ENV"], "a") as stream:
                stream.write("AWS_ACCESS_KEY_ID=key-of-the-role\\n")
        if given["output-credentials"] == "true":
            with open(os.environ["GITHUB_OUTPUT"], "a") as stream:
                for name in ("access-key-id", "secret-access-key", "session-token"):
                    stream.write(f"aws-{name}=key-of-the-role\\n")
    """,
}
_ACTION = """
import fnmatch, json, os, shutil, subprocess, sys
from pathlib import Path
given = {key: str(value or "") for key, value in json.loads(os.environ["GIVEN"]).items()}
given = {**dict.fromkeys(os.environ["KNOWN"].split(), ""), **given}
store = Path(os.environ["ARTIFACTS"])
def files(path):
    path = Path(path)
    return sorted(each for each in path.rglob("*") if each.is_file()) if path.is_dir() else [path] * path.is_file()
"""
# Reports that all tests of a shard passed, and records the shard that was requested.
_NOX = """
import json, sys
from pathlib import Path
from brainscore_ci.planning.plan import Plan
from brainscore_ci.reporting.results import PluginResult, Results
given = dict(zip(sys.argv, sys.argv[1:]))
folder, shard = Path(given["--results"]), int(given["--shard"])
folder.mkdir()
tasks = Plan.from_json(Path(given["--plan"]).read_text()).tests if shard == 0 else ()
results = [PluginResult(plugin=task.plugin, status="passed", n_passed=1) for task in tasks]
(folder / f"shard-{shard}.json").write_text(Results(tuple(results), ()).to_json())
(folder / "asked.txt").write_text(json.dumps({"shard": shard}))
"""
_INPUTS = {
    "actions/checkout": "fetch-depth persist-credentials ref",
    "actions/setup-python": "python-version",
    "actions/upload-artifact": "name path if-no-files-found overwrite retention-days",
    "actions/download-artifact": "name pattern path merge-multiple",
    "actions/upload-pages-artifact": "name path",
    "actions/deploy-pages": "artifact_name",
    "aws-actions/configure-aws-credentials": "role-to-assume aws-region output-credentials output-env-credentials",
}
_OUTPUTS = {
    "actions/deploy-pages": "page_url",
    "aws-actions/configure-aws-credentials": "aws-access-key-id aws-secret-access-key aws-session-token",
}


def git(folder, *arguments, **options):
    """Run git and return its output."""
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout.strip()


TEST = "def test_it():\n    assert 2 + 2 == 4\n"


class Project:
    """A work tree with this repository's workflow files and library, and its own small plugins."""

    def __init__(self, path):
        self.path = path
        self.library = path / "vision/brainscore_vision"

    def write(self, path, text):
        file = self.path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text), encoding="utf-8")

    def plugin(self, name, registers="", test=TEST, **modules):
        """Write a plugin such as 'models/pixels' with the lines of its `__init__.py` and its tests."""
        self.write(f"vision/brainscore_vision/{name}/__init__.py", registers)
        self.write(f"vision/brainscore_vision/{name}/test.py", test)
        for module, text in modules.items():
            self.write(f"vision/brainscore_vision/{name}/{module}.py", text)

    def edit(self, path, old, new):
        text = (self.path / path).read_text(encoding="utf-8")
        assert old in text
        (self.path / path).write_text(text.replace(old, new), encoding="utf-8")

    def policy(self, line):
        """Change the policy on main, before the change under test."""
        self.edit("pyproject.toml", "[tool.brainscore.ci]\n", f"[tool.brainscore.ci]\n{line}\n")
        return self.commit("decide")

    def commit(self, message="a change"):
        """Commit everything and return the commit."""
        git(self.path, "add", "--all", "--force", ".")
        git(self.path, "commit", "-q", "--allow-empty", "-m", message)
        return git(self.path, "rev-parse", "HEAD")

    def change_model(self, name="network"):
        self.edit(f"vision/brainscore_vision/models/{name}/model.py", "depth = 1", "depth = 2")

    def commit_change(self):
        """Change a model; return the commits before and after."""
        before = self.commit("before")
        self.change_model()
        return before, self.commit("after")

    def branch(self, name, start="main"):
        git(self.path, "checkout", "-q", "-B", name, start)


BENCHMARK = """
    from brainscore_core.benchmarks import BenchmarkBase
    from brainscore_core.metrics import Score


    class Benchmark(BenchmarkBase):
        def __init__(self, identifier):
            reference = "@article{lab2024, title={Small}, author={Lab}, journal={J}, year={2024}}"
            super().__init__(identifier, ceiling_func=lambda: 0.5, version=1, bibtex=reference)

        def __call__(self, candidate):
            score = Score(0.5)
            score.attrs.update(raw=Score(0.25), ceiling=self.ceiling)
            return score
"""
MODEL = """
    from brainscore_vision.testing import RandomModel


    class Model(RandomModel):
        # A network.
        identifier = "{name}"
        depth = 1
"""
METRIC = """
    from brainscore_core.metrics import Score


    class Similarity:
        def __call__(self, source, target):
            return Score(0.5)
"""


def write_project(path):
    """Write the initial state of all projects."""
    ignored = shutil.ignore_patterns("__pycache__", "*.so", "tests")  # a small project has only its own tests
    for part in COPIED:
        shutil.copytree(ROOT / part, path / part, ignore=ignored)
    for name in ("noxfile.py", "constraints.txt"):
        shutil.copy(ROOT / name, path / name)
    project = Project(path)
    for folder in PLUGIN_FOLDERS:
        for plugin in (project.library / folder).iterdir():
            if plugin.is_dir():
                shutil.rmtree(plugin)
    project.write(
        "pyproject.toml",
        """
        [tool.brainscore.ci]
        libraries = ["vision/brainscore_vision"]
        representatives = ["benchmarks/unrelated", "models/pixels"]
        reference-models = ["pixels"]
        reference-benchmarks = ["Unrelated"]
        leaderboard = ["web"]
        """,
    )
    project.write("README.md", "A small project.\n")
    project.plugin(
        "data/recordings",
        'from brainscore_vision import data_registry\n\ndata_registry["Recordings"] = lambda: 1\n',
        """
        import os

        import pytest


        def test_public():
            assert 2 + 2 == 4


        @pytest.mark.private_access
        def test_private():
            assert os.environ["BRAINIO_HOME"]
        """,
    )
    project.plugin(
        "metrics/similarity",
        "from brainscore_vision import metric_registry\n\nfrom .metric import Similarity\n\n"
        'metric_registry["similarity"] = Similarity\n',
        metric=METRIC,
    )
    for name, identifier, uses in (("experiment", "Experiment", True), ("unrelated", "Unrelated", False)):
        used = '\n\ndef parts():\n    return load_dataset("Recordings"), load_metric("similarity")\n' if uses else ""
        load = "from brainscore_vision import load_dataset, load_metric\n" if uses else ""
        project.plugin(
            f"benchmarks/{name}",
            "from brainscore_vision import benchmark_registry\n\nfrom .benchmark import Benchmark\n\n"
            f'benchmark_registry["{identifier}"] = lambda: Benchmark("{identifier}")\n',
            benchmark=load + textwrap.dedent(BENCHMARK) + used,
        )
    for name in ("network", "pixels"):
        project.plugin(
            f"models/{name}",
            "from brainscore_vision import model_registry\n\nfrom .model import Model\n\n"
            f'model_registry["{name}"] = Model\n',
            model=MODEL.format(name=name),
        )
    git(path.parent, "init", "-q", "-b", "main", str(path))
    git(path, "config", "user.name", "Test")
    git(path, "config", "user.email", "test@example.org")
    project.commit("start")
    return project


@pytest.fixture(scope="session")
def start(tmp_path_factory):
    return write_project(tmp_path_factory.mktemp("start") / "project").path


@pytest.fixture(scope="session")
def byte_code(start, tmp_path_factory):
    """Compile the project once for all jobs; by the hash in each file Python checks that a job's source is equal."""
    folder = tmp_path_factory.mktemp("byte_code")
    command = [sys.executable, "-m", "compileall", "-q", "--invalidation-mode", "checked-hash", str(start)]
    subprocess.run(command, check=True, env={**os.environ, "PYTHONPYCACHEPREFIX": str(folder)})
    return (folder / start.relative_to("/")).rename(folder / "project").parent


def clone_project(source, path):
    git(path.parent, "clone", "-q", str(source), str(path))
    git(path, "config", "user.name", "Test")
    git(path, "config", "user.email", "test@example.org")
    return Project(path)


@pytest.fixture
def project(start, tmp_path):
    """Return a work tree on the branch main, to be changed by a test."""
    return clone_project(start, tmp_path / "project")


@dataclass
class Job:
    """The outcome of one job, or of one row of its matrix.

    Attributes
    ----------
    result : str
        'success', 'failure' or 'skipped'.
    steps : dict of str to str
        Name -> result.
    log, summary : str
    outputs : dict of str to str
        Outputs of its steps.
    annotations : list of str
        Errors, warnings and notices that GitHub would show.
    """

    result: str = ""
    steps: dict = field(default_factory=dict)
    log: str = ""
    summary: str = ""
    outputs: dict = field(default_factory=dict)
    annotations: list = field(default_factory=list)


@dataclass
class Run:
    """The outcome of a run.

    Attributes
    ----------
    jobs : dict of str to list of Job
        Identifier of the job -> one for each row of its matrix.
    text : str
        Everything that act printed, to search for texts that must not appear.
    artifacts, origin : Path
        Folder of the artifacts, and the repository that served as the run's origin.
    """

    jobs: dict
    text: str
    artifacts: Path
    origin: Path

    @property
    def results(self):
        """Job -> its result; for a matrix, the worst."""
        order = ("", "failure", "success", "skipped")
        return {name: min((row.result for row in rows), key=order.index) for name, rows in self.jobs.items()}

    @property
    def story(self):
        """Readable account of the run, for failed assertions."""
        told = []
        for name, rows in self.jobs.items():
            for row in rows:
                steps = ", ".join(f"{step}: {result}" for step, result in row.steps.items())
                told.append(f"{name}: {row.result} ({steps})\n{textwrap.indent(row.log[-3000:], '    ')}")
        fatal = [line for line in self.text.splitlines() if not line.startswith("{") or '"level":"fatal"' in line]
        return "\n".join([*told, *fatal])[-20_000:]

    def log(self, job):
        return "\n".join(row.log for row in self.jobs[job])

    def summary(self, job):
        return "\n".join(row.summary for row in self.jobs[job])

    @property
    def plan(self):
        return Plan.from_json((self.artifacts / "plan/plan.json").read_bytes())

    @property
    def pages(self):
        """Folder of the published pages."""
        return self.artifacts.parent / "pages"

    @property
    def tested(self):
        """Plugins whose tests are planned."""
        return {str(task.plugin) for task in self.plan.tests}


def read_log(text):
    """Return the jobs described by the JSON lines that act prints."""
    rows = {}
    for line in text.splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, dict) and entry.get("jobID"):
            note(rows.setdefault((entry["jobID"], entry.get("job")), Job()), entry)
    jobs = {}
    for (name, _), row in rows.items():
        if row.steps:  # act has one result for a whole matrix; a row's result follows from its steps
            row.result = "failure" if "failure" in row.steps.values() else "success"
        jobs.setdefault(name, []).append(row)
    return jobs


def note(row, entry):
    """Add one line of the log to a job."""
    command, message = entry.get("command"), entry.get("msg", "")
    row.result = entry.get("jobResult", row.result)
    if entry.get("stage") == "Main" and entry.get("stepResult") and len(entry.get("stepID", [])) == 1:
        row.steps[entry["step"]] = entry["stepResult"]
    if command == "summary":
        row.summary += entry.get("content", "")
    elif command == "set-output":
        row.outputs[entry["name"]] = str(entry.get("arg", ""))
    elif command in ("error", "warning", "notice"):
        row.annotations.append(message)
    if entry.get("raw_output") or entry.get("level") in ("error", "fatal"):
        row.log += message.rstrip("\n") + "\n"


def only_loopback():
    """Leave the network if this process may; runs in the child process."""
    if sys.platform != "linux" or ctypes.CDLL(None).unshare(0x40000000) != 0:  # CLONE_NEWNET
        return
    import fcntl

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        fcntl.ioctl(sock, 0x8914, struct.pack("16sh14x", b"lo", 0x1 | 0x40))  # SIOCSIFFLAGS: up and running


def write_programs(folder, modules_of, stand_in_nox=False):
    """Write `python` and `nox` for the jobs of one run.

    Nothing is installed: `python -m pip install` only records the request. A session of nox has all packages,
    taken from the work tree; any other step finds only its job's packages and its own PYTHONPATH.
    """
    folder.mkdir()
    shutil.copytree(Path(__file__).parents[1] / "apart", folder / "apart", ignore=shutil.ignore_patterns("__pycache__"))
    packages = ":".join(f"$GITHUB_WORKSPACE/{name}" for name in ("core", "vision", "scripts", "web"))
    asked_for = 'grep -qs "requirements/{}.txt" "$GITHUB_WORKSPACE/.git/installed"'
    locks = {lock: ",".join(modules_of(lock)) for lock in ("light", "data", "nox")}
    installed = "\n            ".join(f"{asked_for.format(lock)} && export INSTALLED={locks[lock]}" for lock in locks)
    shim = f"""#!/bin/bash
        case "$*" in *"-m pip install "*) echo "${{*#*-m }}" >> "$GITHUB_WORKSPACE/.git/installed"; exit 0;; esac
        export PYTHONPYCACHEPREFIX="$BYTE_CODE"
        if [ -n "$IN_NOX" ]; then
            export PYTHONPATH="{packages}"
        else
            {installed}
            export PYTHONPATH="${{0%/*}}/apart:$PYTHONPATH"
        fi
        exec {shlex.quote(sys.executable)} "$@"
        """
    nox = f"""#!/bin/bash
        {asked_for.format("nox")} || {{ echo "nox is not installed"; exit 127; }}
        exec env -u PYTHONPATH IN_NOX=1 {shlex.quote(os.environ["NOX"])} --no-error-on-missing-interpreters "$@"
        """
    if stand_in_nox:
        nox = """#!/bin/bash
        IN_NOX=1 exec "${0%/*}/python" "${0%/*}/nox.py" "$@"
        """
        (folder / "nox.py").write_text(_NOX, encoding="utf-8")
    for name, text in (("python", shim), ("nox", nox)):
        (folder / name).write_text(textwrap.dedent(text).replace("\n        ", "\n"), encoding="utf-8")
        (folder / name).chmod(0o755)


def write_action(folder, name):
    """Write a replacement of an action."""
    folder.mkdir(parents=True)
    code = _ACTION + textwrap.dedent(ACTIONS[name])
    (folder / "action.py").write_text(code, encoding="utf-8")
    known = _INPUTS[name]
    content = {
        "name": name,
        "description": "stands in",
        "outputs": {
            key: {"description": key, "value": f"${{{{ steps.main.outputs.{key} }}}}"}
            for key in _OUTPUTS.get(name, "").split()
        },
        "inputs": {key: {"description": key, "required": False} for key in known.split()},
        "runs": {
            "using": "composite",
            "steps": [
                {
                    "id": "main",
                    "shell": "bash",
                    "env": {"GIVEN": "${{ toJSON(inputs) }}", "KNOWN": known, "HERE": "${{ github.action_path }}"},
                    "run": f'{shlex.quote(sys.executable)} -I "$HERE/action.py"',
                }
            ],
        },
    }
    (folder / "action.yml").write_text(json.dumps(content), encoding="utf-8")  # JSON is YAML


class GitHub:
    """Runs workflows of a project as GitHub would."""

    def __init__(self, project, folder, modules_of, byte_code):
        self.project, self.folder, self.modules_of, self.byte_code = project, folder, modules_of, byte_code
        self.origin = folder / "origin" / REPOSITORY
        self.runs = 0

    def make_origin(self, *how):
        git(self.folder, *how, "-q", "--bare", str(self.origin))
        git(self.origin, "config", "uploadpack.allowAnySHA1InWant", "true")

    def publish(self, **references):
        """Set references of the origin, such as heads/main, to commits of the work tree."""
        if not self.origin.exists():
            self.make_origin("init", "-b", "main")
        names = {name.replace("__", "/"): commit for name, commit in references.items()}
        git(self.project.path, "push", "-q", "--force", str(self.origin), *(f"{c}:refs/{n}" for n, c in names.items()))

    def pull_request(self, head="change", base="main", *, labels=(), fork=False, workflow="plugins", **options):
        """Run a workflow on a pull request, on the commit that GitHub makes by merging it."""
        path = self.project.path
        base_sha, head_sha = (git(path, "rev-parse", name) for name in (base, head))
        tree = git(path, "merge-tree", "--write-tree", base_sha, head_sha).splitlines()[0]
        merge = git(path, "commit-tree", tree, "-p", base_sha, "-p", head_sha, "-m", "merge")
        self.publish(heads__main=base_sha, pull__7__head=head_sha, pull__7__merge=merge)
        payload = {
            "action": "synchronize",
            "number": 7,
            "pull_request": {
                "number": 7,
                "labels": [{"name": label} for label in labels],
                "base": {"ref": "main", "sha": base_sha},
                "head": {"ref": head, "sha": head_sha, "repo": {"fork": fork}},
            },
        }
        return self.run(workflow, "pull_request", payload, merge, **options)

    def merge_group(self, head="change", base="main", **options):
        base_sha, head_sha = (git(self.project.path, "rev-parse", name) for name in (base, head))
        self.publish(heads__main=base_sha, heads__queue=head_sha)
        queue = {"base_ref": "refs/heads/main", "base_sha": base_sha, "head_ref": "refs/heads/queue"}
        payload = {"action": "checks_requested", "merge_group": {**queue, "head_sha": head_sha}}
        return self.run("plugins", "merge_group", payload, head_sha, **options)

    def push(self, before, after, *, forced=False, **options):
        self.publish(heads__main=after)
        payload = {"ref": "refs/heads/main", "before": before, "after": after, "forced": forced}
        return self.run("score", "push", payload, after, **options)

    def dispatch(self, workflow, head, inputs=None, **options):
        self.publish(heads__main=head)
        payload = {"ref": "refs/heads/main", "inputs": inputs or {}}
        return self.run(workflow, "workflow_dispatch", payload, head, **options)

    def run(
        self,
        workflow,
        event,
        payload,
        commit,
        *,
        secrets=None,
        variables=None,
        environment=None,
        stand_in_nox=False,
        beside="",
    ):
        """Run a workflow file as it is at a commit.

        `environment` is added to each of its steps; `beside` is a Python program that runs at the same time, in
        the same network, such as a replacement of GitHub's API.
        """
        self.runs += 1
        folder = self.folder / f"run{self.runs}"
        work, artifacts, bin_folder = folder / "work", folder / "artifacts", folder / "bin"
        for each in (artifacts, folder / "home", folder / "cwd"):
            each.mkdir(parents=True)
        git(folder, "clone", "-q", "--no-checkout", str(self.origin), str(work))
        git(work, "fetch", "-q", "origin", commit)
        git(
            work, "sparse-checkout", "set", ".github"
        )  # act copies this folder for each job; jobs make their own checkout
        git(work, "checkout", "-q", "--detach", commit)
        git(work, "remote", "set-url", "origin", f"https://github.com/{REPOSITORY}")
        write_programs(bin_folder, self.modules_of, stand_in_nox)
        file = work / f".github/workflows/{workflow}.yml"
        # act 0.2.89 does not support GitHub's `$/` (this repository at the running commit): write its long name.
        text = file.read_text(encoding="utf-8")
        text = re.sub(r"uses: \$/(\S+)", rf"uses: {REPOSITORY}/\1@{commit}", text)
        file.write_text(text, encoding="utf-8")
        command = [os.environ["ACT"], event, "-C", str(work), "-W", str(file.relative_to(work)), "--json", "--verbose"]
        command += ["--no-skip-checkout", "--rm", "--pull=false", "--action-offline-mode", "--concurrent-jobs=1"]
        command += ["--insecure-secrets"]  # masked values could not be found
        command += ["--action-cache-path", str(folder / "cache"), "--container-daemon-socket", "-", "--no-cache-server"]
        for name in ("var-file", "input-file", "env-file"):
            command += [f"--{name}", os.devnull]
        for label in ("ubuntu-24.04", "macos-15", "windows-2025"):
            command += ["-P", f"{label}=-self-hosted"]
        used = [file, *work.glob(".github/actions/*/action.yml")]
        command += ["--local-repository", f"{REPOSITORY}@{commit}={work}"]
        for name, sha in sorted({pair for each in used for pair in USES.findall(each.read_text(encoding="utf-8"))}):
            write_action(folder / "actions" / name, name)
            command += ["--local-repository", f"{name}@{sha}={folder / 'actions' / name}"]
        instead = f'[url "{(self.folder / "origin").as_uri()}/"]\n\tinsteadOf = https://github.com/\n'
        (folder / "home/.gitconfig").write_text(f"[safe]\n\tdirectory = *\n{instead}")
        actor = {"login": "somebody"}
        repository = {"full_name": REPOSITORY, "name": "brain", "owner": {"login": "lab"}, "default_branch": "main"}
        (folder / "event.json").write_text(json.dumps({**payload, "repository": repository, "sender": actor}))
        (folder / "secrets").write_text("".join(f"{key}={value}\n" for key, value in (secrets or {}).items()))
        command += ["-e", str(folder / "event.json"), "--secret-file", str(folder / "secrets")]
        command += ["--env", f"GITHUB_REPOSITORY={REPOSITORY}", "--env", f"GITHUB_SHA={commit}"]
        for key, value in (environment or {}).items():
            command += ["--env", f"{key}={value}"]
        for key, value in {"RULESET": "true", **(variables or {})}.items():
            command += ["--var", f"{key}={value}"]
        surroundings = {
            "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(folder / "home"),
            "TMPDIR": str(folder),
            "ARTIFACTS": str(artifacts),
            "BYTE_CODE": str(self.byte_code),
            "BRAINSCORE_PYTHON": str(bin_folder / "python"),
            "BS_INSTALL_DEPENDENCIES": "no",
            "OMP_NUM_THREADS": "1",
            "DOCKER_HOST": "unix:///nonexistent",
        }
        if beside:
            command = ["bash", "-c", '"$0" -c "$1" & "${@:2}"', sys.executable, beside, *command]
        log = folder / "log.jsonl"
        with log.open("wb") as sink:
            process = subprocess.Popen(
                command,
                cwd=folder / "cwd",
                env=surroundings,
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=only_loopback,
            )
            try:
                process.wait(SECONDS)
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, 9)  # its own session contains only this run
        text = log.read_text(encoding="utf-8", errors="replace")
        return Run(read_log(text), text, artifacts, self.origin)


@pytest.fixture
def github(project, tmp_path, modules_of, byte_code):
    return GitHub(project, tmp_path, modules_of, byte_code)


@pytest.fixture(scope="session")
def first_push(start, tmp_path_factory, modules_of, byte_code):
    """Push a change of a model; return the GitHub, the commits before and after, and the run that scored it."""
    folder = tmp_path_factory.mktemp("first_push")
    github = GitHub(clone_project(start, folder / "project"), folder, modules_of, byte_code)
    commits = github.project.commit_change()
    return github, commits, github.push(*commits, variables={"LEADERBOARD": "true"})


@pytest.fixture
def scored(first_push, tmp_path, modules_of, byte_code):
    """Return a separate GitHub in the state after the first push, and the commits of that push."""
    first, commits, _ = first_push
    github = GitHub(clone_project(first.project.path, tmp_path / "project"), tmp_path, modules_of, byte_code)
    github.make_origin("clone", str(first.origin))
    return github, *commits
