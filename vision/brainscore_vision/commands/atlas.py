"""The commands ``atlas`` and ``choose-layers``: compare all layers of a model with all regions."""

import json
import re
from pathlib import Path
from typing import Annotated, Literal

import typer

from brainscore_core import command_line
from brainscore_core.files import atomic_path
from brainscore_vision.catalogue.completion import complete_benchmark, complete_model
from brainscore_vision.loading import find_plugin_directory, load_model

__all__ = ["atlas", "choose_layers"]

_Benchmarks = Annotated[
    list[str] | None,
    typer.Option(
        metavar="BENCHMARK...",
        help="such as SimulatedCortex2026.V1-pls (default: a public one for each region, where available)",
        autocompletion=complete_benchmark,
    ),
]


_Isolation = Annotated[
    Literal["none"] | None,
    typer.Option(help="none: run unreviewed code, such as torchhub:..., in this process", show_default=False),
]


def atlas(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="a registered model, path.py:function (which returns a model), or model.onnx",
            show_default=False,
            autocompletion=complete_model,
        ),
    ],
    benchmarks: _Benchmarks = None,
    layers: Annotated[
        list[str] | None,
        typer.Option(metavar="LAYER...", help="layers from early to late (default: the model's layers)"),
    ] = None,
    preprocessing: Annotated[
        str | None, typer.Option(metavar="NAME", help="for a model in a file, such as imagenet-224")
    ] = None,
    output: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE...",
            help="where to draw the atlas (.svg, .png, .pdf) or write its numbers (.json); may name several files",
        ),
    ] = None,
    isolation: _Isolation = None,
) -> int:
    """Compare all layers of a model with all regions, and choose a layer for each.

    Makes one pass over the stimuli. Prints scores, the layer of each region, whether it is separable from the next
    best, and the gain from choosing.
    """
    from brainscore_vision.isolation.judge import refuse_unreviewed  # slow to import, and completion does without
    from brainscore_vision.model_helpers.adapters import as_brain_model
    from brainscore_vision.model_helpers.adapters.files import load_from_file
    from brainscore_vision.model_helpers.brain_transformation.layer_atlas import format_atlas, layer_atlas, save_atlas

    refuse_unreviewed(model, isolation)
    command_line.say(f"Comparing the layers of {model} ...")
    is_python = re.search(r"\.py(:|$)", model)
    if is_python or model.endswith(".onnx"):
        network = load_from_file(model) if is_python else model
        candidate = as_brain_model(network, layers=layers or None, preprocessing=preprocessing)
    else:
        candidate = load_model(model)
    result = layer_atlas(candidate, benchmarks or None, layers=layers or None)
    command_line.show(format_atlas(result))
    for path in output or ():
        if path.suffix == ".json":
            _write(path, result.to_json())
        else:
            save_atlas(result, path)
            command_line.say(f"Written: {path}")
    return 0


def choose_layers(
    models: Annotated[
        list[str],
        typer.Argument(metavar="MODEL...", help="registered models", show_default=False, autocompletion=complete_model),
    ],
    benchmarks: _Benchmarks = None,
    isolation: _Isolation = None,
) -> int:
    """Choose the layer of each region and write it to the plugin of the model.

    In the folder of the plugin, region_layer_map/MODEL.json receives the layers, which the model uses unless its code
    names others, and layer_atlas/MODEL.json the scores of all layers, for the board.
    """
    from brainscore_core.records.record import file_name_of  # slow to import, see `atlas`
    from brainscore_vision.isolation.judge import refuse_unreviewed
    from brainscore_vision.model_helpers.brain_transformation.layer_atlas import format_atlas, layer_atlas

    for model in models:
        refuse_unreviewed(model, isolation)
    folders = [find_plugin_directory("model", model) for model in models]  # wrong names first
    for model, folder in zip(models, folders, strict=True):
        command_line.say(f"Comparing the layers of {model} ...")
        result = layer_atlas(load_model(model), benchmarks or None)
        command_line.show(format_atlas(result))
        layers = json.dumps(result.region_layer_map, indent=2, ensure_ascii=False) + "\n"
        for place, text in (("layer_atlas", result.to_json()), ("region_layer_map", layers)):
            (folder / place).mkdir(exist_ok=True)
            _write(folder / place / f"{file_name_of(model)}.json", text)
    return 0


def _write(path: Path, text: str) -> None:
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    command_line.say(f"Written: {path}")
