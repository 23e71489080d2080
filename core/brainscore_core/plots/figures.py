"""Read the records of a figure, make it without pyplot, style its axes, and write it to a file."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from brainscore_core.errors import (
    ConfigurationError,
    DataNotHereError,
    RequirementsError,
    UnknownIdentifierError,
    did_you_mean,
)
from brainscore_core.files import atomic_path
from brainscore_core.records.record import ScoreRecord
from brainscore_core.records.store import FolderStore

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Annotation

    from brainscore_core.statistics.influence import Interval

__all__ = [
    "FORMATS",
    "LITERAL",
    "MARKERS",
    "ROW_INCHES",
    "THEMES",
    "Theme",
    "axes_for",
    "draw_mark",
    "dress",
    "dress_plane",
    "figure_of",
    "head",
    "label_inches",
    "new_figure",
    "rows_for",
    "save",
    "shortened",
    "theme_named",
    "told_beside",
]


# -- colours and names -------------------------------------------------------------------------------------------------
#
# Colours of figures, and names that fit.


LITERAL: dict[str, Any] = {"parse_math": False, "usetex": False}
"""Style of text with names, where `$` and `_` do not mean formulas."""

MARKERS = ("o", "s", "D", "^", "v", "P")
"""Shapes that match the colours of `Theme.series`."""

_MOST_CHARACTERS = 44


@dataclass(frozen=True)
class Theme:
    """Colours of a figure, as hexadecimal RGB; the leaderboard has the same.

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
            f"Unknown theme {name!r}; expected {' and '.join(THEMES)}.{did_you_mean(name, THEMES)}"
        )
    return THEMES[name]


def shortened(names: Sequence[str], most: int = _MOST_CHARACTERS) -> list[str]:
    """Cut long names in the middle, unless two would then be equal.

    Examples
    --------
    >>> shortened(["short", "a-very-long-name"], most=8)
    ['short', 'a-v…name']
    """
    cut = [name if len(name) <= most else f"{name[: most - most // 2 - 1]}…{name[-(most // 2) :]}" for name in names]
    alike = {short for short in cut if len({name for name, of in zip(names, cut, strict=True) if of == short}) > 1}
    return [name if short in alike else short for name, short in zip(names, cut, strict=True)]


# -- records of a figure -----------------------------------------------------------------------------------------------
#
# Read the records of a figure and check names.


Records: TypeAlias = Iterable[ScoreRecord] | str | os.PathLike[str]
"""Records, or their folder."""


def read_records(records: Records) -> list[ScoreRecord]:
    """Return the records: some, one of each pair."""
    if isinstance(records, (str, os.PathLike)):
        entries, where = FolderStore(Path(records)).whole(), f" in {os.fspath(records)}"
    else:
        entries, where = list(records), ""
    if not entries:
        raise DataNotHereError(f"There is nothing to draw: no record of a score{where}.")
    pairs = set()
    for record in entries:
        if (record.model, record.benchmark) in pairs:
            raise ConfigurationError(
                f"There are several records of {record.model} on {record.benchmark}; a figure shows one per pair. "
                "Select one of each."
            )
        pairs.add((record.model, record.benchmark))
    return entries


def check_known(what: str, named: Iterable[str], known: Collection[str]) -> None:
    """Raise `UnknownIdentifierError` for the first unknown name."""
    for name in named:
        if name not in known:
            raise UnknownIdentifierError(
                f"There is no record of the {what} {name!r} ({len(known)} known).{did_you_mean(name, known)}"
            )


def check_most(most: int | None) -> None:
    """Raise `ConfigurationError` unless `most` is None or positive."""
    if most is not None and most < 1:
        raise ConfigurationError(f"most={most} rows; expected at least 1, or None for all.")


def models_of(records: Iterable[ScoreRecord], named: Sequence[str] | None) -> list[str]:
    """Return the named models, or all, sorted."""
    models = {record.model for record in records}
    if named is None:
        return sorted(models)
    check_known("model", named, models)
    return list(dict.fromkeys(named))


def sizes_of(records: Iterable[ScoreRecord]) -> str:
    """Return the sizes of measurements, such as ``'500 stimuli, 60 to 72 neuroids'``."""
    scored = [record for record in records if record.score is not None]
    sizes = []
    for name, one in (("stimuli", "stimulus"), ("neuroids", "neuroid"), ("subjects", "subject")):
        numbers = {number for record in scored if (number := getattr(record, f"n_{name}")) is not None}
        if numbers:
            ends = dict.fromkeys(f"{number:,}" for number in (min(numbers), max(numbers)))
            sizes.append(f"{' to '.join(ends)} {one if numbers == {1} else name}")
    return ", ".join(sizes)


# -- figures -----------------------------------------------------------------------------------------------------------


FORMATS = (".svg", ".png", ".pdf")
ROW_INCHES = 0.22
_DPI, _MOST_PX = 160, 2**16  # of one side, the limit of the renderer
_CHARACTER_INCHES, _LINE_POINTS = 0.068, 11.5
_MOST_TICKS = 7
_MOST_TITLE, _MOST_TOLD, _NO_BREAK = 60, 80, "\N{NO-BREAK SPACE}"  # characters


def new_figure(width: float, height: float, theme: Theme, title: str) -> Figure:
    """Make a figure of a size in inches."""
    try:
        from brainscore_core.plots.drawing import Drawing  # optional: matplotlib
    except ImportError as error:
        raise RequirementsError(
            "Drawing needs matplotlib, which is not installed: pip install 'brainscore-core[figures]'. Tables do not "
            "need it."
        ) from error
    return Drawing(figsize=(width, height), layout="constrained", facecolor=theme.ground, label=title)


def axes_for(ax: Axes | None, width: float, height: float, theme: Theme, title: str) -> Axes:
    """Return the given axes, or axes in a new figure."""
    return new_figure(width, height, theme, title).subplots() if ax is None else ax


def rows_for(ax: Axes | None, names: Sequence[str], theme: Theme, title: str) -> Axes:
    """Return axes as `axes_for`, with a row for each name from the top, and one above for column heads."""
    panel = axes_for(ax, 6.2 + label_inches(names), 1.6 + ROW_INCHES * len(names), theme, title)
    panel.set_yticks(range(len(names)), names, **LITERAL)
    panel.set_ylim(len(names) - 0.4, -1.5)
    return panel


def figure_of(panel: Axes) -> Figure:
    """Return the whole figure of axes."""
    figure = panel.get_figure(root=True)
    assert figure is not None  # noqa: S101 - axes that were never in a figure cannot be made
    return figure


def dress(panel: Axes, theme: Theme, *, grid: str = "x") -> None:
    """Style axes: no frame, a pale grid, the theme's colours."""
    from matplotlib.ticker import MaxNLocator  # optional: matplotlib

    panel.set_facecolor(theme.ground)
    panel.grid(visible=False)
    panel.grid(visible=True, axis=grid, color=theme.line, lw=0.8)  # type: ignore[arg-type] # one of x, y, both
    panel.set_axisbelow(True)
    if isinstance(panel.xaxis.get_major_locator(), MaxNLocator):  # not for dates and logarithms
        panel.locator_params(axis="x", nbins=_MOST_TICKS, steps=(1, 2, 5, 10))
    panel.tick_params(axis="both", which="both", length=0, labelsize=8, labelcolor=theme.muted)
    for label in panel.get_yticklabels() if grid == "x" else ():
        label.set_color(theme.text)
    for spine in panel.spines.values():
        spine.set_visible(False)


def dress_plane(panel: Axes, theme: Theme, x: str, y: str) -> None:
    """Style axes of two quantities, with their labels."""
    dress(panel, theme, grid="both")
    panel.set_xlabel(x, fontsize=9, color=theme.text, **LITERAL)
    panel.set_ylabel(y, fontsize=9, color=theme.text, **LITERAL)


def draw_mark(
    panel: Axes,
    x: float,
    y: float,
    interval: Interval,
    *,
    colour: str,
    name: str,
    theme: Theme,
    marker: str = "o",
    filled: bool = True,
) -> None:
    """Draw a dot (``score:<name>`` in SVG), and its interval as a line (``interval:<name>``) unless NaN."""
    if interval[0] == interval[0] and interval[1] == interval[1]:
        panel.plot(interval, (y, y), color=colour, lw=2.2, alpha=0.65, gid=f"interval:{name}", solid_capstyle="round")
    face, edge = (colour, theme.ground) if filled else (theme.ground, colour)
    panel.plot([x], [y], marker, color=face, mec=edge, ms=6.5, mew=0.8 if filled else 1.4, gid=f"score:{name}")


def label_inches(labels: Sequence[str]) -> float:
    """Return the width of row labels."""
    return _CHARACTER_INCHES * max((len(label) for label in labels), default=0)


def head(panel: Axes, title: str, told: Sequence[str], theme: Theme) -> None:
    """Write a title above axes, and phrases below it, folded between them."""
    phrases = [entry.replace(" ", _NO_BREAK) if len(entry) < _MOST_TOLD else entry for entry in told if entry]
    folded = textwrap.fill("; ".join(phrases), _MOST_TOLD, break_on_hyphens=False).replace(_NO_BREAK, " ")
    lines = folded.split("\n")
    pad = _LINE_POINTS * len(lines) + 8
    panel.set_title(
        shortened([title], _MOST_TITLE)[0],
        loc="left",
        fontsize=12,
        fontweight="bold",
        color=theme.text,
        pad=pad,
        **LITERAL,
    )
    panel.annotate(
        folded, (0, 1), (0, 5), "axes fraction", "offset points", fontsize=8.5, color=theme.muted,
        va="bottom", linespacing=1.3, **LITERAL,
    )  # fmt: skip


def told_beside(
    panel: Axes, y: float, text: str, colour: str, *, right_pt: float | None = None, **how: object
) -> Annotation:
    """Write into a row: at its start, or `right_pt` points after its end."""
    style: dict[str, Any] = {"fontsize": 8, "va": "center", "annotation_clip": False, **LITERAL, **how}
    at, offset = ((0, y), (3, 0)) if right_pt is None else ((1, y), (right_pt, 0))
    where: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "xytext": offset, "textcoords": "offset points"}
    return panel.annotate(text, at, color=colour, **where, **style)


def save(figure: Figure, path: str | Path) -> Path:
    """Write a figure to a ``.svg`` (with text as text), ``.png`` or ``.pdf``, atomically, in reproducible bytes."""
    target = Path(path)
    kind = target.suffix.lower()
    if kind not in FORMATS:
        raise ConfigurationError(f"{target} should end in {', '.join(FORMATS)}, which sets its format.")
    length_px = int(max(figure.get_size_inches()) * _DPI)
    if kind == ".png" and length_px >= _MOST_PX:
        raise ConfigurationError(
            f"{target} would be {length_px:,} px long; the limit is {_MOST_PX:,} px. Draw fewer models or benchmarks, "
            "or write .svg."
        )
    from matplotlib import rc_context  # optional: matplotlib

    undated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}, ".png": {}}[kind]
    metadata = {"Title": str(figure.get_label()) or target.stem, **undated}
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "brain-score"}), atomic_path(target) as temporary:
        figure.savefig(temporary, format=kind[1:], dpi=_DPI, metadata=metadata)
    return target
