"""Write text that may come from anybody into Markdown, so that it stays text.

On GitHub, text can become more than text in three ways: by the syntax of Markdown and HTML, by what GitHub itself links
afterwards (@mentions, #1, GH-1, commits, addresses, :emoji:), and by characters that change how the ones around them
look. Nothing of that is left in what these functions return. Inside code GitHub links nothing, so identifiers and paths
belong into `code`, and sentences into `escape`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

__all__ = ["block", "code", "escape", "plain", "summary", "table"]

_JOINER = "\u2060"  # has no width and no break; in no name that GitHub looks for
_MOST_MARKS = 2  # accents on one letter; piles of them run over the lines above
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
    """Return text on one line, without characters that are not seen or change others, cut to a length.

    Parameters
    ----------
    text : str
        Anything.
    most : int
        Characters at the most, including the ``…`` that says that it was cut.
    """
    line = " ".join(_visible(text[: 4 * most + 100]).split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def escape(text: str, most: int = 300) -> str:
    """Return text for a sentence, a list or a cell of a table; it is shown as it is and links nothing."""
    line = _unlinked(plain(text, most))
    line = _SYNTAX.sub(r"\\\g<0>", line)
    return _START_OF_BLOCK.sub(r"\1\\\2", line)


def code(text: str, most: int = 200) -> str:
    """Return text as a code span for a sentence, a list or a cell of a table; empty text stays empty.

    A ``|`` is shown as ``¦``, because it would end a cell of a table even inside code.
    """
    line = plain(text, most).replace("|", "¦")
    if not line:
        return ""
    fence = "`" * (_longest_run(line) + 1)
    pad = " " if "`" in (line[0], line[-1]) else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def summary(text: str, most: int = 200) -> str:
    """Return text as HTML code for the line of a folded section, which is no Markdown."""
    entities = re.sub(r"[!-/:-@\[-`{-~]", lambda match: f"&#{ord(match[0])};", _unlinked(plain(text, most)))
    return f"<code>{entities}</code>"


def block(text: str, *, most: int = 4000, most_lines: int = 60) -> str:
    """Return text as a fenced block that it cannot close; its line breaks and indents are kept."""
    lines = [
        _visible(line.expandtabs(4)).rstrip() for line in re.split(r"\r\n|[\n\r\v\f\x85\u2028\u2029]", text[:most])
    ]
    if len(text) > most or len(lines) > most_lines:
        lines = [*lines[:most_lines], "…"]
    fence = "`" * max(3, max(map(_longest_run, lines), default=0) + 1)
    return "\n".join([f"{fence}text", *lines, fence])


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> tuple[list[str], Iterator[str]]:
    """Return the two lines above a table, and one line for each row; all cells are Markdown already."""
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
    """Return text with a space for each separator and control, and without what is not seen."""
    if text.isascii() and text.isprintable():
        return text
    kept: list[str] = []
    marks = _MOST_MARKS  # none at the start: it would change what stands before the text
    for character in text:
        category = unicodedata.category(character)
        if category in {"Mn", "Me"}:
            marks += 1
            if marks <= _MOST_MARKS:
                kept.append(character)
            continue
        if category in {"Cc", "Zs", "Zl", "Zp"}:
            kept.append(" ")
            marks = _MOST_MARKS
        elif category not in {"Cf", "Cs", "Co", "Cn"}:  # direction, joiners, tags; halves; private; unassigned
            kept.append(character)
            marks = 0
    return "".join(kept)
