"""The commands ``brainscore plot ...``: the figures of the leaderboard, from local records."""

from pathlib import Path
from typing import Annotated

import typer

from brainscore_core import command_line
from brainscore_vision.catalogue.completion import complete_benchmark, complete_model
from brainscore_vision.commands.options import BenchmarksOption, MissingOption, RecordsOption, missing_rule

__all__ = ["app"]

_AVERAGE = "average"

_To = Annotated[
    Path, typer.Option("--to", metavar="FILE", help="file to write: .svg, .png or .pdf", show_default=False)
]
_Theme = Annotated[str, typer.Option(metavar="light|dark", help="colour theme of the site")]
_Benchmark = Annotated[
    str, typer.Argument(help="benchmark with a record", autocompletion=complete_benchmark, show_default=False)
]
_ModelsOption = Annotated[
    list[str] | None,
    typer.Option("--model", metavar="MODEL...", help="only these models (default: all)", autocompletion=complete_model),
]
_HighlightOption = Annotated[
    list[str] | None, typer.Option(metavar="MODEL...", help="models to highlight", autocompletion=complete_model)
]
_MostOption = Annotated[int | None, typer.Option(min=1, help="number of rows, best first (default: all)")]

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
    missing: MissingOption = "zero",
    theme: _Theme = "light",
    records: RecordsOption = None,
) -> int:
    """Draw models ranked on a benchmark or an average: intervals, ranks, groups that do not differ."""
    from brainscore_vision.commands import drawing

    selection = drawing.chosen_records(records, None, None)
    figure = drawing.plots.scores(
        selection,
        benchmark,
        models=model or None,
        parents=drawing.parents_above(benchmark, selection),
        missing=missing_rule(missing) or "zero",
        most=most,
        highlight=highlight or (),
        theme=theme,
    )
    return drawing.write(figure, to)


@app.command(cls=command_line.SpreadingCommand)
def compare(
    models: Annotated[list[str], typer.Argument(metavar="MODEL...", autocompletion=complete_model, show_default=False)],
    to: _To,
    benchmark: BenchmarksOption = None,
    reference: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="model to subtract (default: the first)", autocompletion=complete_model),
    ] = None,
    theme: _Theme = "light",
    records: RecordsOption = None,
) -> int:
    """Draw the scores of a few models, and how they differ from one of them, on every benchmark."""
    from brainscore_vision.commands import drawing

    names = list(dict.fromkeys(models))
    selection = drawing.chosen_records(records, names, benchmark)
    return drawing.write(drawing.plots.compare(selection, names, reference=reference, theme=theme), to)


@app.command(cls=command_line.SpreadingCommand)
def ceiling(
    benchmark: _Benchmark,
    to: _To,
    model: _ModelsOption = None,
    most: _MostOption = None,
    theme: _Theme = "light",
    records: RecordsOption = None,
) -> int:
    """Draw raw scores below their ceilings."""
    from brainscore_vision.commands import drawing

    selection = drawing.chosen_records(records, model, [benchmark])
    return drawing.write(drawing.plots.ceiling(selection, benchmark, models=model or None, most=most, theme=theme), to)


@app.command(cls=command_line.Command)
def neuroids(
    model: Annotated[
        str, typer.Argument(help="model with a record", autocompletion=complete_model, show_default=False)
    ],
    benchmark: _Benchmark,
    to: _To,
    theme: _Theme = "light",
    records: RecordsOption = None,
) -> int:
    """Draw the raw score of each neuroid (or subject) of one model against its ceiling."""
    from brainscore_vision.commands import drawing

    drawing.chosen_records(records, [model], [benchmark])
    return drawing.write(drawing.plots.neuroids(drawing.records_folder(records), model, benchmark, theme=theme), to)


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
    from brainscore_vision.commands import drawing

    selection = drawing.chosen_records(records, model, [x, y])
    return drawing.write(drawing.plots.scatter(selection, x, y, highlight=highlight or (), theme=theme), to)


@app.command(cls=command_line.Command)
def profile(
    model: Annotated[
        str, typer.Argument(help="model with a record", autocompletion=complete_model, show_default=False)
    ],
    to: _To,
    missing: MissingOption = "zero",
    theme: _Theme = "light",
    records: RecordsOption = None,
) -> int:
    """Draw the averages of a model, with the best and the median of all models."""
    from brainscore_vision.commands import drawing

    selection = drawing.chosen_records(records, None, None)
    parents = drawing.parents_above(_AVERAGE, selection)
    rule = missing_rule(missing) or "zero"
    return drawing.write(drawing.plots.profile(selection, model, parents=parents, missing=rule, theme=theme), to)


@app.command(cls=command_line.Command)
def pareto(
    benchmark: _Benchmark,
    to: _To,
    cost: Annotated[
        str, typer.Option(metavar="parameters|duration_s|peak_memory_bytes", help="cost of a model")
    ] = "parameters",
    theme: _Theme = "light",
    records: RecordsOption = None,
) -> int:
    """Draw scores against costs, and the models that are best for their cost."""
    from brainscore_vision.commands import drawing

    selection = drawing.chosen_records(records, None, [benchmark])
    costs = drawing.costs_of(cost, selection)
    return drawing.write(drawing.plots.pareto(selection, benchmark, costs=costs, label=cost, theme=theme), to)


@app.command(cls=command_line.Command)
def history(benchmark: _Benchmark, to: _To, theme: _Theme = "light", records: RecordsOption = None) -> int:
    """Draw scores by their time, and the best so far."""
    from brainscore_vision.commands import drawing

    selection = drawing.chosen_records(records, None, [benchmark])
    return drawing.write(drawing.plots.history(selection, benchmark, theme=theme), to)


@app.command(cls=command_line.Command)
def similarity(to: _To, theme: _Theme = "light", records: RecordsOption = None) -> int:
    """Draw correlations over models between all benchmarks."""
    from brainscore_vision.commands import drawing

    return drawing.write(drawing.plots.similarity(drawing.chosen_records(records, None, None), theme=theme), to)


@app.command(cls=command_line.Command)
def atlas(
    file: Annotated[
        Path, typer.Argument(metavar="ATLAS.json", help="file written by brainscore atlas", show_default=False)
    ],
    to: _To,
    theme: _Theme = "light",
) -> int:
    """Draw an atlas of layers again, without running the model."""
    from brainscore_vision.commands import drawing
    from brainscore_vision.model_helpers.brain_transformation.layer_atlas import LayerAtlas, draw_atlas

    return drawing.write(draw_atlas(LayerAtlas.read(file), theme=theme), to)
