"""Define the commands ``brainscore leaderboard build`` and ``brainscore leaderboard serve``."""

from __future__ import annotations

import datetime as dt
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from brainscore_core import command_line
from brainscore_core.config import settings
from brainscore_core.errors import ConfigurationError

if TYPE_CHECKING:
    from brainscore_web.leaderboard.catalogue import Catalogue
    from brainscore_web.leaderboard.site import SiteSummary
    from brainscore_web.leaderboard.sources import Source

__all__ = ["leaderboard"]

leaderboard = command_line.make_app("Build the leaderboard, a static site, and view it.")

_Records = Annotated[
    Path | None,
    typer.Option(metavar="FOLDER", help="records to show (default: those of `brainscore score`)"),
]
_At = Annotated[
    str | None,
    typer.Option(metavar="REVISION", help="a branch or commit of records instead of a folder, such as origin/scores"),
]
_Date = Annotated[
    str | None,
    typer.Option(metavar="YYYY-MM-DD", help="with --at: its state at the end of that day, UTC"),
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
    str | None,
    typer.Option(metavar="MODELSxBENCHMARKS", help="made-up records instead of real ones, such as 40x12"),
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
    allowed = [] if gone is None else [line.strip() for line in gone.read_text(encoding="utf-8").splitlines()]
    built = _build(records, at, date, catalogue, made_up, to, gone=allowed, processes=processes)
    command_line.say(
        f"{to / 'index.html'}: {built.n_models} models, {built.n_benchmarks} benchmarks, {built.n_records} records."
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
    port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help="port on this machine; 0: any free one (default: 8000 if free)"),
    ] = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="open a browser")] = True,
) -> int:
    """Build the site and show it in a browser on this machine.

    Unlike `build`, missing scores are no error.
    """
    from brainscore_web.leaderboard.serving import make_server, serve  # heavy: start-up of every command

    with make_server(to, port) as server:  # first, since the port may be in use
        _build(records, at, date, catalogue, made_up, to)
        serve(server, lambda address: command_line.say(f"{address} shows {to}; Ctrl-C stops."), browser=browser)
    return 0


def _build(
    records: Path | None,
    at: str | None,
    date: str | None,
    catalogue: Path | None,
    made_up: str | None,
    to: Path,
    *,
    gone: list[str] | None = None,
    processes: int | None = None,
) -> SiteSummary:
    from brainscore_web.leaderboard import site  # heavy: NumPy
    from brainscore_web.leaderboard.removed import check_removed, said_gone  # heavy: NumPy
    from brainscore_web.leaderboard.sources import CommitSource  # heavy: pydantic

    with _source(records, at, date, catalogue, made_up) as (source, facts):
        if gone is not None and isinstance(source, CommitSource):
            gone = [*gone, *said_gone(source)]
            check_removed(source, gone)
        pictures = None if catalogue is None else catalogue.parent
        built = site.build(source, facts, to, gone=gone, pictures=pictures, processes=processes)
    for problem in built.problems:
        command_line.say(f"Warning: {problem}")
    return built


@contextmanager
def _source(
    records: Path | None, at: str | None, date: str | None, catalogue: Path | None, made_up: str | None
) -> Iterator[tuple[Source, Catalogue]]:
    from brainscore_web.leaderboard.catalogue import Catalogue, catalogues  # heavy: pydantic
    from brainscore_web.leaderboard.sources import CommitSource, FolderSource  # heavy: pydantic

    if sum(option is not None for option in (records, at, made_up)) > 1:
        raise ConfigurationError("Records come from one place: give only one of --records, --at and --made-up.")
    if date is not None and at is None:
        raise ConfigurationError("--date selects a commit of a branch: give --at too, such as --at origin/scores.")
    if made_up is not None:
        from brainscore_web.leaderboard.made_up import MadeUp  # heavy: NumPy

        board = MadeUp.of(made_up)
        with tempfile.TemporaryDirectory(prefix="made-up-") as folder:
            yield board.commit(Path(folder)), board.catalogue
        return
    if records is None and at is None and not (settings().home / "scores").is_dir():
        raise ConfigurationError(
            f"There are no scores yet in {settings().home / 'scores'}. Score a model (brainscore score --model pixels "
            "--benchmark SimulatedCortex2026.V1-pls), give a folder of records (--records FOLDER), or try made-up "
            "ones: --made-up 40x12"
        )
    source = (
        FolderSource(records or settings().home / "scores")
        if at is None
        else CommitSource.of(Path.cwd(), at, _day(date))
    )
    # Last, since looking up installed domains takes a while: other options have been checked by then.
    yield source, catalogues() if catalogue is None else Catalogue.from_json(catalogue.read_bytes())


def _day(text: str | None) -> dt.date | None:
    try:
        return None if text is None else dt.date.fromisoformat(text)
    except ValueError:
        raise ConfigurationError(f"--date is {text!r}; expected a day as YYYY-MM-DD, such as 2026-11-23.") from None
