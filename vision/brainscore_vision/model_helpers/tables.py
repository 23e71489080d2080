"""Make models of the rows of ``models.csv``, see `brainscore_vision.catalogue.model_tables`.

A plugin registers them with ``model_registry.update(models_of(__file__))``.
"""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch
from PIL import Image
from torch import nn
from torch.nn import functional

from brainscore_core.errors import ConfigurationError, did_you_mean, listed
from brainscore_core.plugin_management.registrations import table_of
from brainscore_vision.catalogue.model_tables import PICTURES, Row, TableError, read_table, steps_of_pictures
from brainscore_vision.model_helpers import weights
from brainscore_vision.model_helpers.activations.images import (
    crop_centre,
    load_preprocess_images,
    preprocess_images,
    resize_as_opencv,
)
from brainscore_vision.model_helpers.activations.recurrent import RecurrentPytorchWrapper
from brainscore_vision.model_helpers.adapters import timm_models, transformers_models
from brainscore_vision.model_helpers.adapters.front_door import as_brain_model
from brainscore_vision.model_helpers.adapters.libraries import LIBRARIES, check_memory
from brainscore_vision.model_helpers.architectures import ARCHITECTURES, CORNET_STEPS_MS
from brainscore_vision.model_helpers.brain_transformation import recurrent

if TYPE_CHECKING:
    from brainscore_vision.model_helpers.adapters.declared import Network
    from brainscore_vision.model_interface import BrainModel

__all__ = ["builder_of", "models_of", "network_of", "renamed"]

_MOST_SHOWN = 8


def models_of(init_file: str) -> dict[str, Callable[[], BrainModel]]:
    """Return identifier -> factory of the table next to a plugin's ``__init__.py``, without rows that have a reason.

    See `read_table` for errors.
    """
    table = table_of(Path(init_file).parent)
    rows = read_table(table)
    for row in rows.values():
        if row.source and not row.library and row.source not in ARCHITECTURES:
            raise TableError(
                f"{table}: {row.identifier}: unknown architecture {row.source!r}."
                f"{did_you_mean(row.source, ARCHITECTURES)}"
            )
    return {row.identifier: functools.partial(_load, row) for row in rows.values() if not row.reason}


def _load(row: Row) -> BrainModel:
    network, declared = network_of(row)
    if row.source == "cornet_s" and not row.region_layer_map:
        return _in_steps(row, network)
    return as_brain_model(
        network,
        identifier=row.identifier,
        preprocessing=_preprocessing(row.pictures, network) if row.pictures else declared,
        layers=row.layers.split() or None,
        region_layer_map=row.region_layer_map or None,
        behavioral_readout_layer=row.readout or None,
        visual_degrees=float(row.degrees or 8),
    )


def _in_steps(row: Row, network: nn.Module) -> BrainModel:
    """Return a CORnet-S whose areas answer with the step nearest to each time bin."""
    readout = "decoder.avgpool-t0"
    steps = [f"{area}.output-t{step}" for area, (_, _, n_steps) in CORNET_STEPS_MS.items() for step in range(n_steps)]
    return recurrent.RecurrentCommitment(
        identifier=row.identifier,
        activations_model=RecurrentPytorchWrapper(
            identifier=row.identifier,
            model=network,
            preprocessing=_preprocessing(row.pictures or "square 224, imagenet", network),
            readout_layer="decoder.output",
        ),
        layers=[*steps, readout],
        time_mapping=recurrent.regular_steps(CORNET_STEPS_MS),
        behavioral_readout_layer=readout,
        visual_degrees=float(row.degrees or 8),
    )


def network_of(row: Row) -> tuple[nn.Module, object]:
    """Return a row's network, in evaluation mode, and its library's preprocessing.

    See `fit_weights` and `Library.network` for errors.
    """
    build, declared = builder_of(row)
    if row.weights == "random":
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            network = build()
    elif row.weights:
        network = _with_checkpoint(row, build)
    else:
        known = _of_library(row)
        check_memory(row.identifier, known)
        network = known.read(known.fetch())
    if row.background:
        _drop_outputs(network, int(row.background))
    if row.padding:
        _pad_as_for(network, int(row.padding))
    for layer in {row.readout, *row.region_layer_map.values()}:
        if layer.endswith(".input"):
            _show_input(network, layer.removesuffix(".input"))
    return network.eval(), declared


def _with_checkpoint(row: Row, build: Callable[[], nn.Module]) -> nn.Module:
    path = weights.fetch_checkpoint(row.weights, row.digest or None)
    try:
        content = weights.read_checkpoint(path, entry=row.entry or None)
    except weights.CheckpointError as error:
        published = (
            f"\nThe published plugin of {row.identifier} unpickles this file ({row.pickle}), which can run any code in "
            "it; here nothing of it is run."
        )
        raise weights.CheckpointError(f"{error}{published if row.pickle else ''}") from error
    with torch.device("meta" if not row.library else "cpu"):  # others may compute with values while they are built
        untrained = build()
    try:
        return weights.fit_weights(untrained, renamed(content, row.names), origin=str(path))
    except weights.CheckpointError as error:
        if not row.names:
            raise
        expected = untrained.state_dict()
        names = {old: next(iter(renamed({old: values}, row.names)), "dropped") for old, values in content.items()}
        missing = [name for name in expected if name not in names.values()][:_MOST_SHOWN]
        unfit = [f"{old} -> {new}" for old, new in names.items() if new not in expected]
        # Many names may be dropped on purpose: those that end as a missing one does are the likely ones.
        unfit.sort(key=lambda pair: (pair.endswith("-> dropped"), not pair.partition(" ")[0].endswith(tuple(missing))))
        raise weights.CheckpointError(
            f"{error}\nThe row's rule {row.names!r} makes of {len(unfit)} names in the file:"
            f"{listed(unfit, _MOST_SHOWN)}"
        ) from error


def _drop_outputs(network: nn.Module, count: int) -> None:
    """Remove the first outputs of the last linear layer."""
    last = [module for module in network.modules() if isinstance(module, nn.Linear)][-1]
    last.weight, last.bias = (nn.Parameter(values.detach()[count:]) for values in (last.weight, last.bias))
    last.out_features -= count


def _pad_as_for(network: nn.Module, side: int) -> None:
    """Pad strided convolutions as for pictures of `side` pixels, whatever the pictures are.

    TensorFlow's padding depends on the size of the input. timm computes it for each input; the package
    efficientnet_pytorch, which published plugins use, pads as for the pictures that the weights were trained with, so
    that later blocks of its networks see smaller pictures shifted by a pixel.
    """
    strided: list[tuple[str, Any]] = [
        (name, module) for name, module in network.named_modules() if type(module).__name__ == "Conv2dSame"
    ]
    for name, conv in strided:  # in the order in which they halve the picture
        (kernel, _), (stride, _) = conv.kernel_size, conv.stride
        halved = -(-side // stride)
        total = max((halved - 1) * stride + kernel - side, 0)
        before, after, side = total // 2, total - total // 2, halved
        plain = nn.Conv2d(conv.in_channels, conv.out_channels, kernel, stride, groups=conv.groups, bias=False)
        plain.weight = conv.weight
        network.set_submodule(name, nn.Sequential(nn.ZeroPad2d((before, after, before, after)), plain))


def _show_input(network: nn.Module, layer: str) -> None:
    """Put a layer ``input`` into a layer, which outputs the layer's input."""
    parent, _, name = layer.rpartition(".")
    whole = nn.Sequential(OrderedDict(input=nn.Identity(), output=network.get_submodule(layer)))
    setattr(network.get_submodule(parent), name, whole)


def builder_of(row: Row) -> tuple[Callable[[], nn.Module], object]:
    """Return the builder of a row's untrained network, and its library's preprocessing."""
    if row.library:
        network = _of_library(row)
        return network.build, network.preprocessing
    return functools.partial(_build_ours, row.source, int(row.classes or 1000)), "imagenet-224"


def _of_library(row: Row) -> Network:
    arguments = {"num_classes": int(row.classes)} if row.classes else {}
    return LIBRARIES[row.library].network(row.source.partition(":")[2], arguments)


def _build_ours(architecture: str, n_classes: int) -> nn.Module:
    network = ARCHITECTURES[architecture](n_classes or 1000)
    if not n_classes:
        *parents, last = [name for name, _ in network.named_modules()][-1].split(".")
        setattr(network.get_submodule(".".join(parents)), last, nn.Identity())
    return network


def _preprocessing(pictures: str, network: nn.Module) -> Callable[..., Any]:  # of paths, or of an image of PIL
    steps = steps_of_pictures(pictures)
    if not steps["values"]:
        return functools.partial(_resized, steps=steps, then=_of_network(network, float(steps["blur"] or 0)))
    side, crop = int(steps["side"]), int(steps["crop"] or steps["side"])
    mean, std = PICTURES[steps["values"]]
    if steps["resample"] == "opencv" or (steps["shape"] == "square" and crop != side):
        return functools.partial(_resized, steps=steps, then=functools.partial(_normalised, mean=mean, std=std))
    return functools.partial(
        load_preprocess_images,
        image_size=crop,
        normalize_mean=mean,
        normalize_std=std,
        short_side=side if steps["shape"] == "short" else None,
        resample=steps["resample"] or "bilinear",
    )


def _resized(image: Image.Image, *, steps: Mapping[str, str], then: Callable[[Image.Image], Any]) -> Any:
    if steps["side"]:
        side = int(steps["side"])
        crop = int(steps["crop"] or side)
        if steps["resample"] == "opencv":
            start = (side - crop) // 2  # of an odd rest one pixel more is cut at the end, as by Albumentations
            image = resize_as_opencv(image, side).crop((start, start, start + crop, start + crop))
        else:
            filter_ = Image.Resampling[(steps["resample"] or "bilinear").upper()]
            image = crop_centre(image.resize((side, side), filter_), crop)
    return then(image)


def _normalised(image: Image.Image, *, mean: tuple[float, ...], std: tuple[float, ...]) -> npt.NDArray[np.float32]:
    values: npt.NDArray[np.float32] = preprocess_images([image], image.width, normalize_mean=mean, normalize_std=std)[0]
    return values


def _of_network(network: nn.Module, sigma: float) -> Callable[[Image.Image], Any]:
    """Return the library's preprocessing of a PIL image, blurred before values are scaled."""
    if transformers_models.is_transformers(network):
        processor = transformers_models.preprocessing(network)
        if processor is None:
            raise ConfigurationError(
                f"{type(network).__name__} has no image processor saved with its weights, which its row asks for: "
                "preprocessor_config.json. Without a network, put it into the mirror folder."
            )
        return lambda image: processor.inputs([image])[0]
    transform: Any = timm_models.transform(network)  # a Compose of torchvision
    return functools.partial(_blurred, steps=transform.transforms, sigma=sigma) if sigma else transform


def _blurred(image: Image.Image, *, steps: list[Callable[[Any], Any]], sigma: float) -> Any:
    for step in steps[:-2]:  # the last two make a tensor and normalise it
        image = step(image)
    # As published, by torchvision's GaussianBlur: 17 x 17 pixels in single precision, then rounded to 8 bits. A sum of
    # another order, as in SciPy's filter, gives another level to some pixels in a million.
    line = torch.exp(-0.5 * (torch.linspace(-8, 8, 17) / sigma) ** 2)
    kernel = torch.outer(line / line.sum(), line / line.sum()).expand(3, 1, 17, 17)
    levels = torch.from_numpy(np.array(image, np.float32)).permute(2, 0, 1)[None]
    blurred = functional.conv2d(functional.pad(levels, (8,) * 4, mode="reflect"), kernel, groups=3)[0].round()
    return steps[-1](steps[-2](Image.fromarray(blurred.permute(1, 2, 0).numpy().astype(np.uint8))))


def renamed(state: Mapping[str, torch.Tensor], rules: str) -> dict[str, torch.Tensor]:
    """Return weights under the network's names.

    Parameters
    ----------
    rules
        Separated by spaces; the first that fits a name counts. ``module.`` removes everything up to the last
        ``module.`` of the name, ``head.=fc.`` puts ``fc.`` in place of it, and ``-`` drops every name that no earlier
        rule fits.

    Examples
    --------
    >>> renamed({"model.f.conv1.weight": 1, "model.lin_cls.bias": 2, "epoch": 3}, ".f. lin_cls.=fc. -")
    {'conv1.weight': 1, 'fc.bias': 2}
    """
    result = {}
    for name, values in state.items():
        for rule in rules.split():
            old, _, new = rule.partition("=")
            if rule == "-":
                break
            if old in name:
                result[new + name.rpartition(old)[2]] = values
                break
        else:
            result[name] = values
    return result
