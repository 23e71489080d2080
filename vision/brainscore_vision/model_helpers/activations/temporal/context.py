"""Cut videos into clips that fit a model: consecutive pieces, or the past of each frame."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from brainscore_core.errors import ConfigurationError
from brainscore_vision.model_helpers.activations.temporal.inferencers import TemporalInferencer

if TYPE_CHECKING:
    from brainscore_vision.model_helpers.activations.cache.layout import Array
    from brainscore_vision.model_helpers.activations.temporal.inputs import Video

__all__ = ["BlockInferencer", "CausalInferencer"]


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
