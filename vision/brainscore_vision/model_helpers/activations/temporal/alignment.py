"""Say which time of a video each step of a layer stands for; all times are ms."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

from brainscore_core.errors import AssemblyError

__all__ = [
    "METHODS",
    "estimate_layer_fps",
    "evenly_spaced",
    "frame_bins",
    "ignore_time",
    "per_frame_aligned",
]

Bins = list[tuple[float, float]]
_EPS = 1e-6  # of a bin: times are sums of fractions


def frame_bins(duration: float, fps: float) -> Bins:
    """Return bins of 1000 / fps ms from 0 to the end of a video; the last one may be shorter.

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
    """Return equal bins from the start to the end of the video."""
    edges = [duration * step / n_steps for step in range(n_steps + 1)]
    return list(itertools.pairwise(edges))


def per_frame_aligned(n_steps: int, duration: float, fps: float) -> Bins:
    """Return one bin for each sampled frame; there must be as many steps as frames, or more."""
    n_frames = int(duration * fps / 1000 + _EPS)
    if n_steps < n_frames:
        raise AssemblyError(
            f"The layer has {n_steps} steps for {n_frames} frames; time_alignment='per_frame_aligned' needs a step for "
            "each frame. 'evenly_spaced' takes any number."
        )
    return [(step * 1000 / fps, (step + 1) * 1000 / fps) for step in range(n_steps)]


def estimate_layer_fps(n_steps: int, duration: float, fps: float) -> Bins:
    """Return bins of that whole number of frames, at least one, that comes nearest to `duration` / `n_steps`.

    The last one ends with the video if they end before.
    """
    interval = 1000 / fps * max(1, round(duration / n_steps * fps / 1000))
    bins = [(step * interval, (step + 1) * interval) for step in range(n_steps)]
    return [*bins[:-1], (bins[-1][0], max(bins[-1][1], duration))]


def ignore_time(n_steps: int, duration: float, fps: float) -> Bins:  # noqa: ARG001 - all methods take the same
    """Return one bin for all of the video; the steps of a layer are channels then."""
    return [(0.0, float(duration))]


METHODS: dict[str, Callable[[int, float, float], Bins]] = {
    function.__name__: function for function in (evenly_spaced, ignore_time, estimate_layer_fps, per_frame_aligned)
}
"""What ``time_alignment`` may be: ``METHODS[name](n_steps, duration, fps)`` returns a bin for each step of a layer."""
