"""Keep an audit log; each line's digest covers the line before."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from sqlalchemy import select, text

from brainscore_web.portal.tables import AuditEntry

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

_LOCK = 0x6272_6169  # of PostgreSQL's advisory locks


def digest_of(previous: str, entry: AuditEntry) -> str:
    """Return the digest of a line after another one."""
    line = [previous, entry.number, repr(entry.at), entry.actor, entry.action, entry.subject, entry.details]
    return hashlib.sha256(json.dumps(line, sort_keys=True).encode()).hexdigest()


def lock(session: Session) -> None:
    """Let one transaction at a time go on from here."""
    if session.get_bind().dialect.name == "postgresql":  # SQLite has one writer at a time
        session.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))


def append(session: Session, at: float, actor: int, action: str, subject: str, **details: Any) -> None:
    """Add a line in the transaction that it describes; actor 0 is the portal itself."""
    lock(session)
    last = session.scalars(select(AuditEntry).order_by(AuditEntry.number.desc()).limit(1)).first()
    entry = AuditEntry(
        number=last.number + 1 if last else 1, at=at, actor=actor, action=action, subject=subject, details=details
    )
    entry.digest = digest_of(last.digest if last else "", entry)
    session.add(entry)
    session.flush()


def first_broken(entries: Iterable[AuditEntry], head: str | None = None) -> int | None:
    """Return the number of the first changed, moved or removed line; None if there is none.

    With `head`, the digest of the last line noted elsewhere, missing lines at the end are found too: their number is
    one above the last.
    """
    previous, number, is_noted = "", 0, head is None
    for entry in entries:
        number += 1
        if entry.number != number or entry.digest != digest_of(previous, entry):
            return number
        previous = entry.digest
        is_noted = is_noted or previous == head
    return None if is_noted else number + 1
