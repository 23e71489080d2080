"""Hold the workflow files to the house rules; what linters find is their business (`nox -s workflows`)."""

import os
import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / ".github/workflows").glob("*.y*ml"))
RULES = {}

# Only these may write to pull requests, to the repository, or ask for an identity; each grant is a decision.
GRANTS = {
    "reconcile": {"pull-requests", "actions"},
    "score": {"contents", "id-token"},
    "submission": {"contents", "issues", "pull-requests"},
    "release": {"id-token", "attestations"},
}
COMMANDS = ("nox ", "python -m ", "python scripts/")
FORBIDDEN_TRIGGERS = {"pull_request_target", "workflow_run", "issue_comment", "repository_dispatch", "workflow_call"}
IGNORES = r"zizmor:\s*ignore|shellcheck\s+disable|actionlint:|yamllint|noqa|nosec"


@dataclass(frozen=True)
class Workflow:
    """A workflow file, as text and as what it says."""

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
    def jobs(self):
        return self.content["jobs"]

    @property
    def steps(self):
        return [(job, number, step) for job, entry in self.jobs.items() for number, step in enumerate(entry["steps"])]

    @property
    def runs(self):
        return [(f"{job}[{number}]", step["run"]) for job, number, step in self.steps if "run" in step]

    def lines(self, pattern):
        return [line for line in self.text.splitlines() if re.search(pattern, line)]


def rule(function):
    RULES[function.__name__] = function
    return function


def strings(value):
    """Return every text in a structure, keys too."""
    if isinstance(value, dict):
        return [text for key, each in value.items() for text in (str(key), *strings(each))]
    return [text for each in value for text in strings(each)] if isinstance(value, list) else [str(value)]


@rule
def names(flow):
    if not flow.content.get("name"):
        yield "the workflow has no name"
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
        if writes - GRANTS.get(flow.name, set()):
            yield f"{job} may write {writes}"
        if granted != {"contents"} and {"pull_request", "merge_group"} & flow.triggers.keys():
            yield f"{job} runs code of a pull request with {granted}"
    lines = flow.lines(r"^ +[a-z-]+: (read|write)\b")
    yield from (f"no reason beside {line.strip()!r}" for line in lines if not re.search(r" # \w+ \w+", line))


@rule
def identity(flow):
    for job, entry in flow.jobs.items():
        own_code = any("run" in step for step in entry["steps"])
        if "id-token" in (entry.get("permissions") or {}) and own_code and "environment" not in entry:
            yield f"{job} runs our code with an identity, outside an environment"
        used = any("secrets." in text or "secrets[" in text for text in strings(entry))
        if used and "environment" not in entry:
            yield f"{job} uses a secret outside an environment"


@rule
def concurrency(flow):
    stated = flow.content.get("concurrency")
    if not isinstance(stated, dict) or "cancel-in-progress" not in stated or "group" not in stated:
        yield "no concurrency with a group and cancel-in-progress"


@rule
def actions(flow):
    for line in flow.lines(r"^\s*(- )?uses\s*:"):
        if not re.search(r"uses: [\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$", line):
            yield f"not pinned to a commit with its version: {line.strip()!r}"
    for job, number, step in flow.steps:
        given = step.get("with") or {}
        if step.get("uses", "").startswith("actions/checkout@") and given.get("persist-credentials") is not False:
            yield f"{job}[{number}] keeps credentials"
        if step.get("uses", "").startswith("actions/cache") or any("cache" in key for key in given):
            yield f"{job}[{number}] uses a cache"
    yield from (f"{job} calls another workflow" for job, entry in flow.jobs.items() if "uses" in entry)


@rule
def commands(flow):
    for where, run in flow.runs:
        lines = run.strip().splitlines()
        if len(lines) > 3:
            yield f"{where} has {len(lines)} lines"
        if "${{" in run:
            yield f"{where} has an expression in its command; use env"
        yield from (f"{where} calls {line!r}" for line in lines if not line.startswith(COMMANDS))
        yield from (f"{where} does more than call: {line!r}" for line in lines if re.search(r"[;&|<>`]|\$\(", line))
        for script in re.findall(r"python (scripts/\S+)", run):
            if not (ROOT / script).is_file():
                yield f"{where} calls {script}, which is not there"
        for session in re.findall(r"nox -s ((?:\w+ ?)+)", run):
            known = re.findall(r"^def (\w+)\(session", (ROOT / "noxfile.py").read_text(), re.MULTILINE)
            yield from (f"{where}: no session {name}" for name in session.split() if name not in known)


@rule
def jobs(flow):
    if flow.content.get("defaults") != {"run": {"shell": "bash"}}:
        yield "defaults.run.shell is not bash"
    for job, entry in flow.jobs.items():
        if not isinstance(entry.get("timeout-minutes"), int) or not 0 < entry["timeout-minutes"] < 360:
            yield f"{job} has no timeout below the 6 hours of GitHub"
        if "latest" in str(entry["runs-on"]) or "self-hosted" in str(entry["runs-on"]):
            yield f"{job} runs on {entry['runs-on']}"
        if "shell" in strings([list(step) for step in entry["steps"]]) or "defaults" in entry:
            yield f"{job} has a shell of its own"
        if any("continue-on-error" in each for each in (entry, *entry["steps"])):
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


@rule
def expressions(flow):
    texts = re.findall(r"\$\{\{(.*?)\}\}", flow.text, re.DOTALL)
    yield from (f"contains() compares parts of texts: {text.strip()!r}" for text in texts if "contains(" in text)
    if re.search(r"secrets:\s*inherit|write-all|read-all|uses:\s*[\"']?\.", flow.text):
        yield "secrets: inherit, write-all, read-all or uses: ./"
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
    kept = [
        step["with"]["name"] for _, _, step in flow.steps if step.get("uses", "").startswith("actions/upload-artifact@")
    ]
    plain = [re.sub(r"\$\{\{.*?\}\}", "", name) for name in kept]
    yield from (f"artifact name {name!r}" for name in plain if not re.fullmatch(r"[a-z-]+", name))
    # The two jobs that score never run both.
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
    return [f"{name}: {problem}" for name, check in RULES.items() for problem in check(flow)]


def test_the_workflows_are_those_of_the_project():
    expected = {"library", "nightly", "plugins", "reconcile", "release", "score", "security", "submission"}
    assert {path.stem for path in FILES} == expected


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_house_rules(path):
    assert problems(Workflow(path.stem, path.read_text(encoding="utf-8"))) == []


def test_one_commit_of_each_action():
    pinned = {match for path in FILES for match in re.findall(r"uses: ([^@\s]+)@(\w+) # (\S+)", path.read_text())}
    assert len({name for name, _, _ in pinned}) == len(pinned)


def test_no_linter_is_configured_away():
    found = [path for folder in (ROOT, ROOT / ".github") for path in folder.iterdir()]
    assert [path.name for path in found if re.search(r"zizmor|actionlint|shellcheckrc", path.name)] == []


def test_new_versions_of_actions_wait_a_week():
    updates = yaml.safe_load((ROOT / ".github/dependabot.yml").read_text())["updates"]
    assert {entry["package-ecosystem"] for entry in updates} >= {"github-actions", "pip"}
    assert all(entry["cooldown"]["default-days"] >= 7 for entry in updates)


def test_the_gate_needs_nothing_installed():
    environment = {
        **os.environ,
        "PYTHONPATH": f"{ROOT / 'core'}:{ROOT / 'scripts'}",
        "NEEDS": '{"plan": {"result": "failure"}}',
    }
    command = [sys.executable, "-S", "scripts/gate.py"]  # -S: nothing but the standard library
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "")
    assert "job 'plan': failure" in done.stdout


# Each line breaks one rule in a file that holds all of them.
BREAKS = [
    ("names", "plugins", "name: plugins\n", ""),
    ("names", "plugins", "    name: gate\n", ""),
    ("names", "plugins", "- name: Plan\n        id", "- id"),
    ("permissions", "plugins", "permissions: {}\n", ""),
    ("permissions", "plugins", "contents: read # to check the code out", "contents: read"),
    ("permissions", "plugins", "contents: read #", "contents: write #"),
    ("permissions", "library", "contents: read #", "packages: read #"),
    ("permissions", "reconcile", "contents: read #", "contents: write #"),
    ("identity", "score", "    environment: private-data\n", ""),
    ("identity", "plugins", "PYTHONPATH: core:scripts #", "TOKEN: ${{ secrets.TOKEN }} #"),
    ("concurrency", "plugins", "  cancel-in-progress:", "  other:"),
    ("actions", "plugins", "@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1", "@v7"),
    ("actions", "plugins", " # v7.0.1", ""),
    ("actions", "plugins", "persist-credentials: false", "persist-credentials: true"),
    ("actions", "plugins", 'python-version: "3.13"', 'python-version: "3.13"\n          cache: pip'),
    ("commands", "plugins", "python scripts/gate.py", "python scripts/gates.py"),
    ("commands", "plugins", "nox -s test_plugin", "nox -s test_plugins"),
    ("commands", "plugins", '--shard "$SHARD"', "--shard ${{ matrix.shard.index }}"),
    ("commands", "plugins", "python scripts/gate.py", "python scripts/gate.py || true"),
    ("commands", "plugins", "run: python scripts/gate.py", "run: echo fine"),
    ("commands", "plugins", "run: python scripts/gate.py", "run: |\n" + 4 * "          nox -s lint\n"),
    ("jobs", "plugins", "    shell: bash", "    shell: sh"),
    ("jobs", "plugins", "    timeout-minutes: 10\n", ""),
    ("jobs", "plugins", "ubuntu-24.04", "ubuntu-latest"),
    ("jobs", "plugins", "    name: gate\n", "    name: gate\n    continue-on-error: true\n"),
    ("triggers", "plugins", "  pull_request:\n", "  pull_request_target:\n"),
    ("triggers", "plugins", "  merge_group:\n", ""),
    ("triggers", "library", "  pull_request:\n", "  pull_request:\n    paths: [core]\n"),
    ("expressions", "plugins", "always()", "contains(needs.*.result, 'success')"),
    ("expressions", "plugins", "python scripts/gate.py", "python scripts/gate.py # shellcheck disable=SC2086"),
    ("matrices", "plugins", " && needs.plan.outputs.tests != '0'", ""),
    ("matrices", "plugins", "needs.plan.result == 'success' && ", ""),
    ("matrices", "plugins", "      fail-fast: false\n", ""),
    ("artifacts", "plugins", "name: results-previews-", "name: results-tests-"),
    ("artifacts", "plugins", "name: results-previews-", "name: results/previews-"),
    ("gates", "plugins", "needs: [plan, check, test,", "needs: [plan, test,"),
    ("gates", "plugins", "${{ always() }}", "${{ success() }}"),
    ("gates", "plugins", "REQUIRED: plan check test", "REQUIRED: plan"),
]


@pytest.mark.parametrize(("name", "file", "old", "new"), BREAKS, ids=lambda part: part.strip()[:30])
def test_each_rule_finds_what_it_forbids(name, file, old, new):
    text = (ROOT / f".github/workflows/{file}.yml").read_text(encoding="utf-8")
    assert old in text
    assert list(RULES[name](Workflow(file, text.replace(old, new))))


def test_every_rule_is_tried():
    assert {name for name, *_ in BREAKS} == set(RULES)
