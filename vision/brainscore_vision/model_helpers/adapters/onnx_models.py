"""Adapt ONNX files and sessions of ONNX Runtime."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from brainscore_core.errors import AssemblyError, ConfigurationError, CorruptFileError
from brainscore_core.identity.digest import content_digest
from brainscore_vision.model_helpers.activations.extractor import ActivationsExtractorHelper
from brainscore_vision.model_helpers.adapters.adapted import (
    Adapted,
    Request,
    check_layers,
    classes_of,
    identifier_for,
    import_framework,
)
from brainscore_vision.model_helpers.adapters.preprocessing import NAMED, preprocessing_from

if TYPE_CHECKING:
    from brainscore_vision.model_helpers.activations.cache.layout import Array

__all__ = ["OnnxGraph", "adapt", "is_onnx"]

_DTYPES = {
    "tensor(float)": np.float32,
    "tensor(float16)": np.float16,
    "tensor(double)": np.float64,
    "tensor(uint8)": np.uint8,
}


class OnnxGraph:
    """Run an ONNX model, with external weights next to its file, and read out any tensor.

    Raises
    ------
    CorruptFileError
        The file is no ONNX model, or external weights are missing.
    ConfigurationError
        The file does not exist.
    RequirementsError
        The packages onnx or onnxruntime are missing.
    """

    def __init__(self, path: Path) -> None:
        onnx = import_framework("onnx", f"The ONNX file {str(path)!r}", "onnx onnxruntime")
        self._runtime = import_framework("onnxruntime", f"The ONNX file {str(path)!r}", "onnxruntime")
        if not path.is_file():
            raise ConfigurationError(f"The ONNX file {str(path)!r} does not exist.")
        try:
            self._model = onnx.load(str(path))
            onnx.checker.check_model(self._model)
        except Exception as error:  # onnx and protobuf have no common class of errors
            raise CorruptFileError(f"{str(path)!r} cannot be read as an ONNX model: {error}") from error
        self._new_output = onnx.ValueInfoProto
        self.outputs = [output.name for output in self._model.graph.output]
        nodes = [node for node in self._model.graph.node if node.op_type != "Constant"]
        self._tensor_of = {node.name: node.output[0] for node in nodes if node.name and node.output}
        self._tensor_of |= {name: name for node in nodes for name in node.output if name}
        self._session_of = lru_cache(maxsize=1)(self._make_session)

    @property
    def layers(self) -> list[str]:
        """Names of nodes and their output tensors, in the graph's order."""
        return list(self._tensor_of)

    def digest(self) -> str:
        """Return a digest of graph, weights and runtime."""
        content = self._model.SerializeToString(deterministic=True)
        return content_digest(content, self._runtime.__version__, self._runtime.get_available_providers())

    def session(self, layers: Sequence[str]) -> tuple[Any, list[str]]:
        """Return a session with layers as outputs, and their tensors' names."""
        tensors = [self._tensor_of[layer] for layer in layers]
        return self._session_of(tuple(dict.fromkeys(tensors))), tensors

    def _make_session(self, tensors: tuple[str, ...]) -> Any:  # onnxruntime has no types
        model = type(self._model)()
        model.CopyFrom(self._model)
        model.graph.output.extend(self._new_output(name=name) for name in tensors if name not in self.outputs)
        providers = self._runtime.get_available_providers()
        return self._runtime.InferenceSession(model.SerializeToString(), providers=providers)


class _Session:
    def __init__(self, session: Any) -> None:
        self._session = session
        self.outputs = self.layers = [output.name for output in session.get_outputs()]

    def digest(self) -> str:
        raise TypeError("a session does not show its weights")

    def session(self, layers: Sequence[str]) -> tuple[Any, list[str]]:
        return self._session, list(layers)


def is_onnx(model: object) -> bool:
    """Tell whether a model is an ``.onnx`` path or a session."""
    if isinstance(model, (str, Path)):
        return Path(model).suffix.lower() == ".onnx"
    return classes_of(model, "onnxruntime") and hasattr(model, "get_inputs")


def adapt(model: Any, request: Request) -> Adapted:
    """Wrap an ONNX file or session.

    Any tensor of a file can be read out, by its name or its node's; by default its outputs. A session, whose weights
    are hidden, gives only its outputs and is never cached. `ConfigurationError` if the preprocessing is missing or has
    results of the wrong shape, `LayerNotFoundError` for layers outside the graph.
    """
    is_path = isinstance(model, (str, Path))
    graph: OnnxGraph | _Session = OnnxGraph(Path(model)) if is_path else _Session(model)
    identifier = request.identifier or identifier_for(Path(model).stem if is_path else "onnx", graph.digest)
    layers = check_layers(request.layers or graph.outputs, graph.layers, identifier)
    readout = check_layers([request.readout_layer or graph.outputs[-1]], graph.layers, identifier)[0]
    session, _ = graph.session(layers)
    inputs = session.get_inputs()
    if request.preprocessing is None or len(inputs) != 1:
        raise ConfigurationError(_what_inputs(identifier, inputs))

    def get_activations(images: npt.NDArray[np.generic], layer_names: Sequence[str]) -> OrderedDict[str, Array]:
        names = [readout if layer == "logits" else layer for layer in layer_names]
        check_layers(names, graph.layers, identifier)
        running, tensors = graph.session(names)
        by_tensor = dict(zip(tensors, _run(running, tensors, images, identifier), strict=True))
        return OrderedDict((layer, by_tensor[tensor]) for layer, tensor in zip(layer_names, tensors, strict=True))

    extractor = ActivationsExtractorHelper(
        get_activations=get_activations,
        preprocessing=preprocessing_from(request.preprocessing),
        identifier=identifier,
        batch_size=request.batch_size,
        model_digest=lambda: content_digest(graph.digest(), readout),
    )
    return Adapted(identifier=identifier, activations_model=extractor, layers=layers)


def _what_inputs(identifier: str, inputs: Sequence[Any]) -> str:
    described = ", ".join(f"{tensor.name!r} {tensor.shape} {tensor.type}" for tensor in inputs)
    if len(inputs) != 1:
        return f"Model {identifier!r} takes {len(inputs)} inputs ({described}); expected one, the pictures."
    size = inputs[0].shape[-1]
    example = f"preprocessing='imagenet-{size if isinstance(size, int) and size > 3 else 224}'"
    return (
        f"An ONNX model does not declare the preprocessing of its input ({described}). Name it, such as {example}; "
        f"names are {NAMED}. Or pass a function from a PIL image to an array (channel, height, width)."
    )


def _run(session: Any, tensors: list[str], images: npt.NDArray[np.generic], identifier: str) -> list[Array]:
    (tensor,) = session.get_inputs()
    sides = [side if isinstance(side, int) else None for side in tensor.shape]
    if len(sides) != images.ndim or any(
        side not in (None, actual) for side, actual in zip(sides[1:], images.shape[1:], strict=False)
    ):
        raise ConfigurationError(
            f"The preprocessing of model {identifier!r} gives inputs of shape {images.shape}; expected {tensor.shape} "
            f"({tensor.name!r}). Pass a preprocessing that fits."
        )
    if tensor.type not in _DTYPES:
        raise AssemblyError(f"Model {identifier!r} takes {tensor.type}; expected numbers, {', '.join(_DTYPES)}.")
    images = images.astype(_DTYPES[tensor.type], copy=False)
    size = sides[0] or len(images)
    parts = []
    for start in range(0, len(images), size):
        batch = images[start : start + size]
        # Padded with the last picture to the exported size.
        padding = np.repeat(batch[-1:], size - len(batch), axis=0)
        outputs = session.run(tensors, {tensor.name: np.concatenate([batch, padding])})
        for name, output in zip(tensors, outputs, strict=True):
            if sides[0] and np.shape(output)[:1] != (size,):  # cutting off the padding would cut steps or tokens
                raise AssemblyError(
                    f"Tensor {name!r} of model {identifier!r} has shape {np.shape(output)} for {size} pictures; "
                    "expected the pictures on the first axis. Export the model with a variable number of pictures."
                )
        parts.append([np.asarray(output)[: len(batch) if sides[0] else None] for output in outputs])
    return [np.concatenate(outputs) for outputs in zip(*parts, strict=True)]
