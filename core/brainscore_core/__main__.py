"""Offer the command line ``python -m brainscore_core``; exit codes: see `brainscore_core.command_line`.

``validate`` and ``check`` exit with 1 if they found errors; hints alone give 0.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from brainscore_core import __version__, command_line
from brainscore_core.errors import AssemblyError, ConfigurationError, PluginError

if TYPE_CHECKING:
    from brainscore_core.validation.problem import Problem

__all__ = ["main"]

_WIDTH_IN_A_FILE = 160


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        Command line without the program; None means that of this process.
    """
    return command_line.run(_parser(), arguments)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="brainscore_core",
        description="Work with Brain-Score data and plugins.",
        epilog=command_line.EXIT_CODES,
    )
    parser.add_argument("--version", action="version", version=f"brainscore_core {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    validate = commands.add_parser(
        "validate",
        help="check stimulus sets and assemblies",
        description="Check data against the data standard; prints every problem with what to do about it.",
    )
    validate.add_argument(
        "targets",
        nargs="+",
        metavar="TARGET",
        help="a .csv, .zip or .nc file, a folder with these, a data plugin (name or folder), or an identifier",
    )
    validate.add_argument("--library", default="brainscore_vision", help="whose plugins (default: %(default)s)")
    validate.add_argument("--json", action="store_true", help="print JSON instead of tables")
    validate.add_argument("--nans-expected", action="store_true", help="missing values are part of the data")
    validate.add_argument("--class", dest="class_name", metavar="NAME", help="class of the assemblies in .nc files")
    command_line.add_traceback(validate)
    validate.set_defaults(command=_validate)
    _add_check(commands)
    _add_new_plugin(commands)
    return parser


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
    check.add_argument("--library", default="brainscore_vision", help="whose plugins (default: %(default)s)")
    output = check.add_mutually_exclusive_group()
    output.add_argument("--github", action="store_true", help="also print annotations for a workflow of GitHub")
    output.add_argument("--json", action="store_true", help="print JSON")
    command_line.add_traceback(check)
    check.set_defaults(command=_check)


def _check(options: argparse.Namespace) -> int:
    from brainscore_core.ci.checks import findings, runner

    if bool(options.names) == options.changed:
        raise ConfigurationError(
            "Say which plugins to check: their names, such as nox -s check -- pixels, or --changed for all that differ "
            "from main."
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
    print("\n".join(lines))  # noqa: T201 - the result
    return command_line.FAILED if checked.has_errors else 0


def _add_new_plugin(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    from brainscore_core.scaffold.names import KIND_NAMES

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
    parser.add_argument("--region", help="that a benchmark records from (default: the only one of the data, or IT)")
    parser.add_argument("--metric", help="of a benchmark (default: pls)")
    parser.add_argument("--data", help="of a benchmark (default: those of the same name, or simulated ones)")
    parser.add_argument("--library", default="brainscore_vision", help="where it belongs (default: %(default)s)")
    command_line.add_traceback(parser)
    parser.set_defaults(command=_new_plugin)


def _new_plugin(options: argparse.Namespace) -> int:
    from brainscore_core.scaffold import make

    wish = make.Wish(
        kinds=tuple(options.kinds),
        name=options.name,
        identifier=options.identifier,
        package=options.from_package,
        region=options.region,
        metric=options.metric,
        data=options.data,
    )
    made = make.new_plugin(wish, Path.cwd(), options.library)
    print(made.as_text())  # noqa: T201 - the result
    return 0


def _validate(options: argparse.Namespace) -> int:
    from brainscore_core.validation.targets import check_target

    try:
        found = {
            target: check_target(
                target, options.library, nans_expected=options.nans_expected, class_name=options.class_name
            )
            for target in dict.fromkeys(options.targets)
        }
    except (AssemblyError, PluginError) as error:  # an unknown --class or --library
        raise ConfigurationError(str(error)) from error
    print(_as_json(found) if options.json else _as_text(found))  # noqa: T201 - the result
    return command_line.FAILED if any(_counts(problems)[0] for problems in found.values()) else 0


def _counts(problems: Sequence[Problem]) -> tuple[int, int]:
    hints = sum(problem.is_hint for problem in problems)
    return len(problems) - hints, hints


def _as_text(found: dict[str, list[Problem]]) -> str:
    from brainscore_core.validation.problem import format_table

    width = shutil.get_terminal_size((_WIDTH_IN_A_FILE, 24)).columns
    blocks = []
    for target, problems in found.items():
        errors, hints = _counts(problems)
        summary = f"{target}: {errors} error{'s' * (errors != 1)}, {hints} hint{'s' * (hints != 1)}"
        blocks.append(f"{summary}\n\n{format_table(problems, width)}" if problems else summary)
    return "\n\n".join(blocks)


def _as_json(found: dict[str, list[Problem]]) -> str:
    targets = [
        {
            "target": target,
            "problems": [
                {"kind": problem.kind, "where": problem.where, "what": problem.what, "fix": problem.fix}
                for problem in problems
            ],
        }
        for target, problems in found.items()
    ]
    errors, hints = (sum(numbers) for numbers in zip(*map(_counts, found.values()), strict=True))
    return json.dumps({"errors": errors, "hints": hints, "targets": targets}, indent=2)


if __name__ == "__main__":
    sys.exit(main())
