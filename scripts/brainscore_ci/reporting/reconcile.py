"""Decide which comments, labels and scores to update, and update them.

The actual and the intended state are compared, so a lost or repeated run does no harm. A pull request's own report is
checked, escaped and shown.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Strict, TypeAdapter

from brainscore_ci.github.client import API, MOST_FILES, Comment, HttpGitHub, PullRequest, WorkflowRun
from brainscore_ci.planning.areas import area_of, changes_ci
from brainscore_ci.planning.policy import Policy, read_policy
from brainscore_ci.reporting.markdown import code, escape
from brainscore_ci.reporting.merge import Check, Condition, conditions_of_git, conditions_of_github, render_conditions
from brainscore_ci.reporting.report import COMMENT_BYTES, render
from brainscore_ci.reporting.results import MOST_ZIP, read_bundle
from brainscore_ci.reporting.step import write_outputs
from brainscore_ci.reporting.verdict import Verdict, judge
from brainscore_core import command_line
from brainscore_core.errors import BrainScoreError, CorruptFileError, count
from brainscore_core.git import ask_git, commit_named
from brainscore_core.identity.digest import text_digest
from brainscore_core.untrusted import Name, Untrusted, matching, read

# -- Write the one comment on a pull request, and read its first line if we are the author -----------------------------

PASSED, FAILED, PLUGIN_ONLY, CHANGES_CI = "ci-passed", "ci-failed", "plugin-only", "changes-ci"
OWN_LABELS = frozenset({PASSED, FAILED, PLUGIN_ONLY, CHANGES_CI})
FORMAT = 2  # a new number rewrites all comments
_MARKER = re.compile(r"^<!-- brainscore-ci (\{[^\n]*\}) -->$", re.MULTILINE)
_REPORT = "<!-- brainscore-ci report -->"

State = Literal["approval", "complete", "none", "running"]
Commit = Annotated[str, matching(re.compile(r"[0-9a-f]{40,64}"), "a commit")]
Identity = Annotated[int, Strict()]


@dataclass(frozen=True, kw_only=True)
class View(Untrusted):
    """Content of a pull request's comment: its first line."""

    # 'complete' (shows results of the head), 'running', 'approval' (a maintainer has to allow the run), or 'none'
    # (nothing has started)
    state: State
    head: Commit
    run: Identity = 0
    attempt: Identity = 0
    reported: Commit | Literal[""] = ""  # of the shown results
    labels: tuple[Name, ...] = ()  # those among `OWN_LABELS` to set
    merge: Name | Literal[""] = ""  # digest of the conditions for a merge without a person; empty if they are not asked
    format: Identity = FORMAT

    @property
    def of_what(self) -> tuple[object, ...]:
        """Values whose change requires a new comment."""
        return self.format, self.state, self.head, self.run, self.attempt, self.merge

    def to_line(self) -> str:
        """Return the first line of the comment."""
        return f"<!-- brainscore-ci {json.dumps(asdict(self))} -->"

    @classmethod
    def from_body(cls, body: str) -> View | None:
        """Parse the first line of a comment; None if it is not ours."""
        match = _MARKER.match(body)
        if match is None:
            return None
        try:
            view = read(_VIEW, match[1], "view")
        except CorruptFileError:
            return None
        return replace(view, labels=tuple(sorted(OWN_LABELS.intersection(view.labels))))


_VIEW = TypeAdapter(View)


def sticky(comments: Iterable[Comment], author: str) -> tuple[Comment, View] | None:
    """Return our first comment and its content."""
    for comment in comments:
        if comment.author == author:
            view = View.from_body(comment.body)
            if view is not None:
                return comment, view
    return None


def body_of(view: View, url: str, report: str) -> str:
    """Return a comment's text, with the URL of the run, if any, and the output of `render`."""
    return "\n".join([view.to_line(), _notice(view, url), "", _REPORT, report]).rstrip() + "\n"


def report_in(body: str) -> str:
    """Return the report in a comment."""
    return body.partition(_REPORT)[2].strip()


def _notice(view: View, url: str) -> str:
    head = code(view.head[:12])
    earlier = ""
    if view.reported and view.state != "complete":
        which = "an earlier attempt" if view.reported == view.head else f"commit {code(view.reported[:12])}"
        earlier = f" **Outdated:** what follows is of {which}."
    said = {
        "approval": f"The checks of {head} wait for a maintainer, who looks at the change and lets them run.",
        "running": f"The checks of {head} are running.",
        "none": f"No checks of {head} have started; they do not while the branch conflicts with its target.",
        "complete": f"What the checks of {head} report: {url}. They run the code of the pull request, so this is its "
        "own word; merging needs the required check and a review.",
    }
    warning = " **This change edits what checks it: read that part first.**" if CHANGES_CI in view.labels else ""
    return f"{said[view.state]}{warning}{earlier}"


# -- what to do --------------------------------------------------------------------------------------------------------

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
    """Arm pull requests that may be merged without a person; disarm those we armed as soon as a condition fails."""
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


# -- Update the comment and labels of each pull request, and start missing scores --------------------------------------


@dataclass(frozen=True)
class Reconciled:
    """Result of a reconciler run; `problems` are failed actions, which the next run repeats."""

    actions: tuple[Action, ...]
    problems: tuple[str, ...]
    notes: tuple[str, ...]


Judge = Callable[[PullRequest, bytes], tuple[Condition, ...]]
"""Returns the conditions for merging a pull request without a person, given the report of its run."""


def merge_judge(github: HttpGitHub, repository: Path, policy: Policy, check: Check, now: datetime) -> Judge | None:
    """Return a judge of merges into the commit that is checked out, by GitHub and git; None if none is allowed.

    The head is fetched into a separate reference, which nothing checks out.
    """
    base = commit_named(repository, "HEAD")
    if not policy.merge.enabled or base is None:
        return None

    def judge(pull: PullRequest, bundle: bytes) -> tuple[Condition, ...]:
        reference = f"refs/brainscore/pulls/{pull.number}"
        ask_git(repository, "fetch", "--quiet", "--no-tags", "origin", f"+refs/pull/{pull.number}/head:{reference}")
        if commit_named(repository, reference) != pull.head_sha:
            return (Condition("the branch has not moved since it was looked at", "it has a new commit"),)
        try:
            pairs = read_bundle(bundle)[1].pairs
        except CorruptFileError:
            pairs = ()
        day_ago = (now - timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
        merged_lately = sum(merged.author == pull.author for merged in github.merged_since(day_ago))
        return (
            *conditions_of_git(repository, base, pull, policy, check, pairs),
            *conditions_of_github(pull, github.checks(pull.head_sha), merged_lately, policy.merge),
        )

    return judge


def look(github: HttpGitHub, pull: PullRequest, policy: ReconcilePolicy, judge: Judge | None = None) -> Facts:
    """Collect the facts about a pull request, by two requests if its comment is up to date and nothing is judged."""
    comments = tuple(github.comments(pull.number))
    runs = tuple(github.runs(policy.workflow, head_sha=pull.head_sha, event="pull_request"))
    facts = Facts(pull=pull, runs=runs, comments=comments)
    view, comment = view_of(pull, runs, comments, policy), sticky(comments, policy.author)
    judge = judge if view is not None and view.state == "complete" else None
    if view is None or (judge is None and comment is not None and comment[1].of_what == view.of_what):
        return facts
    paths = tuple(github.changed_paths(pull.number))
    facts = replace(facts, paths=paths if len(paths) < MOST_FILES else None)
    if view.state != "complete":
        return facts
    artifacts = [artifact for artifact in github.artifacts(view.run, policy.artifact) if not artifact.expired]
    if not artifacts:
        return replace(facts, problem="The run left no report, or the report has expired.")
    latest = max(artifacts, key=lambda artifact: artifact.id)
    if latest.size_bytes > MOST_ZIP:
        return replace(facts, problem=f"The report of the run has more than {MOST_ZIP // 2**20} MiB.")
    bundle = github.download(latest.id, MOST_ZIP)
    return replace(facts, bundle=bundle, conditions=judge(pull, bundle) if judge else ())


def reconcile(
    github: HttpGitHub,
    policy: ReconcilePolicy,
    *,
    missing: Sequence[tuple[str, str]] = (),
    head: str = "",
    judge: Judge | None = None,
    do: Callable[[HttpGitHub, Action], None] = apply,
) -> Reconciled:
    """Update everything, also if a pull request fails, and score pairs without a record; a dry run passes `do`."""
    done: list[Action] = []
    problems: list[str] = []
    notes: list[str] = []

    def carry_out(what: str, decided: Callable[[], Iterable[Action]]) -> None:
        try:
            for action in decided():
                do(github, action)
                done.append(action)
        except BrainScoreError as error:
            problems.append(f"{what}: {error}")

    def scoring() -> Iterable[Action]:
        runs = github.runs(policy.scoring, branch=policy.branch) if missing else ()
        actions, note = decide_scoring(missing, runs, head, policy)
        notes.append(note)
        return actions

    for pull in github.pull_requests():
        carry_out(f"pull request {pull.number}", lambda pull=pull: decide(look(github, pull, policy, judge), policy))  # type: ignore[misc] # the default binds this one
    carry_out("scoring", scoring)
    return Reconciled(tuple(done), tuple(problems), tuple(notes))


def run(missing: Path | None, check: Check, *, dry_run: bool) -> int:
    """Run the command `reconcile`; `check` applies the static rules, which are in a room above."""
    github, policy = _repository(), read_policy(Path())

    def do(github: HttpGitHub, action: Action) -> None:
        if not (dry_run or isinstance(action, Arm)):  # the job that may merge arms, and does nothing else
            apply(github, action)

    outcome = reconcile(
        github,
        ReconcilePolicy(libraries=policy.libraries),
        missing=json.loads(missing.read_text(encoding="utf-8")) if missing else [],
        head=os.environ.get("GITHUB_SHA", ""),
        judge=merge_judge(github, Path(), policy, check, datetime.now(UTC)),
        do=do,
    )
    for action in outcome.actions:
        command_line.show(describe(action))
    for line in (*outcome.notes, *outcome.problems):
        command_line.show(line)
    armed = [(action.pull.number, action.pull.head_sha) for action in outcome.actions if isinstance(action, Arm)]
    if outputs := os.environ.get("GITHUB_OUTPUT"):
        write_outputs({"armed": json.dumps(armed)}, Path(outputs))
    return command_line.FAILED if outcome.problems else 0


def arm(judged: str) -> int:
    """Let GitHub merge the judged pull requests; one that has another head by now is left to the next run."""
    github, heads = _repository(), {(int(number), str(head)) for number, head in json.loads(judged)}
    for pull in github.pull_requests():
        if (pull.number, pull.head_sha) in heads:
            apply(github, Arm(pull))
            command_line.show(describe(Arm(pull)))
    return 0


def _repository() -> HttpGitHub:
    name, token = (os.environ.get(key, "") for key in ("GITHUB_REPOSITORY", "GITHUB_TOKEN"))
    return HttpGitHub(name, token, api=os.environ.get("GITHUB_API_URL") or API)
