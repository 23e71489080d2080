"""Read out PyTorch modules that take videos."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from brainscore_vision.model_helpers.activations.module_wrapper import PytorchWrapper as _ImageWrapper
from brainscore_vision.model_helpers.activations.temporal.extractor import ActivationsExtractor
from brainscore_vision.model_helpers.activations.temporal.inferencers import Inferencer, TemporalInferencer

if TYPE_CHECKING:
    from torch import nn
    from torch.utils.hooks import RemovableHandle

    from brainscore_vision.model_helpers.activations.cache.layout import Array
    from brainscore_vision.model_helpers.activations.temporal.inputs import Video

__all__ = ["PytorchWrapper", "VideoPytorchWrapper"]

ProcessOutput = Callable[["nn.Module", str, Any, Any], Any]  # (layer, its name, its inputs, its output) -> output


class VideoPytorchWrapper(_ImageWrapper):
    """Make a PyTorch module that takes videos callable with stimuli and layer names.

    Parameters
    ----------
    preprocessing
        Takes one `Video` (see its `to_numpy`) and returns one input of the module, a tensor. Override `forward` for
        inputs that cannot be stacked.
    process_output
        ``process_output(layer, layer_name, inputs, output)`` returns the tensor (input, ...) to record, with the axes
        of ``layer_activation_format``. None: the output itself.
    inferencer_cls
        Shows whole videos, or clips (`BlockInferencer`, `CausalInferencer`).
    **kwargs
        ``device``, ``precision``, ``readout_layer``, ``forward_kwargs``, ``stochastic`` and ``seed`` as for models of
        images; others are the inferencer's, such as ``fps``, ``layer_activation_format``, ``num_frames``.
    """

    def __init__(
        self,
        identifier: str,
        model: nn.Module,
        preprocessing: Callable[[Video], Any],
        process_output: ProcessOutput | None = None,
        inferencer_cls: type[Inferencer] = TemporalInferencer,
        **kwargs: Any,  # checked by the inferencer
    ) -> None:
        self._process_activation = process_output or (lambda _layer, _layer_name, _inputs, output: output)
        super().__init__(
            model,
            preprocessing,  # type: ignore[arg-type]  # of one video, not of a list of paths
            identifier,
            inferencer_cls=inferencer_cls,
            **kwargs,
        )

    def _build_extractor(
        self,
        identifier: str,
        preprocessing: Callable[..., Any],
        get_activations: Callable[..., Mapping[str, Array]],
        **kwargs: Any,  # checked by the inferencer
    ) -> ActivationsExtractor:
        shared = {name: kwargs.pop(name) for name in ("stochastic", "seed") if name in kwargs}
        inferencer = kwargs.pop("inferencer_cls")(get_activations, preprocessing, **kwargs)
        return ActivationsExtractor(inferencer, identifier, **shared)

    def forward(self, inputs: list[Any]) -> Any:  # any output of a module
        """Run the module on a list of preprocessed stimuli; override it to call the module differently."""
        return self._model(super()._to_input(inputs), **self._forward_kwargs)

    def _to_input(self, images: Any) -> Any:  # `forward` gets the result of the preprocessing
        return images

    def _forward(self, inputs: Any) -> Any:  # any output of a module
        return self.forward(inputs)

    def register_hook(self, layer: nn.Module, layer_name: str, target_dict: dict[str, Array]) -> RemovableHandle:
        """Record a layer's output, after `process_output`, by name."""
        return self._register_hook(layer, layer_name, target_dict)

    def _register_hook(self, layer: nn.Module, layer_name: str, target_dict: dict[str, Array]) -> RemovableHandle:
        """Do as `register_hook`; published plugins override it."""

        def keep_output(module: nn.Module, inputs: Any, output: Any) -> None:  # any input and output of a layer
            processed = self._process_activation(module, layer_name, inputs, output)
            target_dict[layer_name] = self._tensor_to_numpy(processed)

        return layer.register_forward_hook(keep_output)


PytorchWrapper = VideoPytorchWrapper  # name in published plugins
