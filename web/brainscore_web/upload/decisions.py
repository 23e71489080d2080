"""Decide which parts of a file to send, and which refusals to try again."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

ATTEMPTS = 5
_FIRST_PAUSE_S = 1.0
_LONGEST_PAUSE_S = 120.0
# S3 answers these with a 4xx though the next attempt may succeed: it gets a new address and sends the bytes again.
_PASSING = frozenset({"BadDigest", "RequestTimeout", "RequestTimeTooSkewed", "XAmzContentSHA256Mismatch"})
_EXPIRED = re.compile(r"\bexpired\b", re.IGNORECASE)
_TOO_MANY, _SERVER_ERROR = 429, 500


@dataclass(frozen=True)
class Part:
    """A range of bytes of a file; `number` counts from 1."""

    number: int
    begin: int
    size_bytes: int


def parts_of(size_bytes: int, part_bytes: int) -> list[Part]:
    """Return the parts of a file; an empty file is one empty part."""
    begins = range(0, max(size_bytes, 1), part_bytes)
    return [Part(number, begin, min(part_bytes, size_bytes - begin)) for number, begin in enumerate(begins, start=1)]


def is_received(part: Part, sha256: str, received: Sequence[Mapping[str, object]]) -> bool:
    """Return whether the server lists a part with these bytes; `sha256` is in base64, as S3 states it."""
    return any(
        (entry["number"], entry["size"], entry["checksum"]) == (part.number, part.size_bytes, sha256)
        for entry in received
    )


def pause_before_retry(
    attempt: int, status: int | None, body: str = "", retry_after: str | None = None
) -> float | None:
    """Return the seconds to wait before a request is tried again; None if it has failed for good.

    Parameters
    ----------
    attempt
        Number of attempts already made, from 1.
    status
        HTTP status; None if the connection failed.
    body
        Start of the answer: S3 names its error there.
    retry_after
        The header of that name, in seconds; other forms are ignored. More than two minutes are not waited for.
    """
    code = re.search(r"<Code>(\w+)</Code>", body)
    is_passing = (
        status is None
        or status == _TOO_MANY
        or status >= _SERVER_ERROR
        or (code is not None and (code[1] in _PASSING or _EXPIRED.search(body) is not None))
    )
    if not is_passing or attempt >= ATTEMPTS:
        return None
    pause_s = _FIRST_PAUSE_S * 2 ** (attempt - 1)
    if retry_after is not None and retry_after.strip().isdecimal():
        pause_s = max(pause_s, float(retry_after))
    return pause_s if pause_s <= _LONGEST_PAUSE_S else None
