"""Select which pairs to score, state their limits, and their outcomes.

A pair, its limits and its outcome travel between machines, so their fields are bounded.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field, PlainSerializer, Strict

from brainscore_core.errors import ConfigurationError, UnknownIdentifierError, did_you_mean, nearest
from brainscore_core.records.record import MOST_BYTES, ScoreRecord
from brainscore_core.untrusted import Flag, Identifier, Message, Untrusted, at_most, text

__all__ = ["ALL", "MOST_OUTPUT", "MOST_VALUES", "Cost", "Limits", "Outcome", "Pair", "Reasons", "is_pattern", "select"]


MOST_OUTPUT = 20_000
"""Characters of output that an outcome keeps on its way between machines."""

MOST_VALUES = 8 * 2**20
"""Bytes of values that travel, since the scheduler keeps outcomes in memory."""

Cost = Annotated[float, Strict(), Field(ge=0, le=1e9), PlainSerializer(float)]  # serialised as it will be parsed
Reasons = Annotated[tuple[Message, ...], at_most(1_000)]


@dataclass(frozen=True)
class Pair(Untrusted):
    """A model to score on a benchmark.

    Attributes
    ----------
    minutes, memory_gb
        Expected duration and memory (10^9 bytes).
    private
        Whether the benchmark needs private data.
    reasons
        Why a plan includes it, from the pair back to the change.
    """

    model: Identifier
    benchmark: Identifier
    minutes: Cost = 5.0
    memory_gb: Cost = 4.0
    private: Flag = False
    gpus: Annotated[int, Strict(), Field(ge=0, le=1024)] = 0
    reasons: Reasons = ()


@dataclass(frozen=True, kw_only=True)
class Limits(Untrusted):
    """Time and memory at which a pair is stopped.

    Attributes
    ----------
    time, memory
        Multiples of the pair's expected duration and memory.
    least_minutes, least_memory_gb
        Minimum for every pair, which may fetch weights and data and loads a learning framework.
    """

    time: Cost = 4.0
    memory: Cost = 2.0
    least_minutes: Cost = 10.0
    least_memory_gb: Cost = 4.0

    def seconds(self, pair: Pair) -> float:
        """Return the time limit."""
        return 60 * max(self.least_minutes, self.time * pair.minutes)

    def memory_bytes(self, pair: Pair) -> float:
        """Return the memory limit."""
        return 1e9 * max(self.least_memory_gb, self.memory * pair.memory_gb)


def _record(value: str) -> ScoreRecord:
    return ScoreRecord.from_json(value, "The record of an outcome")


def _decoded(value: str) -> bytes:
    try:
        return b64decode(value, validate=True)
    except ValueError as error:
        raise ValueError(f"expected base64: {error}") from None


@dataclass(frozen=True)
class Outcome(Untrusted):
    """The record of a pair and the files that go with it, each empty if there is none.

    Attributes
    ----------
    output
        Without secrets.
    values
        See `brainscore_core.records.values`.
    lock, candidate_lock
        See `store.keep`.
    """

    record: Annotated[ScoreRecord, text(MOST_BYTES), AfterValidator(_record)]
    output: Annotated[str, text(MOST_OUTPUT)] = ""
    values: Annotated[bytes, text(4 * (MOST_VALUES // 3 + 1)), AfterValidator(_decoded)] = b""
    lock: Annotated[str, text(MOST_BYTES)] = ""
    candidate_lock: Annotated[str, text(MOST_BYTES)] = ""


# -- selecting identifiers ---------------------------------------------------------------------------------------------
#
# Select identifiers by name, pattern, list in a file, or all of them.


ALL = "all"
_WILD = re.compile(r"[*?\[]")
_MOST_BYTES = 10 * 2**20  # of a file


def is_pattern(text: str, known: Iterable[str] = ()) -> bool:
    """Return whether a text that is no `known` name selects names: ``all``, a pattern, or ``@`` and a file."""
    return text not in known and (text == ALL or text.startswith("@") or _WILD.search(text) is not None)


def select(
    wanted: Sequence[str], known: Sequence[str], what: str, *, exists: Callable[[str], bool] = lambda _: False
) -> list[str]:
    """Return the selected names, each once, in the order of the request.

    Parameters
    ----------
    wanted
        Names, ``'all'``, shell patterns such as ``'Recordings2030*'``, or ``'@names.txt'``, a file with a name or
        pattern on each line, where ``#`` starts a comment.
    what
        Noun for messages, such as ``'model'``.
    exists
        Whether a name that is not `known` exists nevertheless.

    Raises
    ------
    UnknownIdentifierError
        If a name does not exist or a pattern matches none; lists all, with the nearest names.
    """
    selection: dict[str, None] = {}
    wrong: list[str] = []
    for request, where in _requests(wanted, known):
        matches = _matches(request, known) or ([request] if exists(request) else [])
        selection.update(dict.fromkeys(matches))
        if not matches:
            wrong.append(_wrong(request, known, what, where))
    if wrong:
        raise UnknownIdentifierError(" ".join(wrong))
    return list(selection)


def _requests(wanted: Sequence[str], known: Sequence[str]) -> Iterator[tuple[str, str]]:
    for request in wanted:
        if not request.startswith("@") or request in known:
            yield request, ""
            continue
        file = Path(request[1:])
        lines = [(number, line.partition("#")[0].strip()) for number, line in enumerate(_lines(file), start=1)]
        if not any(name for _, name in lines):
            raise ConfigurationError(f"The list of names {file} is empty; expected one name per line.")
        yield from ((name, f" ({file}, line {number})") for number, name in lines if name)


def _lines(file: Path) -> list[str]:
    try:
        if file.stat().st_size > _MOST_BYTES:
            raise ConfigurationError(f"{file} has more than {_MOST_BYTES // 2**20} MiB; expected one name per line.")
        return file.read_text("utf-8-sig").splitlines()
    except (OSError, ValueError) as error:
        if isinstance(error, ConfigurationError):
            raise
        raise ConfigurationError(
            f"The list of names {file} cannot be read: {error}. Expected a text file after @, with one name per line."
        ) from error


def _matches(text: str, known: Sequence[str]) -> list[str]:
    if text in known:
        return [text]
    if text == ALL:
        return list(known)
    return [name for name in known if fnmatchcase(name, text)] if is_pattern(text) else []


def _wrong(text: str, known: Sequence[str], what: str, where: str) -> str:
    if not is_pattern(text):
        return f"No {what} is registered as {text!r} ({len(known)} known){where}.{did_you_mean(text, known, 3)}"
    # The letters before the first wildcard usually matter most.
    letters = _WILD.split(text)[0] or _WILD.sub("", text)
    starts = [name for name in known if letters and name.casefold().startswith(letters.casefold())]
    near = sorted(starts)[:3] or nearest(letters, known)
    hint = f" The nearest are {', '.join(map(repr, near))}." if near else ""
    return f"No {what} matches {text!r} ({len(known)} known){where}.{hint}"
