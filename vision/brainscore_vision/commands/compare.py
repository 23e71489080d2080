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
from brainscore_vision.commands.recorded import BenchmarksOption, RecordsOption, chosen_records

if TYPE_CHECKING:
    from brainscore_core.records.comparison import ComparedModels
    from brainscore_core.records.record import ScoreRecord
    from brainscore_core.statistics.influence import Interval

__all__ = ["compare"]

_SCORES = ("BENCHMARK", "MODEL", "SCORE", "INTERVAL", "RANK", "GROUP")
_DIFFERENCES = ("BENCHMARK", "DIFFERENCE", "VALUE", "INTERVAL", "P (HOLM)")
_RELIABILITIES = ("BENCHMARK", "RELIABILITY", "INTERVAL")


def compare(
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL...", help="of which there are records", autocompletion=complete_model, show_default=False
        ),
    ],
    benchmark: BenchmarksOption = None,
    records: RecordsOption = None,
    draw: Annotated[
        Path | None, typer.Option(metavar="FILE", help="where to draw it as well: .svg, .png or .pdf")
    ] = None,
) -> int:
    """Compare models by their recorded scores: which is better, and how sure that is.

    Prints scores with 95 % intervals, between which ranks each model lies, and groups of models that do not differ
    significantly (they share a letter); then the difference of each pair with its error over new stimuli and new
    neuroids (or subjects), its 95 % interval, and how probable it is if there is none, corrected for all pairs (Holm);
    for three models and more also how well the benchmark separates them. The average is over the benchmarks on which
    all models have a score.

    What moves both scores alike cancels in a difference, where both records keep how stimuli and neuroids move them.
    Where one does not, the two scores are taken as independent, marked with ~: the error is then usually too large.
    """
    from brainscore_core.records.comparison import averages_of, compare_records  # bring NumPy

    names = list(dict.fromkeys(models))
    selection = chosen_records(records, names, benchmark)
    compared = compare_records(selection, names)
    compared += averages_of(compared, selection)
    if draw is not None:
        from brainscore_core import plots

        command_line.say(f"Written: {plots.save(plots.compare(selection, names), draw)}")
    command_line.print_table(_SCORES, [row for comparison in compared for row in _score_rows(comparison)])
    if len(names) > 1:
        _print_after(_DIFFERENCES, [row for comparison in compared for row in _difference_rows(comparison)])
    if len(names) > 2:
        _print_after(_RELIABILITIES, [_reliability_row(comparison) for comparison in compared])
    if simulated := sorted({record.benchmark for record in selection if record.simulated}):
        command_line.say("Benchmarks whose measurements are SIMULATED: " + ", ".join(simulated))
    if unmatched := _unmatched(selection, names):
        command_line.say(unmatched)
    return 0


def _print_after(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    print()  # noqa: T201 - the result
    command_line.print_table(header, rows)


def _score_rows(compared: ComparedModels) -> Iterator[tuple[str, ...]]:
    """Return a row for each model, best first; without a score, with the reason."""
    ranks, letters = compared.ranks, compared.letters
    for place in compared.order:
        score, model = compared.scores[place], compared.models[place]
        if score.is_missing:
            yield (compared.name, model, score.reason, "-", "-", "-")
        else:
            interval = _interval(compared.intervals[place])
            yield (compared.name, model, f"{score.value:.4f}", interval, ranks[place], letters[place])


def _difference_rows(compared: ComparedModels) -> Iterator[tuple[str, ...]]:
    """Return a row for each pair, the later model minus the earlier one."""
    comparison = compared.comparison
    for first, second in itertools.combinations(range(len(compared.models)), 2):
        name = f"{compared.models[second]} - {compared.models[first]}"
        scores = compared.scores[first], compared.scores[second]
        if lacking := [place for place, score in zip((first, second), scores, strict=True) if score.is_missing]:
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
        yield (compared.name, name, f"{value:+.4f} {sign} {error:.4f}", interval, _p(comparison.p_holm[first, second]))


def _reliability_row(compared: ComparedModels) -> tuple[str, ...]:
    reliability = compared.comparison.reliability()
    if reliability.reason:
        return (compared.name, f"- ({reliability.reason})", "-")
    sign = "~ " if reliability.is_bound else ""
    return (compared.name, f"{sign}{reliability.value:.2f}", _interval((reliability.low, reliability.high), digits=2))


def _interval(ends: Interval, sign: str = "", digits: int = 3) -> str:
    return "-" if math.isnan(ends[0]) else f"{ends[0]:{sign}.{digits}f} to {ends[1]:{sign}.{digits}f}"


def _p(value: float) -> str:
    return "< 0.0001" if value < 0.0001 else f"{value:.4f}"


def _unmatched(records: Sequence[ScoreRecord], models: Sequence[str]) -> str:
    """Return which scores have an error but no influences."""
    lacking = sorted({record.benchmark for record in records if record.error and record.influence is None})
    if not lacking or len(models) < 2:
        return ""
    names = ", ".join(lacking)
    return f"Taken as independent (~), since a record does not keep how stimuli and neuroids move the score: {names}"
