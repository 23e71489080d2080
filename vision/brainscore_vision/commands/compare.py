"""The command ``brainscore compare``: which of several models is more brain-like, and how certain that is."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from brainscore_core import command_line
from brainscore_vision.catalogue.completion import complete_model
from brainscore_vision.commands.options import BenchmarksOption, MissingOption, RecordsOption, missing_rule

if TYPE_CHECKING:
    from brainscore_core.records.comparison import ComparedModels
    from brainscore_core.statistics.influence import Interval

__all__ = ["compare"]

_SCORES = ("BENCHMARK", "MODEL", "SCORE", "INTERVAL", "RANK", "GROUP")
_DIFFERENCES = ("BENCHMARK", "DIFFERENCE", "VALUE", "INTERVAL", "P (HOLM)")


def compare(
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL...", help="models with records", autocompletion=complete_model, show_default=False
        ),
    ],
    benchmark: BenchmarksOption = None,
    records: RecordsOption = None,
    draw: Annotated[
        Path | None, typer.Option(metavar="FILE", help="also draw the comparison to this .svg, .png or .pdf file")
    ] = None,
    missing: MissingOption = None,
) -> int:
    """Compare models by their recorded scores: which is better, and how certain that is.

    Prints scores with 95 % intervals, ranks and groups (models that share a letter do not differ significantly); the
    difference of each pair with its error over new stimuli and new neuroids (or subjects), 95 % interval, and P value
    with Holm's correction for all pairs. Averages are over the benchmarks on which all models have a score; with
    --missing, they are computed as on the leaderboard.

    Records without influences count as independent, marked with ~, usually with too large an error.
    """
    from brainscore_core import plots  # slow to import, and completion does without
    from brainscore_core.records.comparison import averages_of, compare_records, compare_tree
    from brainscore_vision.commands.drawing import parents_above
    from brainscore_vision.commands.records import chosen_records

    rule = missing_rule(missing)
    names = list(dict.fromkeys(models))
    everything = chosen_records(records, names, benchmark, of_others=True)
    selection = [record for record in everything if record.model in names]
    compared = compare_records(everything, names)
    if rule is None:
        compared += averages_of(compared, selection)
    else:
        compared += compare_tree(everything, names, parents_above("average", everything) or {}, missing=rule)
    if draw is not None:
        command_line.say(f"Written: {plots.save(plots.compare(selection, names), draw)}")
    command_line.print_table(_SCORES, [row for comparison in compared for row in _score_rows(comparison)])
    if len(names) > 1:
        _print_after(_DIFFERENCES, [row for comparison in compared for row in _difference_rows(comparison)])
    if any(score.is_bound for comparison in compared for score in comparison.scores):
        command_line.say("* upper bound: an error or a correlation of errors is unknown")
    if simulated := sorted({record.benchmark for record in selection if record.simulated}):
        command_line.say("Benchmarks with SIMULATED measurements: " + ", ".join(simulated))
    lacking = sorted({record.benchmark for record in selection if record.error and record.influence is None})
    if lacking and len(names) > 1:
        command_line.say(
            "Treated as independent (~), because a record lacks the influence of stimuli and neuroids on the score: "
            + ", ".join(lacking)
        )
    return 0


def _print_after(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    command_line.show("")
    command_line.print_table(header, rows)


def _score_rows(compared: ComparedModels) -> Iterator[tuple[str, ...]]:
    ranks, letters = compared.ranks, compared.letters
    for place in compared.order:
        score, model = compared.scores[place], compared.models[place]
        if score.is_missing:
            yield (compared.name, model, score.reason, "-", "-", "-")
        elif score.n_missing:
            yield (compared.name, model, f"{score.value:.4f} ({score.n_missing} missing)", "-", "-", "-")
        else:
            interval = _interval(compared.intervals[place]) + "*" * score.is_bound
            yield (compared.name, model, f"{score.value:.4f}", interval, ranks[place], letters[place])


def _difference_rows(compared: ComparedModels) -> Iterator[tuple[str, ...]]:
    comparison = compared.comparison
    for first, second in itertools.combinations(range(len(compared.models)), 2):
        name = f"{compared.models[second]} - {compared.models[first]}"
        scores = compared.scores[first], compared.scores[second]
        if lacking := [place for place, score in zip((first, second), scores, strict=True) if not score.is_compared]:
            why = "; ".join(f"{compared.models[place]}: {compared.scores[place].reason}" for place in lacking)
            yield (compared.name, name, f"- ({why})", "-", "-")
            continue
        value, error = comparison.differences[second, first], comparison.joint.pair_errors[second, first]
        if math.isnan(error):
            yield (compared.name, name, f"{value:+.4f}", "-", "-")
            continue
        sign = "±" if comparison.joint.is_matched[first, second] else "~"
        margin = comparison.margins[second, first]
        interval = _interval((value - margin, value + margin), "+")
        p_holm = comparison.p_holm[first, second]
        p_text = "< 0.0001" if p_holm < 0.0001 else f"{p_holm:.4f}"
        yield (compared.name, name, f"{value:+.4f} {sign} {error:.4f}", interval, p_text)


def _interval(ends: Interval, sign: str = "") -> str:
    return "-" if math.isnan(ends[0]) else f"{ends[0]:{sign}.3f} to {ends[1]:{sign}.3f}"
