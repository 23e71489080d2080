"""Adapt functions of pictures."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from brainscore_core.errors import ConfigurationError
from brainscore_vision.identity.objects import probe_image
from brainscore_vision.model_helpers.activations.extractor import ActivationsExtractorHelper
from brainscore_vision.model_helpers.activations.images import load_images
from brainscore_vision.model_helpers.adapters.adapted import Adapted, Request, check_layers, identifier_for
from brainscore_vision.model_helpers.adapters.preprocessing import preprocessing_from

if TYPE_CHECKING:
    from brainscore_vision.model_helpers.activations.cache.layout import Array

__all__ = ["OUTPUT", "adapt"]

OUTPUT = "output"
"""Name of the layer of a function that returns one array."""


def adapt(function: Callable[[Any], object], request: Request) -> Adapted:
    """Wrap a function.

    Activations are never cached; `ConfigurationError` or `LayerNotFoundError` for other results or absent layers.

    Parameters
    ----------
    function
        Takes a list of RGB images of PIL in their own size, or the result of the requested preprocessing. Returns an
        array or tensor (picture, ...), the layer ``'output'``, or arrays by layer. It is tried with one picture.
    """
    named = function if hasattr(function, "__name__") else type(function)
    identifier = request.identifier or identifier_for(str(named.__name__).strip("<>"), None)
    preprocessing = load_images if request.preprocessing is None else preprocessing_from(request.preprocessing)

    def get_activations(inputs: Any, layer_names: Sequence[str]) -> OrderedDict[str, Array]:
        outputs = _outputs(function(inputs), len(inputs), identifier)
        check_layers(layer_names, list(outputs), identifier)
        return OrderedDict((layer, outputs[layer]) for layer in layer_names)

    extractor = ActivationsExtractorHelper(
        get_activations=get_activations,
        preprocessing=preprocessing,
        identifier=identifier,
        batch_size=request.batch_size,
    )
    with TemporaryDirectory(prefix="brainscore-probe-") as folder:
        path = Path(folder) / "probe.png"
        probe_image().save(path)
        try:
            returned = function(preprocessing([str(path)]))
        except Exception as error:  # of the function's own
            if request.preprocessing is not None or not re.search(r"\blist\b|Image|PIL", str(error)):
                raise
            raise ConfigurationError(
                f"Model {identifier!r} failed with {type(error).__name__}: {error}. Your function gets a list of PIL "
                "images; pass preprocessing=... for tensors, such as preprocessing='imagenet-224'."
            ) from error
        outputs = list(_outputs(returned, 1, identifier))
    layers = outputs if request.layers is None else check_layers(request.layers, outputs, identifier)
    return Adapted(identifier=identifier, activations_model=extractor, layers=layers)


def _outputs(returned: object, n_inputs: int, identifier: str) -> dict[str, Array]:
    layers = returned if isinstance(returned, Mapping) else {OUTPUT: returned}
    arrays = {str(layer): _array(values) for layer, values in layers.items()}
    wrong = {
        layer: type(layers[layer]).__qualname__ if array is None else f"shape {array.shape}"
        for layer, array in arrays.items()
        if array is None or array.ndim < 1 or array.shape[0] != n_inputs
    }
    if wrong or not arrays:
        described = ", ".join(f"{layer!r}: {what}" for layer, what in wrong.items()) or "nothing"
        raise ConfigurationError(
            f"Model {identifier!r} returned {described} for {n_inputs} pictures; expected an array of numbers with one "
            "entry for each picture on the first axis, or a dict of names of layers to such arrays."
        )
    return {layer: array for layer, array in arrays.items() if array is not None}


def _array(values: Any) -> Array | None:
    if hasattr(values, "detach"):
        values = values.detach().cpu()
    try:
        array = np.asarray(values)
    except (TypeError, ValueError):  # lists of unequal lengths
        return None
    return array if array.dtype.kind in "fiub" else None
