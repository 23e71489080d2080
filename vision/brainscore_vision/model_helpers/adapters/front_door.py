"""Make an experimental subject of whatever somebody calls a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from brainscore_vision.model_helpers.adapters import features, functions, onnx_models, torch_modules
from brainscore_vision.model_helpers.adapters.adapted import Adapted, Request, check_layers
from brainscore_vision.model_helpers.adapters.regions import region_map_for
from brainscore_vision.model_helpers.brain_transformation.commitment import ModelCommitment
from brainscore_vision.model_helpers.brain_transformation.mapping import Layers, layer_list
from brainscore_vision.model_interface import BrainModel

if TYPE_CHECKING:
    from brainscore_vision.model_helpers.brain_transformation.label_maps import GivenMap

__all__ = ["as_brain_model"]

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
    """Make a model that every benchmark takes.

    Parameters
    ----------
    model : object
        - a `BrainModel`: returned as it is, without any further argument;
        - a module of PyTorch, also of torchvision, timm, transformers or open_clip; of a model for images and text its
          tower for images; it is run in evaluation mode, on the GPU if there is one;
        - the path of an ``.onnx`` file, or a session of ONNX Runtime;
        - a function of a list of PIL images, see `functions.adapt`;
        - features that were computed elsewhere, by `stimulus_id`, see `features.adapt`;
        - an activations model such as a `PytorchWrapper`, with `layers` or `region_layer_map`.
    identifier : str, optional
        Name of the model. None: ``<name>@<12 digits>``, where the digits are a digest of architecture and weights, so
        that two models share a name only if they are the same.
    layers : list of str, optional
        Layers to compare, from early to late. None: those of `region_layer_map`; else of a module of timm the stages
        that timm lists, of another module its blocks (see `torch_modules.block_layers`); of an ONNX file its outputs;
        of a function or of features all that it gives.
    preprocessing : object, optional
        A name such as ``'imagenet-224'``, a function of one PIL image, weights of torchvision or an image processor,
        see `preprocessing.preprocessing_from`. None: what the model says about itself; timm, open_clip and the folder
        of a transformers model do.
    region_layer_map : mapping of str to str or list of str, optional
        Layer or layers of each region. None: of a model with one layer that layer stands for every region; of others
        see `ModelCommitment`.
    readout_layer : str, optional
        Layer of the class scores, for the task ``label``. None: what the model says, else the last module or output.
    behavioral_readout_layer : str or list of str, optional
        Layer for the tasks ``probabilities`` and ``odd_one_out``. None: the last of the layers.
    visual_degrees : float
        Width of the model's field of view, in degrees.
    batch_size : int
        Most stimuli in one call of the model.
    label_map : str, list of str, dict of str to list of int, optional
        What the class scores stand for. None: the 1000 classes of ImageNet. See `label_maps.label_map_of`.

    Raises
    ------
    TypeError
        It is none of these, or a `BrainModel` with further arguments.
    ConfigurationError
        The preprocessing or the layers are not known; the message shows how to say them.
    LayerNotFoundError
        The model has no layer of a given name; the nearest are listed.
    RequirementsError
        A framework is missing; the message says what to install.

    Examples
    --------
    >>> import numpy as np
    >>> model = as_brain_model(lambda images: np.stack([np.asarray(image.resize((8, 8))) for image in images]))
    >>> model.layers
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
        of_commitment = (behavioral_readout_layer, visual_degrees, label_map)
        if request != _NOTHING_SAID or of_commitment != (None, 8, None):
            raise TypeError(
                f"{type(model).__qualname__} is a BrainModel already and decides itself on its identifier, layers, "
                "preprocessing and field of view; leave these arguments out."
            )
        return model
    adapted = _adapter_for(model)(model, request)
    if region_layer_map is None:
        region_layer_map = region_map_for(adapted.layers)
    return ModelCommitment(
        identifier=adapted.identifier,
        activations_model=adapted.activations_model,
        layers=adapted.layers,
        behavioral_readout_layer=behavioral_readout_layer,
        region_layer_map=region_layer_map,
        visual_degrees=visual_degrees,
        label_map=label_map,
    )


_NOTHING_SAID = Request(identifier=None, layers=None, preprocessing=None, readout_layer=None, batch_size=BATCH_SIZE)


def _all_layers(layers: Sequence[str] | None, region_layer_map: Mapping[str, Layers] | None) -> list[str] | None:
    """Return the layers that were named, be it in the map; None if none were."""
    named = [] if layers is None else layer_list(layers)
    mapped = [layer for entry in (region_layer_map or {}).values() for layer in layer_list(entry)]
    return list(dict.fromkeys([*named, *mapped])) if named or mapped else (None if layers is None else [])


def _adapter_for(model: object) -> Callable[[Any, Request], Adapted]:
    for takes, adapt in (
        (torch_modules.is_torch_module, torch_modules.adapt),
        (onnx_models.is_onnx, onnx_models.adapt),
        (_is_activations_model, _adapt_activations_model),
        (features.is_features, features.adapt),
        (_is_function, functions.adapt),
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


def _is_function(model: object) -> bool:
    return callable(model) and not isinstance(model, type)


def _is_activations_model(model: object) -> bool:
    return callable(model) and hasattr(model, "from_stimulus_set") and hasattr(model, "identifier")


def _adapt_activations_model(model: Any, request: Request) -> Adapted:
    """Take a wrapper that the caller made: it has its own identifier and preprocessing."""
    said = Request(
        identifier=None, layers=request.layers, preprocessing=None, readout_layer=None, batch_size=BATCH_SIZE
    )
    if request != said:
        raise TypeError(
            f"{type(model).__qualname__} is an activations model already and decides itself on its identifier, "
            "preprocessing, readout layer and batch size; leave these arguments out."
        )
    if request.layers is None:
        raise TypeError(
            f"{type(model).__qualname__} is an activations model and does not say which of its layers to compare; pass "
            "layers=[...] or region_layer_map={...}."
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
