"""Commands people run on their plugins; bodies are imported late, for speed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from brainscore_ci.scaffold.names import KIND_NAMES
from brainscore_core import command_line
from brainscore_core.errors import BrainScoreError, ConfigurationError

_FACTS = "Facts of all its plugins"
_Columns = Annotated[
    list[str] | None,
    typer.Option(
        metavar="ROLE=NAME",
        help="column with another name, such as stimulus=picture_name; ignore=NAME leaves one out",
    ),
]
_Window = Annotated[
    tuple[float, float] | None,
    typer.Option(metavar="START END", help="ms after onset within which spike times are counted"),
]
_Bins = Annotated[int, typer.Option(min=1, help="time bins that --window is divided into")]
_Units = Annotated[str | None, typer.Option(help="of the values in a table, such as spikes/s or percent signal change")]
_Library = Annotated[str | None, typer.Option(help="package with the plugins (default: the checkout's first)")]


def check(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="a plugin's folder (name or path) or an identifier")
    ] = None,
    changed: Annotated[bool, typer.Option("--changed", help="all plugins that differ from --base")] = False,
    base: Annotated[
        str | None,
        typer.Option(metavar="BRANCH", help="what to compare with, benchmark versions too (for --changed: main)"),
    ] = None,
    library: _Library = None,
    github: Annotated[bool, typer.Option("--github", help="also print annotations for a GitHub workflow")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
    fix: Annotated[
        bool, typer.Option("--fix", help="first fix what is mechanical: old names, missing keys of metadata.yml")
    ] = False,
    results: Annotated[Path | None, typer.Option(metavar="FOLDER", help="also write the report's input here")] = None,
) -> int:
    """Check plugins without importing them.

    Applies the static rules; prints every problem as path:line: rule: message: fix.
    """
    from brainscore_ci.checks import findings, runner
    from brainscore_core.files import atomic_path

    if bool(names) == changed:
        raise ConfigurationError(
            "Say which plugins to check: their names, such as brainscore check mymodel2024, or --changed for all that "
            "differ from main."
        )
    if github and as_json:
        raise ConfigurationError("--github and --json exclude each other: leave one out.")
    place = runner.workplace(Path.cwd(), library)
    if changed:
        checked = runner.check_changed(place, base or "main", fix=fix)
    else:
        checked = runner.check_named(place, names or [], base, fix=fix)
    form = findings.as_json if as_json else findings.as_text
    lines = [form(checked.findings, checked.plugins)]
    if not as_json:
        lines = [*(f"fixed {findings.printable(file)}" for file in checked.fixed), *lines]
    if github:
        lines += findings.github_annotations(checked.findings)
    command_line.show("\n".join(lines))
    if results is not None:
        with atomic_path(results / "check.json") as temporary:
            temporary.write_text(findings.as_results(checked.findings, checked.new).to_json(), encoding="utf-8")
    return command_line.FAILED if checked.has_errors else 0


@dataclass(frozen=True, kw_only=True)
class NewPluginOptions:
    """Options of `new_plugin`."""

    kinds_and_name: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="KIND... NAME",
            help=f"one or more of {', '.join(KIND_NAMES)}; then the name as in a paper, MyExperiment2024, or as a "
            "folder, myexperiment2024",
            show_default=False,
        ),
    ] = None
    repository: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="write to this repository of your own, which gets what it needs, such as a workflow that tests its "
            "plugins; without KIND and NAME only that",
            show_default=False,
        ),
    ] = None
    identifier: Annotated[
        str | None, typer.Option(help="identifier to register (default: from the name)", show_default=False)
    ] = None
    from_package: Annotated[Path | None, typer.Option(metavar="DIR", help="packaged files to register (kind data)")] = (
        None
    )
    from_csv: Annotated[
        tuple[Path, Path] | None,
        typer.Option(
            metavar="STIMULI RESPONSES",
            help="tables to package and register: stimuli with file names; responses, spike times or choices",
        ),
    ] = None
    column: _Columns = None
    window: _Window = None
    bins: _Bins = 1
    region: Annotated[str | None, typer.Option(help="recorded region (default: that of the data, or a usual one)")] = (
        None
    )
    metric: Annotated[
        str | None, typer.Option(help="metric of the benchmark (default: one that fits every population)")
    ] = None
    data: Annotated[
        str | None, typer.Option(help="data of the benchmark (default: data of the same name, or simulated data)")
    ] = None
    task: Annotated[str | None, typer.Option(help="behavioural task: label, probabilities or odd_one_out")] = None
    trials: Annotated[
        int | None, typer.Option(min=1, help="presentations of each stimulus (default: as in the data)")
    ] = None
    visual_degrees: Annotated[
        float | None, typer.Option(min=0, help="width of the stimuli in the experiment (default: 8, a guess)")
    ] = None
    units: _Units = None
    contact: Annotated[
        str | None, typer.Option(help="e-mail address, or GitHub name with @", rich_help_panel=_FACTS)
    ] = None
    licence: Annotated[
        str | None, typer.Option("--licence", "--license", help="such as CC-BY-4.0", rich_help_panel=_FACTS)
    ] = None
    species: Annotated[str | None, typer.Option(help="such as 'Macaca mulatta'", rich_help_panel=_FACTS)] = None
    citation: Annotated[str | None, typer.Option(metavar="DOI", help="of the publication", rich_help_panel=_FACTS)] = (
        None
    )
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="replace the files of an earlier scaffold of this name")
    ] = False
    library: _Library = None


def new_plugin(options: NewPluginOptions) -> int:
    """Start a plugin: write its folder, with tests that pass."""
    from brainscore_ci.scaffold import make

    if options.repository is not None:
        files = make.new_repository(options.repository, Path.cwd(), options.library)
        command_line.show("\n".join(f"Written: {file}" for file in files) or f"{options.repository} has all it needs.")
        if not options.kinds_and_name:
            return 0
    *kinds, name = options.kinds_and_name or [""]
    if not kinds:
        raise ConfigurationError(
            f"Say what kind of plugin and its name, such as new-plugin {KIND_NAMES[0]} {name}; kinds are "
            f"{', '.join(KIND_NAMES)}."
        )
    tables = None
    if options.from_csv is not None:
        stimuli, responses = options.from_csv
        tables = make.TablesRequest(
            stimuli=stimuli,
            responses=responses,
            columns=tuple(options.column or ()),
            window=options.window,
            bins=options.bins,
            region=options.region,
            units=options.units,
        )
    elif options.column or options.window is not None or options.bins != 1 or options.units is not None:
        raise ConfigurationError(
            "--column, --window, --bins and --units are about tables: add --from-csv STIMULI RESPONSES."
        )
    facts = {key: getattr(options, key) for key in ("contact", "licence", "species", "citation")}
    request = make.PluginRequest(
        kinds=tuple(kinds),
        name=name,
        identifier=options.identifier,
        package=options.from_package,
        tables=tables,
        region=options.region,
        metric=options.metric,
        data=options.data,
        task=options.task,
        trials=options.trials,
        visual_degrees=options.visual_degrees,
        facts={key: value for key, value in facts.items() if value is not None},
        overwrite=options.overwrite,
        repository=options.repository and options.repository.resolve(),
    )
    command_line.show(make.new_plugin(request, Path.cwd(), options.library).as_text())
    return 0


def package(
    stimuli: Annotated[Path, typer.Argument(help="table of stimuli with file names")],
    responses: Annotated[
        Path | None, typer.Argument(help="table of responses, spike times or choices", show_default=False)
    ] = None,
    identifier: Annotated[str, typer.Option(help="identifier of the data, such as MyExperiment2024")] = "",
    to: Annotated[Path, typer.Option(metavar="FOLDER", help="folder for the packaged files")] = Path("packaged"),
    column: _Columns = None,
    window: _Window = None,
    bins: _Bins = 1,
    region: Annotated[str | None, typer.Option(help="recorded region, if no column says it")] = None,
    units: _Units = None,
) -> int:
    """Package tables of an experiment, to be uploaded or registered, as new-plugin --from-csv does."""
    from brainscore_ci.scaffold.plan import plain_identifier
    from brainscore_ci.scaffold.tables import TablesRequest, read_experiment, write_package

    name = plain_identifier(identifier, "--identifier")
    experiment = read_experiment(TablesRequest(stimuli, responses, tuple(column or ()), window, bins, region, units))
    write_package(experiment, name, to)
    command_line.show(f"{experiment.as_text()}\nPackaged into {to}. Next: brainscore upload {to}")
    return 0


def run_tests(
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME... [pytest arguments]",
            help="plugin folder, folder and name (models/pixels), identifier, or path of a plugin folder elsewhere; "
            "the first unknown option and all that follows go to pytest",
            show_default=False,
        ),
    ] = None,
    library: _Library = None,
    ci: Annotated[bool, typer.Option("--ci", help="as for a pull request: no private data, no credentials")] = False,
    slow: Annotated[bool, typer.Option("--slow", help="run slow tests too")] = False,
    plan: Annotated[
        Path | None, typer.Option(metavar="FILE", help="with --ci, instead of names: test one job of this plan")
    ] = None,
    shard: Annotated[int | None, typer.Option(metavar="N", min=0, help="number of the job, from 0")] = None,
    results: Annotated[Path | None, typer.Option(metavar="FOLDER", help="folder for the job's results")] = None,
) -> int:
    """Test plugins: their contract and their own tests."""
    from brainscore_ci.checks.runner import workplace
    from brainscore_ci.jobs.credentials import start_again_without_credentials
    from brainscore_ci.jobs.plugin_tests import TestOptions, run_plugin_tests
    from brainscore_ci.jobs.run_tests import ShardRequest, run_shard

    words = arguments or []  # from the first option on they go to pytest
    n_names = next((index for index, word in enumerate(words) if word.startswith("-")), len(words))
    names = words[:n_names]
    options = TestOptions(private=not ci, slow=slow, pytest_arguments=tuple(words[n_names:]))
    if plan is not None and shard is not None and results is not None:
        if names or not ci:
            raise ConfigurationError("--plan, --shard and --results need --ci, and no names of plugins.")
        start_again_without_credentials()
        request = ShardRequest(plan=plan, shard=shard, results=results)
        return run_shard(library or workplace(Path.cwd()).library, request, options, repository=Path.cwd())
    given = {"--plan": plan, "--shard": shard, "--results": results}
    missing = [option for option, value in given.items() if value is None]
    if len(missing) < len(given):
        raise ConfigurationError(f"--plan, --shard and --results go together; missing: {', '.join(missing)}.")
    if not names:
        raise ConfigurationError("Name at least one plugin, such as: nox -s test_plugin -- pixels")
    command_line.say(f"Testing {', '.join(names)} ...")
    return run_plugin_tests(library or workplace(Path.cwd()).library, names, options)


def plan(
    base: Annotated[
        str, typer.Option(help="branch or commit to compare with (default: origin/main or main)", show_default=False)
    ] = "",
    head: Annotated[
        str | None, typer.Option(help="commit that is checked out (default: the files in the working tree)")
    ] = None,
    event: Annotated[
        str, typer.Option(help="event to plan for, such as pull_request or push (default: local)", show_default=False)
    ] = "",
    labels: Annotated[
        str, typer.Option(help="labels of the pull request: comma-separated or a JSON list", show_default=False)
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="print the plan as JSON")] = False,
    output: Annotated[Path | None, typer.Option(metavar="FILE", help="file to write the plan to, as JSON")] = None,
    missing: Annotated[
        Path | None, typer.Option(metavar="FILE", help="only write the pairs without a record to this file")
    ] = None,
) -> int:
    """Show the tests and scores that a change needs.

    Exit code 1 if the plan refuses a file of the change.
    """
    from brainscore_ci.jobs import plan_change

    try:
        return plan_change.run(
            base=base, head=head, event=event, labels=labels, as_json=as_json, output=output, missing=missing
        )
    except (BrainScoreError, OSError) as error:  # not 1, which means that the change is refused
        command_line.say(f"Error: {error}")
        return command_line.WRONG_USAGE
