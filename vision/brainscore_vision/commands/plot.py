"""The commands ``brainscore plot ...``: the figures of the leaderboard, from local records."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from brainscore_core import command_line
from brainscore_vision.catalogue.completion import complete_benchmark, complete_model
from brainscore_vision.commands.recorded import BenchmarksOption, RecordsOption, chosen_records, records_folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from matplotlib.figure import Figure

__all__ = ["app"]

_AVERAGE = "average"

_To = Annotated[Path, typer.Option("--to", metavar="FILE", help="to write: .svg, .png or .pdf", show_default=False)]
_Theme = Annotated[str, typer.Option(metavar="light|dark", help="colours of the site")]
_Benchmark = Annotated[str, typer.Argument(help="with a record", autocompletion=complete_benchmark, show_default=False)]
_ModelsOption = Annotated[
    list[str] | None,
    typer.Option("--model", metavar="MODEL...", help="only these (default: all)", autocompletion=complete_model),
]
_HighlightOption = Annotated[
    list[str] | None,
    typer.Option(metavar="MODEL...", help="in another colour", autocompletion=complete_model),
]
_MostOption = Annotated[int | None, typer.Option(min=1, help="rows, the best first (default: all)")]

app = command_line.make_app("Draw recorded scores as the leaderboard does; needs matplotlib.")


@app.command(cls=command_line.SpreadingCommand)
def scores(
    to: _To,
    benchmark: Annotated[
        str,
        typer.Argument(
            help="a benchmark, or a node of the tree such as V1 or neural", autocompletion=complete_benchmark
        ),
    ] = _AVERAGE,
    model: _ModelsOption = None,
    most: _MostOption = None,
    highlight: _HighlightOption = None,
    theme: _Theme = "light",
    records: RecordsOption = None,
) -> int:
    """Draw models ranked on a benchmark or an average: intervals, ranks, groups that do not differ."""
    from brainscore_core import plots

    selection = chosen_records(records, None, None)
    benchmarks = {record.benchmark for record in selection}
    parents = None if benchmark in benchmarks else _parents(benchmarks)
    figure = plots.scores(
        selection, benchmark, models=model or None, parents=parents, most=most, highlight=highlight or (), theme=theme
    )
    return _write(figure, to)


@app.command(cls=command_line.SpreadingCommand)
def compare(
    models: Annotated[list[str], typer.Argument(metavar="MODEL...", autocompletion=complete_model, show_default=False)],
    to: _To,
    benchmark: BenchmarksOption = None,
    reference: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="to subtract (default: the first)", autocompletion=complete_model),
    ] = None,
    theme: _Theme = "light",
    records: RecordsOption = None,
) -> int:
    """Draw the scores of a few models, and how they differ from one of them, on every benchmark."""
    from brainscore_core import plots

    names = list(dict.fromkeys(models))
    selection = chosen_records(records, names, benchmark)
    return _write(plots.compare(selection, names, reference=reference, theme=theme), to)


@app.command(cls=command_line.SpreadingCommand)
def ceiling(
    benchmark: _Benchmark,
    to: _To,
    model: _ModelsOption = None,
    most: _MostOption = None,
    theme: _Theme = "light",
    records: RecordsOption = None,
) -> int:
    """Draw raw scores below what the noise of the measurement allows."""
    from brainscore_core import plots

    selection = chosen_records(records, model, [benchmark])
    return _write(plots.ceiling(selection, benchmark, models=model or None, most=most, theme=theme), to)


@app.command(cls=command_line.Command)
def neuroids(
    model: Annotated[str, typer.Argument(help="with a record", autocompletion=complete_model, show_default=False)],
    benchmark: _Benchmark,
    to: _To,
    theme: _Theme = "light",
    records: RecordsOption = None,
) -> int:
    """Draw the raw score of each neuroid (or subject) of one model against its ceiling."""
    from brainscore_core import plots

    chosen_records(records, [model], [benchmark])
    return _write(plots.neuroids(records_folder(records), model, benchmark, theme=theme), to)


@app.command(cls=command_line.SpreadingCommand)
def scatter(
    x: _Benchmark,
    y: _Benchmark,
    to: _To,
    model: _ModelsOption = None,
    highlight: _HighlightOption = None,
    theme: _Theme = "light",
    records: RecordsOption = None,
) -> int:
    """Draw one benchmark against another, a dot for each model, with their correlation."""
    from brainscore_core import plots

    selection = chosen_records(records, model, [x, y])
    return _write(plots.scatter(selection, x, y, highlight=highlight or (), theme=theme), to)


@app.command(cls=command_line.Command)
def atlas(
    file: Annotated[
        Path, typer.Argument(metavar="ATLAS.json", help="what brainscore atlas has written", show_default=False)
    ],
    to: _To,
    theme: _Theme = "light",
) -> int:
    """Draw an atlas of layers again, without running the model."""
    from brainscore_vision.model_helpers.brain_transformation.layer_atlas import LayerAtlas, draw_atlas

    return _write(draw_atlas(LayerAtlas.read(file), theme=theme), to)


def _write(figure: Figure, to: Path) -> int:
    from brainscore_core import plots

    command_line.say(f"Written: {plots.save(figure, to)}")
    return 0


def _parents(benchmarks: Iterable[str]) -> Mapping[str, str]:
    """Return the tree of the leaderboard above some benchmarks; those outside the tree are in no average."""
    from brainscore_vision.catalogue.board import board_nodes
    from brainscore_vision.catalogue.facts import benchmark_facts

    above = {node["identifier"]: node["parent"] for node in board_nodes() if "parent" in node}
    for benchmark in benchmarks:
        above |= {
            facts.identifier: facts.parent
            for facts in benchmark_facts(benchmark, command_line.say)
            if facts.parent is not None
        }
    return above
