"""Name the public variant of private data."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from brainscore_core.errors import PrivateDataError

__all__ = ["naming_public_variant", "public_variant"]

# 'X.public', 'X-public', 'Xpublic' and 'Xpublic.V1-pls' are public variants of 'X' (or 'X.private') and 'X.V1-pls'.
_ACCESS = re.compile(r"[.\-_]?(public|private)", re.IGNORECASE)


def public_variant(identifier: str, known: Iterable[str]) -> str | None:
    """Return the identifier of the public variant of private data; None if there is none.

    Examples
    --------
    >>> public_variant('Mine2026', ['Mine2026.public', 'Mine2026.private', 'Other2026'])
    'Mine2026.public'
    """
    plain = _ACCESS.sub("", identifier)
    variants = [
        other
        for other in known
        if other != identifier and "public" in other.lower() and _ACCESS.sub("", other) == plain
    ]
    return min(variants, key=len) if variants else None


@contextmanager
def naming_public_variant(identifier: str, known: Callable[[], Iterable[str]]) -> Iterator[None]:
    """Let a `PrivateDataError` of the block also name the public variant of the data.

    ``known`` returns all registered identifiers of that kind; it is only called after such an error.
    """
    try:
        yield
    except PrivateDataError as error:
        variant = public_variant(identifier, known())
        if variant is None or repr(variant) in str(error):
            raise
        raise PrivateDataError(f"{error} There is a public variant of {identifier!r}: {variant!r}.") from error
