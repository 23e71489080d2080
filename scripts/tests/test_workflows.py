"""Check the workflow files, and the one action they share, against the house rules.

Rules that linters check are left to them (`nox -s workflows`).
"""

import contextlib
import itertools
import json
import os
import re
import subprocess
import sys
import tomllib
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
ACTION = ROOT / ".github/actions/prepare/action.yml"
LOCKS = ROOT / ".github/requirements"
FILES = [*sorted((ROOT / ".github/workflows").glob("*.y*ml")), ACTION]
PREPARE = "$/.github/actions/prepare"  # taken from the running commit, so it needs no checkout
RULES = {}
FOR_ACTIONS = set()  # rules that also apply to the action

# Only these may write to pull requests, to the repository, or ask for an identity; each grant is a decision.
GRANTS = {
    "reconcile": {"pull-requests", "actions"},
    "reconcile.merge": {"pull-requests", "contents"},  # only this job
    "score": {"contents", "id-token", "pages"},
    "submission": {"contents", "issues", "pull-requests"},
    "release": {"id-token", "attestations"},
}
COMMANDS = ("nox ", "python -m ", "python -I -m pip ", "python scripts/")
# A job's installation decides which commands it may start; the gate must work even if nothing can be installed.
INSTALLS = {
    "nox": ("nox -s ", "python -m brainscore_ci open_data "),
    "light": ("python scripts/", "python -m brainscore_ci "),
    "data": ("python -m brainscore_ci fetch_data ",),
    "nothing": ("python scripts/gate.py",),
}
FORBIDDEN_TRIGGERS = {"pull_request_target", "workflow_run", "issue_comment", "repository_dispatch", "workflow_call"}
IGNORES = r"zizmor:\s*ignore|shellcheck\s+disable|actionlint:|yamllint|noqa|nosec"


@dataclass(frozen=True)
class Workflow:
    """A workflow file or an action, as text and parsed; the steps of an action count as its one job."""

    name: str
    text: str

    @cached_property
    def content(self):
        return yaml.safe_load(self.text)

    @property
    def triggers(self):
        on = self.content.get("on", self.content.get(True))  # YAML 1.1 reads the key `on` as true
        return {on: None} if isinstance(on, str) else dict.fromkeys(on) if isinstance(on, list) else on

    @property
    def is_action(self):
        return "runs" in self.content

    @property
    def jobs(self):
        return {self.name: self.content["runs"]} if self.is_action else self.content["jobs"]

    @property
    def steps(self):
        return [(job, number, step) for job, entry in self.jobs.items() for number, step in enumerate(entry["steps"])]

    @property
    def runs(self):
        return [(f"{job}[{number}]", step["run"]) for job, number, step in self.steps if "run" in step]

    def lines(self, pattern):
        return [line for line in self.text.splitlines() if re.search(pattern, line)]


def rule(function):
    """Add a rule for workflow files."""
    RULES[function.__name__] = function
    return function


def rule_for_actions_too(function):
    FOR_ACTIONS.add(function.__name__)
    return rule(function)


def strings(value):
    """Return every text in a structure, including keys."""
    if isinstance(value, dict):
        return [text for key, each in value.items() for text in (str(key), *strings(each))]
    return [text for each in value for text in strings(each)] if isinstance(value, list) else [str(value)]


@rule_for_actions_too
def names(flow):
    if not flow.content.get("name"):
        yield "the file has no name"
    if not flow.is_action:
        yield from (f"{job} has no name" for job, entry in flow.jobs.items() if not entry.get("name"))
    yield from (f"{job}[{number}] has no name" for job, number, step in flow.steps if not step.get("name"))


@rule
def permissions(flow):
    if flow.content.get("permissions") != {}:
        yield "permissions at the top are not {}"
    for job, entry in flow.jobs.items():
        if not isinstance(entry.get("permissions"), dict):
            yield f"{job} does not list its permissions"
            continue
        granted = {scope for scope, access in entry["permissions"].items() if access != "none"}
        writes = {scope for scope in granted if entry["permissions"][scope] == "write"}
        if not set(entry["permissions"].values()) <= {"read", "write", "none"}:
            yield f"{job}: unknown access"
        if writes - GRANTS.get(f"{flow.name}.{job}", GRANTS.get(flow.name, set())):
            yield f"{job} may write {writes}"
        if granted != {"contents"} and {"pull_request", "merge_group"} & flow.triggers.keys():
            yield f"{job} runs code of a pull request with {granted}"
    lines = [line for line in flow.lines(r"^ +[^#]*\b[a-z-]+: (read|write)\b") if re.search(r" # \w+ \w+", line)]
    grants = sum(len(entry["permissions"]) for entry in flow.jobs.values() if entry.get("permissions"))
    if len(lines) != grants:
        yield f"{len(lines)} lines with a reason for {grants} grants: each needs a line and a reason"


@rule_for_actions_too
def identity(flow):
    for job, entry in flow.jobs.items():
        own_code = any("run" in step for step in entry["steps"])
        if "id-token" in (entry.get("permissions") or {}) and own_code and "environment" not in entry:
            yield f"{job} runs our code with an identity, outside an environment"
        used = any("secrets." in text or "secrets[" in text for text in strings(entry))
        if used and "environment" not in entry:
            yield f"{job} uses a secret outside an environment"


@rule
def credentials(flow):
    """Only the one step that fetches data, and runs no plugin, has credentials; no other step can find them."""
    for job, entry in flow.jobs.items():
        roles = [step for step in entry["steps"] if "/configure-aws-credentials@" in step.get("uses", "")]
        for step in roles:
            given = step["with"]
            if (given.get("output-credentials"), given.get("output-env-credentials")) != (True, False):
                yield f"{job} gives credentials to all of its steps"
        if any("AWS_" in text for text in strings([flow.content.get("env") or {}, entry.get("env") or {}])):
            yield f"{job} has variables of AWS in all of its steps"
        for number, step in enumerate(entry["steps"]):
            has_any = step not in roles and any(re.search(r"AWS_|aws-", text) for text in strings(step))
            does = re.fullmatch(r"python -m brainscore_ci (\w+) [^\n]+", step.get("run", ""))
            command = does[1] if does else ""
            if has_any and not (roles and command == "fetch_data"):
                yield f"{job}[{number}] has credentials and does more than fetch"
            if "secrets." in str(step) and command != "open_data":
                yield f"{job}[{number}] has a secret and does more than open data"


@rule
def separation(flow):
    """Jobs that run plugins have no write access or identity; jobs that publish pages run only pinned actions.

    GitHub lets each step of a job with `id-token` ask for an identity, and the request's token is in processes that a
    plugin could read, whatever variables the plugin itself has.
    """
    for job, entry in flow.jobs.items():
        given = entry.get("permissions") or {}
        writes = {scope for scope, access in given.items() if access == "write"}
        prepared = (step.get("with", {}) for step in entry["steps"] if step.get("uses") == PREPARE)
        runs_plugins = any(step.get("run", "").startswith("nox ") for step in entry["steps"])
        if writes and (runs_plugins or any(given.get("install") == "nox" for given in prepared)):
            yield f"{job} may write {writes} and runs plugins"
        if "contents" in writes and "push" in flow.triggers and "vars.RULESET == 'true'" not in entry.get("if", ""):
            yield f"{job} may write to the code of a repository that no ruleset protects"
        if "pages" in given and any("run" in step or step.get("uses") == PREPARE for step in entry["steps"]):
            yield f"{job} publishes pages and runs what is ours"


@rule
def concurrency(flow):
    stated = flow.content.get("concurrency")
    if not isinstance(stated, dict) or "cancel-in-progress" not in stated or "group" not in stated:
        yield "no concurrency with a group and cancel-in-progress"


@rule_for_actions_too
def actions(flow):
    for line in flow.lines(r"\buses\s*:"):
        own = line.strip() == f"uses: {PREPARE}" and not flow.is_action
        if not own and not re.search(r"uses: [\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$", line):
            yield f"not pinned to a commit with its version: {line.strip()!r}"
    for job, number, step in flow.steps:
        given = step.get("with") or {}
        if step.get("uses", "").startswith("actions/checkout@") and given.get("persist-credentials") is not False:
            yield f"{job}[{number}] keeps credentials"
        if step.get("uses", "").startswith("actions/cache") or any("cache" in key for key in given):
            yield f"{job}[{number}] uses a cache"
    yield from (f"{job} calls another workflow" for job, entry in flow.jobs.items() if "uses" in entry)


@rule
def prepared(flow):
    """Every job that runs our code is prepared by the shared action, once and in its first step."""
    known = yaml.safe_load(ACTION.read_text(encoding="utf-8"))["inputs"]
    for job, entry in flow.jobs.items():
        used = [number for number, step in enumerate(entry["steps"]) if step.get("uses") == PREPARE]
        runs = [line for step in entry["steps"] for line in step.get("run", "").splitlines()]
        if used != [0] * bool(runs):
            yield f"{job} is not prepared in its first step, or more than once"
            continue
        given = {name: entry["default"] for name, entry in known.items()}
        given |= entry["steps"][0].get("with", {}) if used else {}
        yield from (f"{job}: unknown input {name}" for name in given.keys() - known.keys())
        if given["install"] not in INSTALLS or given["plan"] not in ("true", "false"):
            yield f"{job} asks for {given}"
            continue
        yield from (
            f"{job} has no means for {line!r}" for line in runs if not line.startswith(INSTALLS[given["install"]])
        )
        from_checkout = given["install"] != "nox" and runs
        if from_checkout and not entry.get("env", {}).get("PYTHONPATH", "").startswith("core:scripts"):
            yield f"{job} runs from the checkout, which is not on its path"


@rule_for_actions_too
def commands(flow):
    for where, run in flow.runs:
        lines = run.strip().splitlines()
        if len(lines) > 3:
            yield f"{where} has {len(lines)} lines"
        if "${{" in run:
            yield f"{where} has an expression in its command; use env"
        yield from (f"{where} calls {line!r}" for line in lines if not line.startswith(COMMANDS))
        # Without -I, Python would run a package of that name in its working directory.
        yield from (f"{where} runs any pip: {line!r}" for line in lines if line.startswith("python -m pip"))
        yield from (f"{where} does more than call: {line!r}" for line in lines if re.search(r"[;&|<>`]|\$\(", line))
        for script in re.findall(r"python (scripts/\S+)", run):
            if not (ROOT / script).is_file():
                yield f"{where} calls {script}, which is not there"
        known = re.findall(r"^def (\w+)\(session", (ROOT / "noxfile.py").read_text(), re.MULTILINE)
        sessions = [name for group in re.findall(r"nox -s ((?:\w+ ?)+)", run) for name in group.split()]
        if '"$SESSION"' in run:
            sessions += flow.jobs[where.partition("[")[0]]["strategy"]["matrix"]["session"]
        yield from (f"{where}: no session {name}" for name in sessions if name not in known)


@rule_for_actions_too
def hashes(flow):
    """Only distributions pinned in a lock with their digests are installed."""
    locked = r"python -I -m pip install --no-compile --require-hashes --requirement \"\S+/requirements/\$\w+\.txt\""
    for where, run in flow.runs:
        yield from (
            f"{where} installs without hashes: {line!r}"
            for line in run.splitlines()
            if "install" in line and line.startswith("python -I") and not re.fullmatch(locked, line)
        )


@rule_for_actions_too
def steps(flow):
    for job, number, step in flow.steps:
        # Jobs use the default shell of their file; an action has no default and must name its shell.
        if step.get("shell") != ("bash" if flow.is_action and "run" in step else None):
            yield f"{job}[{number}]: its shell is {step.get('shell')}"
        if "continue-on-error" in step:
            yield f"{job}[{number}] hides errors"


@rule
def jobs(flow):
    if flow.content.get("defaults") != {"run": {"shell": "bash"}}:
        yield "defaults.run.shell is not bash"
    if not (flow.content.get("env") or {}).get("PYTHONPYCACHEPREFIX"):
        yield "byte code beside the sources would be run"
    for job, entry in flow.jobs.items():
        if "PYTHONPYCACHEPREFIX" in (entry.get("env") or {}):
            yield f"{job} looks for byte code elsewhere"
        if not isinstance(entry.get("timeout-minutes"), int) or not 0 < entry["timeout-minutes"] < 360:
            yield f"{job} has no timeout below the 6 hours of GitHub"
        if "latest" in str(entry["runs-on"]) or "self-hosted" in str(entry["runs-on"]):
            yield f"{job} runs on {entry['runs-on']}"
        if "defaults" in entry:
            yield f"{job} has a shell of its own"
        if "continue-on-error" in entry:
            yield f"{job} hides errors"


@rule
def triggers(flow):
    yield from (f"trigger {name}" for name in sorted(FORBIDDEN_TRIGGERS & flow.triggers.keys()))
    for name in ("pull_request", "merge_group"):
        filters = {"paths", "paths-ignore", "branches", "branches-ignore"} & (flow.triggers.get(name) or {}).keys()
        if filters:
            yield f"{name} has filters, so the required check would never come: {filters}"
    if ("pull_request" in flow.triggers) != ("merge_group" in flow.triggers):
        yield "a workflow for pull requests has to run in the merge queue too, and the other way round"


@rule_for_actions_too
def expressions(flow):
    texts = re.findall(r"\$\{\{(.*?)\}\}", flow.text, re.DOTALL)
    yield from (f"contains() compares parts of texts: {text.strip()!r}" for text in texts if "contains(" in text)
    if re.search(r"secrets:\s*inherit|write-all|read-all|uses:\s*[\"']?\.", flow.text):
        yield "secrets: inherit, write-all, read-all or uses: ./, which is whatever lies in the folder by then"
    yield from (f"ignores a linter: {line.strip()!r}" for line in flow.lines(IGNORES))


@rule
def matrices(flow):
    for job, entry in flow.jobs.items():
        if "matrix" not in entry.get("strategy", {}):
            continue
        if entry["strategy"].get("fail-fast") is not False:
            yield f"{job}: one row that fails stops the others"
        for planner in re.findall(r"fromJSON\(needs\.(\w+)\.", str(entry["strategy"])):
            guard = rf"needs\.{planner}\.result == 'success' && needs\.{planner}\.outputs\.\w+ != '0'"
            if not re.search(guard, str(entry.get("if"))):
                yield f"{job}: an empty matrix, or one that could not be planned, is not guarded"


@rule
def artifacts(flow):
    uploads = [step["with"] for _, _, step in flow.steps if step.get("uses", "").startswith("actions/upload-artifact@")]
    kept = [given["name"] for given in uploads]
    for given in uploads:
        if given.get("if-no-files-found") != "error":
            yield f"artifact {given['name']} may be missing without a word"
        if given.get("overwrite") is not True:
            yield f"artifact {given['name']} stops a second attempt"
    pages = [step for _, _, step in flow.steps if step.get("uses", "").startswith("actions/upload-pages-artifact@")]
    for step in pages:  # this action cannot overwrite an artifact
        if "${{ github.run_attempt }}" not in step["with"].get("name", ""):
            yield f"the pages of {step['with'].get('path')} stop a second attempt"
    plain = [re.sub(r"\$\{\{.*?\}\}", "", name) for name in kept]
    yield from (f"artifact name {name!r}" for name in plain if not re.fullmatch(r"[a-z-]+", name))
    # Only one of the two scoring jobs ever runs.
    twice = {name for name, number in Counter(kept).items() if number > 1} - {"records-${{ matrix.shard.index }}"}
    yield from (f"artifact {name} is uploaded twice" for name in sorted(twice))


@rule
def gates(flow):
    if "pull_request" not in flow.triggers or len(flow.jobs) == 1:
        return
    gate = flow.jobs.get("gate")
    if gate is None:
        yield "no job gate"
        return
    others = set(flow.jobs) - {"gate"}
    if set(gate["needs"]) != others:
        yield f"the gate does not wait for {others ^ set(gate['needs'])}"
    if gate.get("if") != "${{ always() }}":
        yield "the gate can be skipped, and a skipped check counts as passed"
    decide = gate["steps"][-1]
    if set(decide["env"]["REQUIRED"].split()) != others or decide["env"]["NEEDS"] != "${{ toJSON(needs) }}":
        yield "the gate does not see all results"


def problems(flow):
    checks = {name: check for name, check in RULES.items() if not flow.is_action or name in FOR_ACTIONS}
    return [f"{name}: {problem}" for name, check in checks.items() for problem in check(flow)]


def flow_of(path):
    return Workflow("prepare" if path == ACTION else path.stem, path.read_text(encoding="utf-8"))


def test_workflow_files_are_the_expected_ones():
    expected = {"library", "nightly", "plugins", "reconcile", "release", "score", "submission"}
    assert {path.stem for path in FILES} - {"action"} == expected
    assert [path for path in (ROOT / ".github/actions").rglob("*") if path.is_file()] == [ACTION]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_workflow_follows_the_house_rules(path):
    assert problems(flow_of(path)) == []


def test_each_action_is_pinned_to_one_commit():
    pinned = {match for path in FILES for match in re.findall(r"uses: ([^@\s]+)@(\w+) # (\S+)", path.read_text())}
    assert len({name for name, _, _ in pinned}) == len(pinned)


def test_library_gate_uses_the_plan():
    """The plan compares with the base: the last push to a pull request is only a part of its change."""
    flow = flow_of(ROOT / ".github/workflows/library.yml")
    plan, gate = flow.jobs["plan"]["steps"][-1], flow.jobs["gate"]["steps"][-1]
    assert "event.before" not in flow.text
    assert plan["run"].startswith('python scripts/plan.py --event "$EVENT" --base "$BASE" --head "$HEAD"')
    jobs = set(flow.jobs) - {"plan", "gate"}
    library = "${{ needs.plan.outputs.library }}"
    assert json.loads(gate["env"]["COUNTS"]) == dict.fromkeys(jobs, library)
    guard = "${{ needs.plan.result == 'success' && needs.plan.outputs.library != '0' }}"
    assert {flow.jobs[job]["if"] for job in jobs} == {guard}


def test_linters_have_no_configuration_files():
    found = [path for folder in (ROOT, ROOT / ".github") for path in folder.iterdir()]
    assert [path.name for path in found if re.search(r"zizmor|actionlint|shellcheckrc", path.name)] == []


def test_gate_runs_without_installed_packages():
    environment = {
        **os.environ,
        "PYTHONPATH": f"{ROOT / 'core'}:{ROOT / 'scripts'}",
        "NEEDS": '{"plan": {"result": "failure"}}',
    }
    command = [sys.executable, "-S", "scripts/gate.py"]  # -S: nothing but the standard library
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "")
    assert "job 'plan': failure" in done.stdout


def test_light_jobs_install_the_requirements_of_distributions():
    lists = {
        folder: tomllib.loads((ROOT / folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
        for folder in ("core", "scripts")
    }
    light = set(map(str, requirements_in("light")))
    own = {entry for entry in lists["scripts"] if not entry.startswith("brainscore-core")}
    assert own <= light <= own | set(lists["core"])


def requirements_in(name):
    """Return the requirements in one file of .github/requirements and in the files it includes."""
    lines = [line for line in (LOCKS / f"{name}.in").read_text("utf-8").splitlines() if not line.startswith("#")]
    included = [line.removeprefix("-r ").removesuffix(".in") for line in lines if line.startswith("-r ")]
    own = [Requirement(line) for line in lines if not line.startswith("-r ")]
    return own + [requirement for each in included for requirement in requirements_in(each)]


@pytest.mark.parametrize("name", ["light", "data", "nox"])
def test_locks_pin_all_requirements_with_hashes(name):
    """This holds on each Python and system; a lock's first lines contain its command, for people and Dependabot."""
    _, command, text = (LOCKS / f"{name}.txt").read_text("utf-8").split("\n", 2)
    options = "--universal --python-version=3.11 --generate-hashes --no-annotate"
    assert command.removeprefix("#").strip() == f"uv pip compile {options} {name}.in -o {name}.txt"
    updates = yaml.safe_load((ROOT / ".github/dependabot.yml").read_text())["updates"]
    assert [f"/{LOCKS.relative_to(ROOT)}"] in [entry["directories"] for entry in updates]
    pins = []
    for entry in re.split(r"\n(?=\w)", text.strip()):
        pin, *hashes = entry.split(" \\\n    --hash=")
        assert {len(each) for each in hashes if re.fullmatch("sha256:[0-9a-f]+", each)} == {71}, entry
        pins.append(Requirement(pin))
    for python, system in itertools.product(("3.11", "3.14"), ("linux", "win32")):
        environment = {"python_full_version": f"{python}.0", "python_version": python, "sys_platform": system}
        versions = {
            canonicalize_name(pin.name): next(iter(pin.specifier)).version for pin in applying(pins, environment)
        }
        waiting, seen = requirements_in(name), set()
        while waiting:
            asked = waiting.pop()
            known = canonicalize_name(asked.name)
            assert asked.specifier.contains(versions[known]), asked
            if known not in seen:
                seen.add(known)
                # The requirements of a version that is not installed here are unknown.
                with contextlib.suppress(PackageNotFoundError):
                    installed = distribution(known)
                    if installed.version == versions[known]:
                        waiting += applying(map(Requirement, installed.requires or ()), environment)


def applying(requirements, environment):
    return [each for each in requirements if each.marker is None or each.marker.evaluate({**environment, "extra": ""})]


# Imports made by the commands when they run.
IMPORTS = """
from brainscore_ci.checks import runner
from brainscore_ci.jobs import collect
from brainscore_ci.planning import checkout
from brainscore_ci.reporting import reconcile, report
from brainscore_ci.submission import publish
"""
FETCHES = """
import boto3, brainscore_ci.jobs.fetch_data, brainscore_vision.__main__, brainscore_vision.catalogue.fetching, pyrage
"""
JOBS = {
    "plan": ("light", ["scripts/plan.py", "--base", "HEAD"]),
    "check": ("light", ["-m", "brainscore_ci", "check", "pixels"]),
    "others": ("light", ["-c", IMPORTS]),
    "fetch": ("data", ["-c", FETCHES]),
    "open": ("nox", ["-c", "import brainscore_ci.jobs.fetch_data, pyrage"]),
}


@pytest.mark.parametrize(("lock", "command"), JOBS.values(), ids=JOBS)
def test_jobs_need_only_installed_packages(lock, command, modules_of):
    installed = set(modules_of(lock))
    heavy = {"numpy", "pandas", "boto3"} if lock == "data" else set()
    assert {"numpy", "pandas", "xarray", "torch", "scipy", "h5py", "boto3", "sklearn"} & installed == heavy
    folders = ("scripts/tests/apart", "core", "scripts", "vision")[: 4 if lock == "data" else 3]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(str(ROOT / folder) for folder in folders),
        "GITHUB_WORKSPACE": str(ROOT),
        "INSTALLED": ",".join(installed),
    }
    done = subprocess.run(
        [sys.executable, *command], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


# Each entry breaks one rule in a file that follows all of them.
BREAKS = [
    ("names", "plugins", "name: plugins\n", ""),
    ("names", "plugins", "    name: gate\n", ""),
    ("names", "plugins", "- name: Plan\n        id", "- id"),
    ("names", "prepare", "name: prepare\n", ""),
    ("names", "prepare", "- name: Install the packages of the job\n      if", "- if"),
    ("permissions", "plugins", "permissions: {}\n", ""),
    ("permissions", "plugins", "{contents: read} # to check the code out", "{contents: read}"),
    ("permissions", "score", "id-token: write # to ask AWS for a role that may only read", "id-token: write"),
    ("permissions", "score", "{contents: write} #", "{contents: write, issues: read} #"),
    ("permissions", "plugins", "contents: read} #", "contents: write} #"),
    ("permissions", "library", "contents: read} #", "packages: read} #"),
    ("permissions", "reconcile", "contents: read #", "contents: write #"),
    ("identity", "score", "    environment: private-data\n", ""),
    ("identity", "plugins", "REQUIRED: plan", "TOKEN: ${{ secrets.TOKEN }}\n          REQUIRED: plan"),
    ("identity", "prepare", "with: {name: plan}", "with: {name: plan, token: '${{ secrets.TOKEN }}'}"),
    ("credentials", "score", "output-env-credentials: false", "output-env-credentials: true"),
    ("credentials", "score", "          output-env-credentials: false # no other step has them\n", ""),
    ("credentials", "score", "-m brainscore_ci fetch_data --plan", "-m brainscore_ci check --plan"),
    ("credentials", "score", "brainscore_ci open_data", "brainscore_ci score_pairs"),
    ("credentials", "score", 'PRIVATE_DATA: "true"', "KEY: ${{ steps.role.outputs.aws-secret-access-key }}"),
    ("credentials", "score", 'env: {PYTHONPATH: "core:scripts"}', 'env: {PYTHONPATH: "core:scripts", AWS_PROFILE: x}'),
    ("credentials", "plugins", "env: {PYTHONPYCACHEPREFIX", "env: {AWS_PROFILE: x, PYTHONPYCACHEPREFIX"),
    (
        "separation",
        "score",
        "      - name: Publish\n",
        "      - name: Ours\n        run: nox -s lint\n      - name: Publish\n",
    ),
    (
        "separation",
        "score",
        "      - name: Publish\n",
        f"      - name: Ours\n        uses: {PREPARE}\n      - name: Publish\n",
    ),
    ("separation", "score", "python scripts/collect.py --plan", "nox -s score_shard -- --plan"),
    ("separation", "score", "python -m brainscore_ci fetch_data --plan", "nox -s score_shard -- --plan"),
    ("separation", "score", "install: data", "install: nox"),
    ("separation", "score", "vars.RULESET == 'true' && ", ""),
    ("concurrency", "plugins", "  cancel-in-progress:", "  other:"),
    ("actions", "plugins", "@bbbca2ddaa5d8feaa63e36b76fdaad77386f024f # v7.0.0", "@v7"),
    ("actions", "plugins", " # v7.0.0", ""),
    ("actions", "plugins", "$/.github/actions/prepare", "./.github/actions/prepare"),
    ("actions", "plugins", "$/.github/actions/prepare", "$/.github/actions/other"),
    ("actions", "prepare", "@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1", "@v7"),
    ("actions", "prepare", " # v7.0.1", ""),
    ("actions", "prepare", "actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1", PREPARE),
    ("actions", "prepare", "persist-credentials: false", "persist-credentials: true"),
    ("actions", "prepare", '{python-version: "${{ inputs.python }}"}', "{cache: pip}"),
    ("prepared", "plugins", "install: nox", "install: nix"),
    ("prepared", "plugins", "install: nox, ", ""),
    ("prepared", "plugins", "install: nothing", "install: nox"),
    ("prepared", "library", "install: nox", "instal: nox"),
    ("prepared", "score", 'plan: "true"', "plan: yes"),
    ("prepared", "reconcile", "      - name: Prepare\n        uses: $/.github/actions/prepare\n", "      -\n"),
    ("prepared", "reconcile", 'PYTHONPATH: "core:scripts"', 'PYTHONPATH: "core"'),
    ("commands", "plugins", "python scripts/gate.py", "python scripts/gates.py"),
    ("commands", "plugins", "nox -s test_plugin", "nox -s test_plugins"),
    ("commands", "plugins", '--shard "$SHARD"', "--shard ${{ matrix.shard.index }}"),
    ("commands", "plugins", "python scripts/gate.py", "python scripts/gate.py || true"),
    ("commands", "plugins", "run: python scripts/gate.py", "run: echo fine"),
    ("commands", "plugins", "run: python scripts/gate.py", "run: |\n" + 4 * "          nox -s lint\n"),
    ("commands", "library", "session: [lint,", "session: [lints,"),
    ("commands", "prepare", "python -I -m pip install", "pip install"),
    ("commands", "prepare", "python -I -m pip install", "python -m pip install"),
    ("commands", "prepare", "$INSTALL", "${{ inputs.install }}"),
    ("commands", "prepare", '$INSTALL.txt"', '$INSTALL.txt" || true'),
    ("hashes", "prepare", "--require-hashes ", ""),
    ("hashes", "prepare", '--requirement ".github/requirements/$INSTALL.txt"', "nox uv"),
    ("hashes", "score", "python scripts/collect.py", "python -I -m pip install nox"),
    (
        "steps",
        "plugins",
        "        run: python scripts/gate.py",
        "        shell: sh\n        run: python scripts/gate.py",
    ),
    ("steps", "plugins", "      - name: Decide\n", "      - name: Decide\n        continue-on-error: true\n"),
    ("steps", "prepare", "      shell: bash\n", ""),
    ("steps", "prepare", "shell: bash", "shell: sh"),
    ("steps", "prepare", "    - name: Check out\n", "    - name: Check out\n      continue-on-error: true\n"),
    ("jobs", "plugins", "    shell: bash", "    shell: sh"),
    ("jobs", "plugins", "env: {PYTHONPYCACHEPREFIX: /tmp/byte-code}", "env: {}"),
    ("jobs", "score", 'PYTHONPATH: "core:scripts"', 'PYTHONPATH: "core:scripts", PYTHONPYCACHEPREFIX: ""'),
    ("jobs", "plugins", "    timeout-minutes: 10\n", ""),
    ("jobs", "plugins", "ubuntu-24.04", "ubuntu-latest"),
    ("jobs", "plugins", "    name: gate\n", "    name: gate\n    continue-on-error: true\n"),
    ("triggers", "plugins", "  pull_request:\n", "  pull_request_target:\n"),
    ("triggers", "plugins", "  merge_group:\n", ""),
    ("triggers", "library", "  pull_request:\n", "  pull_request:\n    paths: [core]\n"),
    ("expressions", "plugins", "always()", "contains(needs.*.result, 'success')"),
    ("expressions", "plugins", "python scripts/gate.py", "python scripts/gate.py # shellcheck disable=SC2086"),
    ("expressions", "prepare", "inputs.install == 'nox'", "contains(inputs.install, 'nox')"),
    ("expressions", "prepare", "actions/checkout@", "./actions/checkout@"),
    ("matrices", "plugins", " && needs.plan.outputs.tests != '0'", ""),
    ("matrices", "plugins", "needs.plan.result == 'success' && ", ""),
    ("matrices", "plugins", "{fail-fast: false, ", "{"),
    ("artifacts", "plugins", "name: results-previews-", "name: results-tests-"),
    ("artifacts", "plugins", "name: results-previews-", "name: results/previews-"),
    ("artifacts", "plugins", "if-no-files-found: error", "if-no-files-found: warn"),
    ("artifacts", "plugins", "overwrite: true", "overwrite: false"),
    ("artifacts", "score", 'name: "leaderboard-${{ github.run_attempt }}"', "name: github-pages"),
    ("gates", "plugins", "needs: [plan, check, test,", "needs: [plan, test,"),
    ("gates", "plugins", "${{ always() }}", "${{ success() }}"),
    ("gates", "plugins", "REQUIRED: plan check test", "REQUIRED: plan"),
]


@pytest.mark.parametrize(("name", "file", "old", "new"), BREAKS, ids=lambda part: part.strip()[:30])
def test_each_rule_reports_a_violation(name, file, old, new):
    flow = flow_of(ACTION if file == "prepare" else ROOT / f".github/workflows/{file}.yml")
    assert old in flow.text
    assert list(RULES[name](Workflow(file, flow.text.replace(old, new))))


def test_every_rule_has_a_violation():
    assert {name for name, *_ in BREAKS} == set(RULES)
    assert {name for name, file, *_ in BREAKS if file == "prepare"} == FOR_ACTIONS
