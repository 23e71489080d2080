"""Read out the layers of PyTorch modules."""

from __future__ import annotations

import copy
import logging
import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from brainscore_core.errors import LayerNotFoundError, did_you_mean
from brainscore_core.identity.digest import content_digest
from brainscore_vision.identity.objects import NotDigestibleError, describe, describe_structure, describe_weights
from brainscore_vision.model_helpers.activations.extractor import ActivationsExtractorHelper
from brainscore_vision.model_helpers.activations.steadiness import weight_sums
from brainscore_vision.model_helpers.activations.tensors import (
    WRONG_SHAPE,
    InputShapeError,
    device_of,
    evaluation_mode,
    first_tensor,
    kind_of,
    new_batch,
    part_of,
    split_parts,
    tensors_in,
    to_numpy,
)
from brainscore_vision.model_helpers.activations.trials import random_state_as_before

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
    from brainscore_vision.model_helpers.activations.batches import Preprocessing
    from brainscore_vision.model_helpers.activations.cache.layout import Array

__all__ = ["PytorchWrapper"]

Precision = Literal["autocast", "float16", "bfloat16"]

_STEP = re.compile(r"-t\d+$")
_NEEDS_CONTIGUOUS = "view size is not compatible"  # PyTorch's message if a network calls `view` on channels last
# Attributes of a wrapper with their own digest or without effect on activations.
_NOT_SETTINGS = frozenset(
    {
        "_model", "_in_float32", "_extractor", "_forward_kwargs", "_logger", "_mentioned", "image_size",
        "precision_deviation", "n_classes", "_channels_last",
        "from_paths", "from_stimulus_set", "register_batch_activations_hook", "register_stimulus_set_hook",
    }
)  # fmt: skip


class PytorchWrapper:
    """Make a PyTorch module callable with stimuli and layer names.

    Of several runs of a layer in one forward pass, the last counts. A call restores the module's hooks and training
    modes; an exception also restores random numbers.

    Parameters
    ----------
    model
        Run in evaluation mode and without gradients.
    preprocessing
        Takes a list of paths and returns the batch, an array (input, ...) or a list of arrays, such as
        ``functools.partial(load_preprocess_images, image_size=224)``.
    identifier
        None is the name of the module's class.
    readout_layer
        Layer for ``'logits'``. None is the last registered module; a number of units other than `n_classes` gives a
        warning.
    precision : {'autocast', 'float16', 'bfloat16'} or None
        None: the weights' own. ``autocast`` lets PyTorch choose for each operation; the others run a copy of the module
        with weights of that type. Each layer's first batch is computed in float32 too, and its deviation logged.
    device
        Such as ``'cpu'``, ``'cuda:1'`` or ``'mps'``. None: see `device_of`.
    **kwargs
        Arguments of `ActivationsExtractorHelper`, such as ``batch_size``.

    Attributes
    ----------
    precision_deviation
        By layer: largest difference from float32 over the first batch, relative to the largest float32 value.
    n_classes
        Expected units of the readout, set by `ModelCommitment`; None: any number.

    Examples
    --------
    A subclass may change the recorded values; the cache key includes its code:

    >>> class Rectified(PytorchWrapper):
    ...     def get_activations(self, images, layer_names):
    ...         recorded = super().get_activations(images, layer_names)
    ...         return {name: values.clip(min=0) for name, values in recorded.items()}
    >>> wrapper = Rectified(torch.nn.Sequential(torch.nn.Flatten()), preprocessing=None, identifier='pixels')
    >>> wrapper.get_activations([[-1.0, 1.0]], ['0'])['0'].tolist()
    [[0.0, 1.0]]
    """

    def __init__(
        self,
        model: nn.Module,
        preprocessing: Preprocessing,
        identifier: str | None = None,
        forward_kwargs: Mapping[str, object] | None = None,
        *,
        readout_layer: str | None = None,
        precision: Precision | None = None,
        device: str | torch.device | None = None,
        **kwargs: Any,  # checked by ActivationsExtractorHelper
    ) -> None:
        if precision is not None and precision not in get_args(Precision):
            raise ValueError(f"precision is {precision!r}; expected None or one of {', '.join(get_args(Precision))}.")
        self._logger = logging.getLogger(f"{__name__}.{type(self).__name__}")
        self._device = device_of(device)
        self._in_float32 = model.to(self._device)
        self.precision = precision
        self._model = self._in_float32
        if precision in ("float16", "bfloat16"):
            self._model = copy.deepcopy(self._in_float32).to(getattr(torch, precision))
        self.precision_deviation: dict[str, float] = {}
        self._mentioned: set[str] = set()
        self._channels_last = self._device.type == "cpu"  # there, convolutions are faster with this order in memory
        self._forward_kwargs = dict(forward_kwargs or {})
        self.readout_layer = readout_layer
        self.n_classes: int | None = 1000  # of ImageNet
        self._extractor = self._build_extractor(
            identifier=identifier or type(model).__name__,
            preprocessing=preprocessing,
            get_activations=self.get_activations,
            **kwargs,
        )
        if getattr(self._extractor, "model_digest", self) is None:  # extractors of plugins may lack it
            self._extractor.model_digest = self._digest
        if getattr(self._extractor, "weight_sums", self) is None:
            self._extractor.weight_sums = lambda: weight_sums(self._model)
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
        """See `ActivationsExtractorHelper.__call__`."""
        return self._extractor(*args, **kwargs)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.identifier!r}, {self._model!r})"

    def get_activations(
        self, images: Sequence[npt.ArrayLike | torch.Tensor] | Array | torch.Tensor, layer_names: Sequence[str]
    ) -> OrderedDict[str, Array]:
        """Run one batch and return each layer's output in its last run, its axes as the layer orders them.

        A call of the wrapper moves the axis of the inputs to the front.

        Parameters
        ----------
        images : array or tensor (input, ...), or sequence of such without the first axis
            Converted to the device and type of the module's weights.
        layer_names
            See `get_layer`. The first of several tensors is recorded; brackets name another part: ``'lstm[1][0]'``,
            ``'encoder[pooler_output]'``.

        Raises
        ------
        LayerNotFoundError
            The module has no layer of that name, or its output no such part.
        TypeError
            The images are not numbers, or a layer returns no tensor.
        ValueError
            The images differ in shape.
        InputShapeError
            A layer cannot take images of this shape.
        """
        try:
            recorded = self._record(images, layer_names)
        except RuntimeError as error:
            if not self._channels_last or _NEEDS_CONTIGUOUS not in str(error):
                raise
            self._channels_last = False
            recorded = self._record(images, layer_names)
        unknown = [name for name in recorded if name not in self.precision_deviation] if self.precision else []
        if unknown:
            self._measure_deviation(images, {name: recorded[name] for name in unknown})
        return recorded

    def _record(
        self, images: Sequence[npt.ArrayLike | torch.Tensor] | Array | torch.Tensor, layer_names: Sequence[str]
    ) -> OrderedDict[str, Array]:
        layers = [(name, self.get_layer(name)) for name in layer_names]  # before the forward pass: names may be wrong
        inputs = self._to_input(images)
        results: OrderedDict[str, Array] = _Copies()
        handles = []
        try:
            for name, layer in layers:
                handles.append(self.register_hook(layer, name, target_dict=results))
            with (
                random_state_as_before(only_after_an_error=True),
                torch.no_grad(),
                self._autocast(),
                evaluation_mode(self._model),
            ):
                self._forward(inputs)
        except (RuntimeError, TypeError, ValueError) as error:
            batch = f"{kind_of(inputs)}, as its preprocessing made it"
            if isinstance(error, RuntimeError) and WRONG_SHAPE.search(str(error)):
                raise InputShapeError(
                    f"The model {self.identifier!r} cannot take {batch} ({error}). Most networks expect (stimulus, "
                    "channel, height, width) with 3 channels, at the size that they were made for: check the "
                    "preprocessing, such as functools.partial(load_preprocess_images, image_size=224)."
                ) from error
            error.add_note(f"The model {self.identifier!r} was shown {batch}.")
            raise
        finally:
            for handle in handles:
                handle.remove()
        if "logits" in results and self.readout_layer is None:
            self._mention_readout(np.shape(results["logits"]))
        return results

    def _forward(self, inputs: Any) -> Any:  # any input and output of a module
        return self._model(inputs, **self._forward_kwargs)

    def _autocast(self) -> AbstractContextManager[object]:
        return torch.autocast(self._device.type) if self.precision == "autocast" else nullcontext()

    def _measure_deviation(
        self, images: Sequence[npt.ArrayLike | torch.Tensor] | Array | torch.Tensor, recorded: Mapping[str, Array]
    ) -> None:
        model, precision = self._model, self.precision
        self._model, self.precision = self._in_float32, None
        try:
            exact = self._record(images, list(recorded))
        finally:
            self._model, self.precision = model, precision
        for name, values in recorded.items():
            reference = exact[name].astype(np.float64)
            largest = np.abs(reference).max(initial=0.0)
            difference = np.abs(values.astype(np.float64) - reference).max(initial=0.0)
            self.precision_deviation[name] = float(difference / largest) if largest else float(difference)
        worst = max(recorded, key=lambda name: self.precision_deviation[name])
        self._logger.warning(
            "With precision=%r, the first batch of %r deviates from float32 by at most %.2g of the largest value of a "
            "layer (%s); precision_deviation has each layer.",
            precision, self.identifier, self.precision_deviation[worst], worst,
        )  # fmt: skip

    def _to_input(self, images: Sequence[npt.ArrayLike | torch.Tensor] | Array | torch.Tensor) -> torch.Tensor:
        batch = new_batch(images)
        weights = (parameter.dtype for parameter in self._model.parameters() if parameter.is_floating_point())
        dtype = next(weights, torch.float32)
        if self._device.type == "mps":  # it has no double precision: the type first
            batch = batch.to(dtype)
        batch = batch.to(self._device, dtype=dtype)
        return batch.contiguous(memory_format=torch.channels_last) if self._channels_last and batch.ndim == 4 else batch

    def get_layer(self, layer_name: str) -> nn.Module:
        """Return a module by dotted name, such as ``'features.3.conv'``; `LayerNotFoundError` names the nearest.

        ``'logits'`` is the readout; parts in brackets are ignored.
        """
        name, _ = split_parts(layer_name)
        if name == "logits":
            return self._output_layer()
        module: nn.Module | None = self._model
        for part in name.split("."):
            modules = getattr(module, "_modules", {})
            module = modules[part] if part in modules else None  # noqa: SIM401 - scripted modules have no `get`
        if module is None:
            raise LayerNotFoundError(self._unknown_layer(name))
        return module

    def check_layers(self, layer_names: Iterable[str]) -> None:
        """Raise `LayerNotFoundError`, naming all layers that the module lacks.

        Wrappers that replace `get_activations` or `get_layer` are not checked.
        """
        if type(self).get_activations is not PytorchWrapper.get_activations:
            return
        problems = []
        for name in dict.fromkeys(layer_names):
            try:
                self.get_layer(_STEP.sub("", name))
            except LayerNotFoundError as error:
                problems.append(str(error))
            except Exception as error:  # noqa: BLE001 - a plugin's own look-up, which may need a forward pass
                self._logger.debug("Layer %r cannot be checked before it is recorded: %s", name, error)
        if problems:
            raise LayerNotFoundError(" ".join(problems))

    def _unknown_layer(self, layer_name: str) -> str:
        names = [name for name, _ in self._model.named_modules() if name]
        remedy = did_you_mean(layer_name, names, 3) or f" It has {', '.join(names[:20])}."
        return f"Model {self.identifier!r} has no layer {layer_name!r} ({len(names)} known).{remedy}"

    def _output_layer(self) -> nn.Module:
        if self.readout_layer is not None and self.readout_layer != "logits":
            return self.get_layer(self.readout_layer)
        module = self._model
        while module._modules:  # noqa: SLF001 - the order of registration, also of names that are not attributes
            last = next(reversed(module._modules.values()))  # noqa: SLF001
            if last is None:
                break
            module = last
        return module

    @classmethod
    def _tensor_to_numpy(cls, output: torch.Tensor) -> Array:
        """Plugins override it."""
        return to_numpy(first_tensor(output))

    def register_hook(
        self, layer: nn.Module, layer_name: str, target_dict: dict[str, Array]
    ) -> torch.utils.hooks.RemovableHandle:
        """Record a layer's output into a dict by name; override it for other kinds of output."""
        _, parts = split_parts(layer_name)

        def keep_output(_layer: nn.Module, _inputs: object, output: Any) -> None:  # any output of a layer
            part = part_of(output, parts, layer_name)
            self._mention_others(part, layer_name)
            try:
                target_dict[layer_name] = self._tensor_to_numpy(part)
            except (TypeError, AttributeError) as error:
                if isinstance(part, torch.Tensor):
                    raise
                raise TypeError(
                    f"Layer {layer_name!r} of model {self.identifier!r} returns a {type(part).__name__} without a "
                    "tensor. Read out one of its parts, or override PytorchWrapper._tensor_to_numpy(output)."
                ) from error

        return layer.register_forward_hook(keep_output)

    def _mention_readout(self, shape: Sequence[int]) -> None:
        n_units = int(np.prod(shape[1:]))
        if self.n_classes in (None, n_units) or "logits" in self._mentioned:
            return
        self._mentioned.add("logits")
        last = self._output_layer()
        name = next((name for name, module in self._model.named_modules() if module is last), "")
        self._logger.warning(
            "The model %r does not declare its readout, so 'logits' is its last module, %r; it has %d units, not "
            "one for each of %d classes. Declare it: PytorchWrapper(..., readout_layer='<layer>').",
            self.identifier, name, n_units, self.n_classes,
        )  # fmt: skip

    def _mention_others(self, output: Any, layer_name: str) -> None:  # any output of a layer
        if isinstance(output, torch.Tensor) or layer_name in self._mentioned:
            return
        self._mentioned.add(layer_name)
        labels = [f"{layer_name}{label}" for label, _ in tensors_in(output)]
        if len(labels) > 1:
            self._logger.info("Layer %r gives its first tensor; it returns %s.", layer_name, ", ".join(labels))

    def layers(self) -> Iterator[tuple[str, nn.Module]]:
        """Yield name and module of every leaf."""
        for name, module in self._model.named_modules():
            if not any(True for _ in module.children()):
                yield name, module

    def weights_digest(self) -> str | None:
        """Return a digest of parameters and buffers; None if they have none."""
        try:
            return self._weights_digest() if isinstance(self._model, nn.Module) else None
        except NotDigestibleError:
            return None

    def _weights_digest(self) -> str:
        return content_digest(describe_weights(self._model) if isinstance(self._model, nn.Module) else None)

    def _digest(self) -> dict[str, str]:
        settings = {name: value for name, value in vars(self).items() if name not in _NOT_SETTINGS}
        wrapper = [describe(type(self)), describe(type(self._extractor)), describe(settings)]
        is_module = isinstance(self._model, nn.Module)
        model = describe_structure(self._model) if is_module else describe(self._model)
        return {
            "code and settings": content_digest(wrapper, describe(self._forward_kwargs), model),
            "weights": self._weights_digest(),
            "device": str(self._device),
        }


class _Copies(OrderedDict[str, Any]):  # any values of an overridden `register_hook`
    def __setitem__(self, layer_name: str, values: Any) -> None:
        if isinstance(values, np.ndarray) and not values.flags.owndata:
            values = values.copy()
        super().__setitem__(layer_name, values)
