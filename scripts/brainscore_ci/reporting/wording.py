"""Numbers in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from brainscore_core.errors import count

if TYPE_CHECKING:
    from brainscore_core.scoring.pairs import Pair


def rough_duration(minutes: float) -> str:
    """Return an approximate duration."""
    if minutes < 1:
        return "under 1 min"
    return f"about {minutes:.0f} min" if minutes < 120 else f"about {minutes / 60:,.0f} h"


def cost(pairs: Sequence[Pair]) -> str:
    """Describe a cost, such as 'scores 12 models x 3 benchmarks, about 41 min, 2 private'.

    Private benchmarks need private data.
    """
    if not pairs:
        return "scores nothing"
    models, benchmarks = {pair.model for pair in pairs}, {pair.benchmark for pair in pairs}
    size = f"{count(len(models), 'model')} x {count(len(benchmarks), 'benchmark')}"
    if len(pairs) != len(models) * len(benchmarks):
        size = f"{count(len(pairs), 'pair')} of {size.replace(' x ', ' and ')}"
    private = len({pair.benchmark for pair in pairs if pair.private})
    return f"scores {size}, {rough_duration(sum(pair.minutes for pair in pairs))}" + (
        f", {private} private" if private else ""
    )


def stale(pairs: Sequence[Pair]) -> str:
    """Return how many records may be stale, and the cost of scoring them again."""
    records = count(len(pairs), "stored record")
    again = cost(pairs).removeprefix("scores ")
    return f"{records} may be stale; nothing scores {'it' if len(pairs) == 1 else 'them'} again ({again})"
