"""Test that pull requests end up in the right state after any history, and that nothing is done twice."""

import contextlib
import io
import itertools
import re
import zipfile
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brainscore_ci.__main__ import main
from brainscore_ci.checks.runner import static_errors
from brainscore_ci.github.client import Artifact, Comment, PullRequest, WorkflowRun
from brainscore_ci.planning.areas import PluginName
from brainscore_ci.planning.plan import Plan, Refusal, TestTask
from brainscore_ci.planning.policy import read_policy
from brainscore_ci.reporting.merge import Condition
from brainscore_ci.reporting.reconcile import (
    OWN_LABELS,
    Queue,
    ReconcilePolicy,
    View,
    decide_scoring,
    describe,
    merge_judge,
    reconcile,
    sticky,
)
from brainscore_ci.reporting.results import CheckResult, PluginResult, Results, read_bundle
from brainscore_core.errors import CorruptFileError, DownloadError
from brainscore_core.untrusted import MOST_BYTES

ROOT = Path(__file__).parents[3]
SETTINGS = ReconcilePolicy(libraries=("vision/brainscore_vision",))
MODEL = PluginName("models", "network")
FILE = "vision/brainscore_vision/models/network/model.py"
PLAN = Plan(
    base="b" * 40,
    head="c" * 40,
    event="pull_request",
    changed=(FILE,),
    tests=(TestTask(plugin=MODEL, reasons=("changed",), minutes=1, memory_gb=1),),
)
GOOD = Results((PluginResult(plugin=MODEL, status="passed", n_passed=2),), check=CheckResult())
BAD = Results((PluginResult(plugin=MODEL, status="failed", n_failed=1),), check=CheckResult())


def sha(number):
    return f"{number:040x}"


def bundle(plan=PLAN, results=GOOD, kind=zipfile.ZIP_DEFLATED, **more):
    members = {"plan.json": plan.to_json(), "results.json": results.to_json(), **more}
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", kind) as archive:
        for name, content in members.items():
            if content is not None:
                archive.writestr(name, content)
    return data.getvalue()


class FakeGitHub:
    """A GitHub repository in memory."""

    def __init__(self):
        self.pulls, self.all_runs, self.bundles, self.threads, self.paths = {}, [], {}, {}, {}
        self.started, self.writes, self.requests = [], 0, 0
        self.ids = itertools.count(100)

    def push(self, number, commit, *, repository=1, branch="branch", paths=(FILE,)):
        labels = self.pulls[number].labels if number in self.pulls else frozenset()
        self.pulls[number] = PullRequest(
            number=number, head_sha=sha(commit), head_branch=branch, head_repository=repository, labels=labels
        )
        self.paths[number] = list(paths)

    def run(self, number, conclusion="success", *, status="completed", data=b"", **changes):
        """Add a run for the head of a pull request."""
        pull, identity = self.pulls[number], next(self.ids)
        run = WorkflowRun(
            id=identity, number=identity, attempt=1, head_sha=pull.head_sha, head_branch=pull.head_branch,
            head_repository=pull.head_repository, event="pull_request", status=status,
            conclusion=conclusion if status == "completed" else None, url=f"https://github.com/o/r/actions/runs/{identity}",
        )  # fmt: skip
        self.all_runs.append(replace(run, **changes))
        if status == "completed" and data is not None:
            self.bundles[identity] = data or bundle()
        return self.all_runs[-1]

    def comment(self, number):
        (found,) = [each for each in self.threads.get(number, []) if each.author == SETTINGS.author]
        return found.body

    def labels(self, number):
        return self.pulls[number].labels

    def arm(self, pull):
        self.writes += 1
        assert self.pulls[pull.number].head_sha == pull.head_sha
        self.pulls[pull.number] = replace(self.pulls[pull.number], armed_by=SETTINGS.author)

    def disarm(self, pull):
        self.writes += 1
        self.pulls[pull.number] = replace(self.pulls[pull.number], armed_by="")

    # methods used by the reconciler

    def pull_requests(self):
        self.requests += 1
        return list(self.pulls.values())

    def runs(self, workflow, *, head_sha="", branch="", event=""):
        self.requests += 1
        if workflow == SETTINGS.scoring:
            return self.started
        return [run for run in self.all_runs if run.head_sha == head_sha and run.event == event]

    def artifacts(self, run, name):
        self.requests += 1
        assert name == "report"
        return [Artifact(id=run, name=name, size_bytes=len(self.bundles[run]))] if run in self.bundles else []

    def download(self, artifact, most_bytes):
        self.requests += 1
        if isinstance(self.bundles[artifact], Exception):
            raise self.bundles[artifact]
        return self.bundles[artifact]

    def changed_paths(self, number):
        self.requests += 1
        return self.paths[number]

    def comments(self, number):
        self.requests += 1
        return list(self.threads.get(number, []))

    def create_comment(self, number, body):
        self.writes += 1
        assert len(body) <= 65_536
        self.threads.setdefault(number, []).append(Comment(id=next(self.ids), author=SETTINGS.author, body=body))

    def update_comment(self, comment, body):
        self.writes += 1
        for number, thread in self.threads.items():
            self.threads[number] = [replace(each, body=body) if each.id == comment else each for each in thread]

    def add_labels(self, number, labels):
        self.writes += 1
        self.pulls[number] = replace(self.pulls[number], labels=self.pulls[number].labels | set(labels))

    def remove_label(self, number, label):
        self.writes += 1
        self.pulls[number] = replace(self.pulls[number], labels=self.pulls[number].labels - {label})

    def start(self, workflow, branch):
        self.writes += 1
        self.started.append(
            replace(scoring_run(status="queued", conclusion=None), id=next(self.ids), head_branch=branch)
        )


@pytest.fixture
def github():
    github = FakeGitHub()
    github.push(7, 1)
    return github


def settle(github):
    """Reconcile twice: the second time there must be nothing to do."""
    outcome = reconcile(github, SETTINGS)
    assert outcome.problems == ()
    writes = github.writes
    assert reconcile(github, SETTINGS).actions == ()
    assert github.writes == writes
    return outcome


def run_and_settle(github, *arguments, **changes):
    """Return the comment and the labels of the pull request after a run."""
    github.run(7, *arguments, **changes)
    settle(github)
    return github.comment(7), github.labels(7)


def test_results_are_commented_once(github):
    comment, labels = run_and_settle(github)
    assert comment.startswith("<!-- brainscore-ci {")
    assert "## Checks passed" in comment
    assert "| `models/network` | passed | 2 | 0 | 0 |" in comment
    assert github.all_runs[0].url in comment
    assert labels == {"ci-passed", "plugin-only"}
    assert "Outdated" not in comment
    github.requests = 0
    reconcile(github, SETTINGS)
    assert github.requests == 3  # for an unchanged pull request: the list, its run and its comment


def test_no_comment_before_the_first_results(github):
    settle(github)
    github.run(7, status="in_progress")
    settle(github)
    assert github.threads == {}
    assert github.labels(7) == frozenset()


@pytest.mark.parametrize(
    ("conclusion", "data", "words"),
    [
        *((conclusion, b"", ("## Checks failed", "ended with")) for conclusion in
          ("failure", "cancelled", "timed_out", "startup_failure", "skipped", "stale")),
        *(("success", bundle(results=results), ("## Checks failed",)) for results in (BAD, Results())),
        ("success", None, ("## No report", "left no report")),
    ],
)  # fmt: skip
def test_only_success_with_good_results_passes(github, conclusion, data, words):
    comment, labels = run_and_settle(github, conclusion, data=data)
    assert [word for word in words if word not in comment] == []
    assert labels == {"ci-failed", "plugin-only"}


def test_push_marks_results_as_outdated(github):
    run_and_settle(github)
    github.push(7, 2)
    settle(github)
    assert "**Outdated:** what follows is of commit `000000000000`" in github.comment(7)
    assert "No checks of" in github.comment(7)
    assert "## Checks passed" in github.comment(7)
    assert github.labels(7) == {"plugin-only"}
    comment, _ = run_and_settle(github, status="queued")
    assert "are running" in comment
    assert "**Outdated:**" in comment
    github.all_runs[-1] = replace(github.all_runs[-1], status="completed", conclusion="failure")
    github.bundles[github.all_runs[-1].id] = bundle(results=BAD)
    settle(github)
    assert "Outdated" not in github.comment(7)
    assert "## Checks failed" in github.comment(7)
    assert "## Checks passed" not in github.comment(7)
    assert len(github.threads[7]) == 1


def test_restarted_run_replaces_its_results(github):
    run = github.run(7, "failure", data=bundle(results=BAD))
    settle(github)
    github.all_runs[0] = replace(run, attempt=2, status="in_progress", conclusion=None)
    settle(github)
    assert "an earlier attempt" in github.comment(7)
    assert "ci-failed" not in github.labels(7)
    github.all_runs[0] = replace(run, attempt=2, conclusion="success")
    github.bundles[run.id] = bundle()
    settle(github)
    assert "ci-passed" in github.labels(7)


def test_latest_run_counts(github):
    github.run(7, "failure")
    assert "ci-passed" in run_and_settle(github)[1]


@pytest.mark.parametrize("changes", [{"conclusion": "action_required"}, {"status": "waiting", "conclusion": None}])
def test_run_awaiting_approval_is_shown_as_waiting(github, changes):
    comment, labels = run_and_settle(github, **changes)
    assert "wait for a maintainer" in comment
    assert labels == {"plugin-only"}


@pytest.mark.parametrize(
    "changes", [{"head_repository": 666}, {"head_repository": None}, {"head_branch": "other"}, {"event": "push"}]
)
def test_foreign_run_of_the_same_commit_is_ignored(github, changes):
    github.run(7, **changes)
    settle(github)
    assert github.threads == {}


def test_pull_request_number_comes_from_github(github):
    """With two pull requests, the artifact of one cannot claim to belong to the other."""
    github.push(8, 2, branch="other")
    github.run(8, data=bundle(replace(PLAN, head=sha(1), base=sha(7), notes=("pull request 7",))))
    settle(github)
    assert set(github.threads) == {8}


# -- merges without a person -------------------------------------------------------------------------------------------


def constant_judge(*problems):
    """Return a judge that gives every pull request the same conditions."""
    return lambda pull, bundle: tuple(Condition(f"condition {number}", each) for number, each in enumerate(problems))


def test_mergeable_pull_request_is_armed_once(github):
    github.run(7)
    actions = reconcile(github, SETTINGS, judge=constant_judge("", "")).actions
    assert describe(actions[-1]) == "pull request 7: let GitHub merge 000000000000"
    assert github.pulls[7].armed_by == SETTINGS.author
    assert "| condition 1 | yes |" in github.comment(7)
    assert "## Checks passed" in github.comment(7)
    assert reconcile(github, SETTINGS, judge=constant_judge("", "")).actions == ()


def test_failed_condition_is_shown_and_prevents_arming(github):
    github.run(7)
    reconcile(github, SETTINGS, judge=constant_judge("", "it has a new commit"))
    assert github.pulls[7].armed_by == ""
    assert "| condition 1 | no: it has a new commit |" in github.comment(7)
    reconcile(github, SETTINGS, judge=constant_judge("", ""))  # later, when it holds
    assert github.pulls[7].armed_by == SETTINGS.author
    assert "| condition 1 | yes |" in github.comment(7)


def test_moved_head_is_not_judged(github, tree):
    tree.write("pyproject.toml", "[tool.brainscore.ci.merge]\nenabled = true\n")
    tree.commit()
    tree.git("remote", "add", "origin", tree.path)
    tree.git("update-ref", "refs/pull/7/head", "HEAD")
    judge = merge_judge(github, tree.path, read_policy(tree.path), static_errors, datetime(2026, 11, 28, tzinfo=UTC))
    (condition,) = judge(github.pulls[7], b"")
    assert condition.problem == "it has a new commit"


def test_judges_facts_of_github_and_of_git(github, tree):
    tree.write("pyproject.toml", "[tool.brainscore.ci.merge]\nenabled = true\n")
    head = tree.commit()
    tree.git("remote", "add", "origin", tree.path)
    tree.git("update-ref", "refs/pull/7/head", head)
    pull = replace(github.pulls[7], head_sha=head, author=5)
    github.checks = {head: {"gate": "failure"}}.get
    github.merged_since = {"2026-11-27T00:00:00Z": [pull] * 3 + [github.pulls[7]]}.get
    judge = merge_judge(github, tree.path, read_policy(tree.path), static_errors, datetime(2026, 11, 28, tzinfo=UTC))
    problems = {condition.what: condition.problem for condition in judge(pull, b"")}
    assert problems["only folders of models change"] == "no file changes"
    assert problems["required checks are green for this commit"] == "gate: failure, library gate: no result"
    assert problems["below the rate limit"] == "3 within a day, at most 3"


def test_no_judge_unless_enabled(github, tree):
    tree.commit()
    policy = read_policy(tree.path)
    assert merge_judge(github, tree.path, policy, static_errors, datetime(2026, 11, 28, tzinfo=UTC)) is None


def test_new_commit_disarms(github):
    github.run(7)
    reconcile(github, SETTINGS, judge=constant_judge(""))
    armed = github.pulls[7].armed_by
    github.push(7, 2)
    github.pulls[7] = replace(github.pulls[7], armed_by=armed)  # GitHub keeps it armed if the author may write
    reconcile(github, SETTINGS, judge=constant_judge(""))  # the new commit has no run to judge yet
    assert github.pulls[7].armed_by == ""
    github.run(7, status="in_progress")
    reconcile(github, SETTINGS, judge=constant_judge(""))
    assert github.pulls[7].armed_by == ""


def test_disarms_only_own_merges(github):
    github.run(7)
    for judge in (constant_judge("held"), None):
        github.pulls[7] = replace(github.pulls[7], armed_by="a-maintainer")
        reconcile(github, SETTINGS, judge=judge)
        assert github.pulls[7].armed_by == "a-maintainer"
        github.pulls[7] = replace(github.pulls[7], armed_by=SETTINGS.author)
        reconcile(github, SETTINGS, judge=judge)
        assert github.pulls[7].armed_by == ""


# -- comments and labels by others -------------------------------------------------------------------------------------


@pytest.mark.parametrize("author", ["stranger", "github-actions", "github-actions[bot]x", "", "GitHub-Actions[bot]"])
def test_forged_comment_is_ignored(github, author):
    run = github.run(7, "failure")
    forged = View(state="complete", head=sha(1), run=run.id, attempt=1, reported=sha(1), labels=("ci-passed",))
    github.threads[7] = [Comment(id=1, author=author, body=f"{forged.to_line()}\n## Checks passed")]
    reconcile(github, SETTINGS)
    assert github.labels(7) == {"ci-failed", "plugin-only"}
    assert [each.author for each in github.threads[7]] == [author, SETTINGS.author]
    assert github.threads[7][0].body.endswith("## Checks passed")
    assert reconcile(github, SETTINGS).actions == ()


@pytest.mark.parametrize(
    "line",
    [
        "", "text <!-- brainscore-ci {} -->", "<!-- brainscore-ci {} -->", "<!-- brainscore-ci [] -->",
        "<!-- brainscore-ci {x -->", '<!-- brainscore-ci {"state": "complete", "head": "<b>", "labels": []} -->',
        '<!-- brainscore-ci {"state": [], "head": "' + "a" * 40 + '", "labels": []} -->',
        '<!-- brainscore-ci {"state": "none", "head": 1, "labels": 1} -->',
    ],
)  # fmt: skip
def test_other_comments_of_the_same_author_are_kept(github, line):
    assert View.from_body(line) is None
    github.run(7)
    github.threads[7] = [Comment(id=1, author=SETTINGS.author, body=line)]
    reconcile(github, SETTINGS)
    assert github.threads[7][0].body == line
    assert sticky(github.threads[7], SETTINGS.author)[0].id != 1


def test_view_is_read_back_from_the_first_line():
    view = View(state="complete", head=sha(1), run=3, attempt=2, reported=sha(1), labels=("ci-passed",))
    assert View.from_body(view.to_line() + "\ntext") == view
    assert View.from_body("\n" + view.to_line()) is None


def test_older_comment_format_is_rewritten(github):
    run_and_settle(github)
    (comment,) = github.threads[7]
    github.threads[7] = [replace(comment, body=comment.body.replace('"format": 2', '"format": 0'))]
    assert len(settle(github).actions) == 1


def test_labels_set_by_users_are_kept(github):
    github.pulls[7] = replace(github.pulls[7], labels=frozenset({"ci-full", "ci-no-score", "bug"}))
    assert run_and_settle(github)[1] == {"ci-full", "ci-no-score", "bug", "ci-passed", "plugin-only"}


def test_own_labels_are_corrected(github):
    github.pulls[7] = replace(github.pulls[7], labels=frozenset({"ci-passed"}))
    settle(github)
    assert github.labels(7) == frozenset()  # before there are results
    run_and_settle(github, "failure")
    github.pulls[7] = replace(github.pulls[7], labels=frozenset({"ci-passed", "bug"}))
    settle(github)
    assert github.labels(7) == {"bug", "ci-failed", "plugin-only"}


@pytest.mark.parametrize(
    ("paths", "label"),
    [
        ([FILE], "plugin-only"), ([FILE, ".github/workflows/a.yml"], "changes-ci"), (["noxfile.py"], "changes-ci"),
        (["scripts/brainscore_ci/reporting/verdict.py"], "changes-ci"), ([FILE, "README.md"], None), ([], None),
        (["vision/brainscore_vision/models/x y/a.py"], "changes-ci"), ([FILE] * 3000, "changes-ci"),
        ([FILE, ".github/workflows/ISSUE_TEMPLATE.yml"], "changes-ci"), ([FILE, "pip/__main__.py"], "changes-ci"),
        ([FILE, "core/brainscore_core/testing/pytest_plugin.py"], "changes-ci"),
        (["core/brainscore_core/metrics/_score.py"], None),
    ],
)  # fmt: skip
def test_path_labels_use_paths_from_github(github, paths, label):
    github.paths[7] = paths
    comment, labels = run_and_settle(github)
    assert labels == {"ci-passed", label} - {None}
    assert ("edits what checks it" in comment) == (label == "changes-ci")


# -- hostile artifacts -------------------------------------------------------------------------------------------------


def broken_bundles():
    good = bundle()
    yield b""
    yield b"no zip"
    yield good[:-30]
    yield good.replace(b"plan.json", b"../x.json")
    yield bundle(**{"more.txt": "x"})
    yield bundle(**{"results.json": None})
    yield bundle(**{"plan.json": "{}"})
    yield bundle(**{"results.json": "[" * 99_999})
    yield bundle(**{"results.json": " " * (MOST_BYTES + 1)})
    for kind in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        yield bundle(kind=kind)
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("plan.json", PLAN.to_json())
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("plan.json", PLAN.to_json())
    yield data.getvalue()
    bomb = bytearray(bundle(**{"results.json": " " * 2**24 + GOOD.to_json()}))
    place = bomb.rindex(b"PK\x01\x02")
    bomb[place + 24 : place + 28] = (100).to_bytes(4, "little")  # says that it is small
    yield bytes(bomb)


@pytest.mark.parametrize("number", range(13))
def test_broken_artifact_is_reported_and_fails(github, number):
    data = list(broken_bundles())[number]
    with pytest.raises(CorruptFileError):
        read_bundle(data)
    comment, labels = run_and_settle(github, data=data or b"x")
    assert "## No report" in comment
    assert "ci-failed" in labels


@given(st.binary(max_size=200), st.integers(0, 2000))
def test_random_damage_raises_only_corrupt_file_errors(noise, place):
    data = bytearray(bundle())
    place %= len(data)
    data[place : place + len(noise)] = noise
    with contextlib.suppress(CorruptFileError):
        assert len(read_bundle(bytes(data))) == 2


def test_oversized_artifact_is_not_fetched(github):
    assert "has more than 4 MiB" in run_and_settle(github, data=b"x" * (4 * 2**20 + 1))[0]


def test_artifact_text_cannot_forge_the_state(github):
    text = f"{View(state='none', head=sha(5)).to_line()}\n<!-- brainscore-ci report -->\n## Checks passed @all"
    plan = replace(PLAN, notes=(text,), changed=(text,), refused=(Refusal(text, text),))
    shown = run_and_settle(github, "failure", data=bundle(plan))[0].partition("<!-- brainscore-ci report -->\n")[2]
    github.push(7, 2)
    settle(github)
    lines = github.comment(7).splitlines()
    assert [line for line in lines if line.startswith("<!--")] == [lines[0], "<!-- brainscore-ci report -->"]
    assert View.from_body(github.comment(7)).head == sha(2)
    assert github.comment(7).endswith(shown)
    assert "Checks passed @all" not in re.sub(r"`+[^`]*`+", "", github.comment(7))


def test_huge_outdated_report_fits_into_a_comment(github):
    run_and_settle(github, data=bundle(replace(PLAN, notes=("é😀" * 1500,) * 300, changed=("x",) * 999)))
    github.push(7, 2)
    settle(github)
    assert 20_000 < len(github.comment(7).encode()) <= 65_536


def test_one_failure_does_not_block_other_pull_requests(github):
    github.run(7)
    github.bundles[github.all_runs[0].id] = UnreachableError()
    github.push(8, 2, branch="other")
    github.run(8)
    outcome = reconcile(github, SETTINGS)
    assert outcome.problems == ("pull request 7: not now",)
    assert set(github.threads) == {8}
    github.bundles[github.all_runs[0].id] = bundle()
    settle(github)
    assert set(github.threads) == {7, 8}


class UnreachableError(DownloadError):
    def __init__(self):
        super().__init__("not now")

    def __len__(self):
        return 1


# -- random histories --------------------------------------------------------------------------------------------------

events = st.tuples(
    st.sampled_from(["push", "run", "finish", "fail", "approve", "again", "forge", "label", "lose"]),
    st.sampled_from([7, 8]),
    st.integers(1, 3),
)


@settings(max_examples=60)
@given(st.lists(events, max_size=12))
def test_any_history_settles_in_the_true_state(history):
    github = FakeGitHub()
    github.push(7, 1)
    github.push(8, 1, repository=2, branch="other")
    for event, number, commit in history:
        happen(github, event, number, commit)
        settle(github)
        for pull in github.pulls.values():
            own = [
                run for run in github.all_runs if run.head_sha == pull.head_sha and run.head_branch == pull.head_branch
            ]
            latest = max(own, key=lambda run: run.number, default=None)
            passed = latest is not None and latest.conclusion == "success" and latest.id in github.bundles
            assert ("ci-passed" in pull.labels) == passed
            assert not ({"ci-passed", "ci-failed"} <= pull.labels)
            assert sum(each.author == SETTINGS.author for each in github.threads.get(pull.number, [])) <= 1


def happen(github, event, number, commit):
    pull = github.pulls[number]
    own = [index for index, run in enumerate(github.all_runs) if run.head_branch == pull.head_branch]
    last = own[-1] if own else None
    if event == "push":
        github.push(number, commit, repository=pull.head_repository, branch=pull.head_branch)
    elif event == "run":
        github.run(number, status="queued")
    elif event == "forge":
        view = View(state="complete", head=pull.head_sha, run=100, attempt=1, labels=("ci-passed",))
        github.threads.setdefault(number, []).append(Comment(id=next(github.ids), author="x", body=view.to_line()))
    elif event == "label":
        label = sorted(OWN_LABELS)[commit]
        github.pulls[number] = replace(pull, labels=pull.labels ^ {label})
    elif last is not None:
        run = github.all_runs[last]
        if event in {"finish", "fail"}:
            conclusion = {"finish": "success", "fail": "failure"}[event]
            github.all_runs[last] = replace(run, status="completed", conclusion=conclusion, attempt=run.attempt + 1)
            github.bundles[run.id] = bundle()
        elif event == "approve":
            github.all_runs[last] = replace(run, status="completed", conclusion="action_required")
        elif event == "again":
            github.all_runs[last] = replace(run, status="in_progress", conclusion=None, attempt=run.attempt + 1)
        elif event == "lose" and run.status != "completed":
            github.bundles.pop(run.id, None)


# -- scoring -----------------------------------------------------------------------------------------------------------

MISSING = [("network", "Experiment")]


def scoring_run(**changes):
    run = {"status": "completed", "conclusion": "failure", "event": "workflow_dispatch", "head_sha": sha(9), **changes}
    return WorkflowRun(id=1, number=1, attempt=1, head_branch="main", head_repository=1, url="", **run)


def test_absent_scores_are_queued_once(github):
    first = reconcile(github, SETTINGS, missing=MISSING, head=sha(9))
    assert first.actions == (Queue(workflow="score.yml", branch="main"),)
    assert "1 score is missing" in first.notes[0]
    second = reconcile(github, SETTINGS, missing=MISSING, head=sha(9))
    assert second.actions == ()
    assert "on its way" in second.notes[0]


def test_no_scoring_is_queued_without_missing_scores(github):
    assert reconcile(github, SETTINGS, head=sha(9)).actions == ()
    assert github.requests == 3  # the scoring runs are not even requested


@pytest.mark.parametrize(
    ("runs", "queued"),
    [
        ([], True),
        ([scoring_run()] * 2, True),
        ([scoring_run()] * 3, False),  # repeating does not help: a person must look into it
        ([scoring_run(head_sha=sha(8))] * 3, True),
        ([scoring_run(event="push")] * 3, True),
        ([scoring_run(status="in_progress", conclusion=None, event="push")], False),
        ([scoring_run(), scoring_run(status="queued", conclusion=None)], False),
    ],
)
def test_decide_scoring(runs, queued):
    actions, note = decide_scoring(MISSING, runs, sha(9), SETTINGS)
    assert bool(actions) == queued
    assert "1 score is missing" in note


def test_dry_run_writes_nothing(github):
    github.run(7)
    outcome = reconcile(github, SETTINGS, missing=MISSING, head=sha(9), do=lambda *_: None)
    assert github.writes == 0
    lines = [describe(action) for action in outcome.actions]
    assert lines[0].startswith("pull request 7: new comment of ")
    assert lines[1:] == ["pull request 7: add ci-passed, plugin-only", "start score.yml on main"]


# -- script ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def command(github_here, monkeypatch, capsys):
    """Return a function: run the command on a pull request whose run has no artifact; exit code, output, errors."""
    pull = {"number": 7, "head": {"sha": sha(1), "ref": "b", "repo": {"id": 1}}, "labels": []}
    run = {
        "id": 5, "run_number": 1, "run_attempt": 1, "head_sha": sha(1), "head_branch": "b", "event": "pull_request",
        "head_repository": {"id": 1}, "status": "completed", "conclusion": "failure", "html_url": "https://x/5",
    }  # fmt: skip
    github_here.answers = {
        "/pulls": [pull],
        "/pulls/7/files": [{"filename": FILE}],
        "/issues/7/comments": [],
        "/actions/workflows/plugins.yml/runs": {"workflow_runs": [run]},
        "/actions/runs/5/artifacts": {"artifacts": []},
    }
    for name in ("GITHUB_REPOSITORY", "GITHUB_TOKEN", "GITHUB_STEP_SUMMARY", "GITHUB_ACTIONS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(ROOT)

    def start(*arguments, **environment):
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        status = main(["reconcile", *arguments])
        return (status, *capsys.readouterr())

    return start


@pytest.mark.slow
def test_command_writes_comment_and_labels(github_here, command):
    status, out, err = command(GITHUB_REPOSITORY="owner/name", GITHUB_TOKEN="secret-token")  # noqa: S106 - no secret
    assert status == 0, err
    assert [path for path, _, _ in github_here.told] == [
        "/repos/owner/name/issues/7/comments",
        "/repos/owner/name/issues/7/labels",
    ]
    assert "pull request 7: add ci-failed, plugin-only" in out
    assert "secret-token" not in out + err


def test_command_dry_run_and_missing_repository(github_here, command):
    status, _, err = command()
    assert status == 2
    assert "GITHUB_REPOSITORY" in err
    status, out, err = command("--dry-run", GITHUB_REPOSITORY="owner/name")
    assert status == 0, err
    assert "pull request 7: new comment" in out
    assert github_here.told == []
