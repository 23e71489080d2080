"""Write to GitHub: comments, labels and scores to start; and pull requests with submitted plugins."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from brainscore_ci.checks.runner import check_changed, check_named, workplace
from brainscore_ci.commands.work.gathering import append_summary
from brainscore_ci.github.client import API, HttpGitHub
from brainscore_ci.planning.policy import read_policy
from brainscore_ci.planning.step_outputs import write_outputs
from brainscore_ci.reporting.reconcile import reconciler
from brainscore_ci.reporting.reconcile.decide import Action, Arm, ReconcilePolicy, apply, describe
from brainscore_ci.submission.archive import Archive, ArchivePolicy, Rejection, inspect_archive
from brainscore_ci.submission.forge import HttpForge
from brainscore_ci.submission.owners import Submitter
from brainscore_ci.submission.publish import Check, Remote, publish, submit
from brainscore_ci.submission.request import Submission
from brainscore_core.command_line import FAILED, show
from brainscore_core.plugin_management.registrations import find_registrations, parse


def reconcile(missing: Path | None, *, dry_run: bool) -> int:
    """See the command."""
    github, policy = _repository(), read_policy(Path())

    def do(github: HttpGitHub, action: Action) -> None:
        if not (dry_run or isinstance(action, Arm)):  # the job that may merge arms, and does nothing else
            apply(github, action)

    outcome = reconciler.reconcile(
        github,
        ReconcilePolicy(libraries=policy.libraries),
        missing=json.loads(missing.read_text(encoding="utf-8")) if missing else [],
        head=os.environ.get("GITHUB_SHA", ""),
        judge=reconciler.merge_judge(github, Path(), policy, static_errors, datetime.now(UTC)),
        do=do,
    )
    for action in outcome.actions:
        show(describe(action))
    for line in (*outcome.notes, *outcome.problems):
        show(line)
    armed = [(action.pull.number, action.pull.head_sha) for action in outcome.actions if isinstance(action, Arm)]
    if outputs := os.environ.get("GITHUB_OUTPUT"):
        write_outputs({"armed": json.dumps(armed)}, Path(outputs))
    return FAILED if outcome.problems else 0


def static_errors(tree: Path, base: str) -> list[tuple[str, str]]:
    """Return rule and text of each error that the static checks find in what differs from a commit."""
    findings = check_changed(workplace(tree), base).findings
    return [(finding.rule, str(finding)) for finding in findings if finding.is_error]


def arm(judged: str) -> int:
    """Let GitHub merge the judged pull requests; one that has another head by now is left to the next run."""
    github, heads = _repository(), {(int(number), str(head)) for number, head in json.loads(judged)}
    for pull in github.pull_requests():
        if (pull.number, pull.head_sha) in heads:
            apply(github, Arm(pull))
            show(describe(Arm(pull)))
    return 0


def _repository() -> HttpGitHub:
    name, token = (os.environ.get(key, "") for key in ("GITHUB_REPOSITORY", "GITHUB_TOKEN"))
    return HttpGitHub(name, token, api=os.environ.get("GITHUB_API_URL") or API)


def portal_submission(
    file: Path, libraries: Sequence[str], submitter: tuple[int, str, int] | None, *, base: str, remote: str
) -> int:
    """See the command; `submitter` is issue, login and number of the account."""
    archive = inspect_archive(file, policy=ArchivePolicy(libraries=tuple(libraries)))
    if isinstance(archive, Rejection):
        show(json.dumps({"findings": [str(problem) for problem in archive.problems], "plugins": [], "pulls": []}))
        return 0
    plugins = (archive, *archive.rest)
    findings: list[str] = []
    pulls = []
    if submitter is not None:
        issue, login, number = submitter
        request = Submission(
            issue=issue,
            submitter=Submitter(login=login, account=number),
            description="From the portal.",
            is_shared=True,
        )
        forge, target = _github(base, remote)
        for at, plugin in enumerate(plugins):
            outcome = publish(plugin, request, forge, target, check=_check_against(base), beside=plugins[:at])
            findings += map(str, outcome.problems)
            if outcome.state == "refused":
                break
            pulls += [] if outcome.pull is None else [outcome.pull]
    listed = [
        {
            "plugin": str(plugin.plugin),
            "files": sorted(plugin.files),
            "notes": plugin.notes,
            "identifiers": _identifiers(plugin),
        }
        for plugin in plugins
    ]
    show(json.dumps({"findings": findings, "plugins": listed, "pulls": pulls}))
    return 0


def _identifiers(plugin: Archive) -> list[str]:
    """Return the identifiers that the source of a plugin registers."""
    try:
        registrations, _ = find_registrations(parse(plugin.files.get("__init__.py", b"")))
    except (SyntaxError, RecursionError, ValueError):  # as the check says later
        return []
    return sorted({registration.identifier for registration in registrations})


def portal_pulls(numbers: Sequence[int]) -> int:
    """See the command."""
    forge, _ = _github("", "")
    show(json.dumps({str(number): forge.progress(number) for number in numbers}))
    return 0


def submission(issue: int, *, url: str, archive: Path | None, base: str, remote: str, reply: bool) -> int:
    """See the command."""
    forge, target = _github(base, remote)
    outcome = submit(
        forge,
        target,
        issue,
        check=_check_against(base),
        url=url,
        file=archive,
        policy=ArchivePolicy(libraries=read_policy(Path()).libraries),
        reply=reply,
    )
    show(str(outcome))
    append_summary(outcome.answer() + "\n")
    return FAILED if outcome.state == "refused" else 0


def _github(base: str, remote: str) -> tuple[HttpForge, Remote]:
    name, token = (os.environ.get(key, "") for key in ("GITHUB_REPOSITORY", "GITHUB_TOKEN"))
    server = os.environ.get("GITHUB_SERVER_URL") or "https://github.com"
    target = Remote(url=remote or f"{server}/{name}.git", base=base, token="" if remote else token)
    return HttpForge(name, token, api=os.environ.get("GITHUB_API_URL") or API), target


def _check_against(base: str) -> Check:
    return lambda checkout, folder: check_named(workplace(checkout), [str(folder)], f"origin/{base}").findings
