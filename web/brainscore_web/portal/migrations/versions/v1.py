"""Make the first tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "v1"
down_revision = None


def upgrade() -> None:
    """Bring the tables to this version."""
    _make_people()
    _make_sign_ins()
    _make_uploads()


def _make_people() -> None:
    op.create_table(
        "audit_entry",
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("actor", sa.Integer(), nullable=False),
        sa.Column("action", sa.String(length=40), nullable=False),
        sa.Column("subject", sa.String(length=200), nullable=False),
        sa.Column("details", sa.JSON(), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("number"),
    )
    op.create_table(
        "person",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("subject", sa.String(length=80), nullable=False),
        sa.Column("login", sa.String(length=80), nullable=False),
        sa.Column("role", sa.String(length=20), nullable=False),
        sa.Column("quota_bytes", sa.BigInteger(), nullable=True),
        sa.Column("created", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("subject"),
    )
    op.create_table(
        "zip_file",
        sa.Column("id", sa.String(length=32), nullable=False),
        _reference("owner_id", "person"),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.Column("report", sa.JSON(), nullable=False),
        sa.Column("pull_requests", sa.JSON(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_zip_file_owner_id", "zip_file", ["owner_id"])


def _make_sign_ins() -> None:
    op.create_table(
        "device",
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("user_code", sa.String(length=20), nullable=False),
        _reference("person_id", "person", nullable=True),
        sa.Column("expires", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("digest"),
        sa.UniqueConstraint("user_code"),
    )
    op.create_table(
        "sign_in",
        sa.Column("digest", sa.String(length=64), nullable=False),
        _reference("person_id", "person"),
        sa.Column("kind", sa.String(length=10), nullable=False),
        sa.Column("expires", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("digest"),
    )
    op.create_index("ix_sign_in_person_id", "sign_in", ["person_id"])


def _make_uploads() -> None:
    op.create_table(
        "upload",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("identifier", sa.String(length=200), nullable=False),
        _reference("owner_id", "person"),
        sa.Column("visibility", sa.String(length=10), nullable=False),
        sa.Column("state", sa.String(length=12), nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.Column("heartbeat", sa.Double(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("claim", sa.String(length=32), nullable=True),
        sa.Column("is_approved", sa.Boolean(), nullable=False),
        sa.Column("deletion_wish", sa.Double(), nullable=True),
        sa.Column("problems", sa.JSON(), nullable=False),
        *(sa.Column(name, sa.JSON(), nullable=True) for name in ("plugin", "result", "preview")),
        sa.Column("pull_request", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_upload_owner_id", "upload", ["owner_id"])
    op.create_index("ix_upload_state", "upload", ["state"])
    live = sa.text("state NOT IN ('rejected', 'deleted')")
    op.create_index(
        "one_live_identifier", "upload", ["identifier"], unique=True, sqlite_where=live, postgresql_where=live
    )
    op.create_table(
        "part",
        _reference("upload_id", "upload", sa.String(length=32)),
        sa.Column("file", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("sha256", sa.String(length=44), nullable=False),
        sa.PrimaryKeyConstraint("upload_id", "file", "number"),
    )
    op.create_table(
        "upload_file",
        _reference("upload_id", "upload", sa.String(length=32)),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=True),
        sa.Column("multipart", sa.Text(), nullable=False),
        sa.Column("version", sa.Text(), nullable=True),
        sa.Column("composite", sa.String(length=80), nullable=True),
        sa.PrimaryKeyConstraint("upload_id", "number"),
    )


def _reference(
    column: str, table: str, kind: sa.Integer | sa.String | None = None, *, nullable: bool = False
) -> sa.Column[object]:
    return sa.Column(column, kind or sa.Integer(), sa.ForeignKey(f"{table}.id"), nullable=nullable)
