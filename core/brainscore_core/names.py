"""State which names are one identity: to people, to file systems and in addresses."""

from __future__ import annotations

import functools
import re
import unicodedata

_DEVICES = frozenset({"CON", "PRN", "AUX", "NUL", *(f"{port}{n}" for port in ("COM", "LPT") for n in range(10))})
_FOREIGN = re.compile(r"[^A-Za-z0-9._\-:/\[\]@+=]")
CHARACTERS = "ASCII letters, digits and . _ - : / [ ] @ + ="
"""Characters of identifiers. Published ones need no others."""


def why_no_identifier(name: str) -> str:
    """Return why a name is not a valid identifier; empty if it is one.

    Seven names can all look like one on the board: with a Cyrillic letter, a wide one, or a space of no width.
    """
    foreign = _FOREIGN.search(name)
    if foreign is None:
        return "" if name else "is empty"
    character = unicodedata.name(foreign[0], ascii(foreign[0]))
    return f"contains the character {character}, which may be invisible or look like another one"


@functools.cache
def folded(identifier: str) -> str:
    """Return a name without case and ``. _ -``; people or file systems may confuse names with equal results."""
    return unicodedata.normalize("NFKC", identifier).casefold().translate(dict.fromkeys(map(ord, "._-")))


def is_device_name(name: str) -> bool:
    """Return whether Windows takes a file's name for a device, such as ``aux.csv``: in any case, with any suffix."""
    return name.partition(".")[0].rstrip().upper() in _DEVICES
