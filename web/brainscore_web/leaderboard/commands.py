"""Offer the commands ``brainscore leaderboard build`` and ``brainscore leaderboard serve``."""

from __future__ import annotations

import datetime as dt
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
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

leaderboard = command_line.make_app("Build the leaderboard, a static site, and look at it.")

_Records = Annotated[
    Path | None,
    typer.Option(metavar="FOLDER", help="records to show (default: where `brainscore score` keeps them)"),
]
_At = Annotated[
    str | None,
    typer.Option(metavar="REVISION", help="in place of a folder: a branch or commit of records, such as origin/scores"),
]
_Date = Annotated[
    str | None,
    typer.Option(metavar="YYYY-MM-DD", help="with --at: as it was at the end of that day, UTC"),
]
_Catalogue = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        exists=True,
        dir_okay=False,
        help="what is known of models and benchmarks (default: what is installed)",
    ),
]
_MadeUp = Annotated[
    str | None,
    typer.Option(metavar="MODELSxBENCHMARKS", help="made-up records in place of real ones, such as 40x12"),
]
_To = Annotated[Path, typer.Option(metavar="FOLDER", help="where the site is")]


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
            metavar="FILE", exists=True, dir_okay=False, help="models, benchmarks or pairs that may be gone, one a line"
        ),
    ] = None,
    processes: Annotated[int | None, typer.Option(min=1, help="at a time (default: one for each processor)")] = None,
) -> int:
    """Build the site of all records, and replace the one that is there.

    Exit code 1 if a model or a score would be gone that the site has, or that the branch had.
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
        typer.Option(min=0, max=65535, help="on this machine; 0: any that is free (default: 8000, if it is)"),
    ] = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="whether a browser is opened")] = True,
) -> int:
    """Show the site in a browser on this machine; built from the records there are, each time.

    What has not changed since is not computed again. What is gone is not asked about, as `build` does.
    """
    from brainscore_web.leaderboard.serving import make_server, serve

    with make_server(to, port) as server:  # before the work: the port may be in use
        _build(records, at, date, catalogue, made_up, to)
        serve(server, lambda address: command_line.say(f"{address} shows {to}; Ctrl-C ends it."), browser=browser)
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
    from brainscore_web.leaderboard import site
    from brainscore_web.leaderboard.removed import check_removed, said_gone
    from brainscore_web.leaderboard.sources import CommitSource

    with ExitStack() as held:
        source, known = held.enter_context(_source(records, at, date, catalogue, made_up))
        if gone is not None and isinstance(source, CommitSource):
            gone = [*gone, *said_gone(source)]
            check_removed(source, gone)
        pictures = None if catalogue is None else catalogue.parent
        built = site.build(source, known, to, gone=gone, pictures=pictures, processes=processes)
    for problem in built.problems:
        command_line.say(f"Warning: {problem}")
    return built


@contextmanager
def _source(
    records: Path | None, at: str | None, date: str | None, catalogue: Path | None, made_up: str | None
) -> Iterator[tuple[Source, Catalogue]]:
    from brainscore_web.leaderboard.catalogue import Catalogue, catalogues
    from brainscore_web.leaderboard.sources import CommitSource, FolderSource

    if sum(each is not None for each in (records, at, made_up)) > 1:
        raise ConfigurationError("Records come from one place: give one of --records, --at and --made-up.")
    if date is not None and at is None:
        raise ConfigurationError("--date is for records of a branch: give --at too, such as --at origin/scores.")
    if made_up is not None:
        from brainscore_web.leaderboard.made_up import MadeUp

        made = MadeUp.of(made_up)
        with tempfile.TemporaryDirectory(prefix="made-up-") as folder:
            yield made.commit(Path(folder)), made.catalogue
        return
    if records is None and at is None and not (settings().home / "scores").is_dir():
        raise ConfigurationError(
            f"There are no scores yet in {settings().home / 'scores'}. Score a model (brainscore score --model pixels "
            "--benchmark SimulatedCortex2026.V1-pls), name a folder of records (--records FOLDER), or look at "
            "made-up ones: --made-up 40x12"
        )
    here = records or settings().home / "scores"
    source = FolderSource(here) if at is None else CommitSource.of(Path.cwd(), at, _day(date))
    # Last, since what is installed takes a while to look up: what is wrong with the rest has been said by then.
    yield source, catalogues() if catalogue is None else Catalogue.from_json(catalogue.read_bytes())


def _day(text: str | None) -> dt.date | None:
    try:
        return None if text is None else dt.date.fromisoformat(text)
    except ValueError:
        raise ConfigurationError(f"--date is {text!r}; expected a day as YYYY-MM-DD, such as 2026-11-23.") from None
