"""Bring together what jobs left: records on their branch, results in a report; and list plugins."""

from __future__ import annotations

import json
import os
from pathlib import Path

from brainscore_ci.jobs import collect as records_of_jobs
from brainscore_ci.planning.checkout import read_own_checkout
from brainscore_ci.planning.plan import Plan
from brainscore_ci.planning.policy import read_policy
from brainscore_ci.reporting.annotations import annotate, for_log
from brainscore_ci.reporting.reconcile.bundle import write_bundle
from brainscore_ci.reporting.report import SUMMARY_BYTES, render
from brainscore_ci.reporting.results import read_folder
from brainscore_ci.reporting.verdict import Verdict, judge
from brainscore_core.command_line import FAILED, show
from brainscore_core.plugin_management.index import PluginIndex, library_roots


def collect(plan: Path, records: Path, branch: str, *, code_branch: str, remote: str) -> int:
    """See the command."""
    planned = Plan.read(plan)
    collected = records_of_jobs.collect(
        *(planned, records, read_own_checkout(Path.cwd()), branch),
        code_branch=code_branch,
        remote=remote,
        token=os.environ.get("GITHUB_TOKEN", ""),
    )
    text = records_of_jobs.summary(collected, planned)
    show(for_log(text))
    append_summary(text.encode()[:SUMMARY_BYTES].decode(errors="ignore"))
    return 0 if collected.is_complete else FAILED


def report(plan: Path, results: Path, *, bundle: Path | None, tests_only: bool) -> int:
    """See the command."""
    planned = Plan.read(plan)
    outcomes, unreadable = read_folder(results)
    verdict = Verdict((*judge(planned, outcomes, whole=not tests_only).problems, *unreadable))
    text = render(planned, outcomes, verdict)
    show(for_log(text))
    if os.environ.get("GITHUB_ACTIONS") == "true":
        show("\n".join(annotate(planned, outcomes, verdict)))
    append_summary(text)
    if bundle is not None:
        write_bundle(bundle, planned, outcomes)
    return 0


def list_plugins(library: str | None) -> int:
    """See the command."""
    default = [Path(folder).name for folder in read_policy(Path(__file__).parents[4]).libraries]
    listing = PluginIndex(library_roots(library or default[0])).listing()
    show(json.dumps(listing, indent=2))
    return FAILED if any("problem" in plugin for plugins in listing.values() for plugin in plugins.values()) else 0


def append_summary(text: str) -> None:
    """Append Markdown to the summary of the step, if any."""
    if file := os.environ.get("GITHUB_STEP_SUMMARY"):
        with Path(file).open("a", encoding="utf-8") as stream:
            stream.write(text)
