"""The command ``brainscore compare``: which of several models is more brain-like, and how certain that is."""

from pathlib import Path
from typing import Annotated

import typer

from brainscore_vision.catalogue.completion import complete_model
from brainscore_vision.commands.options import BenchmarksOption, MissingOption, RecordsOption, missing_rule

__all__ = ["compare"]


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
    missing: MissingOption = None,
) -> int:
    """Compare models by their recorded scores: which is better, and how sure that is.

    Prints scores with 95 % intervals, ranks and groups (models that share a letter do not differ significantly); the
    difference of each pair with its error over new stimuli and new neuroids (or subjects), 95 % interval, and P value
    with Holm's correction for all pairs. Averages are over the benchmarks on which all models have a score; with
    --missing, those of the leaderboard.

    Records without influences count as independent, marked with ~, usually with too large an error.
    """
    from brainscore_vision.commands.work import comparing

    return comparing.compare(models, benchmark, records, draw, missing_rule(missing))
