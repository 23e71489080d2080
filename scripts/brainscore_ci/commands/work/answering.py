"""Write to GitHub: comments, labels and scores to start; and pull requests with submitted plugins."""

from __future__ import annotations

import json
import os
from pathlib import Path

from brainscore_ci.checks.runner import check_named, workplace
from brainscore_ci.commands.work.gathering import append_summary
from brainscore_ci.github.client import API, HttpGitHub
from brainscore_ci.planning.policy import read_policy
from brainscore_ci.reporting.reconcile import reconciler
from brainscore_ci.reporting.reconcile.decide import ReconcilePolicy, apply, describe
from brainscore_ci.submission.archive import ArchivePolicy
from brainscore_ci.submission.forge import HttpForge
from brainscore_ci.submission.publish import Remote, submit
from brainscore_core.command_line import FAILED, show

__all__ = ["reconcile", "submission"]


def reconcile(missing: Path | None, *, dry_run: bool) -> int:
    """See the command."""
    outcome = reconciler.reconcile(
        HttpGitHub(
            os.environ.get("GITHUB_REPOSITORY", ""),
            os.environ.get("GITHUB_TOKEN", ""),
            api=os.environ.get("GITHUB_API_URL") or API,
        ),
        ReconcilePolicy(libraries=read_policy(Path()).libraries),
        missing=json.loads(missing.read_text(encoding="utf-8")) if missing else [],
        head=os.environ.get("GITHUB_SHA", ""),
        do=(lambda *_: None) if dry_run else apply,
    )
    for action in outcome.actions:
        show(describe(action))
    for line in (*outcome.notes, *outcome.problems):
        show(line)
    return FAILED if outcome.problems else 0


def submission(issue: int, *, url: str, archive: Path | None, base: str, remote: str, reply: bool) -> int:
    """See the command."""
    name, token = (os.environ.get(key, "") for key in ("GITHUB_REPOSITORY", "GITHUB_TOKEN"))
    server = os.environ.get("GITHUB_SERVER_URL") or "https://github.com"
    outcome = submit(
        HttpForge(name, token, api=os.environ.get("GITHUB_API_URL") or API),
        Remote(url=remote or f"{server}/{name}.git", base=base, token="" if remote else token),
        issue,
        check=lambda checkout, folder: check_named(workplace(checkout), [str(folder)], f"origin/{base}").findings,
        url=url,
        file=archive,
        policy=ArchivePolicy(libraries=read_policy(Path()).libraries),
        reply=reply,
    )
    show(str(outcome))
    append_summary(outcome.answer() + "\n")
    return FAILED if outcome.state == "refused" else 0
