"""Define the portal's tables, and open its database."""

from __future__ import annotations

import secrets
import time
from typing import Any

from sqlalchemy import JSON, BigInteger, Engine, ForeignKey, Index, String, Text, create_engine, event, text
from sqlalchemy.engine import make_url
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

_BUSY_S = 10.0
_LIVE = "state NOT IN ('rejected', 'deleted')"


class Base(DeclarativeBase):
    """Base of all tables; times are seconds since 1970."""

    type_annotation_map = {dict[str, Any]: JSON, list[dict[str, Any]]: JSON}  # noqa: RUF012 - SQLAlchemy's own


class Person(Base):
    """Somebody who has signed in; `subject` is the number of the account, which never changes."""

    __tablename__ = "person"
    id: Mapped[int] = mapped_column(primary_key=True)
    subject: Mapped[str] = mapped_column(String(80), unique=True)
    login: Mapped[str] = mapped_column(String(80))
    role: Mapped[str] = mapped_column(String(20), default="contributor")
    quota_bytes: Mapped[int | None] = mapped_column(BigInteger)
    created: Mapped[float] = mapped_column(default=time.time)


class SignIn(Base):
    """A session of a browser or a token of a terminal; only a digest of the secret is stored."""

    __tablename__ = "sign_in"
    digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    person_id: Mapped[int] = mapped_column(ForeignKey("person.id"), index=True)
    kind: Mapped[str] = mapped_column(String(10))
    expires: Mapped[float]
    person: Mapped[Person] = relationship(lazy="joined")


class Device(Base):
    """A terminal that waits for somebody to enter its code in a browser."""

    __tablename__ = "device"
    digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    user_code: Mapped[str] = mapped_column(String(20), unique=True)
    person_id: Mapped[int | None] = mapped_column(ForeignKey("person.id"))
    expires: Mapped[float]


class Upload(Base):
    """An upload of files; at most one of an identifier is neither rejected nor deleted."""

    __tablename__ = "upload"
    __table_args__ = (
        Index("one_live_identifier", "identifier", unique=True, sqlite_where=text(_LIVE), postgresql_where=text(_LIVE)),
    )
    id: Mapped[str] = mapped_column(String(32), primary_key=True, default=lambda: secrets.token_hex(16))
    identifier: Mapped[str] = mapped_column(String(200))
    owner_id: Mapped[int] = mapped_column(ForeignKey("person.id"), index=True)
    visibility: Mapped[str] = mapped_column(String(10))
    state: Mapped[str] = mapped_column(String(12), default="receiving", index=True)
    created: Mapped[float] = mapped_column(default=time.time)
    heartbeat: Mapped[float] = mapped_column(default=time.time)
    attempts: Mapped[int] = mapped_column(default=0)
    claim: Mapped[str | None] = mapped_column(String(32))
    is_approved: Mapped[bool] = mapped_column(default=False)
    deletion_wish: Mapped[float | None]
    problems: Mapped[list[dict[str, Any]]] = mapped_column(default=list)
    plugin: Mapped[dict[str, Any] | None]
    result: Mapped[dict[str, Any] | None]
    preview: Mapped[dict[str, Any] | None]
    pull_request: Mapped[str | None] = mapped_column(Text)
    owner: Mapped[Person] = relationship(lazy="joined")
    files: Mapped[list[UploadFile]] = relationship(order_by="UploadFile.number", cascade="all, delete-orphan")


class UploadFile(Base):
    """A file of an upload in quarantine; `version` is set once it is complete."""

    __tablename__ = "upload_file"
    upload_id: Mapped[str] = mapped_column(ForeignKey("upload.id"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(200))
    size: Mapped[int] = mapped_column(BigInteger)
    sha256: Mapped[str | None] = mapped_column(String(64))
    multipart: Mapped[str] = mapped_column(Text, default="")
    version: Mapped[str | None] = mapped_column(Text)
    composite: Mapped[str | None] = mapped_column(String(80))

    @property
    def key(self) -> str:
        """Key in the bucket of quarantine; holds nothing that a person has chosen."""
        return f"{self.upload_id}/{self.number}"


class SignedPart(Base):
    """The digest that the last URL for a part was signed for."""

    __tablename__ = "part"
    upload_id: Mapped[str] = mapped_column(ForeignKey("upload.id"), primary_key=True)
    file: Mapped[int] = mapped_column(primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)
    sha256: Mapped[str] = mapped_column(String(44))


class ZipFile(Base):
    """A submitted zip file, findings about it, and the pull requests that were opened."""

    __tablename__ = "zip_file"
    id: Mapped[str] = mapped_column(String(32), primary_key=True, default=lambda: secrets.token_hex(16))
    owner_id: Mapped[int] = mapped_column(ForeignKey("person.id"), index=True)
    name: Mapped[str] = mapped_column(String(200))
    content: Mapped[bytes]
    created: Mapped[float] = mapped_column(default=time.time)
    report: Mapped[dict[str, Any]]
    pull_requests: Mapped[dict[str, Any] | None]


class AuditEntry(Base):
    """A line of the audit log; `digest` covers it and the previous digest, see `audit`."""

    __tablename__ = "audit_entry"
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    at: Mapped[float]
    actor: Mapped[int]
    action: Mapped[str] = mapped_column(String(40))
    subject: Mapped[str] = mapped_column(String(200))
    details: Mapped[dict[str, Any]]
    digest: Mapped[str] = mapped_column(String(64))


def open_engine(url: str) -> Engine:
    """Return an engine for SQLite (a file, which several processes may use) or PostgreSQL."""
    is_sqlite = make_url(url).get_backend_name() == "sqlite"
    arguments = {"timeout": _BUSY_S} if is_sqlite else {"connect_timeout": 10}
    engine = create_engine(url, pool_size=20, max_overflow=20, pool_pre_ping=not is_sqlite, connect_args=arguments)
    if not is_sqlite:
        return engine

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _record: object) -> None:
        connection.isolation_level = None  # transactions begin below: writers then never wait in vain
        for pragma in (
            "journal_mode=WAL",
            "synchronous=FULL",  # a power cut loses nothing that was answered
            "foreign_keys=ON",
            f"busy_timeout={int(_BUSY_S * 1000)}",
        ):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def begin(connection: Any) -> None:
        only_reads = connection.get_execution_options().get("only_reads", False)
        connection.exec_driver_sql("BEGIN" if only_reads else "BEGIN IMMEDIATE")

    return engine
