"""Decide what may happen to an upload; pure functions without a clock, a database or a network."""

# Why states and moves
#
# Problem. An upload is received, checked in a box, reviewed and published over hours, by browsers, workers and people
# at the same time. Any of them may die at any moment, and a worker that was given up may come back. Nothing may be
# published twice, half, or after its deletion, and no identifier may have two uploads.
#
# Sources. "SELECT ... FOR UPDATE SKIP LOCKED" of PostgreSQL; SQLite's documentation of WAL and BEGIN IMMEDIATE; fencing
# tokens, Kleppmann (2017), Designing Data-Intensive Applications, chapter 8; multipart uploads of S3.
#
# What else was tried or considered, and why not.
# - A queue service, such as Celery with Redis (considered): a second store whose state can contradict the database, and
#   one more server to run. A row that is `waiting` is the queue.
# - A lock held by the worker (considered): it ends with a lost connection while the worker goes on. Instead, each
#   attempt has a random claim, and every later move names it (`service.move`): a worker that was given up moves
#   nothing.
# - Reading the state, deciding, writing it (considered): two requests both read the old state. A move is one UPDATE
#   whose WHERE has the allowed states: the database decides which request was first.
# - Publishing before the transaction is visible, or after it (both have a gap): files are copied first, then one
#   transaction makes them visible. A worker that dies in between leaves invisible files, which the next attempt
#   removes.
#
# Cost. A move is one UPDATE by primary key, O(log n). Taking the next upload and watching for silent workers are O(rows
# in that state), by an index. `check_files` is O(files).
#
# Where it breaks. Heartbeats are times of the workers' clocks: if one is wrong by more than `silent_s`, a living check
# is repeated (the first claim then fails, so nothing is published twice). A worker that comes back may still copy
# objects: buckets need versioning, since the row names the versions that count. SQLite has one writer at a time, and a
# request that waits for 10 s gets 503.

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from brainscore_core.errors import BrainScoreError
from brainscore_core.validation.stimuli import check_identifier, is_safe_name

FREED = ("rejected", "deleted")
"""States of uploads that no longer occupy their identifier and quota."""

FINAL = ("published", *FREED)
"""States that do not change without a person's action."""

MOVES: dict[str, tuple[frozenset[str], str]] = {
    "finalize": (frozenset({"receiving"}), "waiting"),
    "claim": (frozenset({"waiting"}), "validating"),
    "requeue": (frozenset({"validating"}), "waiting"),
    "hold": (frozenset({"validating"}), "review"),
    "approve": (frozenset({"review"}), "waiting"),
    "publish": (frozenset({"validating"}), "published"),
    "reject": (frozenset({"validating", "review"}), "rejected"),
    "delete": (frozenset({"receiving", "waiting", "review", "published", "rejected"}), "deleted"),
}
"""Move -> states that allow it, and the resulting state."""

_MOST_PARTS = 10_000  # S3's limit
_MOST_NAME = 200
_SHA256 = re.compile(r"[0-9a-f]{64}")


class RefusedError(BrainScoreError):
    """A request is refused; `status` is that of HTTP, and `problems` have the keys of `problem_of`.

    `retry_s` is when to try again.
    """

    def __init__(self, status: int, problems: Sequence[dict[str, str]], retry_s: int | None = None) -> None:
        super().__init__("; ".join(f"{problem['where']}: {problem['what']}" for problem in problems))
        self.status, self.problems, self.retry_s = status, list(problems), retry_s


def refuse(
    status: int, what: str, *, where: str = "", expected: str = "", remedy: str = "", retry_s: int | None = None
) -> RefusedError:
    """Return an error with one problem."""
    return RefusedError(status, [problem_of(what, where, expected, remedy)], retry_s)


def problem_of(what: str, where: str = "", expected: str = "", remedy: str = "") -> dict[str, str]:
    """Return a problem as the API states it."""
    return {"what": what, "where": where, "expected": expected, "remedy": remedy}


@dataclass(frozen=True)
class UploadLimits:
    """Limits of one upload; `left_bytes` is the unused part of the person's quota."""

    most_files: int
    most_file_bytes: int
    part_bytes: int
    left_bytes: int


def check_files(
    identifier: str, files: Iterable[tuple[str, int, str | None]], limits: UploadLimits
) -> list[dict[str, str]]:
    """Return all problems of an announced upload; `files` are (name, bytes, SHA-256 or None)."""
    files = list(files)
    problems = [
        problem_of(problem.what, "identifier", remedy=problem.fix)
        for problem in check_identifier(identifier)
        if not problem.is_hint
    ]
    if len(identifier) > _MOST_NAME:
        problems.append(problem_of("the identifier is too long", "identifier", f"at most {_MOST_NAME} characters"))
    if not files or len(files) > limits.most_files:
        expected = f"1 to {limits.most_files:,} files"
        problems.append(problem_of(f"{len(files):,} files are announced", "files", expected, "package the stimuli"))
    names: set[str] = set()
    most_bytes = min(limits.most_file_bytes, _MOST_PARTS * limits.part_bytes)
    for name, size, sha256 in files[: limits.most_files]:
        if not name or len(name) > _MOST_NAME or not is_safe_name(name) or name.startswith("."):
            expected = f"a plain relative path of at most {_MOST_NAME} characters"
            problems.append(problem_of("this name cannot be used", name[:_MOST_NAME], expected, "rename the file"))
        if name.casefold() in names:
            problems.append(problem_of("two files have this name if case is ignored", name, remedy="rename"))
        names.add(name.casefold())
        if not 0 < size <= most_bytes:
            expected = f"1 to {most_bytes:,} bytes"
            problems.append(problem_of(f"the file has {size:,} bytes", name, expected, "split the data"))
        if sha256 is not None and not _SHA256.fullmatch(sha256):
            problems.append(problem_of("invalid SHA-256", name, "64 hexadecimal digits in lower case", "hash again"))
    total = sum(size for _, size, _ in files)
    if total > limits.left_bytes:
        expected = f"at most {max(limits.left_bytes, 0):,} bytes, the rest of your quota"
        remedy = "delete uploads that you do not need, or ask a maintainer for a larger quota"
        problems.append(problem_of(f"the files have {total:,} bytes", "files", expected, remedy))
    return problems


def count_parts(size: int, part_bytes: int) -> int:
    """Return the number of parts of a file that is not empty."""
    return -(-size // part_bytes)


def size_of_part(number: int, size: int, part_bytes: int) -> int:
    """Return the bytes of a part, numbered from 1; 0 if there is no such part."""
    return max(0, min(part_bytes, size - (number - 1) * part_bytes)) if number >= 1 else 0


def is_sha256(text: str) -> bool:
    """Return whether a text is a SHA-256 in base64, as S3 states it."""
    try:
        return len(base64.b64decode(text, validate=True)) == 32
    except ValueError:
        return False


def may_see(owner: int, person: int, role: str) -> bool:
    """Return whether a person may see an upload that is not published to everybody."""
    return owner == person or role == "maintainer"


def source_of(move: str) -> tuple[Sequence[str], str]:
    """Return the states that allow a move, sorted, and the state that it leads to."""
    before, after = MOVES[move]
    return sorted(before), after
