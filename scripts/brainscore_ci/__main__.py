"""Run ``python -m brainscore_ci``; the `brainscore` program offers the same commands."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from brainscore_ci.commands import app
from brainscore_core import command_line

__all__ = ["app", "main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    return command_line.run_app(app, arguments, program="brainscore_ci")


if __name__ == "__main__":
    sys.exit(main())
