"""Read out the layers of PyTorch modules."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from brainscore_core.caching import content_digest
from brainscore_core.errors import LayerNotFoundError, did_you_mean
from brainscore_vision.model_helpers.activations.cache import without_cache
from brainscore_vision.model_helpers.activations.core import (
    ActivationsExtractorHelper,
    Preprocessing,
)
from brainscore_vision.model_helpers.activations.digests import describe, describe_module
from brainscore_vision.model_helpers.activations.images import (
    load_image,
    load_images,
    load_preprocess_images,
    preprocess_images,
)

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
    from brainscore_vision.model_helpers.activations.packaging import Array

__all__ = [
    "PytorchWrapper",
    "disable_activation_caching",
    "load_image",
    "load_images",
    "load_preprocess_images",
    "preprocess_images",
]

# Attributes of a wrapper that are digested on their own or do not change activations.
_NOT_SETTINGS = frozenset(
    {
        "_model", "_extractor", "_forward_kwargs", "_logger", "image_size",
        "from_paths", "from_stimulus_set", "register_batch_activations_hook", "register_stimulus_set_hook",
    }
)  # fmt: skip


class PytorchWrapper:
    """Make a PyTorch module callable with stimuli and layer names.

    Parameters
    ----------
    model : torch.nn.Module
        Moved to the GPU if there is one; run in evaluation mode and without gradients.
    preprocessing : callable
        Takes a list of paths and returns the batch, an array (input, ...) or a list of arrays, such as
        ``functools.partial(load_preprocess_images, image_size=224)``.
    identifier : str or None
        Of the model; None is the name of the module's class.
    readout_layer : str or None
        Name of the layer that ``'logits'`` stands for. None is the last module in the order of registration, which
        is wrong for networks that register, for example, an activation function after the classifier.
    **kwargs
        Passed to `ActivationsExtractorHelper`, such as ``batch_size``.
    """

    def __init__(
        self,
        model: nn.Module,
        preprocessing: Preprocessing,
        identifier: str | None = None,
        forward_kwargs: Mapping[str, object] | None = None,
        *,
        readout_layer: str | None = None,
        **kwargs: Any,  # checked by ActivationsExtractorHelper
    ) -> None:
        self._logger = logging.getLogger(f"{__name__}.{type(self).__name__}")
        self._device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self._model = model.to(self._device)
        self._forward_kwargs = dict(forward_kwargs or {})
        self.readout_layer = readout_layer
        self._extractor = self._build_extractor(
            identifier=identifier or type(model).__name__,
            preprocessing=preprocessing,
            get_activations=self.get_activations,
            **kwargs,
        )
        if self._extractor.model_digest is None:
            self._extractor.model_digest = self._digest
        self._extractor.insert_attrs(self)

    def _build_extractor(
        self,
        identifier: str,
        preprocessing: Preprocessing,
        get_activations: Callable[..., Mapping[str, Array]],
        **kwargs: Any,  # checked by ActivationsExtractorHelper
    ) -> ActivationsExtractorHelper:
        return ActivationsExtractorHelper(
            get_activations=get_activations, preprocessing=preprocessing, identifier=identifier, **kwargs
        )

    @property
    def identifier(self) -> str:
        """Name of the model in the coordinates of its activations."""
        return str(self._extractor.identifier)

    @identifier.setter
    def identifier(self, value: str) -> None:
        self._extractor.identifier = value

    def __call__(self, *args: Any, **kwargs: Any) -> NeuroidAssembly:  # checked by the extractor
        """Return the activations of layers; see `ActivationsExtractorHelper.__call__`."""
        return self._extractor(*args, **kwargs)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.identifier!r}, {self._model!r})"

    def get_activations(
        self, images: Sequence[npt.ArrayLike | torch.Tensor] | Array | torch.Tensor, layer_names: Sequence[str]
    ) -> OrderedDict[str, Array]:
        """Run the module on one batch.

        Returns
        -------
        OrderedDict of str to array (input, ...)
            Output of each layer; of the last call for a layer that runs several times.
        """
        layers = [(name, self.get_layer(name)) for name in layer_names]  # before the forward pass: names may be wrong
        inputs = self._to_input(images)
        self._model.eval()
        results: OrderedDict[str, Array] = OrderedDict()
        handles = []
        try:
            for name, layer in layers:
                handles.append(self.register_hook(layer, name, target_dict=results))
            with torch.no_grad():
                self._model(inputs, **self._forward_kwargs)
        finally:
            for handle in handles:
                handle.remove()
        return results

    def _to_input(self, images: Sequence[npt.ArrayLike | torch.Tensor] | Array | torch.Tensor) -> torch.Tensor:
        if isinstance(images, torch.Tensor):
            batch = images
        elif isinstance(images, np.ndarray):
            batch = torch.from_numpy(np.ascontiguousarray(images))
        else:
            batch = torch.stack([torch.as_tensor(image) for image in images])
        parameter = next(self._model.parameters(), None)
        return batch.to(self._device, dtype=torch.float32 if parameter is None else parameter.dtype)

    def get_layer(self, layer_name: str) -> nn.Module:
        """Return the module of a dotted name.

        Parameters
        ----------
        layer_name : str
            Such as ``'features.3.conv'``; ``'logits'`` is the readout.

        Raises
        ------
        LayerNotFoundError
            There is no such module; the message lists the nearest names.
        """
        if layer_name == "logits":
            return self._output_layer()
        module: nn.Module | None = self._model
        for part in layer_name.split("."):
            module = getattr(module, "_modules", {}).get(part)
            if module is None:
                raise LayerNotFoundError(self._unknown_layer(layer_name))
        if module is None:
            raise LayerNotFoundError(self._unknown_layer(layer_name))
        return module

    def _unknown_layer(self, layer_name: str) -> str:
        names = [name for name, _ in self._model.named_modules() if name]
        remedy = did_you_mean(layer_name, names, 3) or f" It has {', '.join(names[:20])}."
        return f"Model {self.identifier!r} has no layer {layer_name!r} ({len(names)} known).{remedy}"

    def _output_layer(self) -> nn.Module:
        if self.readout_layer is not None and self.readout_layer != "logits":
            return self.get_layer(self.readout_layer)
        module = self._model
        while module._modules:  # noqa: SLF001 - the order of registration, for a name that may belong to no attribute
            last = next(reversed(module._modules.values()))  # noqa: SLF001
            if last is None:
                break
            module = last
        return module

    @classmethod
    def _tensor_to_numpy(cls, output: torch.Tensor) -> Array:
        values = output.detach().cpu()
        # NumPy has no bfloat16.
        return (values.float() if values.dtype == torch.bfloat16 else values).numpy().copy()

    def register_hook(
        self, layer: nn.Module, layer_name: str, target_dict: dict[str, Array]
    ) -> torch.utils.hooks.RemovableHandle:
        """Have a layer put its output into a dict by its name; override it for layers with another kind of output."""

        def keep_output(_layer: nn.Module, _inputs: object, output: torch.Tensor) -> None:
            try:
                target_dict[layer_name] = self._tensor_to_numpy(output)
            except (TypeError, AttributeError) as error:
                if isinstance(output, torch.Tensor):
                    raise
                raise TypeError(
                    f"Layer {layer_name!r} of model {self.identifier!r} returns a {type(output).__name__}, not a "
                    "tensor. Read out one of its parts, or override PytorchWrapper._tensor_to_numpy(output)."
                ) from error

        return layer.register_forward_hook(keep_output)

    def layers(self) -> Iterator[tuple[str, nn.Module]]:
        """Give name and module of every module that holds no other."""
        for name, module in self._model.named_modules():
            if not any(True for _ in module.children()):
                yield name, module

    def _digest(self) -> str:
        """Return a digest of all that changes activations; raise TypeError if a part has none."""
        settings = {name: value for name, value in vars(self).items() if name not in _NOT_SETTINGS}
        return content_digest(
            torch.__version__,
            describe(type(self)),
            describe(settings),
            describe(self._forward_kwargs),
            describe(self._model) if not isinstance(self._model, nn.Module) else describe_module(self._model),
            describe(type(self._extractor)),
        )


class _WithoutCaching:
    """Act as a wrapper, but never use the activation cache when called."""

    _wrapper: Callable[..., NeuroidAssembly]

    def __init__(self, wrapper: Callable[..., NeuroidAssembly]) -> None:
        object.__setattr__(self, "_wrapper", wrapper)

    def __call__(self, *args: Any, **kwargs: Any) -> NeuroidAssembly:  # checked by the wrapper
        with without_cache():
            return self._wrapper(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:  # whatever the wrapper has
        if name == "_wrapper":  # not there before __init__ has run (copy, pickle)
            raise AttributeError(name)
        return getattr(self._wrapper, name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self._wrapper, name, value)


def disable_activation_caching(wrapper: Callable[..., NeuroidAssembly]) -> Callable[..., NeuroidAssembly]:
    """Return the wrapper with the activation cache off for its own calls only."""
    return _WithoutCaching(wrapper)
