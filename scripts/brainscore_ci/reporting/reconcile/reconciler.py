"""Update the comment and labels of each pull request, and start missing scores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from brainscore_ci.github.client import MOST_FILES
from brainscore_ci.reporting.reconcile.bundle import MOST_ZIP
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
from brainscore_core.errors import BrainScoreError

if TYPE_CHECKING:
    from brainscore_ci.github.client import HttpGitHub, PullRequest


@dataclass(frozen=True)
class Reconciled:
    """Result of a reconciler run; `problems` are failed actions, which the next run repeats."""

    actions: tuple[Action, ...]
    problems: tuple[str, ...]
    notes: tuple[str, ...]


def look(github: HttpGitHub, pull: PullRequest, policy: ReconcilePolicy) -> Facts:
    """Collect the facts about a pull request, by two requests if its comment is up to date."""
    comments = tuple(github.comments(pull.number))
    runs = tuple(github.runs(policy.workflow, head_sha=pull.head_sha, event="pull_request"))
    facts = Facts(pull=pull, runs=runs, comments=comments)
    view, comment = view_of(pull, runs, comments, policy), sticky(comments, policy.author)
    if view is None or (comment is not None and comment[1].of_what == view.of_what):
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
    return replace(facts, bundle=github.download(latest.id, MOST_ZIP))


def reconcile(
    github: HttpGitHub,
    policy: ReconcilePolicy,
    *,
    missing: Sequence[tuple[str, str]] = (),
    head: str = "",
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
        carry_out(f"pull request {pull.number}", lambda pull=pull: decide(look(github, pull, policy), policy))  # type: ignore[misc] # the default binds this one
    carry_out("scoring", scoring)
    return Reconciled(tuple(done), tuple(problems), tuple(notes))
