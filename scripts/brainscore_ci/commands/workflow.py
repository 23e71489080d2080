"""Commands workflows call; bodies are imported late, so that no job loads another's."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from brainscore_ci.jobs.credentials import start_again_without_credentials
from brainscore_core.command_line import FAILED, WRONG_USAGE, say, show
from brainscore_core.errors import BrainScoreError

_MINUTES = 330.0  # a job may take 6 hours and has to upload its records

_PlanFile = Annotated[Path, typer.Option(metavar="FILE", help="plan as JSON (nox -s plan -- --json)")]


def fetch_data(
    plan: _PlanFile,
    archive: Annotated[Path, typer.Option(metavar="FILE", help="encrypted file to write")],
    recipient: Annotated[str, typer.Option(help="public key of age; its private key opens the file")],
) -> int:
    """Fetch the data of all private tests and pairs of a plan into an encrypted file; runs no plugin."""
    from brainscore_ci.jobs import fetch_data

    return fetch_data.fetch(plan, archive, recipient)


def open_data(
    plan: _PlanFile,
    archive: Annotated[Path, typer.Option(metavar="FILE", help="encrypted file that fetch_data wrote")],
    shard: Annotated[int, typer.Option(metavar="I", help="number of the job, from 0")],
    tests: Annotated[bool, typer.Option("--tests", help="for private tests (default: for pairs)")] = False,
) -> int:
    """Open the data of one job of a plan with the private key in DATA_KEY; runs no plugin."""
    from brainscore_ci.jobs import fetch_data

    open_for = fetch_data.open_for_tests if tests else fetch_data.open_for_pairs
    open_for(plan, archive, shard, os.environ.get("DATA_KEY", ""))
    return 0


def score_pairs(
    plan: _PlanFile,
    records: Annotated[Path, typer.Option(metavar="DIR", help="folder for the records")],
    shard: Annotated[
        int | None, typer.Option(metavar="I", help="number of the job, from 0 (default: all)", show_default=False)
    ] = None,
    previews: Annotated[bool, typer.Option("--previews", help="score the previews of a pull request")] = False,
    fetch_records: Annotated[
        bool,
        typer.Option(
            "--fetch-records", help="first fetch the published records, which the checkout of a GitHub job lacks"
        ),
    ] = False,
    results: Annotated[Path | None, typer.Option(metavar="DIR", help="folder for the report's input")] = None,
    minutes: Annotated[float, typer.Option(help="minutes after which no further pair starts")] = _MINUTES,
) -> int:
    """Score the pairs of one job of a plan, each in its own process, and write one record per pair."""
    start_again_without_credentials()
    from brainscore_ci.jobs import score_shard

    return score_shard.run(
        plan, records, minutes=minutes, shard=shard, previews=previews, fetch_records=fetch_records, results=results
    )


def collect(
    plan: _PlanFile,
    records: Annotated[Path, typer.Option(help="folder with one folder records-<i> per job")],
    branch: Annotated[str, typer.Option(help="branch to commit the records to")] = "scores",
    code_branch: Annotated[str, typer.Option(help="branch with the plugins; skip records of other code")] = "main",
    remote: Annotated[str, typer.Option(help="git remote with both branches")] = "origin",
) -> int:
    """Collect the records of all jobs that score, commit them to a branch, and print a table.

    Also writes the table to GITHUB_STEP_SUMMARY; pushes with GITHUB_TOKEN. Exit code 1 if a pair has no record or a
    file is no record, 2 if nothing can be collected.
    """
    from brainscore_ci.jobs import collect as records_of_jobs

    return _wrong_usage_on_error(
        lambda: records_of_jobs.run(plan, records, branch, code_branch=code_branch, remote=remote)
    )


def report(
    plan: _PlanFile,
    results: Annotated[Path, typer.Option(help="folder with the results of tests and scores")],
    bundle: Annotated[Path | None, typer.Option(help="folder for plan.json and results.json")] = None,
    tests_only: Annotated[
        bool, typer.Option("--tests-only", help="report a run without static checks, such as the nightly one")
    ] = False,
) -> int:
    """Write the report of a run: summary of the step, annotations, and optionally the reconciler's input.

    Exit code 0 whatever the report says, since the gate decides; 2 if there is no plan.
    """
    from brainscore_ci.reporting import report as report_of_run

    return _wrong_usage_on_error(lambda: report_of_run.run(plan, results, bundle=bundle, tests_only=tests_only))


def reconcile(
    missing: Annotated[
        Path | None, typer.Option(help="JSON list of [model, benchmark] that have no score and should")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="only print the actions")] = False,
    arm: Annotated[
        str, typer.Option(help="only let GitHub merge these: JSON list of [number, judged head]", show_default=False)
    ] = "",
) -> int:
    """Update comments and labels of all open pull requests, and start missing scores.

    The step's output `armed` lists what may be merged without a person, for --arm in a job that may write contents.

    Reads GITHUB_REPOSITORY, GITHUB_TOKEN, GITHUB_API_URL and GITHUB_SHA. Exit code 1 if an action failed, 2 if nothing
    could be started.
    """
    from brainscore_ci.checks.runner import static_errors
    from brainscore_ci.reporting import reconcile as reconciler

    return _wrong_usage_on_error(
        lambda: reconciler.arm(arm) if arm else reconciler.run(missing, static_errors, dry_run=dry_run)
    )


def submission(
    issue: Annotated[int, typer.Option(help="number of the issue")],
    url: Annotated[str, typer.Option(help="attachment to use (default: the newest)", show_default=False)] = "",
    archive: Annotated[Path | None, typer.Option(help="the zip file, if it is not attached to the issue")] = None,
    base: Annotated[str, typer.Option(help="target branch of the pull request")] = "main",
    remote: Annotated[
        str, typer.Option(help="repository to clone and push to (default: that on GitHub)", show_default=False)
    ] = "",
    reply: Annotated[bool, typer.Option("--reply", help="write the outcome into the issue")] = False,
) -> int:
    """Open a pull request with the plugin that is attached to an issue as a zip file; runs nothing of the file.

    Reads GITHUB_REPOSITORY, GITHUB_TOKEN, GITHUB_API_URL and GITHUB_SERVER_URL. The token must be allowed to write
    contents and pull requests, and issues with --reply. Exit code 1 if the plugin was refused.
    """
    from brainscore_ci.submission import publish

    return publish.run(issue, url=url, archive=archive, base=base, remote=remote, reply=reply)


def portal_submission(
    archive: Annotated[Path, typer.Argument(help="zip file with plugins")],
    libraries: Annotated[list[str], typer.Option("--library-folder", help="folder of a package with plugins")],
    issue: Annotated[int | None, typer.Option(help="also open pull requests, as part of this issue")] = None,
    login: Annotated[str, typer.Option(help="login of the submitter")] = "",
    number: Annotated[int, typer.Option(help="number of the submitter's account")] = 0,
    base: Annotated[str, typer.Option(help="target branch of the pull requests")] = "main",
    remote: Annotated[str, typer.Option(help="repository to clone and push to (default: that on GitHub)")] = "",
) -> int:
    """Print the plugins in a zip file and their problems as JSON, for the portal; runs nothing of the file.

    With --issue it opens a pull request for each plugin and reads the environment variables of `submission`.
    """
    from brainscore_ci.submission import publish

    submitter = None if issue is None else (issue, login, number)
    return publish.portal_submission(archive, libraries, submitter, base=base, remote=remote)


def portal_pulls(numbers: Annotated[list[int], typer.Argument(help="numbers of pull requests")]) -> int:
    """Print the state and the checks of pull requests as JSON; reads the environment variables of `submission`."""
    from brainscore_ci.submission import publish

    return publish.portal_pulls(numbers)


def list_plugins(
    library: Annotated[str | None, typer.Argument(help="name of its package (default: the checkout's first)")] = None,
) -> int:
    """Print the identifiers of every plugin of a library as JSON, without importing one.

    Exit code 1 if a plugin cannot be read, 2 for an unknown library.
    """
    from brainscore_ci.planning.checkout import registered_by

    def print_listing() -> int:
        listing = registered_by(library)
        show(json.dumps(listing, indent=2))
        return FAILED if any("problem" in plugin for plugins in listing.values() for plugin in plugins.values()) else 0

    return _wrong_usage_on_error(print_listing)


def _wrong_usage_on_error(run: Callable[[], int]) -> int:
    """Run a command with exit code 2 for every error, since 1 is a result."""
    try:
        return run()
    except (BrainScoreError, OSError, ValueError) as error:
        say(f"Error: {error}")
        return WRONG_USAGE
