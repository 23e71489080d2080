"""The hidden commands ``brainscore prepare`` and ``judge``, which score batches of pairs."""

import math
from pathlib import Path
from typing import Annotated

import typer

__all__ = ["judge", "prepare"]


def judge(
    model: Annotated[str, typer.Option("--model", metavar="MODEL")],
    benchmark: Annotated[list[str], typer.Option("--benchmark", metavar="BENCHMARK...")],
    records: Annotated[Path, typer.Option(metavar="FOLDER", help="folder for the record of each pair")],
    events: Annotated[Path, typer.Option(metavar="FILE", help="log of the start and end of each pair")],
    isolation: Annotated[str, typer.Option(metavar="auto|box|none", help="where the model runs")] = "auto",
    answer: Annotated[
        float, typer.Option(metavar="SECONDS", help="time limit for each answer of the model")
    ] = math.inf,
) -> int:
    """Score one model on benchmarks in turn, and write the record of each, including failed ones."""
    from brainscore_vision.isolation import judge as judging

    judging.judge(model, benchmark, records, events, isolation=isolation, answer_s=answer)
    return 0


def prepare(model: Annotated[str, typer.Option("--model", metavar="MODEL")]) -> int:
    """Build a model's environment and fetch its weights, in boxes with network access, before private data arrive."""
    from brainscore_vision.isolation import prepared

    prepared.prepare(model)
    return 0
