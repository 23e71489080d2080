"""Define the commands `leaderboard ...`, `portal ...` and `upload`; bodies are imported late, for speed."""

from __future__ import annotations

import os
import secrets
import tempfile
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Annotated

import typer

from brainscore_core import command_line
from brainscore_core.errors import ConfigurationError, count
from brainscore_core.scoring.isolation.box import why_no_box
from brainscore_web.portal.settings import PortalSettings

leaderboard = command_line.make_app("Build the leaderboard, a static site, and view it.")

_Records = Annotated[
    Path | None, typer.Option(metavar="FOLDER", help="records to show (default: those of `brainscore score`)")
]
_At = Annotated[
    str | None,
    typer.Option(metavar="REVISION", help="branch or commit of records instead of a folder, such as origin/scores"),
]
_Date = Annotated[
    str | None, typer.Option(metavar="YYYY-MM-DD", help="with --at: use its state at the end of this day, UTC")
]
_Catalogue = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        exists=True,
        dir_okay=False,
        help="catalogue of models and benchmarks (default: from installed domains)",
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
            help="models, benchmarks or pairs that may be removed, one per line",
        ),
    ] = None,
    processes: Annotated[
        int | None, typer.Option(min=1, help="number of processes (default: one per processor)")
    ] = None,
) -> int:
    """Build the site from all records and replace the existing one.

    Exit code 1 if a model or score of the existing site or of the branch would be removed.
    """
    from brainscore_web.leaderboard.build import build_site  # heavy: NumPy, pydantic

    allowed = [] if gone is None else [line.strip() for line in gone.read_text(encoding="utf-8").splitlines()]
    built = build_site(records, at, date, catalogue, made_up, to, gone=allowed, processes=processes)
    command_line.say(
        f"{to / 'index.html'}: {count(built.n_models, 'model')}, {count(built.n_benchmarks, 'benchmark')}, "
        f"{count(built.n_records, 'record')}."
        + (
            f" {count(built.n_left_out, 'registered benchmark')} with neither a record nor an average "
            f"{'is' if built.n_left_out == 1 else 'are'} not listed."
            if built.n_left_out
            else ""
        )
    )
    return 0


@leaderboard.command("serve", cls=command_line.Command)
def serve_leaderboard(
    records: _Records = None,
    at: _At = None,
    date: _Date = None,
    catalogue: _Catalogue = None,
    made_up: _MadeUp = None,
    to: _To = Path("site"),
    beside: Annotated[
        str | None, typer.Option("--with", metavar="BOARD", help="address or folder of a board to add the records to")
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help="port on this machine; 0: any free port (default: 8000 if free)"),
    ] = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="open a browser")] = True,
) -> int:
    """Build the site and show it in a browser on this machine.

    Unlike `build`, it accepts missing scores.
    """
    from brainscore_web.leaderboard.build import build_site, make_server, serve  # heavy: NumPy, pydantic

    with make_server(to, port) as server:  # first, since the port may be in use
        build_site(records, at, date, catalogue, made_up, to, beside=beside)
        serve(server, lambda address: command_line.say(f"{address} shows {to}. Press Ctrl-C to stop."), browser=browser)
    return 0


# -- ``brainscore portal ...`` -----------------------------------------------------------------------------------------

portal = command_line.make_app("Serve and maintain the portal for uploads.")


def _serving() -> ModuleType:
    missing = [name for name in ("alembic", "authlib", "fastapi", "sqlalchemy", "uvicorn") if find_spec(name) is None]
    if missing:
        raise ConfigurationError(
            f"The portal needs {', '.join(missing)}. In a clone, start it with: nox -s portal. Elsewhere: "
            "pip install 'brainscore-web[portal]'."
        )
    from brainscore_web.portal import serving  # heavy, and of the extra `portal`

    return serving


def _say_box() -> None:
    if why := why_no_box():
        command_line.say(f"Uploads cannot be checked on this machine: {why}")


def _serving_and_settings() -> tuple[ModuleType, PortalSettings]:
    return _serving(), PortalSettings.of(os.environ)


@portal.command("serve", cls=command_line.Command)
def serve_portal(
    demo: Annotated[
        bool, typer.Option("--demo", help="use an in-memory S3 and a demonstration sign-in; nothing is stored")
    ] = False,
    host: Annotated[str, typer.Option(help="address to listen on")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="port to listen on")] = 8060,
    worker: Annotated[
        bool, typer.Option("--worker/--no-worker", help="also check uploads, in a background thread")
    ] = True,
) -> int:
    """Serve the portal until Ctrl-C. Its settings are variables BRAINSCORE_PORTAL_...; see the page on hosting it."""
    serving = _serving()
    if worker:
        _say_box()
    if demo:
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="portal-")))
            settings = stack.enter_context(serving.demonstration(folder, port))
            serving.migrate(settings.database)
            serving.add_example(settings, folder / "example")
            command_line.say(
                f"{settings.public_url} is a demonstration: all data are lost when it stops. Press Ctrl-C to stop."
            )
            serving.serve(settings, host, port, with_worker=worker)
        return 0
    settings = PortalSettings.of(os.environ)
    serving.check_migrated(settings.database)
    command_line.say(f"The portal listens on {host}:{port} for {settings.public_url}. Press Ctrl-C to stop.")
    serving.serve(settings, host, port, with_worker=worker)
    return 0


@portal.command("worker", cls=command_line.Command)
def worker() -> int:
    """Check uploads and publish them, until Ctrl-C; several may run."""
    serving, settings = _serving_and_settings()
    _say_box()
    serving.work(settings)
    return 0


@portal.command("migrate", cls=command_line.Command)
def migrate() -> int:
    """Create the tables of the database, or migrate them to this version."""
    serving, settings = _serving_and_settings()
    command_line.say(f"The database is at version {serving.migrate(settings.database)}.")
    return 0


@portal.command("verify-audit", cls=command_line.Command)
def verify_audit(
    head: Annotated[
        str | None,
        typer.Option(metavar="DIGEST", help="digest of the last line as noted earlier, to detect later truncation"),
    ] = None,
) -> int:
    """Verify that no line of the audit log was changed, moved or removed; print the digest of the last one."""
    serving, settings = _serving_and_settings()
    number, broken, last = serving.verify_audit(settings.database, head)
    if broken is not None:
        command_line.say(f"The audit log is broken at line {broken}.")
        return command_line.FAILED
    command_line.show(last)
    command_line.say(f"The audit log is intact: {count(number, 'line')}. Store the digest in another place.")
    return 0


@portal.command("backup", cls=command_line.Command)
def backup(folder: Annotated[Path, typer.Argument(help="new folder; it will contain personal data")]) -> int:
    """Write the database to a folder while the portal runs; the files of uploads stay in the buckets."""
    serving, settings = _serving_and_settings()
    command_line.say(f"{folder} holds {count(serving.back_up(settings.database, folder), 'row')}.")
    return 0


@portal.command("restore", cls=command_line.Command)
def restore(
    folder: Annotated[Path, typer.Argument(help="folder written by `backup`, in this or an older version")],
) -> int:
    """Fill an empty database from a backup, which may come from another kind of database."""
    serving, settings = _serving_and_settings()
    command_line.say(f"The database has {count(serving.restore(settings.database, folder), 'row')}.")
    return 0


@portal.command("quota", cls=command_line.Command)
def quota(
    login: Annotated[str, typer.Argument(help="login of a person who has signed in before")],
    most_bytes: Annotated[
        int | None, typer.Argument(min=0, help="quota in bytes (default: the quota in the settings)")
    ] = None,
) -> int:
    """Set a person's upload quota in bytes."""
    serving, settings = _serving_and_settings()
    serving.set_quota(settings.database, login, most_bytes)
    command_line.say(
        f"The quota of {login} is {'the default of the settings' if most_bytes is None else f'{most_bytes:,} bytes'}."
    )
    return 0


@portal.command("sign-out", cls=command_line.Command)
def sign_out(login: Annotated[str, typer.Argument(help="login of a person who has signed in before")]) -> int:
    """End all sessions of a person, in browsers and in terminals, for example after their account was closed."""
    serving, settings = _serving_and_settings()
    command_line.say(f"{count(serving.sign_out(settings.database, login), 'session')} of {login} ended.")
    return 0


@portal.command("secret", cls=command_line.Command)
def secret() -> int:
    """Print a new secret for BRAINSCORE_PORTAL_SECRET."""
    command_line.show(secrets.token_urlsafe(48))
    return 0


# -- ``brainscore upload`` ---------------------------------------------------------------------------------------------


def upload(
    folder: Annotated[
        Path, typer.Argument(help="folder with packaged .csv, .zip and .nc files", exists=True, file_okay=False)
    ],
    portal: Annotated[
        str | None, typer.Option(metavar="URL", help="address of the portal (default: the one you signed in to)")
    ] = None,
    private: Annotated[bool, typer.Option("--private", help="only you and maintainers may download the data")] = False,
    identifier: Annotated[
        str | None, typer.Option(metavar="NAME", help="identifier of the data (default: from the file names)")
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="folder for the finished plugin, such as data/mine2026; may contain a scaffold for these data",
        ),
    ] = None,
) -> int:
    """Upload packaged data and get the finished data plugin; run again to resume.

    The first time it shows a code to enter in a browser.
    """
    from brainscore_web.upload import run  # heavy: httpx, pandas, xarray

    return run(folder, portal, private=private, identifier=identifier, to=to)
