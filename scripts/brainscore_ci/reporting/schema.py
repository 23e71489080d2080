"""Check by hand that JSON from anybody is what it should be, before anything is made of it.

A checker takes a value and where it stands, and returns what is made of it or raises `CorruptFileError`; the message
repeats only a few characters of the value, which are harmless in a log.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from brainscore_core.errors import CorruptFileError

__all__ = [
    "MOST_BYTES",
    "Checker",
    "boolean",
    "entry",
    "integer",
    "list_of",
    "number",
    "one_of",
    "optional",
    "parse",
    "shown",
    "text",
    "wrong",
]

MOST_BYTES = 16 * 2**20  # of one file; parsed, it takes up to thirty times as much memory
Checker = Callable[[object, str], Any]


def parse(data: str | bytes, what: str) -> object:
    """Return the content of JSON text that is not too large and has no key twice.

    Parameters
    ----------
    data : str or bytes
    what : str
        For people, such as 'results'.

    Raises
    ------
    CorruptFileError
        If it is anything else.
    """
    if len(data) > MOST_BYTES:
        raise CorruptFileError(f"The {what}: more than {MOST_BYTES // 2**20} MiB.")

    def once(entries: list[tuple[str, object]]) -> dict[str, object]:
        content = dict(entries)
        if len(content) != len(entries):
            raise CorruptFileError(f"The {what}: an object has a key twice.")
        return content

    try:
        return json.loads(data, object_pairs_hook=once)
    except CorruptFileError:
        raise
    except (ValueError, RecursionError) as error:
        raise CorruptFileError(f"The {what}: no JSON, {shown(str(error))}.") from error


def shown(value: object) -> str:
    """Return a few characters of a value that are harmless in a log."""
    harmless = ascii(value)
    return harmless if len(harmless) <= 80 else f"{harmless[:77]}..."


def wrong(where: str, expected: str, value: object) -> CorruptFileError:
    """Return the error for a value that is not as expected."""
    found = f"{type(value).__name__} of length {len(value)}" if isinstance(value, (dict, list)) else shown(value)
    return CorruptFileError(f"{where}: expected {expected}, found {found}.")


def text(most: int) -> Checker:
    """Accept a text of some characters at the most; they may be any, so whoever shows it escapes it."""

    def check(value: object, where: str) -> str:
        if not isinstance(value, str) or len(value) > most:
            raise wrong(where, f"a text of at most {most} characters", value)
        return value

    return check


def number(low: float, high: float) -> Checker:
    """Accept a number in a range, and so neither NaN nor infinity."""

    def check(value: object, where: str) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
            raise wrong(where, f"a number from {low:g} to {high:g}", value)
        return value

    return check


def integer(high: int) -> Checker:
    """Accept a whole number from 0 to a highest."""

    def check(value: object, where: str) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= high:
            raise wrong(where, f"a whole number from 0 to {high}", value)
        return value

    return check


def boolean(value: object, where: str) -> bool:
    """Accept true and false."""
    if not isinstance(value, bool):
        raise wrong(where, "true or false", value)
    return value


def one_of(*values: object) -> Checker:
    """Accept some values."""

    def check(value: object, where: str) -> object:
        if not any(type(value) is type(each) and value == each for each in values):  # True equals 1
            raise wrong(where, f"one of {', '.join(map(str, values))}", value)
        return value

    return check


def optional(checker: Checker) -> Checker:
    """Accept null, and what another accepts."""
    return lambda value, where: None if value is None else checker(value, where)


def list_of(checker: Checker, most: int) -> Checker:
    """Accept a list of some entries at the most, each accepted by another."""

    def check(value: object, where: str) -> tuple[Any, ...]:
        if not isinstance(value, list) or len(value) > most:
            raise wrong(where, f"a list of at most {most} entries", value)
        return tuple(checker(each, f"{where}[{index}]") for index, each in enumerate(value))

    return check


def entry(make: Callable[..., Any], **fields: Checker) -> Checker:
    """Accept an object that has exactly these keys, each value accepted by another, and make something of them."""

    def check(value: object, where: str) -> Any:
        if not isinstance(value, dict) or value.keys() != fields.keys():
            differing = sorted(value.keys() ^ fields.keys()) if isinstance(value, dict) else value
            raise wrong(where, f"the keys {', '.join(fields)}", f"differing: {differing}")
        return make(**{name: checker(value[name], f"{where}.{name}") for name, checker in fields.items()})

    return check
