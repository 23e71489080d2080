"""Define ``brainscore leaderboard``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from brainscore_core import command_line
from brainscore_core.errors import count

leaderboard = command_line.make_app("Build the leaderboard, a static site, and view it.")

_Records = Annotated[
    Path | None, typer.Option(metavar="FOLDER", help="records to show (default: those of `brainscore score`)")
]
_At = Annotated[
    str | None,
    typer.Option(metavar="REVISION", help="a branch or commit of records instead of a folder, such as origin/scores"),
]
_Date = Annotated[
    str | None, typer.Option(metavar="YYYY-MM-DD", help="with --at: its state at the end of that day, UTC")
]
_Catalogue = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        exists=True,
        dir_okay=False,
        help="facts about models and benchmarks (default: from installed domains)",
    ),
]
_MadeUp = Annotated[
    str | None, typer.Option(metavar="MODELSxBENCHMARKS", help="made-up records instead of real ones, such as 40x12")
]
_To = Annotated[Path, typer.Option(metavar="FOLDER", help="folder of the site")]


@leaderboard.command("build", cls=command_line.Command)
def build(
    records: _Records = None,
    at: _At = None,
    date: _Date = None,
    catalogue: _Catalogue = None,
    made_up: _MadeUp = None,
    to: _To = Path("site"),
    gone: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            exists=True,
            dir_okay=False,
            help="models, benchmarks or pairs that may be gone, one per line",
        ),
    ] = None,
    processes: Annotated[
        int | None, typer.Option(min=1, help="number of processes (default: one per processor)")
    ] = None,
) -> int:
    """Build the site from all records and replace the existing one.

    Exit code 1 if a model or score of the existing site or of the branch would be gone.
    """
    from brainscore_web.building import build_site  # heavy: NumPy, pydantic

    allowed = [] if gone is None else [line.strip() for line in gone.read_text(encoding="utf-8").splitlines()]
    built = build_site(records, at, date, catalogue, made_up, to, gone=allowed, processes=processes)
    command_line.say(
        f"{to / 'index.html'}: {count(built.n_models, 'model')}, {count(built.n_benchmarks, 'benchmark')}, "
        f"{count(built.n_records, 'record')}."
        + (
            f" {count(built.n_left_out, 'registered benchmark')} without a record and in no average "
            f"{'is' if built.n_left_out == 1 else 'are'} not listed."
            if built.n_left_out
            else ""
        )
    )
    return 0


@leaderboard.command("serve", cls=command_line.Command)
def serve(
    records: _Records = None,
    at: _At = None,
    date: _Date = None,
    catalogue: _Catalogue = None,
    made_up: _MadeUp = None,
    to: _To = Path("site"),
    beside: Annotated[
        str | None, typer.Option("--with", metavar="BOARD", help="address or folder of a board to lay the records over")
    ] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="port on this machine; 0: any free one (default: 8000 if free)")
    ] = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="open a browser")] = True,
) -> int:
    """Build the site and show it in a browser on this machine.

    Unlike `build`, missing scores are no error.
    """
    from brainscore_web.building import build_site  # heavy: NumPy, pydantic
    from brainscore_web.leaderboard.serving import make_server, serve  # heavy: start-up of every command

    with make_server(to, port) as server:  # first, since the port may be in use
        build_site(records, at, date, catalogue, made_up, to, beside=beside)
        serve(server, lambda address: command_line.say(f"{address} shows {to}; Ctrl-C stops."), browser=browser)
    return 0
