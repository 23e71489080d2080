"""Say what every adapter takes and returns."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from brainscore_core.errors import LayerNotFoundError, RequirementsError, did_you_mean

__all__ = ["Adapted", "Request", "check_layers", "classes_of", "identifier_for", "import_framework"]


@dataclass(frozen=True, kw_only=True)
class Request:
    """What the caller said about a model.

    Attributes
    ----------
    identifier : str or None
        Name of the model; None: an adapter makes one with `identifier_for`.
    layers : list of str or None
        Layers to read out; None: those that the adapter takes by its own rule.
    preprocessing : object or None
        See `brainscore_vision.model_helpers.adapters.preprocessing.preprocessing_from`; None: what the model says.
    readout_layer : str or None
        Layer of the class scores; None: what the model says.
    batch_size : int
        Most stimuli in one call of the model.
    """

    identifier: str | None
    layers: Sequence[str] | None
    preprocessing: object | None
    readout_layer: str | None
    batch_size: int


@dataclass(frozen=True, kw_only=True)
class Adapted:
    """A model that can be called with stimuli and the names of layers.

    Attributes
    ----------
    identifier : str
        Name of the model.
    activations_model : callable
        As `brainscore_vision.model_helpers.brain_transformation.ModelCommitment` takes it.
    layers : list of str
        From early to late, at least one.
    """

    identifier: str
    activations_model: Callable[..., Any]  # returns a NeuroidAssembly
    layers: list[str]


def identifier_for(name: str, digest: Callable[[], str]) -> str:
    """Return ``<name>@<12 hexadecimal digits>``, equal for two models only if they are the same.

    Parameters
    ----------
    digest : callable
        Returns a hexadecimal digest of all that makes the model what it is, or raises `TypeError` if that is not
        known: then the digits are random, so that no two such models share a name.
    """
    try:
        digits = digest()
    except TypeError:
        digits = secrets.token_hex(6)
    return f"{name}@{digits[:12]}"


def classes_of(model: object, package: str) -> bool:
    """Tell whether a package defines the class of an object or one of its bases, without importing the package."""
    return any(base.__module__.partition(".")[0] == package for base in type(model).__mro__)


def import_framework(package: str, what: str, install: str) -> Any:  # a module without types
    """Import a framework that something given needs.

    Parameters
    ----------
    what : str
        What needs it, for the error.
    install : str
        What to install: the words after ``pip install``.

    Raises
    ------
    RequirementsError
        It is not installed, or does not work here.
    """
    import importlib

    try:
        return importlib.import_module(package)
    except (ImportError, RuntimeError) as error:  # torchvision raises the latter beside another build of torch
        raise RequirementsError(
            f"{what} needs the package {package!r}, which cannot be imported ({error}). "
            f"Install it: pip install {install}"
        ) from error


def check_layers(layers: Sequence[str], known: Sequence[str], identifier: str) -> list[str]:
    """Return layers as a list without repetitions.

    Raises
    ------
    LayerNotFoundError
        Layers are not among those known; the message names all of them, each with the nearest names.
    ValueError
        There are none.
    """
    names = [layers] if isinstance(layers, str) else list(dict.fromkeys(layers))
    if not names:
        raise ValueError(f"The list of layers of model {identifier!r} is empty; expected at least one name.")
    unknown = [name for name in names if name not in known]
    if unknown:
        hints = [f"{name!r}.{did_you_mean(name, known, 3)}" for name in unknown]
        some = ", ".join(known[:20]) + (f", ... ({len(known)} in all)" if len(known) > 20 else "")
        raise LayerNotFoundError(f"Model {identifier!r} has no layer {' No layer '.join(hints)} It has {some}.")
    return names
