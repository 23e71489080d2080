"""Make models of the rows of ``models.csv``, see `brainscore_vision.catalogue.model_tables`.

A plugin registers them with ``model_registry.update(models_of(__file__))``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch
from scipy.ndimage import gaussian_filter
from torch import nn

from brainscore_core.errors import did_you_mean
from brainscore_core.plugin_management.source.registrations import table_of
from brainscore_vision.catalogue.model_tables import PICTURES, Row, TableError, parts_of_pictures, read_table
from brainscore_vision.loading import load_model
from brainscore_vision.model_helpers import weights
from brainscore_vision.model_helpers.activations.images import load_preprocess_images, preprocess_images
from brainscore_vision.model_helpers.activations.recurrent import RecurrentPytorchWrapper
from brainscore_vision.model_helpers.adapters import timm_models
from brainscore_vision.model_helpers.adapters.front_door import as_brain_model
from brainscore_vision.model_helpers.adapters.libraries import LIBRARIES, check_memory
from brainscore_vision.model_helpers.architectures import ARCHITECTURES, CORNET_STEPS_MS
from brainscore_vision.model_helpers.brain_transformation import recurrent

if TYPE_CHECKING:
    from PIL import Image

    from brainscore_vision.model_helpers.adapters.declared import Network
    from brainscore_vision.model_interface import BrainModel

__all__ = ["builder_of", "models_of", "network_of", "renamed"]


def models_of(init_file: str) -> dict[str, Callable[[], BrainModel]]:
    """Return identifier -> factory of the table beside a plugin's ``__init__.py``, without rows that have a reason.

    See `read_table` for errors.
    """
    table = table_of(Path(init_file).parent)
    rows = read_table(table)
    for row in rows.values():
        if row.weights and not row.library and row.source not in ARCHITECTURES:
            raise TableError(
                f"{table}: {row.identifier}: there is no architecture {row.source!r}."
                f"{did_you_mean(row.source, ARCHITECTURES)}"
            )
    return {row.identifier: functools.partial(_load, row) for row in rows.values() if not row.reason}


def _load(row: Row) -> BrainModel:
    if row.is_alias:
        return load_model(row.source)
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
            preprocessing=_preprocessing(row.pictures or "imagenet-224", network),
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
            return build().eval(), declared
    if not row.weights:
        network = _of_library(row)
        check_memory(row.identifier, network)
        return network.read(network.fetch()).eval(), declared
    path = weights.fetch_checkpoint(row.weights, row.digest or None)
    state = renamed(weights.read_checkpoint(path, entry=row.entry or None), row.names)
    with torch.device("meta" if not row.library else "cpu"):  # others may compute with values while they are built
        untrained = build()
    return weights.fit_weights(untrained, state, origin=str(path)).eval(), declared


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
    kind, size, crop, sigma = parts_of_pictures(pictures)
    if sigma:
        return functools.partial(_blurred, transform=timm_models.transform(network), sigma=float(sigma))
    if crop:
        return functools.partial(_cropped, size=int(size), crop=int(crop), kind=kind)
    return functools.partial(load_preprocess_images, image_size=int(size), **PICTURES[kind])


def _cropped(image: Image.Image, *, size: int, crop: int, kind: str) -> npt.NDArray[np.float32]:
    start = (size - crop) // 2
    values: npt.NDArray[np.float32] = preprocess_images([image], size, **PICTURES[kind])
    cropped: npt.NDArray[np.float32] = values[0, :, start : start + crop, start : start + crop]
    return cropped


def _blurred(image: Image.Image, *, transform: Callable[[Image.Image], Any], sigma: float) -> npt.NDArray[np.float32]:
    # 17 x 17 pixels, as published. Normalisation is linear, so it may come first.
    values: npt.NDArray[np.float32] = np.asarray(transform(image))
    return gaussian_filter(values, sigma, radius=8, mode="mirror", axes=(1, 2))  # type: ignore[no-any-return]  # SciPy's


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
