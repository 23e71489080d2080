"""The commands ``brainscore renormalise``, ``rescore`` and ``reproduce``: results from records and cache."""

from pathlib import Path
from typing import Annotated

import typer

from brainscore_core.errors import ConfigurationError
from brainscore_vision.catalogue.completion import complete_benchmark, complete_model
from brainscore_vision.commands.options import RecordsOption

__all__ = ["renormalise", "reproduce", "rescore"]


def renormalise(
    benchmark: Annotated[
        str, typer.Argument(metavar="BENCHMARK", help="whose ceiling is another now", autocompletion=complete_benchmark)
    ],
    records: RecordsOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="show the table, write nothing")] = False,
) -> int:
    """Divide the raw scores of all records of a benchmark by its present ceiling, without running any model.

    Use it where only the ceiling has changed: the records then count as scored with the present benchmark. Scores
    composed of parts with their own ceilings stay, with exit code 1.
    """
    from brainscore_vision.commands.work import recomputing

    return recomputing.renormalise(benchmark, records, dry_run=dry_run)


def rescore(
    metric: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="score on the benchmarks of the same recordings that compare with this metric"
        ),
    ] = None,
    benchmark: Annotated[
        list[str] | None, typer.Option(metavar="BENCHMARK...", help="score on these", autocompletion=complete_benchmark)
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(metavar="MODEL...", help="only these (default: all with a record)", autocompletion=complete_model),
    ] = None,
    records: RecordsOption = None,
) -> int:
    """Score models whose activations are stored on other benchmarks or with another metric, without a forward pass.

    Uses kept answers of models in boxes, without their code, and cached activations of others. Exit code 1 if a pair
    lacks something, which is named.
    """
    if (metric is None) == (not benchmark):
        raise ConfigurationError("Say either with which metric (--metric NAME) or on what (--benchmark NAME...).")
    from brainscore_vision.commands.work import recomputing

    return recomputing.rescore(metric, benchmark or (), model or (), records)


def reproduce(
    record: Annotated[Path, typer.Argument(metavar="RECORD", help="the file of a record", show_default=False)],
    here: Annotated[bool, typer.Option("--here", help="with what is installed here, whatever the record says")] = False,
) -> int:
    """Score the pair of a record again, in an environment with the packages of its lock, and compare.

    If other packages are installed here, the environment is built from the lock beside the record: trust its author,
    as the packages are installed and run. The library is the one installed here. Nothing is taken from a cache.

    Exit codes: 0 equal, 1 something differs: the first difference is named, causes before effects (data, weights,
    plugins, library, environments, then numbers); 2 no such record; 3 data, weights or requirements are not available.
    """
    from brainscore_vision.commands.work import reproducing

    return reproducing.reproduce(record, here=here)
