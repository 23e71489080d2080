"""Offer the command line ``python -m brainscore_ci``, whose commands are also those of the domain's own program.

``check`` exits with 1 if it found errors; hints alone give 0. Other exit codes: see `brainscore_core.command_line`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from brainscore_ci.jobs import arguments as test_arguments
from brainscore_ci.jobs.credentials import start_again_without_credentials
from brainscore_ci.scaffold.names import KIND_NAMES
from brainscore_core import command_line
from brainscore_core.errors import BrainScoreError, ConfigurationError

__all__ = ["app", "main"]

_MINUTES = 330.0  # a job may take 6 hours, and the records have to be kept before
_CONTRIBUTE = "Contribute"
_Library = Annotated[str | None, typer.Option(help="whose plugins (default: the first one of the checkout)")]

app = command_line.make_app("Do what happens around a pull request and a merge.")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        Command line without the program; None means that of this process.
    """
    return command_line.run_app(app, arguments, program="brainscore_ci")


@app.command("check", cls=command_line.Command, rich_help_panel=_CONTRIBUTE)
def check(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="a plugin's folder (name or path) or an identifier"),
    ] = None,
    changed: Annotated[bool, typer.Option("--changed", help="all plugins that differ from --base")] = False,
    base: Annotated[
        str | None,
        typer.Option(
            metavar="BRANCH", help="what to compare with, also the versions of benchmarks (for --changed: main)"
        ),
    ] = None,
    library: _Library = None,
    github: Annotated[bool, typer.Option("--github", help="also print annotations for a workflow of GitHub")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
    fix: Annotated[
        bool, typer.Option("--fix", help="mend what is mechanical first: old names, keys that metadata.yml lacks")
    ] = False,
    results: Annotated[Path | None, typer.Option(metavar="FOLDER", help="also write what the report needs")] = None,
) -> int:
    """Check plugins without importing them.

    Applies the static rules; prints every problem as path:line: rule: message: fix.
    """
    from brainscore_ci.checks import findings, handed_over, runner
    from brainscore_core.files import atomic_path

    if bool(names) == changed:
        raise ConfigurationError(
            "Say which plugins to check: their names, such as brainscore check mymodel2024, or --changed for all that "
            "differ from main."
        )
    if github and as_json:
        raise ConfigurationError("--github and --json do not go together: leave one of them out.")
    place = runner.workplace(Path.cwd(), library)
    if changed:
        checked = runner.check_changed(place, base or "main", fix=fix)
    else:
        checked = runner.check_named(place, names or [], base, fix=fix)
    form = findings.as_json if as_json else findings.as_text
    lines = [form(checked.findings, checked.plugins)]
    if not as_json:
        lines = [*(f"mended {findings.printable(file)}" for file in checked.fixed), *lines]
    if github:
        lines += findings.github_annotations(checked.findings)
    print("\n".join(lines))
    if results is not None:
        with atomic_path(results / "check.json") as temporary:
            temporary.write_text(handed_over.as_results(checked.findings, checked.new).to_json(), encoding="utf-8")
    return command_line.FAILED if checked.has_errors else 0


@app.command(
    "new-plugin",
    cls=command_line.Command,
    rich_help_panel=_CONTRIBUTE,
    epilog="Example: new-plugin data benchmark MyExperiment2024 --region IT",
)
def new_plugin(
    kinds_and_name: Annotated[
        list[str],
        typer.Argument(
            metavar="KIND... NAME",
            help=f"one or more of {', '.join(KIND_NAMES)}; then the name as in a paper, MyExperiment2024, or as a "
            "folder, myexperiment2024",
            show_default=False,
        ),
    ],
    identifier: Annotated[
        str | None, typer.Option(help="what it is registered as (default: from the name)", show_default=False)
    ] = None,
    from_package: Annotated[
        Path | None, typer.Option(metavar="DIR", help="packaged files to register (kind data)")
    ] = None,
    region: Annotated[
        str | None, typer.Option(help="that a benchmark records from (default: that of the data, or a usual one)")
    ] = None,
    metric: Annotated[str | None, typer.Option(help="of a benchmark (default: one that fits all populations)")] = None,
    data: Annotated[
        str | None, typer.Option(help="of a benchmark (default: those of the same name, or simulated ones)")
    ] = None,
    task: Annotated[
        str | None, typer.Option(help="of behavioural benchmarks or data: label, probabilities or odd_one_out")
    ] = None,
    trials: Annotated[
        int | None, typer.Option(min=1, help="how often each stimulus was shown (default: as the data say)")
    ] = None,
    visual_degrees: Annotated[
        float | None, typer.Option(min=0, help="width of the stimuli in the experiment (default: 8, a guess)")
    ] = None,
    library: Annotated[
        str | None, typer.Option(help="where it belongs (default: the first one of the checkout)")
    ] = None,
) -> int:
    """Start a plugin: write its folder, with tests that pass.

    Several kinds of one name, such as data and benchmark, are written together.
    """
    from brainscore_ci.scaffold import make

    *kinds, name = kinds_and_name
    if not kinds:
        raise ConfigurationError(
            f"Say what kind of plugin and its name, such as new-plugin {KIND_NAMES[0]} {name}; kinds are "
            f"{', '.join(KIND_NAMES)}."
        )
    request = make.PluginRequest(
        kinds=tuple(kinds),
        name=name,
        identifier=identifier,
        package=from_package,
        region=region,
        metric=metric,
        data=data,
        task=task,
        trials=trials,
        visual_degrees=visual_degrees,
    )
    print(make.new_plugin(request, Path.cwd(), library).as_text())
    return 0


@app.command(
    "test-plugin",
    cls=command_line.Command,
    rich_help_panel=_CONTRIBUTE,
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
def run_tests_of(
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME... [pytest arguments]",
            help="plugin folder, folder and name (models/pixels), identifier, or path of a plugin folder elsewhere; "
            "the first option that is none of these goes to pytest, with what follows",
            show_default=False,
        ),
    ] = None,
    library: _Library = None,
    ci: Annotated[bool, typer.Option("--ci", help="as for a pull request: no private data, no credentials")] = False,
    slow: Annotated[bool, typer.Option("--slow", help="run slow tests too")] = False,
    plan: Annotated[
        str | None, typer.Option(metavar="FILE", help="with --ci, in place of names: test a part of this plan")
    ] = None,
    shard: Annotated[str | None, typer.Option(metavar="N", help="which job of the plan, from 0")] = None,
    results: Annotated[str | None, typer.Option(metavar="FOLDER", help="where to write the results of the job")] = None,
) -> int:
    """Test plugins: their contract and their own tests."""
    from brainscore_ci.checks import runner
    from brainscore_ci.jobs.run_tests import run_request

    values = {"plan": plan, "shard": shard, "results": results}
    given = [
        *(["--ci"] if ci else []),
        *(["--slow"] if slow else []),
        *(f"--{name}={value}" for name, value in values.items() if value is not None),
    ]
    request = test_arguments.read_request([*given, *(arguments or [])])
    if request.shard:
        start_again_without_credentials()
    if request.names:
        command_line.say(f"Testing {', '.join(request.names)} ...")
    return run_request(library or runner.workplace(Path.cwd()).library, request)


@app.command("plan", cls=command_line.Command, rich_help_panel=_CONTRIBUTE)
def plan(
    base: Annotated[
        str, typer.Option(help="branch or commit to compare with (default: origin/main or main)", show_default=False)
    ] = "",
    head: Annotated[
        str | None, typer.Option(help="commit that is checked out (default: the files as they are)")
    ] = None,
    event: Annotated[
        str, typer.Option(help="what to plan for, such as pull_request or push (default: local)", show_default=False)
    ] = "",
    labels: Annotated[
        str,
        typer.Option(help="of the pull request: names with commas between, or a JSON list", show_default=False),
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="print the plan as JSON")] = False,
    output: Annotated[Path | None, typer.Option(metavar="FILE", help="where to write the plan as JSON")] = None,
    missing: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="write the pairs without a record, and nothing else"),
    ] = None,
) -> int:
    """Show what a change has to be tested and scored on.

    Exit code 1 if something in the change is refused.
    """
    from brainscore_ci.jobs import plan_change

    try:
        return plan_change.run(
            base=base, head=head, event=event, labels=labels, as_json=as_json, output=output, missing=missing
        )
    except (BrainScoreError, OSError) as error:  # not 1, which says that the change is refused
        command_line.say(f"Error: {error}")
        return command_line.WRONG_USAGE


@app.command("fetch-data", cls=command_line.Command, hidden=True)
def fetch_data(
    plan: Annotated[Path, typer.Option(metavar="FILE", help="plan as JSON (nox -s plan -- --json)")],
    shard: Annotated[int, typer.Option(metavar="I", help="number of the job, from 0")],
    tests: Annotated[bool, typer.Option("--tests", help="for private tests (default: for pairs)")] = False,
) -> int:
    """Fetch the data of one job of a plan; nothing of a plugin runs."""
    from brainscore_ci.jobs import fetch_data

    return fetch_data.fetch_for_tests(plan, shard) if tests else fetch_data.fetch_for_pairs(plan, shard)


@app.command("score-pairs", cls=command_line.Command, hidden=True)
def score_pairs(
    plan: Annotated[Path, typer.Option(metavar="FILE", help="plan as JSON (nox -s plan -- --json)")],
    records: Annotated[Path, typer.Option(metavar="DIR", help="where to write the records")],
    shard: Annotated[
        int | None, typer.Option(metavar="I", help="number of the job, from 0 (default: all)", show_default=False)
    ] = None,
    previews: Annotated[bool, typer.Option("--previews", help="score the previews of a pull request")] = False,
    fetch_records: Annotated[
        bool,
        typer.Option(
            "--fetch-records",
            help="bring the records that an earlier attempt has published, as jobs on GitHub need, whose checkout has "
            "none",
        ),
    ] = False,
    results: Annotated[Path | None, typer.Option(metavar="DIR", help="where to write results for the report")] = None,
    minutes: Annotated[float, typer.Option(help="after which nothing more is started")] = _MINUTES,
) -> int:
    """Score the pairs of one job of a plan, each in a process of its own, and write a record of each."""
    start_again_without_credentials()
    from brainscore_ci.jobs import score_shard

    return score_shard.run(
        plan,
        records,
        minutes=minutes,
        shard=shard,
        previews=previews,
        fetch_records=fetch_records,
        results=results,
    )


if __name__ == "__main__":
    sys.exit(main())
