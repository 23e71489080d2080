"""Start a portal and its worker, and look after its database."""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import select
from sqlalchemy.orm import Session

from brainscore_core.errors import ConfigurationError
from brainscore_web.portal import audit, demo
from brainscore_web.portal.app import make_app, make_service
from brainscore_web.portal.checking.worker import Worker
from brainscore_web.portal.settings import PortalSettings
from brainscore_web.portal.tables import AuditEntry, open_engine

if TYPE_CHECKING:
    from brainscore_web.portal.service import Service

__all__ = ["check_migrated", "demonstration", "migrate", "serve", "verify_audit", "work"]

_KEEP_ALIVE_S = 75


def serve(settings: PortalSettings, host: str, port: int, *, with_worker: bool) -> None:
    """Serve a portal until Ctrl-C, with a worker in a thread if wanted."""
    service = make_service(settings)
    stop = threading.Event()
    thread = threading.Thread(target=Worker(service, stop).run, daemon=True)
    if with_worker:
        thread.start()
    try:
        uvicorn.run(
            make_app(service),
            host=host,
            port=port,
            access_log=False,
            timeout_keep_alive=_KEEP_ALIVE_S,
            server_header=False,
        )
    finally:
        stop.set()
        if with_worker:
            thread.join(settings.heartbeat_s)


def work(settings: PortalSettings) -> None:
    """Check uploads until Ctrl-C."""
    service: Service = make_service(settings)
    Worker(service, threading.Event()).run()


@contextmanager
def demonstration(folder: Path, port: int) -> Iterator[PortalSettings]:
    """Start an S3 and a provider of accounts within the block; give the settings of a portal that uses them."""
    buckets = [getattr(PortalSettings(), f"{name}_bucket") for name in ("public", "quarantine", "private")]
    os.environ.update(demo.KEYS)
    public_url, client_secret = f"http://localhost:{port}", secrets.token_urlsafe(16)
    provider = demo.make_provider(public_url, "demo", client_secret)
    with demo.storage(*buckets) as s3_endpoint, demo.serving(provider) as provider_port:
        accounts = f"http://localhost:{provider_port}"
        yield PortalSettings.of(
            os.environ,
            demo=True,
            public_url=public_url,
            database=f"sqlite:///{folder / 'portal.sqlite'}",
            folder=folder / "work",
            s3_endpoint=s3_endpoint,
            secret=secrets.token_urlsafe(48),
            client_id="demo",
            client_secret=client_secret,
            authorize_url=f"{accounts}/authorize",
            token_url=f"{accounts}/token",
            person_url=f"{accounts}/user",
            maintainers="maintainer",
        )


# -- database ----------------------------------------------------------------------------------------------------------


def _migrations(url: str) -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).with_name("migrations")))
    config.attributes["url"] = url
    return config


def migrate(url: str) -> str:
    """Bring the tables of a database to the newest version, and return it."""
    config = _migrations(url)
    command.upgrade(config, "head")
    return str(ScriptDirectory.from_config(config).get_current_head())


def check_migrated(url: str) -> None:
    """Raise a `ConfigurationError` unless the tables are at the newest version."""
    engine = open_engine(url)
    with engine.connect() as connection:
        version = MigrationContext.configure(connection).get_current_revision()
    newest = ScriptDirectory.from_config(_migrations(url)).get_current_head()
    if version != newest:
        raise ConfigurationError(
            f"The database is at version {version or 'none'}; expected {newest}. Make a copy of it, then run: "
            "brainscore portal migrate"
        )


def verify_audit(url: str, head: str | None = None) -> tuple[int, int | None, str]:
    """Return the number of lines of the audit log, the first broken one or None, and the digest of the last."""
    with Session(open_engine(url)) as session:
        entries = list(session.scalars(select(AuditEntry).order_by(AuditEntry.number)))
    return len(entries), audit.first_broken(entries, head), entries[-1].digest if entries else ""
