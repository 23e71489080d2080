"""Load networks of libraries by name, with pinned weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brainscore_core.config import available_memory
from brainscore_core.errors import ConfigurationError, UnknownIdentifierError, did_you_mean
from brainscore_vision.model_helpers.adapters import declared
from brainscore_vision.model_helpers.adapters.adapted import import_framework
from brainscore_vision.model_helpers.adapters.torch_modules import default_layers
from brainscore_vision.model_helpers.brain_transformation.mapping import find_region_layer_map, map_by_depth
from brainscore_vision.model_helpers.weights import CheckpointError, fit_weights, read_checkpoint

if TYPE_CHECKING:
    from torch import nn

    from brainscore_vision.model_helpers.adapters.declared import Network
    from brainscore_vision.model_helpers.brain_transformation.mapping import Layers
    from brainscore_vision.model_interface import BrainModel

__all__ = ["LIBRARIES", "Library", "check_memory", "load"]

_MOST_SHOWN = 5


@dataclass(frozen=True, kw_only=True)
class Library:
    """A library of networks: the factory of a scheme in ``model_registry``.

    Attributes
    ----------
    module
        Such as ``'torchvision.models'``.
    install
        Distribution on PyPI.
    find
        ``find(module, name, arguments)`` returns a `Network`; `UnknownIdentifierError` for a malformed name.
    list_names
        ``list_names(module)`` returns the names of all networks with weights; None if unavailable.
    """

    scheme: str
    module: str
    install: str
    find: Callable[[Any, str, Mapping[str, Any]], Network]
    list_names: Callable[[Any], list[str]] | None = None

    def __call__(self, name: str) -> BrainModel:
        """Return the model with the identifier ``<scheme>:<name>``; see `load`."""
        return load(f"{self.scheme}:{name}")

    def names(self) -> list[str]:
        """Return the names of all networks with weights; `RequirementsError` without the library."""
        return self.list_names(self._imported("A list of its models")) if self.list_names else []

    def network(self, name: str, arguments: Mapping[str, Any] | None = None) -> Network:
        """Return a network as the library declares it, without downloading anything.

        Raises
        ------
        UnknownIdentifierError
            The library has no network of that name, or no weights for it; suggests the nearest names.
        RequirementsError
            The library is not installed.
        """
        module = self._imported(f"Model '{self.scheme}:{name}'")
        names = self.list_names(module) if self.list_names else None
        if names is not None and name not in names:
            raise UnknownIdentifierError(
                f"{self.install} has no network {name!r} with weights ({len(names)} known)."
                f"{did_you_mean(name, names, 3)} All are listed by: brainscore list models --all"
            )
        return self.find(module, name, arguments or {})

    def facts(self, name: str) -> dict[str, object]:
        """Return a library's facts about a network, see `Network.facts`, and its number of parameters."""
        network = self.network(name)
        counted = {"parameters": network.size()[0]} if network.local and "parameters" not in network.facts else {}
        return {key: value for key, value in {**network.facts, **counted}.items() if value}

    def _imported(self, what: str) -> Any:  # a module without types
        return import_framework(self.module, what, self.install)


LIBRARIES: Mapping[str, Library] = {
    library.scheme: library
    for library in (
        Library(scheme="timm", module="timm", install="timm", find=declared.timm, list_names=declared.timm_names),
        Library(
            scheme="torchvision",
            module="torchvision.models",
            install="torchvision",
            find=declared.torchvision,
            list_names=declared.torchvision_names,
        ),
        Library(
            scheme="open_clip",
            module="open_clip",
            install="open_clip_torch",
            find=declared.open_clip,
            list_names=declared.open_clip_names,
        ),
        Library(scheme="transformers", module="transformers", install="transformers", find=declared.transformers),
        Library(scheme="torchhub", module="torch.hub", install="torch", find=declared.torchhub),
    )
}
"""Scheme -> library."""


def load(
    name: str,
    *,
    identifier: str | None = None,
    layers: Sequence[str] | None = None,
    region_layer_map: Mapping[str, Layers] | None = None,
    behavioral_readout_layer: str | Sequence[str] | None = None,
    image_size: int | None = None,
    visual_degrees: float = 8,
    weights: str | Path | Mapping[str, Any] | None = None,
    arguments: Mapping[str, Any] | None = None,
) -> BrainModel:
    """Load a network of a library with its pinned weights, such as ``timm:resnet18.a1_in1k``.

    Parameters
    ----------
    name
        Scheme and name, see `LIBRARIES`; also the default of `identifier`.
    layers, region_layer_map, behavioral_readout_layer, visual_degrees
        See `as_brain_model`. Defaults: `torch_modules.default_layers`; the plugin's
        ``region_layer_map/<identifier>.json``, or the layers that end each quarter of the depth.
    image_size
        Side of the square that pictures are resized to, normalised as ImageNet, as in published plugins. None: the
        preprocessing that the library states for the weights.
    weights
        File of a checkpoint, or weights by name, in place of the library's.
    arguments
        Further arguments for the library's builder.

    Raises
    ------
    UnknownIdentifierError, RequirementsError
        See `Library.network`.
    DownloadError, ChecksumError
        The weights cannot be fetched, or differ from those stated by the library or fetched first.
    CheckpointError, ConfigurationError
        The weights do not fit the network (names the first ones), or the network does not fit the memory.
    """
    from brainscore_vision.model_helpers.adapters.front_door import as_brain_model  # imports this room

    scheme, _, rest = name.partition(":")
    if scheme not in LIBRARIES:
        known = ", ".join(f"{scheme}:" for scheme in LIBRARIES)
        raise UnknownIdentifierError(f"{name!r} names no library; expected a name that starts with one of {known}.")
    network = LIBRARIES[scheme].network(rest, arguments)
    check_memory(name, network)
    module = _with_weights(name, network, weights)
    candidates = default_layers(module) if layers is None else list(layers)
    if region_layer_map is None and candidates:
        region_layer_map = find_region_layer_map(identifier or name) or map_by_depth(candidates)
    return as_brain_model(
        module,
        identifier=identifier or name,
        layers=candidates or None,
        preprocessing=network.preprocessing if image_size is None else f"imagenet-{image_size}",
        region_layer_map=region_layer_map,
        behavioral_readout_layer=behavioral_readout_layer,
        visual_degrees=visual_degrees,
    )


def _with_weights(name: str, network: Network, weights: str | Path | Mapping[str, Any] | None) -> nn.Module:
    if weights is not None:
        state = weights if isinstance(weights, Mapping) else read_checkpoint(weights)
        return fit_weights(network.build(), state, origin=f"The checkpoint for {name}")
    path = network.fetch()
    try:
        return network.read(path)
    except RuntimeError as error:
        if "state_dict" not in str(error):  # of PyTorch: missing, unexpected, other shapes
            raise
        lines = [line.strip() for line in str(error).splitlines()[1:]]
        more = f" ... and {len(lines) - _MOST_SHOWN} more" if len(lines) > _MOST_SHOWN else ""
        raise CheckpointError(f"{path} does not fit {name}: {' '.join(lines[:_MOST_SHOWN])}{more}") from error


def check_memory(name: str, network: Network) -> None:
    """Raise `ConfigurationError` if a network and its weights' file exceed the free memory."""
    count, size_bytes = network.size()
    # Both are in memory at once.
    if 2 * size_bytes > available_memory():
        raise ConfigurationError(
            f"{name} has {count:,} parameters: loading it takes {2 * size_bytes / 1e9:.0f} GB of memory, and this "
            f"machine has {available_memory() / 1e9:.0f} GB. Score it on a larger one; no weights were downloaded."
        )
