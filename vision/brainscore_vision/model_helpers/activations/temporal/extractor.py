"""Record the activations of a model of video of any framework, labelled and cached."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from brainscore_core.errors import ConfigurationError
from brainscore_core.identity.digest import content_digest
from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
from brainscore_vision.identity.objects import describe
from brainscore_vision.model_helpers.activations.extractor import ActivationsExtractorHelper
from brainscore_vision.model_helpers.activations.temporal.inferencers import (
    AXES,
    Inferencer,
    PreparedStimulus,
    TemporalInferencer,
)
from brainscore_vision.model_helpers.activations.temporal.inputs import Image, Video

if TYPE_CHECKING:
    import numpy.typing as npt

    from brainscore_vision.model_helpers.activations.cache.layout import Array, Recorded
    from brainscore_vision.model_helpers.activations.extraction import Extraction
    from brainscore_vision.model_helpers.activations.trials import Trials

__all__ = ["ActivationWrapper", "ActivationsExtractor"]


class ActivationsExtractor(ActivationsExtractorHelper):
    """Show stimulus files to a model of video, and return its layers' activations over time.

    Parameters
    ----------
    inferencer
        Cuts stimuli into clips, names the axes of layers.
    identifier
        False: nothing is cached.
    visual_degrees
        Width of the field of view, degrees.
    model_digest
        See `ActivationsExtractorHelper`.

    Notes
    -----
    A call returns a NeuroidAssembly (presentation, neuroid, time_bin), (presentation, neuroid) for an `Inferencer`
    without time, in the ``dtype`` of the inferencer. Bins last 1000 / fps ms, from 0 to the end of the longest
    stimulus; values are NaN after the end of a shorter one. Levels of neuroid: ``neuroid_num`` (from 0 in each layer),
    ``model``, ``layer``, ``neuroid_id``, and the position of the unit in its layer, ``channel``, ``channel_x``,
    ``channel_y``, ``channel_token``, ``channel_temporal``, NaN if a layer lacks the axis.
    """

    def __init__(
        self,
        inferencer: Inferencer,
        identifier: str | bool = False,
        visual_degrees: float = 8,
        *,
        model_digest: Callable[[], str] | None = None,
        **kwargs: Any,  # checked by ActivationsExtractorHelper
    ) -> None:
        self.inferencer = inferencer
        self._durations: dict[str, float] = {}  # of the current stimuli, ms
        super().__init__(
            self._run,
            partial(_prepare_still, inferencer.preprocessing, inferencer.stimulus_type, getattr(inferencer, "fps", 1)),
            identifier,
            inferencer.batch_size,
            model_digest=model_digest,
            **kwargs,
        )
        self.set_visual_degrees(visual_degrees)

    def set_visual_degrees(self, visual_degrees: float) -> None:
        """Set the width of the field of view, degrees."""
        super().set_visual_degrees(visual_degrees)
        self.inferencer.set_visual_degrees(visual_degrees)

    def _trials(self, number_of_trials: int, *, require_variance: bool) -> Trials:
        if require_variance:
            raise ConfigurationError(
                f"require_variance=True moves still images; model {self.identifier!r} takes videos. Ask without it."
            )
        return super()._trials(number_of_trials, require_variance=False)

    def _extraction(self, paths: list[str], layers: list[str], trials: Trials) -> Extraction:
        for layer in layers:
            self.inferencer.axes_of(layer)
        stimuli = {path: self.inferencer.load_stimulus(path) for path in dict.fromkeys(paths)}
        self._durations = {path: getattr(stimulus, "duration", 0.0) for path, stimulus in stimuli.items()}
        self.inferencer.check_lengths(self._durations)
        # The number of stimuli whose clips fit into one batch.
        most_clips = max(len(self.inferencer.clips(stimulus)[0]) for stimulus in stimuli.values())
        self._batch_size = max(1, self.inferencer.batch_size // most_clips)
        return super()._extraction(paths, layers, trials)

    def model_parts(self) -> dict[str, Any]:  # plain values
        """See `ActivationsExtractorHelper.model_parts`; settings of the inferencer count too."""
        return {**super().model_parts(), "inferencer": content_digest(describe(self.inferencer.settings()))}

    def _preprocess_batch(self, paths: list[str]) -> list[PreparedStimulus]:
        return self.inferencer.prepare(paths)

    def _run(self, prepared: Sequence[PreparedStimulus], layers: Sequence[str]) -> Mapping[str, Array]:
        return self.inferencer.run(prepared, layers, len(self._time_bins()))

    def _time_bins(self) -> list[tuple[float, float]]:
        return self.inferencer.time_bins(max(self._durations.values()))

    def _package(self, recorded: Recorded, paths: list[str]) -> NeuroidAssembly:
        bins = self._time_bins()
        sizes = {layer: int(np.prod(shape[1:])) for layer, shape in recorded.shapes.items()}
        result = np.empty((len(paths), sum(sizes.values()), len(bins)), dtype=recorded.matrix.dtype)
        start = 0
        for size in sizes.values():
            part = recorded.matrix[:, start * len(bins) : (start + size) * len(bins)]
            result[:, start : start + size] = part.reshape(len(paths), len(bins), size).swapaxes(1, 2)
            start += size
        for path, row in zip(paths, result, strict=True):
            row[:, len(self.inferencer.time_bins(self._durations[path])) :] = np.nan
        coords = {
            "stimulus_path": ("presentation", np.asarray(paths)),
            **{name: ("neuroid", values) for name, values in self._unit_coords(recorded).items()},
        }
        if not self.inferencer.has_time:
            return NeuroidAssembly(result[..., 0], coords=coords, dims=["presentation", "neuroid"])
        starts, ends = zip(*bins, strict=True)
        coords |= {"time_bin_start": ("time_bin", np.asarray(starts)), "time_bin_end": ("time_bin", np.asarray(ends))}
        return NeuroidAssembly(result, coords=coords, dims=["presentation", "neuroid", "time_bin"])

    def _unit_coords(self, recorded: Recorded) -> dict[str, Array]:
        identifier = str(self.identifier) if self.identifier else ""
        used = sorted({AXES[axis] for layer in recorded.shapes for axis in self.inferencer.unit_axes(layer)})
        parts: dict[str, list[Array]] = {}
        for layer, (_, *shape) in recorded.shapes.items():
            numbers = np.arange(int(np.prod(shape)))
            names = [AXES[axis] for axis in self.inferencer.unit_axes(layer)]
            places = dict(zip(names, np.unravel_index(numbers, tuple(shape)), strict=True)) if shape else {}
            coords = {
                "neuroid_num": numbers,
                "model": np.full(len(numbers), identifier),
                "layer": np.full(len(numbers), layer),
                **{name: places.get(name, np.full(len(numbers), np.nan)) for name in used},
                "neuroid_id": np.char.add(f"{identifier}.{layer}.", numbers.astype(str)),
            }
            for name, column in coords.items():
                parts.setdefault(name, []).append(column)
        return {name: np.concatenate(columns) for name, columns in parts.items()}


def _prepare_still(
    preprocessing: Callable[[Any], object], stimulus_type: type, fps: float, paths: Sequence[str]
) -> list[object]:
    if issubclass(stimulus_type, Video):
        return [preprocessing(Video.from_img_path(path, max(1000.0, 1000 / fps), fps)) for path in paths]
    return [preprocessing(Image.from_path(path)) for path in paths]


# -- models of any framework -------------------------------------------------------------------------------------------


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

    Examples
    --------
    >>> class Brightness(ActivationWrapper):
    ...     def get_activations(self, inputs, layers):
    ...         return {layer: [[clip.mean()] for clip in inputs] for layer in layers}
    >>> wrapper = Brightness('brightness', lambda video: video.to_numpy(), fps=5, layer_activation_format={'mean': 'C'})
    >>> wrapper.identifier
    'brightness'
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
