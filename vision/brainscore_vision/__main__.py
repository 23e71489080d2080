"""Offer the command line ``python -m brainscore_vision``.

Exit codes: 0 done; 1 the model or benchmark failed; 2 wrong usage or an unknown name; 3 data, weights or requirements
cannot be had; 130 interrupted.
"""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

from brainscore_core.errors import (
    BrainScoreError,
    ChecksumError,
    ConfigurationError,
    CorruptFileError,
    DownloadError,
    MissingStimulusError,
    RequirementsError,
    UnknownIdentifierError,
)
from brainscore_vision import __version__

__all__ = ["main"]

FAILED, WRONG_USAGE, NOT_AVAILABLE, INTERRUPTED = 1, 2, 3, 130
_USAGE_ERRORS = (UnknownIdentifierError, ConfigurationError)
_AVAILABILITY_ERRORS = (ChecksumError, CorruptFileError, DownloadError, MissingStimulusError, RequirementsError)
_KINDS = ("models", "benchmarks", "metrics", "data", "stimulus_sets")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        Command line without the program; None means that of this process.
    """
    options = _parser().parse_args(arguments)
    command: Callable[[argparse.Namespace], int] = options.command
    try:
        return command(options)
    except KeyboardInterrupt:
        _say("Interrupted. Nothing half-written is left; run the same command again to continue.")
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of a pipe (`| head`) has gone: nothing more to say. Keep the interpreter from flushing at exit.
        sys.stderr.close()
        return 0
    except Exception as error:  # noqa: BLE001 - the outermost frame: people get one message, not a traceback
        return _explain(error, show_traceback=options.traceback)


def _explain(error: Exception, *, show_traceback: bool) -> int:
    if show_traceback:
        traceback.print_exception(error)
    if isinstance(error, BrainScoreError):
        _say(f"Error: {error}")
    else:
        hint = "" if show_traceback else " Add --traceback to see where."
        _say(f"Error: {type(error).__name__}: {error}.{hint}")
    if isinstance(error, _USAGE_ERRORS):
        return WRONG_USAGE
    return NOT_AVAILABLE if isinstance(error, _AVAILABILITY_ERRORS) else FAILED


def _say(message: str) -> None:
    print(message, file=sys.stderr)  # noqa: T201 - a command line talks


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="brainscore_vision",
        description="Score how brain-like vision models are.",
        epilog="Exit codes: 0 done, 1 failed, 2 wrong usage or unknown name, 3 data or weights not available.",
    )
    parser.add_argument("--version", action="version", version=f"brainscore_vision {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

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
    # Accepted, with or without a value, because scripts written for the published system pass it.
    score.add_argument("--conda_active", nargs="?", const="True", default="False", help=argparse.SUPPRESS)
    score.set_defaults(command=_score)

    listing = commands.add_parser("list", help="list the registered identifiers of one kind")
    listing.add_argument("kind", choices=_KINDS)
    listing.set_defaults(command=_list)

    testing = commands.add_parser(
        "test_plugin",
        help="run the tests of one plugin",
        description="Run the tests of one plugin, by folder or identifier; what follows goes to pytest.",
    )
    testing.add_argument("name", help="plugin folder or identifier, such as pixels")
    testing.add_argument("pytest_arguments", nargs=argparse.REMAINDER, metavar="...", help="arguments for pytest")
    testing.set_defaults(command=_test_plugin)

    for command in (score, listing, testing):
        command.add_argument("--traceback", action="store_true", help="show the Python traceback of an error")
    return parser


def _score(options: argparse.Namespace) -> int:
    from brainscore_core.config import settings
    from brainscore_vision import scoring

    prepared = options.conda_active.lower() in ("true", "1", "yes")
    if settings().install_dependencies == "newenv" and not prepared:
        scoring.score(options.model_identifier, options.benchmark_identifier)
        return 0
    _say(f"Scoring {options.model_identifier} on {options.benchmark_identifier} ...")
    _, record, path = scoring.score_and_record(options.model_identifier, options.benchmark_identifier, options.record)
    print(scoring.format_record(record, path))  # noqa: T201 - the result
    return 0


def _list(options: argparse.Namespace) -> int:
    from brainscore_vision.loading import known_identifiers

    for identifier in known_identifiers(options.kind):
        print(identifier)  # noqa: T201 - the result
    return 0


def _test_plugin(options: argparse.Namespace) -> int:
    from brainscore_core.testing.plugin_tests import run_plugin_tests

    return run_plugin_tests("brainscore_vision", options.name, options.pytest_arguments)


if __name__ == "__main__":
    sys.exit(main())
