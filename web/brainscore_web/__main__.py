"""Offer the command line ``python -m brainscore_web``, whose commands are also those of the domain's own program."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from brainscore_core import command_line
from brainscore_web.leaderboard.commands import leaderboard

__all__ = ["app", "main"]

app = command_line.make_app("Show scores in a browser.")
app.add_typer(leaderboard, name="leaderboard")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        Command line without the program; None means that of this process.
    """
    return command_line.run_app(app, arguments, program="brainscore_web")


if __name__ == "__main__":
    sys.exit(main())
