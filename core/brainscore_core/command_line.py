"""Run a command line: one message for an error instead of a traceback, and an exit code that says what kind it was."""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Callable, Sequence

from brainscore_core._version import __version__
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

__all__ = [
    "EXIT_CODES",
    "FAILED",
    "INTERRUPTED",
    "NOT_AVAILABLE",
    "WRONG_USAGE",
    "add_traceback",
    "make_parser",
    "run",
    "say",
]

FAILED, WRONG_USAGE, NOT_AVAILABLE, INTERRUPTED = 1, 2, 3, 130
EXIT_CODES = (
    "Exit codes: 0 done, 1 failed, 2 wrong usage or unknown name, 3 data, weights or requirements not available, "
    "130 interrupted."
)
_USAGE_ERRORS = (UnknownIdentifierError, ConfigurationError)
_AVAILABILITY_ERRORS = (ChecksumError, CorruptFileError, DownloadError, MissingStimulusError, RequirementsError)


def run(parser: argparse.ArgumentParser, arguments: Sequence[str] | None = None) -> int:
    """Parse a command line, run its command, and return the exit code (see `EXIT_CODES`).

    Parameters
    ----------
    parser : ArgumentParser
        Sets ``command``, a function from the parsed options to an exit code, and ``traceback`` (see `add_traceback`).
    arguments : sequence of str, optional
        Command line without the program; None means that of this process.
    """
    options = parser.parse_args(arguments)
    command: Callable[[argparse.Namespace], int] = options.command
    try:
        return command(options)
    except KeyboardInterrupt:
        say("Interrupted. Nothing half-written is left; run the same command again to continue.")
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of a pipe (`| head`) has gone: nothing more to say. Keep the interpreter from flushing at exit.
        sys.stderr.close()
        return 0
    except Exception as error:  # noqa: BLE001 - the outermost frame: people get one message, not a traceback
        return _explain(error, show_traceback=options.traceback)


def make_parser(
    prog: str, description: str
) -> tuple[argparse.ArgumentParser, argparse._SubParsersAction[argparse.ArgumentParser]]:
    """Return the parser of a program with ``--version`` and its exit codes, and what its commands are added to."""
    parser = argparse.ArgumentParser(prog=prog, description=description, epilog=EXIT_CODES)
    parser.add_argument("--version", action="version", version=f"{prog} {__version__}")
    return parser, parser.add_subparsers(required=True, metavar="COMMAND")


def add_traceback(*parsers: argparse.ArgumentParser) -> None:
    """Give commands the option to show where an error comes from."""
    for parser in parsers:
        parser.add_argument("--traceback", action="store_true", help="show the Python traceback of an error")


def say(message: str) -> None:
    """Tell people something beside the result, on standard error."""
    print(message, file=sys.stderr)  # noqa: T201 - a command line talks


def _explain(error: Exception, *, show_traceback: bool) -> int:
    if show_traceback:
        traceback.print_exception(error)
    if isinstance(error, BrainScoreError):
        say(f"Error: {error}")
    else:
        hint = "" if show_traceback else " Add --traceback to see where."
        say(f"Error: {type(error).__name__}: {error}.{hint}")
    if isinstance(error, _USAGE_ERRORS):
        return WRONG_USAGE
    return NOT_AVAILABLE if isinstance(error, _AVAILABILITY_ERRORS) else FAILED
