"""Make an experimental subject of any model."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from brainscore_vision.model_helpers.adapters import features, functions, onnx_models, torch_modules
from brainscore_vision.model_helpers.adapters.adapted import Adapted, Request, check_layers, classes_of
from brainscore_vision.model_helpers.brain_transformation.commitment import ModelCommitment
from brainscore_vision.model_helpers.brain_transformation.mapping import LayerMap, Layers, layer_list
from brainscore_vision.model_interface import BrainModel

if TYPE_CHECKING:
    from brainscore_vision.model_helpers.brain_transformation.label_maps import GivenMap

__all__ = ["as_brain_model", "region_map_for"]

BATCH_SIZE = 64

_TAKEN = (
    "a BrainModel, a module of PyTorch (also of torchvision, timm, transformers or open_clip), an ONNX file or "
    "session, a function of a list of PIL images that returns an array, or features by stimulus_id"
)


def as_brain_model(
    model: object,
    *,
    identifier: str | None = None,
    layers: Sequence[str] | None = None,
    preprocessing: object | None = None,
    region_layer_map: Mapping[str, Layers] | None = None,
    readout_layer: str | None = None,
    behavioral_readout_layer: str | Sequence[str] | None = None,
    visual_degrees: float = 8,
    batch_size: int = BATCH_SIZE,
    label_map: GivenMap | None = None,
) -> BrainModel:
    """Make a model for every benchmark.

    Parameters
    ----------
    model
        A `BrainModel`, returned unchanged; a module of PyTorch, torchvision, timm, transformers or open_clip (of a
        model for images and text, its image tower); an ``.onnx`` file or session of ONNX Runtime; a function of a list
        of PIL images, see `functions.adapt`; features by `stimulus_id`, see `features.adapt`; or an activations model
        such as a `PytorchWrapper`, with `layers` or `region_layer_map`.
    identifier, layers, preprocessing, readout_layer, batch_size
        See `Request`. Layers of `region_layer_map` are added to `layers`.
    region_layer_map, behavioral_readout_layer, visual_degrees, label_map
        See `ModelCommitment`; a single layer applies to every region.

    Raises
    ------
    TypeError
        The model is of another kind, or a `BrainModel` with further arguments.
    ConfigurationError, LayerNotFoundError, RequirementsError
        Preprocessing or layers cannot be inferred, a layer or a framework is missing.

    Examples
    --------
    >>> import numpy as np
    >>> as_brain_model(lambda images: np.stack([np.asarray(image.resize((8, 8))) for image in images])).layers
    ['output']
    """
    request = Request(
        identifier=identifier,
        layers=_all_layers(layers, region_layer_map),
        preprocessing=preprocessing,
        readout_layer=readout_layer,
        batch_size=batch_size,
    )
    if isinstance(model, BrainModel):
        return _unchanged(model, request, (behavioral_readout_layer, visual_degrees, label_map))
    adapted = _adapter_for(model)(model, request)
    return ModelCommitment(
        identifier=adapted.identifier,
        activations_model=adapted.activations_model,
        layers=adapted.layers,
        behavioral_readout_layer=behavioral_readout_layer,
        region_layer_map=region_map_for(adapted.layers) if region_layer_map is None else region_layer_map,
        visual_degrees=visual_degrees,
        label_map=label_map,
    )


_NO_REQUEST = Request(identifier=None, layers=None, preprocessing=None, readout_layer=None, batch_size=BATCH_SIZE)


def _unchanged(model: BrainModel, request: Request, of_commitment: tuple[object, ...]) -> BrainModel:
    if request != _NO_REQUEST or of_commitment != (None, 8, None):
        raise TypeError(
            f"{type(model).__qualname__} is a BrainModel already, with its own identifier, layers, preprocessing and "
            "field of view; leave these arguments out."
        )
    return model


def _all_layers(layers: Sequence[str] | None, region_layer_map: Mapping[str, Layers] | None) -> list[str] | None:
    named = [] if layers is None else layer_list(layers)
    mapped = [layer for entry in (region_layer_map or {}).values() for layer in layer_list(entry)]
    return None if layers is None and not mapped else list(dict.fromkeys([*named, *mapped]))


def _adapter_for(model: object) -> Callable[[Any, Request], Adapted]:
    for takes, adapt in (
        (torch_modules.is_torch_module, torch_modules.adapt),
        (onnx_models.is_onnx, onnx_models.adapt),
        (_is_keras, _refuse_keras),
        (_is_activations_model, _adapt_activations_model),
        (features.is_features, features.adapt),
        (lambda given: callable(given) and not isinstance(given, type), functions.adapt),
    ):
        if takes(model):
            return adapt
    hint = (
        f" {model.__qualname__} is a class: pass an instance, {model.__qualname__}(...)."
        if isinstance(model, type)
        else ""
    )
    if isinstance(model, str):
        hint = f" A registered model is loaded by its name: load_model({model!r})."
    raise TypeError(f"A model of type {type(model).__qualname__!r} is not known; expected {_TAKEN}.{hint}")


def _is_keras(model: object) -> bool:
    return any(classes_of(model, package) for package in ("keras", "tf_keras", "tensorflow"))


def _refuse_keras(model: Any, _: Request) -> Adapted:
    """Refuse a model of Keras: it is callable, but declares neither its scale of pixels nor its axis of channels."""
    raise TypeError(
        f"{type(model).__qualname__} is a model of Keras, whose preprocessing cannot be inferred. Give a function that "
        "prepares pictures as in training, channels last: lambda images: model.predict(numpy.stack([numpy.asarray("
        "image.resize((224, 224))) for image in images]), verbose=0), with preprocess_input of its application. For "
        "layers return a dict of names to arrays, from keras.Model(model.inputs, outputs)."
    )


def _is_activations_model(model: object) -> bool:
    return callable(model) and hasattr(model, "from_stimulus_set") and hasattr(model, "identifier")


def _adapt_activations_model(model: Any, request: Request) -> Adapted:
    if request != dataclasses.replace(_NO_REQUEST, layers=request.layers):
        raise TypeError(
            f"{type(model).__qualname__} is an activations model already, with its own identifier, preprocessing, "
            "readout layer and batch size; leave these arguments out."
        )
    if request.layers is None:
        raise TypeError(
            f"{type(model).__qualname__} is an activations model without a choice of layers; pass layers=[...] or "
            "region_layer_map={...}."
        )
    get_layer = getattr(model, "get_layer", None)
    if get_layer is not None:
        for layer in request.layers:
            get_layer(layer)
    return Adapted(
        identifier=str(model.identifier),
        activations_model=model,
        layers=check_layers(request.layers, request.layers, str(model.identifier)),
    )


# -- regions -----------------------------------------------------------------------------------------------------------
# Choose the default layers of regions.


def region_map_for(layers: Sequence[str]) -> LayerMap | None:
    """Map every region to a single layer; None if `ModelCommitment` chooses among several."""
    return _SingleLayer(layers[0]) if len(layers) == 1 else None


class _SingleLayer(LayerMap):
    def __init__(self, layer: str) -> None:
        super().__init__()
        self._layer = layer

    def __missing__(self, region: str) -> str:
        self.commit(region, self._layer, {"from": "single layer"})
        return self._layer
