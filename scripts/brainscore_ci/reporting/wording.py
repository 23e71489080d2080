"""Put numbers into words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from brainscore_core.scoring.pairs import Pair

__all__ = ["cost", "count", "rough_duration"]


def count(number: int, one: str, many: str = "") -> str:
    """Return a number with its noun, such as '1 plugin' or '1,300 entries'."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def rough_duration(minutes: float) -> str:
    """Return an approximate duration."""
    if minutes < 1:
        return "under 1 min"
    return f"about {minutes:.0f} min" if minutes < 120 else f"about {minutes / 60:,.0f} h"


def cost(pairs: Sequence[Pair]) -> str:
    """Describe the cost of scoring, such as 're-scores 12 models x 3 benchmarks, about 41 min, 2 private'.

    Private benchmarks need private data.
    """
    if not pairs:
        return "scores nothing"
    models, benchmarks = {pair.model for pair in pairs}, {pair.benchmark for pair in pairs}
    size = f"{count(len(models), 'model')} x {count(len(benchmarks), 'benchmark')}"
    if len(pairs) != len(models) * len(benchmarks):
        size = f"{count(len(pairs), 'pair')} of {size.replace(' x ', ' and ')}"
    private = len({pair.benchmark for pair in pairs if pair.private})
    return f"re-scores {size}, {rough_duration(sum(pair.minutes for pair in pairs))}" + (
        f", {private} private" if private else ""
    )
