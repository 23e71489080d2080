"""Offer the command line ``python -m brainscore_ci``; exit codes: see `brainscore_core.command_line`.

``check`` exits with 1 if it found errors; hints alone give 0.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from brainscore_ci.jobs import arguments as test_arguments
from brainscore_ci.scaffold.names import KIND_NAMES
from brainscore_core import command_line
from brainscore_core.errors import ConfigurationError

__all__ = ["main"]

_MINUTES = 330.0  # a job may take 6 hours, and the records have to be kept before


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        Command line without the program; None means that of this process.
    """
    return command_line.run(_parser(), arguments)


def _parser() -> argparse.ArgumentParser:
    parser, commands = command_line.make_parser("brainscore_ci", "Do what happens around a pull request and a merge.")
    _add_check(commands)
    _add_new_plugin(commands)
    _add_jobs(commands)
    return parser


def _add_jobs(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    tests = commands.add_parser(
        "test_plugin",
        help="test plugins: their contract and their own tests",
        description="Test plugins by folder, identifier or path; what follows the names goes to pytest.",
    )
    tests.add_argument("--library", help="whose plugins (default: the first one of the checkout)")
    test_arguments.add_arguments(tests)
    tests.set_defaults(command=_test_plugin)
    pairs = commands.add_parser(
        "score_pairs",
        help="score the pairs of one job of a plan",
        description="Score the pairs of one job of a plan, each in a process of its own, and write a record of each.",
    )
    pairs.add_argument("--plan", type=Path, required=True, metavar="FILE", help="plan as JSON (nox -s plan -- --json)")
    pairs.add_argument("--shard", type=int, default=None, metavar="I", help="number of the job, from 0 (default: all)")
    pairs.add_argument("--records", type=Path, required=True, metavar="DIR", help="where to write the records")
    pairs.add_argument("--previews", action="store_true", help="score the previews of a pull request")
    pairs.add_argument(
        "--fetch-records",
        action="store_true",
        help="bring the records that an earlier attempt has published, as jobs on GitHub need, whose checkout has none",
    )
    pairs.add_argument("--results", type=Path, metavar="DIR", help="where to write results for the report")
    pairs.add_argument(
        "--minutes", type=float, default=_MINUTES, help=f"after which nothing more is started (default: {_MINUTES:g})"
    )
    pairs.set_defaults(command=_score_pairs)
    command_line.add_traceback(tests, pairs)


def _test_plugin(options: argparse.Namespace) -> int:
    from brainscore_ci.checks import runner
    from brainscore_ci.jobs.run_tests import run_request

    library = options.library or runner.workplace(Path.cwd()).library
    return run_request(library, test_arguments.request_of(options))


def _score_pairs(options: argparse.Namespace) -> int:
    from brainscore_ci.jobs import score_shard

    return score_shard.run(options)


def _add_check(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    check = commands.add_parser(
        "check",
        help="check plugins without importing them",
        description="Apply the static rules to plugins; prints every problem as path:line: rule: message: fix.",
    )
    check.add_argument("names", nargs="*", metavar="NAME", help="a plugin's folder (name or path) or an identifier")
    check.add_argument("--changed", action="store_true", help="all plugins that differ from --base")
    check.add_argument(
        "--base", metavar="BRANCH", help="what to compare with, also the versions of benchmarks (for --changed: main)"
    )
    check.add_argument("--library", help="whose plugins (default: the first one of the checkout)")
    output = check.add_mutually_exclusive_group()
    output.add_argument("--github", action="store_true", help="also print annotations for a workflow of GitHub")
    output.add_argument("--json", action="store_true", help="print JSON")
    command_line.add_traceback(check)
    check.set_defaults(command=_check)


def _check(options: argparse.Namespace) -> int:
    from brainscore_ci.checks import findings, runner

    if bool(options.names) == options.changed:
        raise ConfigurationError(
            "Say which plugins to check: their names, such as nox -s check -- mymodel2024, or --changed for all that "
            "differ from main."
        )
    place = runner.workplace(Path.cwd(), options.library)
    if options.changed:
        checked = runner.check_changed(place, options.base or "main")
    else:
        checked = runner.check_named(place, options.names, options.base)
    form = findings.as_json if options.json else findings.as_text
    lines = [form(checked.findings, checked.plugins)]
    if options.github:
        lines += findings.github_annotations(checked.findings)
    print("\n".join(lines))
    return command_line.FAILED if checked.has_errors else 0


def _add_new_plugin(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:

    parser = commands.add_parser(
        "new_plugin",
        help="start a plugin",
        description="Write the folder of a new plugin, or of several kinds of one name, with tests that pass.",
        epilog="Example: new_plugin data benchmark MyExperiment2024 --region IT",
    )
    parser.add_argument("kinds", nargs="+", metavar="KIND", help=f"one or more of {', '.join(KIND_NAMES)}")
    parser.add_argument("name", help="as in a paper, MyExperiment2024, or as a folder, myexperiment2024")
    parser.add_argument("--identifier", help="what it is registered as (default: from the name)")
    parser.add_argument("--from-package", type=Path, metavar="DIR", help="packaged files to register (kind data)")
    parser.add_argument("--region", help="that a benchmark records from (default: that of the data, or a usual one)")
    parser.add_argument("--metric", help="of a benchmark (default: one that fits all populations)")
    parser.add_argument("--data", help="of a benchmark (default: those of the same name, or simulated ones)")
    parser.add_argument("--library", help="where it belongs (default: the first one of the checkout)")
    command_line.add_traceback(parser)
    parser.set_defaults(command=_new_plugin)


def _new_plugin(options: argparse.Namespace) -> int:
    from brainscore_ci.scaffold import make

    request = make.PluginRequest(
        kinds=tuple(options.kinds),
        name=options.name,
        identifier=options.identifier,
        package=options.from_package,
        region=options.region,
        metric=options.metric,
        data=options.data,
    )
    print(make.new_plugin(request, Path.cwd(), options.library).as_text())
    return 0


if __name__ == "__main__":
    sys.exit(main())
