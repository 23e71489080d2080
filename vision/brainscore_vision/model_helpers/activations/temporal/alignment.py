"""Give each step of a layer its time in a video, and average onto other time bins; times are ms."""

import itertools
import math
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from brainscore_core.errors import AssemblyError

__all__ = [
    "METHODS",
    "align_bins",
    "estimate_layer_fps",
    "evenly_spaced",
    "frame_bins",
    "ignore_time",
    "per_frame_aligned",
]

Bins = list[tuple[float, float]]
Value = TypeVar("Value", bound=np.floating)
_EPS = 1e-6  # of a bin: times are sums of fractions


def frame_bins(duration: float, fps: float) -> Bins:
    """Return bins of 1000 / fps ms from 0 to the end; the last may be shorter.

    Examples
    --------
    >>> frame_bins(250, 10)
    [(0.0, 100.0), (100.0, 200.0), (200.0, 250.0)]
    """
    interval = 1000 / fps
    n_bins = max(1, math.ceil(duration / interval - _EPS))
    edges = [*(index * interval for index in range(n_bins)), float(duration)]
    return list(itertools.pairwise(edges))


def evenly_spaced(n_steps: int, duration: float, fps: float) -> Bins:  # noqa: ARG001 - all methods take the same
    """Return equal bins from the start to the video's end."""
    edges = [duration * step / n_steps for step in range(n_steps + 1)]
    return list(itertools.pairwise(edges))


def per_frame_aligned(n_steps: int, duration: float, fps: float) -> Bins:
    """Return one bin for each sampled frame; `AssemblyError` if there are fewer steps than frames."""
    n_frames = int(duration * fps / 1000 + _EPS)
    if n_steps < n_frames:
        raise AssemblyError(
            f"The layer has {n_steps} steps for {n_frames} frames; time_alignment='per_frame_aligned' needs a step for "
            "each frame. 'evenly_spaced' takes any number."
        )
    return [(step * 1000 / fps, (step + 1) * 1000 / fps) for step in range(n_steps)]


def estimate_layer_fps(n_steps: int, duration: float, fps: float) -> Bins:
    """Return bins of a whole number of frames nearest to `duration` / `n_steps`; the last extends to the end."""
    interval = 1000 / fps * max(1, round(duration / n_steps * fps / 1000))
    bins = [(step * interval, (step + 1) * interval) for step in range(n_steps)]
    return [*bins[:-1], (bins[-1][0], max(bins[-1][1], duration))]


def ignore_time(n_steps: int, duration: float, fps: float) -> Bins:  # noqa: ARG001 - all methods take the same
    """Return one bin for the whole video; the steps of a layer become channels."""
    return [(0.0, float(duration))]


METHODS: dict[str, Callable[[int, float, float], Bins]] = {
    function.__name__: function for function in (evenly_spaced, ignore_time, estimate_layer_fps, per_frame_aligned)
}
"""Methods of ``time_alignment``: ``METHODS[name](n_steps, duration, fps)`` returns a bin for each step of a layer."""


def align_bins(
    values: npt.NDArray[Value],
    source_bins: Sequence[tuple[float, float]],
    target_bins: Sequence[tuple[float, float]],
    mode: str = "portion",
) -> npt.NDArray[Value]:
    """Average activity (..., source bin) onto other time bins, (..., target bin), in its dtype; float64 for integers.

    ``portion``: y_t = sum_s w_ts x_s / sum_s w_ts, where w_ts is the time that target bin t and source bin s share.
    ``center``: y_t = x_s of the source bin s that holds the middle of target bin t.
    Source bins without overlap do not count, even if they are NaN. Bins are (start, end), ms.
    """
    if mode not in ("portion", "center"):
        raise ValueError(f"mode is {mode!r}; expected 'portion' or 'center'.")
    source = np.asarray(source_bins, dtype=float)
    dtype = np.float64 if values.dtype.kind in "iub" else values.dtype  # the mean of two counts may be a fraction
    aligned = np.empty((*values.shape[:-1], len(target_bins)), dtype=dtype)
    for index, (start, end) in enumerate(target_bins):
        if mode == "portion":
            weights = np.minimum(source[:, 1], end) - np.maximum(source[:, 0], start)
            weights = np.maximum(weights, 0)
        else:
            middle = (start + end) / 2
            inside = np.flatnonzero((source[:, 0] <= middle) & (middle < source[:, 1]))
            weights = np.zeros(len(source))
            weights[inside[:1]] = 1
        used = np.flatnonzero(weights)
        if len(used) == 1:
            aligned[..., index] = values[..., used[0]]
        else:
            aligned[..., index] = np.average(values[..., used], axis=-1, weights=weights[used])
    return aligned
