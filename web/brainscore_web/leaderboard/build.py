"""Build the site that the options of a command ask for, and serve it on this machine."""

from __future__ import annotations

import datetime as dt
import errno
import io
import json
import os
import shutil
import sys
import tempfile
import webbrowser
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import unquote

from brainscore_core import command_line
from brainscore_core.config import settings
from brainscore_core.errors import ConfigurationError, CorruptFileError
from brainscore_core.git import ask_git
from brainscore_core.records.published import read_board
from brainscore_core.records.record import record_path
from brainscore_core.records.store import BRANCH_FOLDER
from brainscore_web.leaderboard import site
from brainscore_web.leaderboard.catalogue import Catalogue, ModelEntry, catalogues
from brainscore_web.leaderboard.made_up import MadeUp
from brainscore_web.leaderboard.site import GoneError
from brainscore_web.leaderboard.sources import CommitSource, FolderSource, Source, pair_of
from brainscore_web.leaderboard.tree import UNAVERAGED

# -- Serve a folder to browsers on this machine only -------------------------------------------------------------------

_PORT = 8000  # by default
_HTTP = 80  # which a browser does not name


class _Handler(SimpleHTTPRequestHandler):
    """Serve files of the folder without caching or logging, to those who ask for this machine by its own name.

    A page of another site can make its own name mean this machine (DNS rebinding), but still sends that name.
    """

    server: ThreadingHTTPServer

    def send_head(self) -> io.BytesIO | BinaryIO | None:
        refusal = self._refusal()
        if refusal is None:
            return super().send_head()
        self.send_error(refusal)
        return None

    def _refusal(self) -> HTTPStatus | None:
        port = "" if self.server.server_port == _HTTP else f":{self.server.server_port}"
        hosts = [host.lower() for host in self.headers.get_all("Host", [])]
        if len(hosts) != 1 or hosts[0] not in (f"127.0.0.1{port}", f"localhost{port}"):
            return HTTPStatus.MISDIRECTED_REQUEST
        if "\0" in unquote(self.path):
            return HTTPStatus.BAD_REQUEST
        is_inside = Path(self.translate_path(self.path)).resolve().is_relative_to(Path(self.directory).resolve())
        return None if is_inside else HTTPStatus.NOT_FOUND  # a link leads out

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "no-cache")
        self.send_header("X-Content-Type-Options", "nosniff")
        super().end_headers()

    def log_message(self, *_: object) -> None:
        """Log nothing."""


def make_server(folder: Path, port: int | None = 0) -> ThreadingHTTPServer:
    """Return a server of a folder, which may be created later; it is not yet running.

    The port (``server_port``) is 0 for any free one; None: 8000, or any free one if that is taken. Raises
    `ConfigurationError` if the port is not available.
    """
    answer = partial(_Handler, directory=str(folder))
    try:
        return ThreadingHTTPServer(("127.0.0.1", _PORT if port is None else port), answer)
    except OSError as error:
        if port is None and error.errno == errno.EADDRINUSE:
            return make_server(folder, 0)
        raise ConfigurationError(
            f"Port {port or _PORT} of this machine cannot be used: {error.strerror}. Pass another one, or 0 for any "
            "free port: --port 0"
        ) from None


def serve(server: ThreadingHTTPServer, tell: Callable[[str], None], *, browser: bool) -> None:
    """Serve until interrupted; `tell` receives the address.

    If asked for, it opens in a browser, but only on a screen: a text browser would take over the terminal.
    """
    address = f"http://127.0.0.1:{server.server_port}/"
    tell(address)
    if browser and (sys.platform in ("win32", "darwin") or {"DISPLAY", "WAYLAND_DISPLAY"} & os.environ.keys()):
        with suppress(webbrowser.Error):
            webbrowser.open(address)
    server.serve_forever()


# -- Lay your own records over a published board, for a site that shows both; nothing is uploaded ----------------------


def lay_over(board: str, records: FolderSource, folder: Path) -> tuple[FolderSource, Catalogue]:
    """Write the records of both into an empty folder, one's own in place of published ones of the same pair.

    See `read_board` for the fields of a published score. Models of one's own records that the board lacks are marked as
    private.

    `board`: address or folder of a site of `brainscore_web.leaderboard.site.build`.

    Raises
    ------
    ConfigurationError
        If the board is missing.
    CorruptFileError
        If another version wrote it.
    """
    content, published = read_board(board, folder / "downloads")
    own = records.paths()
    try:
        nodes = list(_entries(content["nodes"]))
        catalogue = _catalogue(list(_entries(content["models"])), nodes, board)
        for record in published:
            record.write(record_path(folder / "records", record.model, record.benchmark))
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise CorruptFileError(f"{board} is not a board that this version can read ({error!r}).") from None
    for path in own:
        target = folder / "records" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(records.folder / path, target)
    names = sorted({pair[1] for path in own if (pair := pair_of(path)) is not None} - catalogue.model.keys())
    private = (ModelEntry(identifier=name, public=False) for name in names)
    return FolderSource(folder / "records"), replace(catalogue, models=(*catalogue.models, *private))


def _entries(lists: Mapping[str, list[Any]]) -> Iterator[dict[str, Any]]:
    for values in zip(*lists.values(), strict=True):
        yield dict(zip(lists, values, strict=True))


def _catalogue(models: list[dict[str, Any]], nodes: list[dict[str, Any]], board: str) -> Catalogue:
    of_models = ("name", "family", "year", "parameters", "training", "public", "imagenet", "image_size")
    of_nodes = ("name", "region", "kind")

    def entry(of: Mapping[str, Any], names: tuple[str, ...], **more: object) -> dict[str, object]:
        facts = {"identifier": of["id"], **{name: of[name] for name in names}, **more}
        return {name: value for name, value in facts.items() if value is not None}

    def parent(node: Mapping[str, Any]) -> object:
        above = None if node["parent"] < 0 else nodes[node["parent"]]["id"]
        return None if above in UNAVERAGED else above

    content = {
        "models": [entry(model, of_models) for model in models],
        "benchmarks": [
            entry(node, (*of_nodes, "public", "simulated"), parent=parent(node)) for node in nodes if node["leaf"]
        ],
        "nodes": [
            entry(node, of_nodes, parent=parent(node))
            for node in nodes
            if not node["leaf"] and node["id"] not in UNAVERAGED
        ],
        "notice": f"Your own records together with those from {board}. This page is visible only on this machine.",
    }
    return Catalogue.from_json(json.dumps(content))


# -- Find records that a branch has lost without a note: a published site must never lose scores unnoticed -------------

NOTES = "gone.txt"
"""File at the top of a branch of records that lists removed models, benchmarks or pairs ``'model benchmark'``, one per
line."""

_MOST_LISTED = 10


def said_gone(source: CommitSource) -> list[str]:
    """Return the lines of `NOTES` at a commit; empty without the file."""
    listed = ask_git(source.repository, "ls-tree", "--full-tree", "--name-only", source.revision, NOTES)
    if not listed:
        return []
    content = ask_git(source.repository, "cat-file", "blob", f"{source.revision}:{NOTES}").decode("utf-8", "replace")
    return [line.strip() for line in content.splitlines() if line.strip()]


def check_removed(source: CommitSource, allowed: Collection[str]) -> None:
    """Raise `GoneError` if an earlier commit had a record that this one lacks.

    Models, benchmarks, and pairs ``'model benchmark'`` in `allowed` may be gone.
    """
    # For a merge, the changes relative to its first parent.
    how = (f"--relative={BRANCH_FOLDER}/", "--diff-filter=D", "--no-renames", "--diff-merges=first-parent", "-z")
    log = ask_git(source.repository, "log", *how, "--name-only", "--format=", source.revision, "--")
    removed = {path.strip("\n") for path in log.decode("utf-8", "replace").split("\0")} - set(source.paths())
    pairs = sorted((model, benchmark) for benchmark, model in filter(None, map(pair_of, removed)))
    gone = [
        f"the score of {model} on {benchmark}"
        for model, benchmark in pairs
        if not {model, benchmark, f"{model} {benchmark}"} & set(allowed)
    ]
    if gone:
        more = f" and {len(gone) - _MOST_LISTED} more" if len(gone) > _MOST_LISTED else ""
        raise GoneError(
            f"{len(gone)} score{' is' if len(gone) == 1 else 's are'} missing from commit {source.revision[:12]} of "
            f"the branch: {', '.join(gone[:_MOST_LISTED])}{more}. If this is intended, list models, benchmarks or "
            f"pairs ('MODEL BENCHMARK'), one per line, in the file {NOTES} of the branch, or in a separate file: "
            "--gone FILE"
        )


# -- the site of a command ---------------------------------------------------------------------------------------------


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
        raise ConfigurationError("Records come from a single source: pass only one of --records, --at and --made-up.")
    if beside is not None and (at, catalogue, made_up) != (None, None, None):
        raise ConfigurationError("--with takes everything else from the board: combine it only with --records.")
    if date is not None and at is None:
        raise ConfigurationError("--date selects a commit of a branch: pass --at too, such as --at origin/scores.")
    if made_up is not None:
        board = MadeUp.of(made_up)
        with tempfile.TemporaryDirectory(prefix="made-up-") as folder:
            yield board.commit(Path(folder)), board.catalogue
        return
    if records is None and at is None and not (settings().home / "scores").is_dir():
        raise ConfigurationError(
            f"{settings().home / 'scores'} has no scores yet. Score a model (brainscore score --model pixels "
            "--benchmark SimulatedCortex2026.V1-pls), pass a folder of records (--records FOLDER), or try made-up "
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
