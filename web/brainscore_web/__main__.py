"""Define the command line ``python -m brainscore_web``; the domain's own program has the same commands."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from brainscore_core import command_line
from brainscore_web.commands import leaderboard, portal, upload

app = command_line.make_app("Show scores in a browser and upload data.")
app.add_typer(leaderboard, name="leaderboard")
app.add_typer(portal, name="portal")
app.command("upload", cls=command_line.Command, rich_help_panel="Contribute")(upload)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; None: this process's arguments."""
    return command_line.run_app(app, arguments, program="brainscore_web")


if __name__ == "__main__":
    sys.exit(main())
