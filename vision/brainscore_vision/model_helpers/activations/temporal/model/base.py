"""Bring a model of video of any framework."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from brainscore_vision.model_helpers.activations.temporal.extractor import ActivationsExtractor
from brainscore_vision.model_helpers.activations.temporal.inferencers import Inferencer, TemporalInferencer

if TYPE_CHECKING:
    import numpy.typing as npt

    from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly

__all__ = ["ActivationWrapper"]


class ActivationWrapper:
    """Make a model of video callable with stimuli and layer names; implement `get_activations`.

    Parameters
    ----------
    preprocessing
        Takes one `Video` (or `Image`, by the inferencer) and returns one input of the model.
    inferencer_cls
        Subclass of `Inferencer`.
    **kwargs
        Its arguments, such as ``fps`` and ``layer_activation_format``.
    """

    def __init__(
        self,
        identifier: str,
        preprocessing: Callable[[Any], Any],
        inferencer_cls: type[Inferencer] = TemporalInferencer,
        **kwargs: Any,  # checked by the inferencer
    ) -> None:
        self.identifier = identifier
        self.preprocessing = preprocessing
        inferencer = inferencer_cls(self.get_activations, preprocessing, **kwargs)
        self._extractor = ActivationsExtractor(inferencer, identifier)
        self._extractor.insert_attrs(self)

    def get_activations(self, inputs: list[Any], layers: list[str]) -> Mapping[str, npt.ArrayLike]:
        """Return arrays (input, ...) by layer for a list of preprocessed stimuli."""
        raise NotImplementedError(f"{type(self).__name__} does not implement get_activations(inputs, layers).")

    def __call__(self, *args: Any, **kwargs: Any) -> NeuroidAssembly:  # checked by the extractor
        """See `ActivationsExtractor`."""
        return self._extractor(*args, **kwargs)
