"""Adapt PyTorch modules, with their frameworks' knowledge."""

from __future__ import annotations

import re
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

from brainscore_core.errors import ConfigurationError
from brainscore_core.identity.digest import content_digest
from brainscore_vision.identity.objects import describe_module
from brainscore_vision.model_helpers.adapters import open_clip_models, timm_models, transformers_models
from brainscore_vision.model_helpers.adapters.adapted import Adapted, Request, check_layers, classes_of, identifier_for
from brainscore_vision.model_helpers.adapters.preprocessing import NAMED, preprocessing_from

if TYPE_CHECKING:
    from torch import nn

    from brainscore_vision.model_helpers.activations.batches import Preprocessing

__all__ = ["adapt", "block_layers", "default_layers", "is_torch_module"]

_AUXILIARY = re.compile(r"aux(\d|logits)", re.IGNORECASE)


def is_torch_module(model: object) -> bool:
    """Tell whether an object is a PyTorch module, without importing PyTorch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)


def adapt(model: nn.Module, request: Request) -> Adapted:
    """Wrap a module; of a model for images and text, its image tower, with layers named as in either.

    `ConfigurationError` if the preprocessing or the layers cannot be inferred; `LayerNotFoundError` for absent layers.
    """
    from brainscore_vision.model_helpers.activations.module_wrapper import PytorchWrapper  # heavy: torch

    network, prefix = _ask("image_tower", model, (model, ""))
    name = _ask("name", model, type(model).__name__)
    identifier = request.identifier or identifier_for(name, lambda: content_digest(describe_module(network)))
    readout = request.readout_layer or _ask("readout_layer", network, None)
    names = [name for name, _ in network.named_modules() if name]
    layers = _layers(network, request, prefix, names, identifier)
    if readout is not None:
        readout = check_layers([_without(prefix, readout)], names, identifier)[0]
    wrapper = PytorchWrapper(
        identifier=identifier,
        model=network,
        preprocessing=_preprocessing(model, request.preprocessing, identifier),
        readout_layer=readout,
        batch_size=request.batch_size,
    )
    return Adapted(identifier=identifier, activations_model=wrapper, layers=layers)


def default_layers(model: nn.Module) -> list[str]:
    """Return the stages that a framework lists for a network (of images and text: its image tower), or its blocks."""
    network, _ = _ask("image_tower", model, (model, ""))
    layers: list[str] = _ask("layers", network, [])
    return layers or block_layers(network)


def block_layers(model: nn.Module) -> list[str]:
    """Return the dotted names of a network's blocks, in order of registration.

    Blocks are modules with submodules whose class, not one of ``torch.nn``, the network has at least twice, and never
    inside another such module: residual blocks, transformer layers, stages. Without these, they are at least two
    siblings of one class, each with submodules; failing that, in networks with several poolings, these and all linear
    layers but the last. Auxiliary classifiers, which run only in training, are not blocks: ``aux1``, ``AuxLogits``.
    """
    blocks = _repeated(model) or _siblings(model) or _plain(model)
    return [name for name in blocks if not _AUXILIARY.match(name)]


def _repeated(model: nn.Module) -> list[str]:
    composite = {
        name: type(module)
        for name, module in model.named_modules()
        if name and any(True for _ in module.children()) and not type(module).__module__.startswith("torch.nn.")
    }
    counts = Counter(composite.values())
    repeated = {name: kind for name, kind in composite.items() if counts[kind] > 1}
    inner = set()
    for name, kind in repeated.items():
        parts = name.split(".")
        if any(".".join(parts[:depth]) in repeated for depth in range(1, len(parts))):
            inner.add(kind)
    return [name for name, kind in repeated.items() if kind not in inner]


def _siblings(model: nn.Module) -> list[str]:
    blocks: list[str] = []
    for name, module in model.named_modules():
        children = list(module.children())
        inside = any(name == block or name.startswith(f"{block}.") for block in blocks)
        alike = len(children) > 1 and len({type(child) for child in children}) == 1
        if not inside and alike and all(any(True for _ in child.children()) for child in children):
            blocks.extend(f"{name}.{child}" if name else child for child, _ in module.named_children())
    return blocks


def _plain(model: nn.Module) -> list[str]:
    kinds = {name: type(module).__name__ for name, module in model.named_modules()}
    pools = [name for name, kind in kinds.items() if kind in ("MaxPool2d", "AvgPool2d")]
    linear = [name for name, kind in kinds.items() if kind == "Linear"][:-1]
    return [name for name in kinds if name in pools or name in linear] if len(pools) > 1 else []


def _ask(what: str, model: nn.Module, otherwise: Any) -> Any:  # the result of a function of a framework's module
    for is_its_model, framework in (
        (open_clip_models.is_open_clip, open_clip_models),
        (timm_models.is_timm, timm_models),
        (transformers_models.is_transformers, transformers_models),
    ):
        if is_its_model(model):
            return getattr(framework, what)(model) if hasattr(framework, what) else otherwise
    return otherwise


def _without(prefix: str, layer: str) -> str:
    return layer.removeprefix(f"{prefix}.") if prefix else layer


def _layers(network: nn.Module, request: Request, prefix: str, names: list[str], identifier: str) -> list[str]:
    from brainscore_vision.model_helpers.activations.tensors import split_parts  # heavy: torch

    if request.layers is not None:
        asked = [request.layers] if isinstance(request.layers, str) else request.layers
        requested = [_without(prefix, layer) for layer in asked]
        parts = [layer for layer in requested if split_parts(layer)[0] in names]  # the output is not known yet
        return check_layers(requested, [*names, "logits", *parts], identifier)
    if blocks := default_layers(network):
        return blocks
    first = ", ".join(names[:30]) + (f", ... ({len(names)} in all)" if len(names) > 30 else "")
    raise ConfigurationError(
        f"Model {identifier!r} has no blocks, so its layers cannot be inferred; name them: layers=[...]. It has "
        f"{first}."
    )


def _preprocessing(model: nn.Module, argument: object | None, identifier: str) -> Preprocessing:
    if argument is not None:
        return preprocessing_from(argument)
    declared: Preprocessing | None = _ask("preprocessing", model, None)
    if declared is None:
        raise ConfigurationError(f"Model {identifier!r} {_why_unknown(model)} Or pass a name: {NAMED}.")
    return declared


def _why_unknown(model: nn.Module) -> str:
    if classes_of(model, "torchvision"):
        return (
            "of torchvision does not name its weights. Pass them, or a preprocessing of your own: "
            f"preprocessing={type(model).__name__}_Weights.IMAGENET1K_V1 (any member of its enumeration), or "
            "preprocessing=weights.transforms()."
        )
    if transformers_models.is_transformers(model):
        return (
            "has no image processor saved with its weights. Pass one: "
            "preprocessing=AutoImageProcessor.from_pretrained('...')."
        )
    if open_clip_models.is_open_clip(model):
        return (
            "does not declare its preprocessing. Pass the last result of open_clip.create_model_and_transforms(...): "
            "preprocessing=preprocess."
        )
    return (
        "does not declare its preprocessing. Pass a function from a PIL image to a tensor (channel, height, width): "
        "preprocessing=transform."
    )
