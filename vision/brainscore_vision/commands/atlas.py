"""The command ``brainscore atlas``: compare all layers of a model with all regions."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from brainscore_core import command_line
from brainscore_vision.catalogue.completion import complete_benchmark, complete_model

if TYPE_CHECKING:
    from collections.abc import Sequence

    from brainscore_vision.model_interface import BrainModel

__all__ = ["atlas"]


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
    benchmarks: Annotated[
        list[str] | None,
        typer.Option(
            metavar="BENCHMARK...",
            help="such as SimulatedCortex2026.V1-pls (default: a public one for each region that can be had)",
            autocompletion=complete_benchmark,
        ),
    ] = None,
    layers: Annotated[
        list[str] | None,
        typer.Option(metavar="LAYER...", help="from early to late (default: those of the model)"),
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
) -> int:
    """Compare all layers of a model with all regions, and choose.

    One pass over the stimuli; prints scores, which layer each region gets, whether it is separable from the next, and
    what choosing is worth.
    """
    from brainscore_core.files import atomic_path
    from brainscore_vision.model_helpers.brain_transformation.layer_atlas import format_atlas, layer_atlas, save_atlas

    command_line.say(f"Comparing the layers of {model} ...")
    result = layer_atlas(_model(model, layers, preprocessing), benchmarks or None, layers=layers or None)
    print(format_atlas(result))  # noqa: T201 - the result
    for path in output or ():
        if path.suffix == ".json":
            with atomic_path(path) as temporary:
                temporary.write_text(result.to_json(), encoding="utf-8")
        else:
            save_atlas(result, path)
        command_line.say(f"Written: {path}")
    return 0


def _model(named: str, layers: Sequence[str] | None, preprocessing: str | None) -> BrainModel:
    from brainscore_vision.loading import load_model

    in_python = re.search(r"\.py(:|$)", named)
    if not in_python and not named.endswith(".onnx"):
        return load_model(named)
    from brainscore_vision.model_helpers.adapters import as_brain_model
    from brainscore_vision.model_helpers.adapters.files import load_from_file

    network = load_from_file(named) if in_python else named
    return as_brain_model(network, layers=layers or None, preprocessing=preprocessing)
