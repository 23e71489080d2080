"""Colours of figures, and names that fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from brainscore_core.errors import ConfigurationError, did_you_mean

__all__ = ["LITERAL", "MARKERS", "THEMES", "Theme", "shortened", "theme_named"]

LITERAL: dict[str, Any] = {"parse_math": False, "usetex": False}
"""For texts with names, whose `$` and `_` are no formulas."""

MARKERS = ("o", "s", "D", "^", "v", "P")
"""Shapes that match the colours of `Theme.series`."""

_MOST_CHARACTERS = 44


@dataclass(frozen=True)
class Theme:
    """Colours of a figure, as hexadecimal RGB; those of the leaderboard.

    The `series` are colours of Okabe & Ito (2008), distinct for any colour vision, darkened or lightened for contrast.
    """

    ground: str
    text: str
    muted: str
    line: str
    series: tuple[str, ...]


THEMES = {
    "light": Theme(
        ground="#ffffff",
        text="#1b2733",
        muted="#566470",
        line="#dfe5ea",
        series=("#0072b2", "#c04d00", "#007a58", "#a8478a", "#8a6d00", "#3a3a3a"),
    ),
    "dark": Theme(
        ground="#10161c",
        text="#e6ecf1",
        muted="#9fafbc",
        line="#2b3742",
        series=("#56b4e9", "#e69f00", "#2fbf92", "#cc79a7", "#f0e442", "#d0d0d0"),
    ),
}


def theme_named(name: str) -> Theme:
    """Return one of `THEMES`; raise `ConfigurationError` for another name."""
    if name not in THEMES:
        raise ConfigurationError(
            f"There is no theme {name!r}, only {' and '.join(THEMES)}.{did_you_mean(name, THEMES)}"
        )
    return THEMES[name]


def shortened(names: Sequence[str], most: int = _MOST_CHARACTERS) -> list[str]:
    """Cut long names in the middle, unless that makes them alike.

    Examples
    --------
    >>> shortened(["short", "a-very-long-name"], most=8)
    ['short', 'a-v…name']
    """
    cut = [name if len(name) <= most else f"{name[: most - most // 2 - 1]}…{name[-(most // 2) :]}" for name in names]
    alike = {short for short in cut if len({name for name, of in zip(names, cut, strict=True) if of == short}) > 1}
    return [name if short in alike else short for name, short in zip(names, cut, strict=True)]
