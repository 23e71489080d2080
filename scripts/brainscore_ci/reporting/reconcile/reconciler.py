"""Update the comment and labels of each pull request, and start missing scores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from brainscore_ci.github.client import MOST_FILES, PullRequest
from brainscore_ci.reporting.reconcile.bundle import MOST_ZIP, read_bundle
from brainscore_ci.reporting.reconcile.comments import sticky
from brainscore_ci.reporting.reconcile.decide import (
    Action,
    Facts,
    ReconcilePolicy,
    apply,
    decide,
    decide_scoring,
    view_of,
)
from brainscore_ci.reporting.reconcile.merge import Check, Condition, conditions_of_git, conditions_of_github
from brainscore_core.errors import BrainScoreError, CorruptFileError
from brainscore_core.git import ask_git, commit_named

if TYPE_CHECKING:
    from brainscore_ci.github.client import HttpGitHub
    from brainscore_ci.planning.policy import Policy


@dataclass(frozen=True)
class Reconciled:
    """Result of a reconciler run; `problems` are failed actions, which the next run repeats."""

    actions: tuple[Action, ...]
    problems: tuple[str, ...]
    notes: tuple[str, ...]


Judge = Callable[[PullRequest, bytes], tuple[Condition, ...]]
"""Returns the conditions for merging a pull request without a person, given the report of its run."""


def merge_judge(github: HttpGitHub, repository: Path, policy: Policy, check: Check, now: datetime) -> Judge | None:
    """Return what judges merges against the commit that is checked out, from GitHub and git; None if none is allowed.

    The head is fetched into a reference of its own, which nothing checks out.
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
