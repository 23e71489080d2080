"""Read untrusted JSON: bounded before it is parsed, strict, and refused in a few harmless words.

Frozen dataclasses state the types and bounds of fields.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeVar

import pydantic_core
from pydantic import AfterValidator, ConfigDict, Field, PlainValidator, Strict, ValidationError

from brainscore_core.errors import CorruptFileError
from brainscore_core.names import CHARACTERS, why_no_identifier

if TYPE_CHECKING:
    from pydantic import TypeAdapter

MOST_BYTES = 16 * 2**20  # of one file; parsed, it takes up to thirty times as much memory
MOST_NAME, MOST_LINE, MOST_MESSAGE, MOST_PATH = 400, 1_000, 4_000, 4_096  # characters
_MOST_TOLD = 2  # problems of one file
# A spreadsheet ignores spaces and invisible characters in front. `core.js` of the leaderboard has the same pattern.
_FORMULA = re.compile("[\\s\0\u200b-\u200f\u2060\ufeff]*[=+\\-@\uff1d\uff0b\uff0d\uff20\t\r\n|%']")

_KEY = re.compile(rb'"\s*:')
"""The end of each key, and perhaps a part of a string."""

Read = TypeVar("Read")

_adapters: dict[object, TypeAdapter[Any]] = {}  # Any: each reads another class


class Untrusted:
    """Base of the dataclasses that are read: no key but their own, no number that is not finite."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid", allow_inf_nan=False)


def text(most: int) -> PlainValidator:
    """Accept a text of limited length with any characters, to be escaped before it is displayed.

    pydantic's own ``str`` refuses halves of surrogate pairs, as in names of files that are not UTF-8.
    """

    def check(value: object) -> str:
        if not isinstance(value, str) or len(value) > most:
            raise ValueError(f"expected a text of at most {most} characters")
        return value

    return PlainValidator(check, json_schema_input_type=Annotated[str, Field(max_length=most)])


def at_most(most: int) -> Any:  # a `FieldInfo`, which pydantic states to be Any
    """Accept a limited number of entries; stop at the first wrong one."""
    return Field(max_length=most, fail_fast=True)


def matching(pattern: re.Pattern[str], expected: str) -> AfterValidator:
    """Accept a text that a pattern matches as a whole; `expected` describes it."""

    def check(value: str) -> str:
        if pattern.fullmatch(value) is None:
            raise ValueError(f"expected {expected}")
        return value

    return AfterValidator(check)


def _identifier(value: str) -> str:
    if why := why_no_identifier(value):
        raise ValueError(f"{why}; expected {CHARACTERS}")
    return value


Identifier = Annotated[str, Field(min_length=1, max_length=MOST_NAME), AfterValidator(_identifier)]
"""Name of a registered model, benchmark or data set, by the one rule for these."""

Name = Annotated[str, text(MOST_NAME)]
Line = Annotated[str, text(MOST_LINE)]
Message = Annotated[str, text(MOST_MESSAGE)]
PathText = Annotated[str, text(MOST_PATH)]
ADDRESS = re.compile(r"https?://[a-z0-9.:\[\]-]{1,255}([/?#][!#-&(-;=?-\[\]-_a-z|~]{0,700})?", re.ASCII | re.IGNORECASE)
"""Web address in ASCII, as letters of other scripts look similar, without a user, which could look like a server."""
Address = Annotated[str, text(1_000), matching(ADDRESS, "an address of ASCII that starts with http:// or https://")]
Flag = Annotated[bool, Strict()]
Count = Annotated[int, Strict(), Field(ge=0, le=10**7)]


def adapter_of(kind: type[Read]) -> TypeAdapter[Read]:
    """Return the reader of a class, made on first use."""
    if kind not in _adapters:
        from pydantic import TypeAdapter  # heavy, as is making one: as slow as parsing hundreds of files

        _adapters[kind] = TypeAdapter(kind)
    return _adapters[kind]


def read(kind: TypeAdapter[Read], data: str | bytes, what: str, most_bytes: int = MOST_BYTES) -> Read:
    """Make an object of JSON text; `what` names the content in `CorruptFileError`."""
    return checked(kind, parse(data, what, most_bytes), what)


def parse(data: str | bytes, what: str, most_bytes: int = MOST_BYTES) -> object:
    """Return the content of JSON text that is not too large and has no key twice; see `read`."""
    if len(data) > most_bytes:
        raise CorruptFileError(f"The {what}: more than {most_bytes / 2**20:g} MiB.")
    if isinstance(data, bytes):  # twice as fast
        try:
            content = pydantic_core.from_json(data)
        except ValueError:
            pass  # the standard library decides, and says where the mistake is
        else:
            if _n_keys(content) == len(_KEY.findall(data)):  # a key twice leaves one behind
                return content

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
        raise CorruptFileError(f"The {what}: not JSON, {shown(str(error))}.") from error


def _n_keys(content: object) -> int:
    n_keys, values = 0, [content]
    for value in values:  # which grow
        if type(value) is dict:
            n_keys += len(value)
            values += value.values()
        elif type(value) is list:
            values += value
    return n_keys


def checked(kind: TypeAdapter[Read], content: object, what: str) -> Read:
    """Make an object of content that was parsed; see `read`."""
    try:
        return kind.validate_python(content)
    except ValidationError as error:
        problems = [
            f"{_place(what, entry['loc'])}: {entry['msg'].removeprefix('Value error, ')}, found {shown(entry['input'])}"
            for entry in error.errors(include_url=False, include_context=False)[:_MOST_TOLD]
        ]
        more = f"; and {error.error_count() - _MOST_TOLD} more" if error.error_count() > _MOST_TOLD else ""
        raise CorruptFileError(f"{'; '.join(problems)}{more}.") from None  # whose text repeats the invalid value


def read_start(path: Path, most_bytes: int = MOST_BYTES) -> bytes:
    """Return the first bytes of a file, one more than `parse` accepts, so it refuses larger files."""
    with path.open("rb") as stream:
        return stream.read(most_bytes + 1)


def shown(value: object) -> str:
    """Return a few characters of a value that are harmless in a log."""
    if isinstance(value, (dict, list)):
        return f"{type(value).__name__} of length {len(value)}"
    harmless = ascii(value)
    return harmless if len(harmless) <= 80 else f"{harmless[:77]}..."


def in_spreadsheet(value: str) -> str:
    """Return a text for a CSV file, with an apostrophe in front if a spreadsheet could take it for a formula.

    Texts that already start with an apostrophe get one too: removing one then restores every text.
    """
    return f"'{value}" if _FORMULA.match(value) else value


def _place(what: str, location: tuple[int | str, ...]) -> str:
    places = (
        f"[{key}]" if isinstance(key, int) else f".{key if re.fullmatch('[a-z_]{1,40}', key) else shown(key)}"
        for key in location
    )
    return what + "".join(places)
