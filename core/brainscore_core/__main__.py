"""Offer the command line ``python -m brainscore_core``; exit codes: see `brainscore_core.command_line`.

``validate`` exits with 1 if it finds errors, and with 0 if it finds only hints.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from brainscore_core import command_line
from brainscore_core.errors import AssemblyError, ConfigurationError, PluginError

if TYPE_CHECKING:
    from brainscore_core.validation.problem import Problem

_WIDTH_IN_A_FILE = 160

app = command_line.make_app("Work with Brain-Score data and plugins.")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command, by default from this process's arguments, and return its exit code."""
    return command_line.run_app(app, arguments, program="brainscore_core")


@app.command(cls=command_line.Command, rich_help_panel="Contribute")
def validate(
    targets: Annotated[
        list[str],
        typer.Argument(
            metavar="TARGET...",
            help="a .csv, .zip or .nc file, a folder with these, a data plugin (name or folder), or an identifier",
            show_default=False,
        ),
    ],
    library: Annotated[
        str | None,
        typer.Option(
            help="package with the data plugins, for targets that are plugins or identifiers", show_default=False
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON instead of tables")] = False,
    nans_expected: Annotated[
        bool, typer.Option("--nans-expected", help="accept missing values as part of the data")
    ] = False,
    class_name: Annotated[
        str | None, typer.Option("--class", metavar="NAME", help="class of the assemblies in .nc files")
    ] = None,
) -> int:
    """Check stimulus sets and assemblies against the data standard.

    Prints every problem with its remedy.
    """
    for target in targets:
        if not Path(target).exists() or Path(target, "__init__.py").exists():  # a plugin, whose imports may take long
            command_line.say(f"Loading {target} ...")
    from brainscore_core.inspection import check_target

    try:
        problems_by_target = {
            target: check_target(target, library, nans_expected=nans_expected, class_name=class_name)
            for target in dict.fromkeys(targets)
        }
    except (AssemblyError, PluginError) as error:  # an unknown --class or --library
        raise ConfigurationError(str(error)) from error
    command_line.show(_as_json(problems_by_target) if as_json else _as_text(problems_by_target))
    return command_line.FAILED if any(_counts(problems)[0] for problems in problems_by_target.values()) else 0


def _counts(problems: Sequence[Problem]) -> tuple[int, int]:
    hints = sum(problem.is_hint for problem in problems)
    return len(problems) - hints, hints


def _as_text(problems_by_target: dict[str, list[Problem]]) -> str:
    from brainscore_core.validation.problem import format_table

    width = shutil.get_terminal_size((_WIDTH_IN_A_FILE, 24)).columns
    blocks = []
    for target, problems in problems_by_target.items():
        errors, hints = _counts(problems)
        summary = f"{target}: {errors} error{'s' * (errors != 1)}, {hints} hint{'s' * (hints != 1)}"
        blocks.append(f"{summary}\n\n{format_table(problems, width)}" if problems else summary)
    return "\n\n".join(blocks)


def _as_json(problems_by_target: dict[str, list[Problem]]) -> str:
    targets = [
        {
            "target": target,
            "problems": [
                {key: getattr(problem, key) for key in ("kind", "where", "what", "fix")} for problem in problems
            ],
        }
        for target, problems in problems_by_target.items()
    ]
    errors, hints = (sum(numbers) for numbers in zip(*map(_counts, problems_by_target.values()), strict=True))
    return json.dumps({"errors": errors, "hints": hints, "targets": targets}, indent=2)


if __name__ == "__main__":
    sys.exit(main())
