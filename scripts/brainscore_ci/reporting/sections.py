"""Shorten the sections of a text to a size, least important first."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

_FEW = 10


@dataclass(frozen=True, kw_only=True)
class Section:
    """A part of the report that can be shortened."""

    name: str  # of its items, for people
    importance: int  # lower numbers are shortened first
    items: Iterable[str]  # lines, dropped from the end; generated only as far as needed
    total: int
    head: tuple[str, ...] = ()
    foot: tuple[str, ...] = ("",)

    def made(self, most_bytes: int) -> Section:
        """Return the section with the items that fit on their own."""
        items, size = [], 0
        for item in self.items:
            size += line_bytes(item)
            items.append(item)
            if size > most_bytes:
                break
        return replace(self, items=tuple(items))

    def lines(self) -> tuple[str, ...]:
        """Return all lines; none without items."""
        items = tuple(self.items)
        return (*self.head, *items, *self.foot) if items else ()

    def size(self) -> int:
        """Size of all lines in bytes."""
        return sum(map(line_bytes, self.lines()))


def folded(name: str, title: str, items: Iterable[str], total: int, importance: int) -> Section:
    """Return a section that a click unfolds."""
    head, foot = (f"<details><summary>{title}</summary>", ""), ("", "</details>", "")
    return Section(name=name, importance=importance, items=items, total=total, head=head, foot=foot)


def fit(sections: Sequence[Section], most: int) -> tuple[list[Section], list[str]]:
    """Shorten sections until they fit, the least important first.

    Each keeps its first few items as long as possible.
    """
    shortened = list(sections)
    excess = sum(section.size() for section in shortened) - most
    order = sorted(range(len(shortened)), key=lambda index: shortened[index].importance)
    for floor, index in itertools.product((_FEW, 0), order):
        section = shortened[index]
        items, size, freed = list(section.items), section.size(), 0
        while len(items) > floor and freed < excess:
            freed += line_bytes(items.pop())
        shortened[index] = replace(section, items=tuple(items))
        excess -= size - shortened[index].size()
    numbers = [len(tuple(section.items)) for section in shortened]
    cuts = [
        f"{section.total - number:,} of {section.total:,} {section.name}"
        for section, number in zip(shortened, numbers, strict=True)
        if number < section.total
    ]
    return shortened, cuts


def line_bytes(line: str) -> int:
    """Return the size of a line with its end, in bytes."""
    return len(line.encode()) + 1
