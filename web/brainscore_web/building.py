"""Build the site of a command's options."""

from __future__ import annotations

import datetime as dt
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from brainscore_core import command_line
from brainscore_core.config import settings
from brainscore_core.errors import ConfigurationError
from brainscore_web.leaderboard import site
from brainscore_web.leaderboard.catalogue import Catalogue, catalogues
from brainscore_web.leaderboard.made_up import MadeUp
from brainscore_web.leaderboard.removed import check_removed, said_gone
from brainscore_web.leaderboard.sources import CommitSource, FolderSource, Source, pair_of
from brainscore_web.published import lay_over


def build_site(
    records: Path | None,
    at: str | None,
    date: str | None,
    catalogue: Path | None,
    made_up: str | None,
    to: Path,
    *,
    gone: list[str] | None = None,
    processes: int | None = None,
    beside: str | None = None,
) -> site.SiteSummary:
    """Build the site from the named records and facts, and say its problems."""
    with _source(records, at, date, catalogue, made_up, beside) as (source, facts):
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
    records: Path | None,
    at: str | None,
    date: str | None,
    catalogue: Path | None,
    made_up: str | None,
    beside: str | None,
) -> Iterator[tuple[Source, Catalogue]]:
    if sum(option is not None for option in (records, at, made_up)) > 1:
        raise ConfigurationError("Records come from one place: give only one of --records, --at and --made-up.")
    if beside is not None and (at, catalogue, made_up) != (None, None, None):
        raise ConfigurationError("--with takes all else from the board: give it with --records only.")
    if date is not None and at is None:
        raise ConfigurationError("--date selects a commit of a branch: give --at too, such as --at origin/scores.")
    if made_up is not None:
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
    own = FolderSource(records or settings().home / "scores")
    if beside is not None:
        with tempfile.TemporaryDirectory(prefix="beside-") as folder:
            yield lay_over(beside, own, Path(folder))
        return
    source = own if at is None else CommitSource.of(Path.cwd(), at, _day(date))
    # Last, since looking up installed domains takes a while: other options have been checked by then.
    if catalogue is None:
        recorded = {pair[1] for path in source.paths() if (pair := pair_of(path)) is not None}
        yield source, catalogues(recorded)
    else:
        yield source, Catalogue.from_json(catalogue.read_bytes())


def _day(text: str | None) -> dt.date | None:
    try:
        return None if text is None else dt.date.fromisoformat(text)
    except ValueError:
        raise ConfigurationError(f"--date is {text!r}; expected a day as YYYY-MM-DD, such as 2026-11-23.") from None
