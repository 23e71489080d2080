"""The commands ``brainscore cache list|explain|clean``: which activations are cached, why, and what can be removed."""

from typing import Annotated

import typer

from brainscore_core import command_line
from brainscore_core.errors import ConfigurationError

__all__ = ["app"]

app = command_line.make_app("List, explain and remove cached activations.")


@app.command("list", cls=command_line.Command)
def list_entries(
    verify: Annotated[bool, typer.Option("--verify", help="compare all bytes with their checksums")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON, with every part of the keys")] = False,
) -> int:
    """List cached activations, the least recently used first."""
    from brainscore_vision.commands.work import cached

    return cached.list_entries(verify=verify, as_json=as_json)


@app.command("explain", cls=command_line.Command)
def explain(last: Annotated[int, typer.Option(metavar="N", help="how many calls, the latest last")] = 1) -> int:
    """Explain why the last calls were hits or misses.

    Names the layers that were in the cache and, for the others, which parts of their key differ from the nearest entry.
    """
    from brainscore_vision.commands.work import cached

    return cached.explain(last)


@app.command("clean", cls=command_line.Command)
def clean(
    to_gb: Annotated[
        float | None,
        typer.Option(metavar="GB", min=0, help="until the rest takes at most so much (10^9 bytes)", show_default=False),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="everything")] = False,
    damaged: Annotated[
        bool, typer.Option("--damaged", help="what does not agree with its checksums or is of another version")
    ] = False,
) -> int:
    """Remove cached activations: one of --to-gb, --all and --damaged says which.

    The least recently used go first; entries in use stay. --to-gb and --all likewise remove kept answers of models in
    boxes.
    """
    if (to_gb is not None) + everything + damaged != 1:
        raise ConfigurationError("Say what may go: one of --to-gb GB, --all and --damaged.")
    if to_gb is not None and not to_gb < float("inf"):
        raise ConfigurationError(f"--to-gb is {to_gb}; expected a number of GB from 0.")
    from brainscore_vision.commands.work import cached

    return cached.clean(None if damaged else int((to_gb or 0) * 1e9), everything=everything)
