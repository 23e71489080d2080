"""Cut videos into clips, and align the activations of layers with time bins."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from brainscore_core.errors import AssemblyError, ConfigurationError, LayerNotFoundError, StimulusError, did_you_mean
from brainscore_vision.model_helpers.activations.temporal.alignment import METHODS, Bins, align_bins, frame_bins
from brainscore_vision.model_helpers.activations.temporal.executor import BatchExecutor, ModelInput
from brainscore_vision.model_helpers.activations.temporal.inputs import Stimulus, Video, area_weights, resize

if TYPE_CHECKING:
    from brainscore_vision.model_helpers.activations.cache.layout import Array

__all__ = ["AXES", "BlockInferencer", "CausalInferencer", "Inferencer", "PreparedStimulus", "TemporalInferencer"]

AXES = {"T": "channel_temporal", "C": "channel", "H": "channel_y", "W": "channel_x", "K": "channel_token"}
"""Letters of a ``layer_activation_format``: step, channel, row, column and token."""

Range = tuple[float, float]


@dataclass(frozen=True)
class PreparedStimulus:
    """The preprocessed clips of one stimulus.

    `duration` is the stimulus's, `covered` that of all clips, ms.
    """

    clips: list[Any]  # of the executor
    duration: float
    covered: float


class Inferencer:
    """Show stimuli without time, one input each.

    Parameters
    ----------
    preprocessing
        From a `Stimulus` to an input of the model.
    layer_activation_format
        Axes of each layer after the first one (input), in letters of `AXES`, such as ``{'conv': 'CTHW', 'fc': 'C'}``.
        Only these layers can be read out.
    stimulus_type
        `Image` or `Video`.
    visual_degrees
        Width of the field of view, degrees.
    max_spatial_size
        Layers with rows and columns (H, W) are averaged down: an int is the most for the longer side, a float below 1
        the factor for both.
    dtype
        Type of the activations; ``np.float16`` ends at 65,504.
    get_activations, batch_size, batch_grouper, batch_padding, max_workers
        See `BatchExecutor`.
    """

    has_time = False
    """Whether activations are in time bins."""

    def __init__(
        self,
        get_activations: Callable[[list[ModelInput], list[str]], Mapping[str, npt.ArrayLike]],
        preprocessing: Callable[[Any], ModelInput],
        layer_activation_format: Mapping[str, str],
        stimulus_type: type[Stimulus],
        visual_degrees: float = 8.0,
        max_spatial_size: float | None = None,
        dtype: npt.DTypeLike = np.float16,
        batch_size: int = 64,
        batch_grouper: Callable[[Any], Hashable] | None = None,
        batch_padding: bool = False,
        max_workers: int | None = None,
    ) -> None:
        for layer, axes in layer_activation_format.items():
            if not axes or len(set(axes)) < len(axes) or not set(axes) <= set(AXES):
                raise ConfigurationError(
                    f"layer_activation_format of {layer!r} is {axes!r}; expected different letters of "
                    f"{', '.join(f'{letter} ({name})' for letter, name in AXES.items())}, such as 'CTHW'."
                )
        if max_spatial_size is not None and not (
            0 < max_spatial_size < 1 or (max_spatial_size >= 1 and float(max_spatial_size).is_integer())
        ):
            raise ConfigurationError(f"max_spatial_size is {max_spatial_size!r}; expected an int, or a part below 1.")
        self.layer_activation_format = dict(layer_activation_format)
        self.stimulus_type = stimulus_type
        self.visual_degrees = visual_degrees
        self.max_spatial_size = max_spatial_size
        self.dtype = np.dtype(dtype)
        self._executor = BatchExecutor(
            get_activations, preprocessing, batch_size, batch_padding, batch_grouper, max_workers
        )

    @property
    def preprocessing(self) -> Callable[[Any], ModelInput]:
        """See the class."""
        return self._executor.preprocess

    @property
    def batch_size(self) -> int:
        """Most clips in one call."""
        return self._executor.batch_size

    def set_visual_degrees(self, visual_degrees: float) -> None:
        """Set the width of the field of view, degrees."""
        self.visual_degrees = visual_degrees

    def settings(self) -> dict[str, object]:
        """Return the settings that change activations."""
        names = set(vars(self)) - {"_executor", "visual_degrees"}
        executor = self._executor
        return {
            **{name: vars(self)[name] for name in sorted(names)},
            "class": type(self),
            "batches": [executor.batch_size, executor.batch_padding, executor.batch_grouper],
        }

    def load_stimulus(self, path: str | Path) -> Stimulus:
        """Return the stimulus of a file."""
        return self.stimulus_type.from_path(path)

    def clips(self, stimulus: Any) -> tuple[Sequence[Stimulus], float]:  # of the type that load_stimulus returns
        """Return a stimulus's clips, and their total duration, ms."""
        return [stimulus], 0

    def time_bins(self, duration: float) -> Bins:
        """Return the time bins of a stimulus, for its duration, ms."""
        return [(0, duration)]

    def prepare(self, paths: Sequence[str]) -> list[PreparedStimulus]:
        """Load, cut and preprocess stimuli, in order."""
        prepared = []
        for path in paths:
            stimulus = self.load_stimulus(path)
            clips, covered = self.clips(stimulus)
            duration = getattr(stimulus, "duration", 0.0)
            prepared.append(PreparedStimulus(self._executor.prepare(clips), duration, covered))
        return prepared

    def run(self, prepared: Sequence[PreparedStimulus], layers: Sequence[str], n_bins: int) -> dict[str, Array]:
        """Return the activations of prepared stimuli, arrays (stimulus, time bin, ...) by layer.

        The further axes are `unit_axes`. Bins after a stimulus's end are 0.
        """
        for layer in layers:
            self.axes_of(layer)  # before the model runs
        results = self._executor.run([clip for stimulus in prepared for clip in stimulus.clips], layers)
        edges = np.cumsum([0, *(len(stimulus.clips) for stimulus in prepared)])
        return {
            layer: self._stack(
                layer,
                [
                    self._in_bins(layer, clips[edges[index] : edges[index + 1]], stimulus, n_bins)
                    for index, stimulus in enumerate(prepared)
                ],
            )
            for layer, clips in results.items()
        }

    def _stack(self, layer: str, values: list[Array]) -> Array:
        shapes = sorted({array.shape[1:] for array in values})
        if len(shapes) > 1:
            raise AssemblyError(
                f"Layer {layer!r} has units of the shapes {', '.join(map(str, shapes))} for different stimuli; "
                "expected one. Resize frames in the preprocessing"
                + (", and show stimuli of one length with time_alignment='ignore_time'." if self.has_time else ".")
            )
        return np.stack(values)

    def check_lengths(self, durations: Mapping[str, float]) -> None:
        """Raise `StimulusError` if durations, ms by path, cannot be in one assembly."""

    def axes_of(self, layer: str) -> str:
        """Return the letters of a layer's axes."""
        if layer not in self.layer_activation_format:
            listed = ", ".join(self.layer_activation_format)
            raise LayerNotFoundError(
                f"layer_activation_format has no layer {layer!r}; it lists {listed}."
                f"{did_you_mean(layer, self.layer_activation_format)}"
            )
        return self.layer_activation_format[layer]

    def unit_axes(self, layer: str) -> str:
        """Return the letters of the axes of a layer's units."""
        return self.axes_of(layer)

    def _in_bins(
        self,
        layer: str,
        clips: list[Array],
        stimulus: PreparedStimulus,  # noqa: ARG002 - time matters to subclasses
        n_bins: int,  # noqa: ARG002 - the same
    ) -> Array:
        return self._as_units(layer, clips[0])[np.newaxis]

    def _as_units(self, layer: str, values: Array) -> Array:
        axes = self.axes_of(layer)
        if values.ndim != len(axes):
            raise AssemblyError(
                f"Layer {layer!r} gave shape {values.shape} for one clip, but its layer_activation_format is "
                f"{axes!r}; expected {len(axes)} axes. process_output can change the output of a layer."
            )
        if self.max_spatial_size is not None and {"H", "W"} <= set(axes):
            places = (axes.index("H"), axes.index("W"))
            height, width = (values.shape[place] for place in places)
            most = self.max_spatial_size
            part = most if most < 1 else most / max(height, width)
            if part < 1:
                rows, columns = (max(1, int(side * part + 1e-9)) for side in (height, width))
                weights = area_weights(height, rows), area_weights(width, columns)
                values = resize(values, *weights, axes=places).astype(values.dtype)
        with np.errstate(over="ignore"):  # overflow becomes infinity, which raises an error with layer and stimulus
            return values.astype(self.dtype, copy=False)


class TemporalInferencer(Inferencer):
    """Show whole videos, and pictures as still videos.

    Parameters
    ----------
    fps
        Frames per second of the input and of the time bins.
    num_frames
        Frames that the model takes, or fewest and most (``np.inf``).
    duration
        Duration that the model takes, ms, or the shortest and longest.
    time_alignment : {'evenly_spaced', 'ignore_time', 'estimate_layer_fps', 'per_frame_aligned'}
        Times of the steps of a layer; see `alignment`. A layer without T has one step.
    convert_img_to_video
        Whether pictures are shown.
    img_duration
        Duration of a picture, ms.
    *args, **kwargs
        See `Inferencer`.
    """

    has_time = True

    def __init__(
        self,
        *args: Any,  # those of Inferencer
        fps: float,
        num_frames: int | tuple[int, float] | None = None,
        duration: float | tuple[float, float] | None = None,
        time_alignment: str = "evenly_spaced",
        convert_img_to_video: bool = True,
        img_duration: float = 1000.0,
        batch_size: int = 32,
        batch_grouper: Callable[[Any], Hashable] | None = None,
        **kwargs: Any,  # those of Inferencer
    ) -> None:
        kwargs |= {"stimulus_type": Video, "batch_size": batch_size, "batch_grouper": batch_grouper or _length}
        super().__init__(*args, **kwargs)
        if not fps > 0:
            raise ConfigurationError(f"fps is {fps!r}; expected more than 0.")
        if time_alignment not in METHODS:
            raise ConfigurationError(
                f"There is no time_alignment {time_alignment!r}; expected one of {', '.join(METHODS)}."
                f"{did_you_mean(time_alignment, METHODS)}"
            )
        self.fps = fps
        self.num_frames = _as_range(num_frames, lowest=1)
        self.duration = _as_range(duration, lowest=0)
        self.time_alignment = time_alignment
        self.convert_to_video = convert_img_to_video
        self.img_duration = img_duration

    def load_stimulus(self, path: str | Path) -> Video:
        """See `load_video`; `StimulusError` if the length is wrong."""
        video = self.load_video(path)
        n_frames = int(self.fps * video.duration / 1000 + 1e-9)
        for value, limits, what in (
            (n_frames, self.num_frames, f"frames at {self.fps:g} per second"),
            (video.duration, self.duration, "ms"),
        ):
            if not limits[0] <= value <= limits[1]:
                raise StimulusError(
                    f"The stimulus {str(path)!r} has {value:g} {what}; the model takes {limits[0]:g} to {limits[1]:g}. "
                    "BlockInferencer and CausalInferencer cut videos into clips; for pictures there is img_duration."
                )
        return video

    def load_video(self, path: str | Path) -> Video:
        """Return the video of a file or picture, of any length, at the model's frame rate."""
        if not Stimulus.is_image_path(path):
            return Video.from_path(path).set_fps(self.fps)
        if not self.convert_to_video:
            raise StimulusError(f"The stimulus {str(path)!r} is a picture, and convert_img_to_video is False.")
        return Video.from_img_path(path, self.img_duration, self.fps).set_fps(self.fps)

    def clips(self, stimulus: Video) -> tuple[Sequence[Video], float]:
        """Return the video as its only clip."""
        return [stimulus], stimulus.duration

    def time_bins(self, duration: float) -> Bins:
        """Return bins of 1000 / fps ms; a single one with ``time_alignment='ignore_time'``."""
        return [(0.0, duration)] if self.time_alignment == "ignore_time" else frame_bins(duration, self.fps)

    def check_lengths(self, durations: Mapping[str, float]) -> None:
        """Raise `StimulusError` if time is ignored and durations, ms by path, differ."""
        if self.time_alignment == "ignore_time" and len(set(durations.values())) > 1:
            shortest, longest = (choose(durations, key=lambda path: durations[path]) for choose in (min, max))
            raise StimulusError(
                f"With time_alignment='ignore_time' the steps of a layer are units, so stimuli must last equally "
                f"long; {shortest!r} lasts {durations[shortest]:g} ms and {longest!r} {durations[longest]:g} ms."
            )

    def unit_axes(self, layer: str) -> str:
        """See `Inferencer.unit_axes`; without T (time), unless time is ignored."""
        axes = self._joined_axes(layer)
        return axes if self.time_alignment == "ignore_time" else axes.replace("T", "")

    def _joined_axes(self, layer: str) -> str:
        return self.axes_of(layer)

    def _join(self, axes: str, clips: list[Array]) -> Array:
        return np.moveaxis(clips[0], axes.index("T"), 0) if "T" in axes else clips[0][np.newaxis]

    def _in_bins(self, layer: str, clips: list[Array], stimulus: PreparedStimulus, n_bins: int) -> Array:
        axes = self.axes_of(layer)
        steps = self._join(axes, [self._as_units(layer, clip) for clip in clips])
        if self.time_alignment == "ignore_time":
            joined = self._joined_axes(layer)
            return np.moveaxis(steps, 0, joined.index("T"))[np.newaxis] if "T" in joined else steps
        source = METHODS[self.time_alignment](len(steps), stimulus.covered, self.fps)
        target = self.time_bins(stimulus.duration)
        binned = np.zeros((n_bins, *steps.shape[1:]), dtype=self.dtype)
        binned[: len(target)] = np.moveaxis(align_bins(np.moveaxis(steps, 0, -1), source, target), -1, 0)
        return binned


def _length(clip: Video) -> Hashable:
    return round(clip.duration, 6), clip.fps


def _as_range(limits: float | tuple[float, float] | None, lowest: float) -> Range:
    if limits is None:
        return lowest, math.inf
    if isinstance(limits, (tuple, list)):
        return limits[0], limits[1]
    return limits, limits


# -- clips that fit a model --------------------------------------------------------------------------------------------
# Cut videos into clips that fit a model: consecutive pieces, or the past of each frame.


class _ContextInferencer(TemporalInferencer):
    def __init__(
        self,
        *args: Any,  # those of TemporalInferencer
        temporal_context_strategy: str = "greedy",
        fixed_temporal_context: float | None = None,
        out_of_bound_strategy: str = "repeat",
        **kwargs: Any,  # those of TemporalInferencer
    ) -> None:
        super().__init__(*args, **kwargs)
        self.temporal_context_strategy = temporal_context_strategy
        self.fixed_temporal_context = fixed_temporal_context
        self.out_of_bound_strategy = out_of_bound_strategy
        self._shortest, self._context = self._find_context()

    def load_stimulus(self, path: str | Path) -> Video:
        return self.load_video(path)

    def _joined_axes(self, layer: str) -> str:
        return "T" + self.axes_of(layer).replace("T", "")

    def _find_context(self) -> tuple[float, float]:
        interval = 1000 / self.fps
        shortest = max(self.num_frames[0] * interval, self.duration[0])
        longest = min(self.num_frames[1] * interval, self.duration[1])
        if shortest > longest:
            raise ConfigurationError(
                f"num_frames {self.num_frames} at {self.fps:g} frames per second and duration {self.duration} ms "
                "exclude each other."
            )
        if self.temporal_context_strategy == "greedy":
            return shortest, longest
        if self.temporal_context_strategy == "conservative":
            return shortest, shortest
        if self.temporal_context_strategy != "fix":
            raise ConfigurationError(
                f"temporal_context_strategy is {self.temporal_context_strategy!r}; expected 'greedy', 'conservative' "
                "or 'fix'."
            )
        if self.fixed_temporal_context is None or not shortest <= self.fixed_temporal_context <= longest:
            raise ConfigurationError(
                f"fixed_temporal_context is {self.fixed_temporal_context!r}; expected {shortest:g} to {longest:g} ms."
            )
        return shortest, self.fixed_temporal_context

    def _window(self, video: Video, start: float, end: float) -> Video:
        return video.set_window(start, end, padding=self.out_of_bound_strategy)


class CausalInferencer(_ContextInferencer):
    """Show the past of each frame, and record each layer's last step; parameters as for `BlockInferencer`."""

    def __init__(self, *args: Any, time_alignment: str = "per_frame_aligned", **kwargs: Any) -> None:  # those above
        if time_alignment != "per_frame_aligned":
            raise ConfigurationError(
                f"time_alignment is {time_alignment!r}; CausalInferencer has a step for each frame: "
                "'per_frame_aligned'."
            )
        super().__init__(*args, time_alignment=time_alignment, **kwargs)

    def clips(self, stimulus: Video) -> tuple[Sequence[Video], float]:
        """Return one clip for each frame, ending with it."""
        interval = 1000 / self.fps
        ends = [(index + 1) * interval for index in range(math.ceil(stimulus.duration / interval - 1e-6))]
        return [self._window(stimulus, self._start(end), end) for end in ends], ends[-1]

    def _start(self, end: float) -> float:
        start = end - self._context
        if start >= 0 or self.temporal_context_strategy != "greedy":
            return start
        return min(0.0, end - self._shortest)

    def _join(self, axes: str, clips: list[Array]) -> Array:
        return np.stack([clip.take(-1, axis=axes.index("T")) if "T" in axes else clip for clip in clips])


class BlockInferencer(_ContextInferencer):
    """Show consecutive pieces of a video; activations end with it.

    Parameters
    ----------
    temporal_context_strategy : {'greedy', 'conservative', 'fix'}
        Length of the clips: the longest or the shortest that `num_frames` and `duration` allow, or
        `fixed_temporal_context`, ms.
    out_of_bound_strategy : {'repeat'}
        See `Video`.
    *args, **kwargs
        See `TemporalInferencer`.
    """

    def clips(self, stimulus: Video) -> tuple[Sequence[Video], float]:
        """Return the pieces; the whole video if there is no limit."""
        if math.isinf(self._context):
            return [stimulus], stimulus.duration
        starts = [index * self._context for index in range(math.ceil(stimulus.duration / self._context - 1e-6))]
        return [self._window(stimulus, start, start + self._context) for start in starts], starts[-1] + self._context

    def _join(self, axes: str, clips: list[Array]) -> Array:
        if "T" not in axes:
            return np.stack(clips)
        return np.concatenate([np.moveaxis(clip, axes.index("T"), 0) for clip in clips])
