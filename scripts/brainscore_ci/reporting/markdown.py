"""Write untrusted text into Markdown so that it stays text.

On GitHub it can act by Markdown and HTML syntax, by GitHub's own links (@mentions, #1, GH-1, commits, addresses,
:emoji:), and by characters that change their neighbours. Use `code` for identifiers and paths, `escape` for sentences.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

_JOINER = "\u2060"  # zero width, no break; occurs in no name GitHub links
_MOST_MARKS = 2  # accents on one letter; more would run over the lines above
_LINKED = (
    (re.compile(r"@(?=\S)"), f"@{_JOINER}"),
    (re.compile(r"#(?=\w)"), f"#{_JOINER}"),
    (re.compile(r"\b(GH)-(?=\d)", re.IGNORECASE), rf"\1-{_JOINER}"),
    (re.compile(r"([0-9a-f]{6})(?=[0-9a-f])", re.IGNORECASE), rf"\1{_JOINER}"),  # 7 to 40 of them name a commit
    (re.compile(r":(?=\S)"), f":{_JOINER}"),  # http://, mailto:, :emoji:
    (re.compile(r"\b(www)(?=\.)", re.IGNORECASE), rf"\1{_JOINER}"),
)
_SYNTAX = re.compile(r"[\\`*_{}\[\]<>()#|~$&!^]")
_BREAK = re.compile(r"\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_START_OF_BLOCK = re.compile(r"^(\d*)([-+=.)])")


def plain(text: str, most: int = 300) -> str:
    """Return text on one line, without invisible or changing characters, cut to a length with ``…``."""
    line = " ".join(_visible(text[: 4 * most + 100]).split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def escape(text: str, most: int = 300) -> str:
    """Return text for a sentence, list or table cell; it is shown verbatim and links nothing."""
    line = _unlinked(plain(text, most))
    line = _SYNTAX.sub(r"\\\g<0>", line)
    return _START_OF_BLOCK.sub(r"\1\\\2", line)


def code(text: str, most: int = 200) -> str:
    """Return text as a code span for a sentence, list or table cell, where ``|`` becomes ``¦``."""
    line = plain(text, most).replace("|", "¦")
    if not line:
        return ""
    fence = "`" * (_longest_run(line) + 1)
    pad = " " if "`" in (line[0], line[-1]) else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def summary(text: str, most: int = 200) -> str:
    """Return text as HTML code for the title of a folded section, where Markdown does not work."""
    entities = re.sub(r"[!-/:-@\[-`{-~]", lambda match: f"&#{ord(match[0])};", _unlinked(plain(text, most)))
    return f"<code>{entities}</code>"


def block(text: str, *, most: int = 4000, most_lines: int = 60) -> str:
    """Return text as a fenced block that it cannot close."""
    lines = [
        _visible(line.expandtabs(4)).rstrip() for line in re.split(r"\r\n|[\n\r\v\f\x85\u2028\u2029]", text[:most])
    ]
    if len(text) > most or len(lines) > most_lines:
        lines = [*lines[:most_lines], "…"]
    fence = "`" * max(3, max(map(_longest_run, lines), default=0) + 1)
    return "\n".join([f"{fence}text", *lines, fence])


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> tuple[list[str], Iterator[str]]:
    """Return a table; all cells already are Markdown."""
    above = [_row(header), _row(["---"] * len(header))]
    return above, (_row(row) for row in rows)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _unlinked(text: str) -> str:
    for pattern, replacement in _LINKED:
        text = pattern.sub(replacement, text)
    return text


def _longest_run(text: str) -> int:
    return max(map(len, re.findall(r"`+", text)), default=0)


def _visible(text: str) -> str:
    """Replace separators and controls by spaces and drop invisible characters."""
    if text.isascii() and text.isprintable():
        return text
    characters: list[str] = []
    marks = _MOST_MARKS  # a leading one would change the character before the text
    for character in text:
        category = unicodedata.category(character)
        if category in {"Mn", "Me"}:
            marks += 1
            if marks <= _MOST_MARKS:
                characters.append(character)
            continue
        if category in {"Cc", "Zs", "Zl", "Zp"}:
            characters.append(" ")
            marks = _MOST_MARKS
        elif category not in {"Cf", "Cs", "Co", "Cn"}:  # direction, joiners, tags; surrogates; private; unassigned
            characters.append(character)
            marks = 0
    return "".join(characters)
