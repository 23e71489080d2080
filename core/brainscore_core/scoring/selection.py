"""Select identifiers by name, pattern, list in a file, or all of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from brainscore_core.errors import ConfigurationError, UnknownIdentifierError, did_you_mean, nearest

__all__ = ["ALL", "is_pattern", "select"]

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
    for text, where in _texts(wanted, known):
        matches = _matches(text, known) or ([text] if exists(text) else [])
        selection.update(dict.fromkeys(matches))
        if not matches:
            wrong.append(_wrong(text, known, what, where))
    if wrong:
        raise UnknownIdentifierError(" ".join(wrong))
    return list(selection)


def _texts(wanted: Sequence[str], known: Sequence[str]) -> Iterator[tuple[str, str]]:
    for text in wanted:
        if not text.startswith("@") or text in known:
            yield text, ""
            continue
        file = Path(text[1:])
        lines = [(number, line.partition("#")[0].strip()) for number, line in enumerate(_lines(file), start=1)]
        if not any(name for _, name in lines):
            raise ConfigurationError(f"The list of names {file} is empty; expected one name on each line.")
        yield from ((name, f" ({file}, line {number})") for number, name in lines if name)


def _lines(file: Path) -> list[str]:
    try:
        if file.stat().st_size > _MOST_BYTES:
            raise ConfigurationError(
                f"{file} has more than {_MOST_BYTES // 2**20} MiB; expected one name on each line."
            )
        return file.read_text("utf-8-sig").splitlines()
    except (OSError, ValueError) as error:
        if isinstance(error, ConfigurationError):
            raise
        raise ConfigurationError(
            f"The list of names {file} cannot be read: {error}. After @ a text file is expected, one name on each line."
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
