"""Draw figures of chosen records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from brainscore_core import command_line, plots
from brainscore_vision.catalogue.board import board_catalogue, board_nodes
from brainscore_vision.catalogue.facts import benchmark_facts
from brainscore_vision.commands.records import chosen_records, records_folder

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from brainscore_core.records.record import ScoreRecord

__all__ = ["chosen_records", "costs_of", "parents_above", "plots", "records_folder", "write"]


def write(figure: Figure, to: Path) -> int:
    """Write a figure, report its path, and return the exit code."""
    command_line.say(f"Written: {plots.save(figure, to)}")
    return 0


def costs_of(cost: str, records: Sequence[ScoreRecord]) -> Mapping[str, float] | str:
    """Return the recorded models' parameters, as far as known, or a field of records."""
    if cost != "parameters":
        return cost
    models = board_catalogue(recorded={record.model for record in records})["models"]
    return {model["identifier"]: model["parameters"] for model in models if "parameters" in model}


def parents_above(node: str, records: Sequence[ScoreRecord]) -> Mapping[str, str] | None:
    """Return the tree of the leaderboard above the recorded benchmarks; None if `node` is one of them."""
    benchmarks = {record.benchmark for record in records}
    if node in benchmarks:
        return None
    above = {node["identifier"]: node["parent"] for node in board_nodes() if "parent" in node}
    for benchmark in benchmarks:
        above |= {
            facts.identifier: facts.parent
            for facts in benchmark_facts(benchmark, command_line.say)
            if facts.parent is not None
        }
    return above
