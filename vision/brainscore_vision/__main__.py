"""Offer the command line ``python -m brainscore_vision``; exit codes: see `brainscore_core.command_line`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from brainscore_core import command_line
from brainscore_vision.catalogue.commands import add_commands as add_data_commands

__all__ = ["main"]

_KINDS = ("models", "benchmarks", "metrics", "data", "stimulus_sets")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        Command line without the program; None means that of this process.
    """
    return command_line.run(_parser(), arguments)


def _parser() -> argparse.ArgumentParser:
    parser, commands = command_line.make_parser("brainscore_vision", "Score how brain-like vision models are.")

    score = commands.add_parser(
        "score",
        help="score one model on one benchmark",
        description="Score one model on one benchmark; prints the summary and writes the full record as JSON.",
    )
    score.add_argument("--model_identifier", "--model", required=True, metavar="MODEL", help="such as pixels")
    score.add_argument(
        "--benchmark_identifier",
        "--benchmark",
        required=True,
        metavar="BENCHMARK",
        help="such as SimulatedCortex2026.V1-pls",
    )
    score.add_argument(
        "--record", type=Path, metavar="FILE", help="where to write the record (default: the scores folder)"
    )
    score.add_argument(
        "--failure",
        type=Path,
        metavar="FILE",
        help="where to write a record that says what went wrong, if something does",
    )
    # Accepted, with or without a value, because scripts written for the published system pass it.
    score.add_argument("--conda_active", nargs="?", const="True", default="False", help=argparse.SUPPRESS)
    score.set_defaults(command=_score)

    listing = commands.add_parser("list", help="list the registered identifiers of one kind")
    listing.add_argument("kind", choices=_KINDS)
    listing.set_defaults(command=_list)

    add_data_commands(commands)
    command_line.add_traceback(score, listing)
    return parser


def _score(options: argparse.Namespace) -> int:
    from brainscore_vision import scoring

    prepared = options.conda_active.lower() in ("true", "1", "yes")
    command_line.say(f"Scoring {options.model_identifier} on {options.benchmark_identifier} ...")
    model, benchmark = options.model_identifier, options.benchmark_identifier
    try:
        _, record, path = scoring.score_and_record(model, benchmark, options.record, conda_active=prepared)
    except Exception as error:
        if options.failure is not None:
            scoring.record_failure(model, benchmark, error, options.failure)
        raise
    print(scoring.format_record(record, path))  # noqa: T201 - the result
    return 0


def _list(options: argparse.Namespace) -> int:
    from brainscore_vision.loading import known_identifiers

    for identifier in known_identifiers(options.kind):
        print(identifier)  # noqa: T201 - the result
    return 0


if __name__ == "__main__":
    sys.exit(main())
