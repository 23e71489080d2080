"""Compare all layers with all regions, and keep the choice."""

import json
import re
from collections.abc import Sequence
from pathlib import Path

from brainscore_core import command_line, plots
from brainscore_core.files import atomic_path
from brainscore_core.records.record import file_name_of
from brainscore_vision.isolation.judge import refuse_unreviewed
from brainscore_vision.loading import find_plugin_directory, load_model
from brainscore_vision.model_helpers.adapters import as_brain_model
from brainscore_vision.model_helpers.adapters.files import load_from_file
from brainscore_vision.model_helpers.brain_transformation.layer_atlas import (
    LayerAtlas,
    draw_atlas,
    format_atlas,
    layer_atlas,
    save_atlas,
)

__all__ = ["atlas", "choose", "draw_again"]


def atlas(
    model: str,
    benchmarks: Sequence[str] | None,
    layers: Sequence[str] | None,
    preprocessing: str | None,
    outputs: Sequence[Path],
    isolation: str | None = None,
) -> int:
    """Run ``brainscore atlas``; see `refuse_unreviewed` for models that need the isolation ``'none'``."""
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
    for path in outputs:
        if path.suffix == ".json":
            _write(path, result.to_json())
        else:
            save_atlas(result, path)
            command_line.say(f"Written: {path}")
    return 0


def choose(models: Sequence[str], benchmarks: Sequence[str] | None, isolation: str | None = None) -> int:
    """Run ``brainscore choose-layers``; `isolation` is that of `atlas`."""
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


def draw_again(file: Path, to: Path, theme: str) -> int:
    """Run ``brainscore plot atlas``."""
    command_line.say(f"Written: {plots.save(draw_atlas(LayerAtlas.read(file), theme=theme), to)}")
    return 0
