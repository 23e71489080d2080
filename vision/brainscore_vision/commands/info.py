"""The command ``brainscore info``: describe anything that a plugin registers."""

from __future__ import annotations

from typing import Annotated

import typer

from brainscore_core import command_line
from brainscore_vision.catalogue.commands import print_descriptions
from brainscore_vision.catalogue.completion import complete_identifier

__all__ = ["info"]


def info(
    name: Annotated[
        str,
        typer.Argument(
            help="a model, benchmark, metric, data or stimulus set, or the folder of a plugin",
            autocompletion=complete_identifier,
            show_default=False,
        ),
    ],
) -> int:
    """Describe any plugin: what it is, what it needs, licence, ceiling, how to cite it.

    Of what can be described without running the plugin.
    """
    from brainscore_vision.catalogue.describe import describe

    print_descriptions(describe(name, tell=command_line.say))
    return 0
