"""Define argument and result of every adapter."""

import importlib
import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from brainscore_core.errors import LayerNotFoundError, RequirementsError, did_you_mean

__all__ = ["Adapted", "Request", "check_layers", "classes_of", "identifier_for", "import_framework"]


@dataclass(frozen=True, kw_only=True)
class Request:
    """Arguments of the caller for a model.

    Attributes
    ----------
    identifier
        None: ``<name>@<12 digits>``, a digest of architecture and weights, see `identifier_for`.
    layers
        Layers to read out, from early to late; None: all stages, blocks (see `torch_modules.block_layers`) or outputs.
    preprocessing
        See `preprocessing.preprocessing_from`; None: as the model declares (timm, open_clip, transformers).
    readout_layer
        Layer of the class scores; None: as the model declares, otherwise the last module or output.
    batch_size
        Most stimuli in one call.
    """

    identifier: str | None
    layers: Sequence[str] | None
    preprocessing: object | None
    readout_layer: str | None
    batch_size: int


@dataclass(frozen=True, kw_only=True)
class Adapted:
    """A model callable with stimuli and names of layers.

    Attributes
    ----------
    activations_model
        See `ModelCommitment`.
    layers
        From early to late, at least one.
    """

    identifier: str
    activations_model: Callable[..., Any]  # returns a NeuroidAssembly
    layers: list[str]


def identifier_for(name: str, digest: Callable[[], str] | None) -> str:
    """Return ``<name>@<12 hexadecimal digits>``, equal only for equal models.

    The digits are those of `digest`; random if it is None or raises `TypeError`.
    """
    digits = secrets.token_hex(6)
    if digest is not None:
        with suppress(TypeError):
            digits = digest()
    return f"{name}@{digits[:12]}"


def classes_of(model: object, package: str) -> bool:
    """Tell whether a package defines an object's class or a base of it, without importing the package."""
    return any(base.__module__.partition(".")[0] == package for base in type(model).__mro__)


def import_framework(package: str, what: str, install: str) -> Any:  # a module without types
    """Import a framework; `RequirementsError` says what needs it and how to ``pip install`` it."""
    try:
        return importlib.import_module(package)
    except (ImportError, RuntimeError) as error:  # torchvision raises the latter with another build of torch
        raise RequirementsError(
            f"{what} needs the package {package!r}, which cannot be imported ({error}). "
            f"Install it: pip install {install}"
        ) from error


def check_layers(layers: Sequence[str], existing: Sequence[str], identifier: str) -> list[str]:
    """Return layers as a list without repeats; `ValueError` if there are none.

    `LayerNotFoundError` names all layers that the model lacks, with suggestions.
    """
    names = [layers] if isinstance(layers, str) else list(dict.fromkeys(layers))
    if not names:
        raise ValueError(f"The list of layers of model {identifier!r} is empty; expected at least one name.")
    unknown = [name for name in names if name not in existing]
    if unknown:
        hints = [f"{name!r}.{did_you_mean(name, existing, 3)}" for name in unknown]
        first = ", ".join(existing[:20]) + (f", ... ({len(existing)} in all)" if len(existing) > 20 else "")
        raise LayerNotFoundError(f"Model {identifier!r} has no layer {' No layer '.join(hints)} It has {first}.")
    return names
