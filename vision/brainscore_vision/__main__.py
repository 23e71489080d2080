"""The command line ``brainscore``, also ``python -m brainscore_vision``.

Exit codes: see `brainscore_core.command_line`. Packages add commands by an app in the group ``brainscore.commands`` of
their entry points.
"""

import sys
from collections.abc import Sequence
from importlib.metadata import entry_points

from brainscore_core import __main__ as core
from brainscore_core import command_line
from brainscore_vision.commands import app

__all__ = ["main"]

_DEFAULTS = {
    command: {"library": "brainscore_vision"} for command in ("validate", "check", "new-plugin", "test-plugin")
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command, by default from this process's arguments, and return its exit code."""
    declared = {point.value: point for point in entry_points(group="brainscore.commands")}  # without duplicates
    further = [core.app, *(point.load() for point in declared.values())]
    return command_line.run_app(
        app, arguments, program="brainscore", further=further, defaults=_DEFAULTS, completion=True
    )


if __name__ == "__main__":
    sys.exit(main())
