"""Describe problems of data with place and remedy."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

__all__ = ["Problem", "errors_of", "format_table", "raise_errors"]

_ALIKE = 5
_NARROWEST, _GAP = 12, 2
_TITLES = ("KIND", "WHERE", "WHAT", "FIX")


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with a part of data (such as ``"column 'filename'"``), or may be (a hint)."""

    where: str
    what: str
    fix: str
    is_hint: bool = field(default=False, kw_only=True)

    @property
    def kind(self) -> str:
        """``'hint'`` or ``'error'``."""
        return "hint" if self.is_hint else "error"

    def __str__(self) -> str:
        return f"{self.where}: {self.what}; {self.fix}"

    def within(self, whole: str) -> Problem:
        """Return the same problem of a part of something."""
        return replace(self, where=f"{whole}: {self.where}")


def errors_of(problems: Iterable[Problem]) -> list[Problem]:
    """Return the problems except hints."""
    return [problem for problem in problems if not problem.is_hint]


def raise_errors(problems: Iterable[Problem], error_class: type[Exception], headline: str) -> None:
    """Raise one error that lists all problems except hints, if any; those with the same fix together, a few of each."""
    by_fix: dict[str, list[Problem]] = {}
    for problem in errors_of(problems):
        by_fix.setdefault(problem.fix, []).append(problem)
    lines = []
    for alike in by_fix.values():
        lines += [f"- {problem}" for problem in alike[:_ALIKE]]
        if len(alike) > _ALIKE:
            lines.append(f"  ... and {len(alike) - _ALIKE} more like these")
    if lines:
        raise error_class("\n".join([f"{headline}:", *lines]))


def format_table(problems: Sequence[Problem], width: int = 140) -> str:
    """Return a table of all problems, errors first, in lines of at most ``width`` printable characters."""
    ordered = sorted(problems, key=lambda problem: problem.is_hint)
    rows = [_TITLES, *((problem.kind, problem.where, problem.what, problem.fix) for problem in ordered)]
    cells = [[_printable(text) for text in row] for row in rows]
    widths = _widths([max(map(len, column)) for column in zip(*cells, strict=True)], width)
    return "\n".join(line for row in cells for line in _lines(row, widths))


def _lines(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    wrapped = [
        textwrap.wrap(text, size, break_on_hyphens=False) or [""] for text, size in zip(row, widths, strict=True)
    ]
    height = max(map(len, wrapped))
    padded = [lines + [""] * (height - len(lines)) for lines in wrapped]
    gap = " " * _GAP
    return [
        gap.join(text.ljust(size) for text, size in zip(line, widths, strict=True)).rstrip()
        for line in zip(*padded, strict=True)
    ]


def _widths(needed: Sequence[int], width: int) -> list[int]:
    """Share a width among the columns: narrow ones get theirs, the others share the rest."""
    available = width - _GAP * (len(needed) - 1)
    shares = [0] * len(needed)
    for place, column in enumerate(sorted(range(len(needed)), key=lambda column: needed[column])):
        fair = max(available // (len(needed) - place), _NARROWEST)
        shares[column] = min(needed[column], fair)
        available -= shares[column]
    return shares


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
