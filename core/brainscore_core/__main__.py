"""Offer the command line ``python -m brainscore_core``; exit codes: see `brainscore_core.command_line`.

``validate`` exits with 1 if it found errors; hints alone give 0.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from brainscore_core import command_line
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
    parser, commands = command_line.make_parser("brainscore_core", "Work with Brain-Score data and plugins.")

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
    validate.add_argument("--library", help="package whose data plugins are meant, where a target is one")
    validate.add_argument("--json", action="store_true", help="print JSON instead of tables")
    validate.add_argument("--nans-expected", action="store_true", help="missing values are part of the data")
    validate.add_argument("--class", dest="class_name", metavar="NAME", help="class of the assemblies in .nc files")
    command_line.add_traceback(validate)
    validate.set_defaults(command=_validate)
    return parser


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
