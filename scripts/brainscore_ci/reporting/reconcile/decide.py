"""Decide which comments, labels and scores to update, and update them.

The actual and the intended state are compared, so a lost or repeated run does no harm. A pull request's own report is
checked, escaped and shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from brainscore_ci.planning.areas import area_of, changes_ci
from brainscore_ci.reporting.markdown import escape
from brainscore_ci.reporting.reconcile.bundle import read_bundle
from brainscore_ci.reporting.reconcile.comments import (
    CHANGES_CI,
    FAILED,
    OWN_LABELS,
    PASSED,
    PLUGIN_ONLY,
    View,
    body_of,
    report_in,
    sticky,
)
from brainscore_ci.reporting.reconcile.merge import Condition, render_conditions
from brainscore_ci.reporting.report import COMMENT_BYTES, render
from brainscore_ci.reporting.verdict import Verdict, judge
from brainscore_core.errors import CorruptFileError, count
from brainscore_core.identity.digest import text_digest

if TYPE_CHECKING:
    from brainscore_ci.github.client import Comment, HttpGitHub, PullRequest, WorkflowRun

_OUR_WORDS = 8_000  # bytes of a comment besides the report


@dataclass(frozen=True)
class CreateComment:
    """Write a comment."""

    number: int
    body: str


@dataclass(frozen=True)
class UpdateComment:
    """Replace a comment's text."""

    number: int
    comment: int
    body: str


@dataclass(frozen=True)
class AddLabels:
    """Add labels."""

    number: int
    labels: tuple[str, ...]


@dataclass(frozen=True)
class RemoveLabel:
    """Remove a label."""

    number: int
    label: str


@dataclass(frozen=True)
class Arm:
    """Let GitHub merge a pull request, at this very head, once its rules allow."""

    pull: PullRequest


@dataclass(frozen=True)
class Disarm:
    """Take that back."""

    pull: PullRequest


@dataclass(frozen=True, kw_only=True)
class Queue:
    """Start scoring."""

    workflow: str
    branch: str


Action = CreateComment | UpdateComment | AddLabels | RemoveLabel | Arm | Disarm | Queue


@dataclass(frozen=True, kw_only=True)
class ReconcilePolicy:
    """The project's decisions about reconciling."""

    # Workflow files that test pull requests and that score merged plugins
    workflow: str = "plugins.yml"
    scoring: str = "score.yml"
    branch: str = "main"
    artifact: str = "report"
    author: str = "github-actions[bot]"  # author of the comments; names of people cannot contain brackets
    libraries: tuple[str, ...] = ()
    most_starts: int = 3  # most scoring runs of one commit; then a person has to look


@dataclass(frozen=True, kw_only=True)
class Facts:
    """Facts about a pull request."""

    pull: PullRequest
    runs: tuple[WorkflowRun, ...] = ()  # at its head
    comments: tuple[Comment, ...] = ()
    paths: tuple[str, ...] | None = None  # changed paths according to GitHub; None if not requested or too many to list
    bundle: bytes | None = None  # untrusted artifact of the run, if any
    problem: str = ""
    conditions: tuple[Condition, ...] = ()  # for a merge without a person; empty if they were not asked


def view_of(
    pull: PullRequest, runs: Iterable[WorkflowRun], comments: Sequence[Comment], policy: ReconcilePolicy
) -> View | None:
    """Return the comment's content, if needed yet, from runs of this very commit, branch and repository."""
    own = [
        run
        for run in runs
        if (run.event, run.head_sha, run.head_branch, run.head_repository)
        == ("pull_request", pull.head_sha, pull.head_branch, pull.head_repository)
    ]
    run = max(own, key=lambda run: (run.number, run.attempt), default=None)
    has_comment = sticky(comments, policy.author) is not None
    if run is None:
        return View(state="none", head=pull.head_sha) if has_comment else None
    about = View(state="running", head=pull.head_sha, run=run.id, attempt=run.attempt)
    if run.conclusion == "action_required" or run.status in {"action_required", "waiting"}:
        return replace(about, state="approval")
    if run.status == "completed":
        return replace(about, state="complete")
    return about if has_comment else None


def decide(facts: Facts, policy: ReconcilePolicy) -> tuple[Action, ...]:
    """Return the actions for a pull request; empty if it is up to date."""
    return (*_show(facts, policy), *_merge(facts, policy))


def _merge(facts: Facts, policy: ReconcilePolicy) -> tuple[Action, ...]:
    """Arm what may be merged without a person; disarm what we armed, as soon as anything is against it."""
    may_merge = bool(facts.conditions) and not any(condition.problem for condition in facts.conditions)
    if may_merge:
        return () if facts.pull.armed_by else (Arm(facts.pull),)
    return (Disarm(facts.pull),) if facts.pull.armed_by == policy.author else ()


def _show(facts: Facts, policy: ReconcilePolicy) -> tuple[Action, ...]:
    pull, comment = facts.pull, sticky(facts.comments, policy.author)
    view = view_of(pull, facts.runs, facts.comments, policy)
    if view is None:
        return _label(pull, ())
    merging = render_conditions(facts.conditions) if facts.conditions else ""
    view = replace(view, merge=text_digest(merging)[:16] if merging else "")
    if comment is not None and comment[1].of_what == view.of_what:
        return _label(pull, comment[1].labels)
    passed, reported, text = False, "", ""
    run = next((run for run in facts.runs if run.id == view.run), None)
    if run is not None and view.state == "complete":
        passed, text = _report(facts, run)
        text = "\n\n".join([*filter(None, [merging]), text])
        reported = view.head
    elif comment is not None:
        reported, text = comment[1].reported, report_in(comment[0].body)
    labels = set(_labels_of_paths(facts.paths, policy))
    if view.state == "complete":
        labels.add(PASSED if passed else FAILED)
    view = replace(view, reported=reported, labels=tuple(sorted(labels)))
    body = body_of(view, run.url if run is not None else "", text)
    if comment is None:
        return (CreateComment(pull.number, body), *_label(pull, view.labels))
    return (UpdateComment(pull.number, comment[0].id, body), *_label(pull, view.labels))


def decide_scoring(
    missing: Sequence[tuple[str, str]], runs: Iterable[WorkflowRun], head: str, policy: ReconcilePolicy
) -> tuple[tuple[Action, ...], str]:
    """Decide whether to start scoring for pairs without a record, from the latest runs on the branch, and say why."""
    latest_runs = tuple(runs)
    if not missing:
        return (), "No score is missing."
    are_missing = f"{count(len(missing), 'score is', 'scores are')} missing"
    waiting = [run for run in latest_runs if run.status != "completed"]
    if waiting:
        return (), f"{are_missing}; run {waiting[0].id} is on its way."
    started = sum(run.event == "workflow_dispatch" and run.head_sha == head for run in latest_runs)
    if started >= policy.most_starts:
        return (), f"{are_missing} after {count(started, 'start')} at {head[:12]}: a person has to look."
    queue = Queue(workflow=policy.scoring, branch=policy.branch)
    return (queue,), f"{are_missing}: {policy.scoring} is started."


def _report(facts: Facts, run: WorkflowRun) -> tuple[bool, str]:
    concluded = () if run.conclusion == "success" else (f"The run ended with: {run.conclusion or 'nothing'}.",)
    try:
        plan, results = read_bundle(facts.bundle or b"")
    except CorruptFileError as error:
        why = facts.problem or str(error)
        problems = [f"- {escape(problem, 600)}" for problem in (*concluded, why)]
        return False, "\n".join(["## Checks failed" if concluded else "## No report", "", *problems])
    verdict = Verdict((*concluded, *judge(plan, results, whole=True).problems))
    return verdict.passed, render(plan, results, verdict, most_bytes=COMMENT_BYTES - _OUR_WORDS)


def _labels_of_paths(paths: Sequence[str] | None, policy: ReconcilePolicy) -> set[str]:
    """Return the labels for the changed paths."""
    if paths is None or any(changes_ci(path, policy.libraries) for path in paths):
        return {CHANGES_CI}
    return {PLUGIN_ONLY} if {area_of(path, policy.libraries).kind for path in paths} == {"plugin"} else set()


def _label(pull: PullRequest, labels: Iterable[str]) -> tuple[Action, ...]:
    """Return the actions that set our labels."""
    present = pull.labels & OWN_LABELS
    missing = sorted(set(labels) - present)
    added: tuple[Action, ...] = (AddLabels(pull.number, tuple(missing)),) if missing else ()
    return (*added, *(RemoveLabel(pull.number, label) for label in sorted(present - set(labels))))


# -- doing it ----------------------------------------------------------------------------------------------------------


def describe(action: Action) -> str:
    """Describe an action on one line, without untrusted text."""
    match action:
        case CreateComment(number, body):
            return f"pull request {number}: new comment of {len(body)} characters"
        case UpdateComment(number, comment, body):
            return f"pull request {number}: comment {comment} now has {len(body)} characters"
        case AddLabels(number, labels):
            return f"pull request {number}: add {', '.join(labels)}"
        case RemoveLabel(number, label):
            return f"pull request {number}: remove {label}"
        case Arm(pull):
            return f"pull request {pull.number}: let GitHub merge {pull.head_sha[:12]}"
        case Disarm(pull):
            return f"pull request {pull.number}: a person decides again"
        case Queue():
            return f"start {action.workflow} on {action.branch}"


def apply(github: HttpGitHub, action: Action) -> None:
    """Carry out an action."""
    match action:
        case CreateComment(number, body):
            github.create_comment(number, body)
        case UpdateComment(_, comment, body):
            github.update_comment(comment, body)
        case AddLabels(number, labels):
            github.add_labels(number, labels)
        case RemoveLabel(number, label):
            github.remove_label(number, label)
        case Arm(pull):
            github.arm(pull)
        case Disarm(pull):
            github.disarm(pull)
        case Queue():
            github.start(action.workflow, action.branch)
