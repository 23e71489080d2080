"""The commands ``atlas`` and ``choose-layers``: compare all layers of a model with all regions."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from brainscore_vision.catalogue.completion import complete_benchmark, complete_model

__all__ = ["atlas", "choose_layers"]

_Benchmarks = Annotated[
    list[str] | None,
    typer.Option(
        metavar="BENCHMARK...",
        help="such as SimulatedCortex2026.V1-pls (default: a public one for each region that can be had)",
        autocompletion=complete_benchmark,
    ),
]


_Isolation = Annotated[
    Literal["none"] | None,
    typer.Option(help="none: run code that nobody reviewed, such as torchhub:..., in this process", show_default=False),
]


def atlas(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="a registered model, path.py:function, which returns a model, or model.onnx",
            show_default=False,
            autocompletion=complete_model,
        ),
    ],
    benchmarks: _Benchmarks = None,
    layers: Annotated[
        list[str] | None, typer.Option(metavar="LAYER...", help="from early to late (default: those of the model)")
    ] = None,
    preprocessing: Annotated[
        str | None, typer.Option(metavar="NAME", help="of a model in a file, such as imagenet-224")
    ] = None,
    output: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE...",
            help="where to draw it (.svg, .png, .pdf) or write its numbers (.json); several are possible",
        ),
    ] = None,
    isolation: _Isolation = None,
) -> int:
    """Compare all layers of a model with all regions, and choose.

    One pass over the stimuli; prints scores, the layer of each region, whether it is separable from the next, and the
    gain from choosing.
    """
    from brainscore_vision.commands.work import layers_of

    return layers_of.atlas(model, benchmarks, layers, preprocessing, output or (), isolation)


def choose_layers(
    models: Annotated[
        list[str],
        typer.Argument(metavar="MODEL...", help="registered models", show_default=False, autocompletion=complete_model),
    ],
    benchmarks: _Benchmarks = None,
    isolation: _Isolation = None,
) -> int:
    """Choose the layer of each region and write it beside the models.

    In the folder of its plugin, region_layer_map/MODEL.json gets the layers, which a model without others in its
    code then uses, and layer_atlas/MODEL.json the scores of all layers, for the board.
    """
    from brainscore_vision.commands.work import layers_of

    return layers_of.choose(models, benchmarks, isolation)
