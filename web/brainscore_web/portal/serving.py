"""Start a portal and its worker, and look after its database."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import threading
import time
from base64 import b64decode, b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import uvicorn
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util.exc import CommandError
from sqlalchemy import Connection, MetaData, Table, delete, func, null, select, update
from sqlalchemy.orm import Session

from brainscore_core.errors import ConfigurationError, did_you_mean
from brainscore_core.files import atomic_directory
from brainscore_core.supported_data_standards.brainio.packaging import package_stimulus_set_locally
from brainscore_core.testing.synthetic import make_stimulus_set
from brainscore_web.portal import audit, demo, sign_in
from brainscore_web.portal.app import make_app, make_service
from brainscore_web.portal.checking.program import preview_of
from brainscore_web.portal.checking.worker import Worker
from brainscore_web.portal.settings import PortalSettings
from brainscore_web.portal.tables import AuditEntry, Device, Person, SignIn, Upload, open_engine

if TYPE_CHECKING:
    from brainscore_web.portal.service import Service

_KEEP_ALIVE_S = 75
_EXAMPLE = "Example2026"
_VERSION, _ROWS = "version", 100


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
            maintainers=f"#{demo.number_of('maintainer')}",
        )


def add_example(settings: PortalSettings, folder: Path) -> str:
    """Upload 8 made-up pictures to the demonstration, held for review, to fill the queue; return the upload's id.

    `folder` is for the files.
    """
    service = make_service(settings)
    person = sign_in.welcome(service, str(demo.number_of("contributor")), "contributor")
    package_stimulus_set_locally(make_stimulus_set(folder / "pictures"), _EXAMPLE, folder / "packages")
    files = sorted((folder / "packages").iterdir())
    upload, _ = service.create(person, _EXAMPLE, "public", [(file.name, file.stat().st_size, None) for file in files])
    for number, file in enumerate(files, start=1):
        sha256 = b64encode(hashlib.sha256(file.read_bytes()).digest()).decode()
        (part,) = service.sign(person, upload.id, number, [(1, sha256)])
        httpx.put(part["url"], content=file.read_bytes(), headers=part["headers"]).raise_for_status()
        service.complete(person, upload.id, number)
    values = {"state": "review", "preview": preview_of(folder / "packages")}
    with service.session() as session:
        session.execute(update(Upload).where(Upload.id == upload.id).values(**values))
    return upload.id


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
            f"The database is at version {version or 'none'}; expected {newest}. Back it up, then run: brainscore "
            "portal migrate"
        )


def verify_audit(url: str, head: str | None = None) -> tuple[int, int | None, str]:
    """Return the number of lines of the audit log, the first broken one or None, and the digest of the last."""
    with Session(open_engine(url)) as session:
        entries = list(session.scalars(select(AuditEntry).order_by(AuditEntry.number)))
    return len(entries), audit.first_broken(entries, head), entries[-1].digest if entries else ""


def set_quota(url: str, login: str, most_bytes: int | None) -> None:
    """Set a person's quota; None: the quota in the settings."""
    with Session(open_engine(url)) as session, session.begin():
        person = _named(session, login)
        person.quota_bytes = most_bytes
        audit.append(session, time.time(), 0, "set a quota", str(person.id), most_bytes=most_bytes)


def sign_out(url: str, login: str) -> int:
    """End all sessions of a person, in browsers and at terminals; count them."""
    with Session(open_engine(url)) as session, session.begin():
        person = _named(session, login)
        session.execute(delete(Device).where(Device.person_id == person.id))
        ended: Any = session.execute(delete(SignIn).where(SignIn.person_id == person.id))
        audit.append(session, time.time(), 0, "end sessions", str(person.id), n_sessions=ended.rowcount)
        return int(ended.rowcount)


def _named(session: Session, login: str) -> Person:
    people = {person.login.casefold(): person for person in session.scalars(select(Person))}
    if (person := people.get(login.casefold())) is None:
        raise ConfigurationError(f"{login!r} has never signed in.{did_you_mean(login, people)}")
    return person


def back_up(url: str, folder: Path) -> int:
    """Write all rows of one moment to a new folder, a file of JSON lines for each table; count them.

    The files fit every kind of database.
    """
    n_rows, engine = 0, open_engine(url).execution_options(only_reads=True)
    if engine.dialect.name == "postgresql":
        engine = engine.execution_options(isolation_level="REPEATABLE READ")
    with atomic_directory(folder) as staging, engine.connect() as connection:
        staging.chmod(0o700)
        version = MigrationContext.configure(connection).get_current_revision()
        if version is None:
            raise ConfigurationError("The database has no tables, so there is nothing to back up.")
        (staging / _VERSION).write_text(version, encoding="utf-8")
        for table in _tables(connection):
            rows = connection.execution_options(yield_per=_ROWS).execute(select(table)).mappings()
            with (staging / f"{table.name}.jsonl").open("w", encoding="utf-8") as stream:
                for row in rows:
                    stream.write(f"{json.dumps(dict(row), default=lambda value: b64encode(value).decode())}\n")
                    n_rows += 1
    return n_rows


def restore(url: str, folder: Path) -> int:
    """Fill an empty database from a backup of this or an older version, all or nothing; count the rows."""
    n_rows, engine = 0, open_engine(url)
    try:
        command.upgrade(_migrations(url), (folder / _VERSION).read_text(encoding="utf-8"))
    except (OSError, CommandError) as error:
        raise ConfigurationError(f"{folder} is not a backup that this version can read: {error}") from error
    with engine.begin() as connection:
        for table in _tables(connection):
            if connection.execute(select(table).limit(1)).first() is not None:
                raise ConfigurationError(f"The database has rows in {table.name}: use an empty one.")
            with (folder / f"{table.name}.jsonl").open(encoding="utf-8") as stream:
                for line in stream:
                    connection.execute(table.insert().values(_row(table, json.loads(line))))
                    n_rows += 1
            if engine.dialect.name == "postgresql" and table.name == Person.__tablename__:  # the only one that counts
                sequence = func.pg_get_serial_sequence(table.name, "id")
                connection.execute(select(func.setval(sequence, func.max(table.c.id))).where(table.c.id > 0))
    migrate(url)
    return n_rows


def _tables(connection: Connection) -> list[Table]:
    """Return a database's tables, those that others refer to first."""
    found = MetaData()
    found.reflect(connection)
    return [table for table in found.sorted_tables if table.name != "alembic_version"]


def _row(table: Table, values: dict[str, Any]) -> dict[str, Any]:
    binary = {column.name for column in table.columns if column.type.python_type is bytes}
    return {
        name: null() if value is None else b64decode(value) if name in binary else value
        for name, value in values.items()
    }
