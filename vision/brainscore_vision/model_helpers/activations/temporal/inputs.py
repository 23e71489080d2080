"""Read stimuli for models of video, and resize them."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
import numpy.typing as npt
from PIL import Image as PILImage

from brainscore_core.errors import MissingStimulusError, RequirementsError, StimulusError
from brainscore_core.identity.digest import Stamp, stamp_of
from brainscore_vision.model_helpers.activations.images import load_image

if TYPE_CHECKING:
    from types import ModuleType

    from brainscore_vision.model_helpers.activations.cache.layout import Array

__all__ = ["Image", "Stimulus", "Video", "area_weights", "linear_weights", "resize"]

Frames = npt.NDArray[np.uint8]  # (frame, height, width, 3)
Size = tuple[int, int]

_VIDEOS = frozenset({"mp4", "avi", "mov", "flv", "wmv", "webm", "mkv", "gif"})
_IMAGES = frozenset({"jpg", "jpeg", "png", "bmp", "tiff", "tif"})
_EPS = 1e-9  # of a frame: times are sums of fractions


class Stimulus:
    """One input of a model."""

    @classmethod
    def from_path(cls, path: str | Path) -> Stimulus:
        """Return the stimulus of a file."""
        raise NotImplementedError("Choose Image or Video.")

    @staticmethod
    def is_video_path(path: str | Path) -> bool:
        """Tell by its ending whether a file is a video."""
        return Path(path).suffix.lower().lstrip(".") in _VIDEOS

    @staticmethod
    def is_image_path(path: str | Path) -> bool:
        """Tell by its ending whether a file is a picture."""
        return Path(path).suffix.lower().lstrip(".") in _IMAGES


class Image(Stimulus):
    """A still picture; `to_numpy` gives it in `size` (width, height), px."""

    def __init__(self, path: str | Path, size: Size) -> None:
        self._path = str(path)
        self._size = size

    @classmethod
    def from_path(cls, path: str | Path) -> Image:
        """Return the picture of a file, in its own size."""
        return cls(path, _image_size(str(path)))

    @property
    def size(self) -> Size:
        """Width and height, px."""
        return self._size

    def set_size(self, size: Size) -> Image:
        """Return the picture in another size; see `Video.set_size`."""
        return Image(self._path, size)

    def get_frame(self) -> Frames:
        """Return the picture in its own size; see `to_numpy`."""
        return np.asarray(load_image(self._path))

    def to_numpy(self) -> Frames:
        """Return the picture, RGB (height, width, 3)."""
        frame: Frames = _in_size(self.get_frame()[np.newaxis], self._size)[0]
        return frame

    def to_pil_img(self) -> PILImage.Image:
        """Return the picture as Pillow's; see `to_numpy`."""
        return PILImage.fromarray(self.to_numpy())


class _Source(Protocol):
    fps: float
    number_of_frames: int
    size: Size

    def frames(self, indices: Sequence[int]) -> Frames: ...


class Video(Stimulus):
    """A window in time on a video file, or on a still picture; times are ms.

    Parameters
    ----------
    fps
        Frames per second that `to_numpy` samples.
    start, end
        The window. Before the start and after the end of the file its first and last frame are repeated.
    size : (int, int)
        Width and height, px, of the frames of `to_numpy`.
    """

    def __init__(
        self, path: str | Path, fps: float, start: float, end: float, size: Size, source: _Source | None = None
    ) -> None:
        self._path = str(path)
        self._fps = fps
        self._start = start
        self._end = end
        self._size = size
        self._source = source or _VideoFile(self._path)

    @classmethod
    def from_path(cls, path: str | Path) -> Video:
        """Return all of a video file, in its own rate and size.

        Raises
        ------
        RequirementsError
            PyAV, which decodes it, is not installed.
        StimulusError
            The file cannot be decoded.
        """
        source = _VideoFile(str(path))
        return cls(path, source.fps, 0, source.number_of_frames / source.fps * 1000, source.size, source)

    @classmethod
    def from_img_path(cls, img_path: str | Path, duration: float, fps: float) -> Video:
        """Return a picture as a video of `duration` ms."""
        source = _StillPicture(str(img_path), duration, fps)
        return cls(img_path, fps, 0, duration, source.size, source)

    def copy(self) -> Self:
        """Return the same window on the same file."""
        return copy.copy(self)

    @property
    def duration(self) -> float:
        """Length of the window, ms."""
        return self._end - self._start

    @property
    def fps(self) -> float:
        """Sampled frames per second."""
        return self._fps

    @property
    def num_frames(self) -> int:
        """Whole frame periods in the window."""
        return int(self.duration * self._fps / 1000 + _EPS)

    @property
    def original_num_frames(self) -> int:
        """Frames in the file."""
        return self._source.number_of_frames

    @property
    def frame_size(self) -> Size:
        """Width and height, px."""
        return self._size

    def set_fps(self, fps: float) -> Self:
        """Return the window at another rate; it must hold at least one frame period."""
        if not 0 < 1000 / fps <= self.duration + _EPS:
            raise StimulusError(
                f"The stimulus {self._path!r} lasts {self.duration:g} ms, less than one frame at {fps:g} frames per "
                f"second ({1000 / fps:g} ms)."
            )
        return self._with(_fps=fps)

    def set_size(self, size: Size) -> Self:
        """Return the video in another size (width, height), px; linear between pixels, rounded."""
        return self._with(_size=size)

    def set_window(self, start: float, end: float, padding: str = "repeat") -> Self:
        """Return another window, from `start` to `end` ms after this one's start."""
        if end < start:
            raise ValueError(f"The window starts at {start:g} ms and ends before, at {end:g} ms.")
        if padding != "repeat":
            raise NotImplementedError(f"padding is {padding!r}; only 'repeat' is implemented.")
        return self._with(_start=self._start + start, _end=self._start + end)

    def _with(self, **changes: Any) -> Self:  # attributes of any kind
        other = self.copy()
        vars(other).update(changes)
        return other

    def to_numpy(self) -> Frames:
        """Return the frames in the window, RGB (frame, height, width, 3): one every 1000 / fps ms from its start."""
        per_ms = self._source.fps / 1000
        places = np.arange(self._start * per_ms, self._end * per_ms - _EPS, self._source.fps / self._fps)
        # A fraction of a frame before the first sample of a frame is rounding.
        indices = np.floor(places + _EPS).astype(int).clip(0, self._source.number_of_frames - 1)
        return _in_size(self._source.frames(indices.tolist()), self._size)

    def to_frames(self) -> list[Frames]:
        """Yield the frames of `to_numpy`."""
        return list(self.to_numpy())

    def to_pil_imgs(self) -> list[PILImage.Image]:
        """Return the frames as pictures of Pillow; see `to_numpy`."""
        return [PILImage.fromarray(frame) for frame in self.to_numpy()]


class _StillPicture:
    def __init__(self, path: str, duration: float, fps: float) -> None:
        self._path = path
        self.fps = fps
        self.number_of_frames = max(1, int(duration * fps / 1000 + _EPS))
        self.size = _image_size(path)

    def frames(self, indices: Sequence[int]) -> Frames:
        frame = np.asarray(load_image(self._path))
        return np.repeat(frame[np.newaxis], len(indices), axis=0)


class _VideoFile:
    def __init__(self, path: str) -> None:
        self._path = path
        self.fps, self.number_of_frames, self.size = _video_facts(path, _stamp(path))
        self._decoded: dict[int, Frames] = {}

    def frames(self, indices: Sequence[int]) -> Frames:
        missing = sorted(set(indices) - self._decoded.keys())
        if missing:
            self._decode(missing)
        return np.stack([self._decoded[index] for index in indices])

    def _decode(self, indices: list[int]) -> None:
        remaining = set(indices)
        av = _import_av()
        frame = None
        try:
            with av.open(self._path) as container:
                stream = container.streams.video[0]
                stream.thread_type = "AUTO"
                for number, frame in enumerate(container.decode(stream)):
                    if number in remaining:
                        self._decoded[number] = frame.to_ndarray(format="rgb24")
                    if number == indices[-1]:
                        return
        except (OSError, IndexError, ValueError) as error:  # include the errors of PyAV
            raise StimulusError(_cannot_decode(self._path, str(error))) from error
        if frame is None:
            raise StimulusError(_cannot_decode(self._path, "it holds no frame"))
        last = frame.to_ndarray(format="rgb24")  # the file has fewer frames than it states
        self._decoded.update({index: last for index in indices if index not in self._decoded})


@lru_cache(maxsize=4096)
def _video_facts(path: str, stamp: Stamp) -> tuple[float, int, Size]:  # noqa: ARG001 - the key
    av = _import_av()
    try:
        with av.open(path) as container:
            stream = container.streams.video[0]
            rate = stream.average_rate or stream.guessed_rate
            # Some containers do not state their number of frames.
            number = stream.frames or sum(1 for packet in container.demux(stream) if packet.size)
            size = (stream.codec_context.width, stream.codec_context.height)
    except (OSError, IndexError, ValueError) as error:  # include the errors of PyAV
        raise StimulusError(_cannot_decode(path, str(error))) from error
    if not rate or number < 1:
        raise StimulusError(_cannot_decode(path, "it holds no frame"))
    return float(rate), number, size


def _stamp(path: str) -> Stamp:
    try:
        status = Path(path).stat()
    except FileNotFoundError as error:
        raise MissingStimulusError(f"The video file {path!r} does not exist.") from error
    return stamp_of(status)


def _cannot_decode(path: str, why: str) -> str:
    return (
        f"The file {path!r} cannot be decoded as a video ({why}). Expected a whole file of a format that FFmpeg reads, "
        "such as MP4. Replace the file or leave the stimulus out."
    )


def _import_av() -> ModuleType:
    try:
        import av  # optional: only videos need it, not images shown as videos
    except ImportError as error:
        raise RequirementsError(
            "Decoding videos needs PyAV, which is not installed: pip install 'brainscore-vision[video]'."
        ) from error
    module: ModuleType = av
    return module


def _image_size(path: str) -> Size:
    try:
        with PILImage.open(path) as image:
            return image.size
    except FileNotFoundError as error:
        raise MissingStimulusError(f"The image file {path!r} does not exist.") from error
    except (OSError, SyntaxError, ValueError):
        return load_image(path).size  # raises an error with the reason


def _in_size(frames: Frames, size: Size) -> Frames:
    height, width = frames.shape[1:3]
    if size == (width, height):
        return frames
    resized = resize(frames, linear_weights(height, size[1]), linear_weights(width, size[0]), axes=(1, 2))
    return np.rint(resized).astype(np.uint8)


# -- resizing ----------------------------------------------------------------------------------------------------------
# Resize arrays along two axes, by weights of old positions for each new one.

Weights = npt.NDArray[np.float64]


def area_weights(n_old: int, n_new: int) -> Weights:
    """Return weights (new, old) that average over the area of each new position; rows sum to 1.

    w_ij is the fraction of the interval from i r to (i + 1) r, r = n_old / n_new, between j and j + 1.
    """
    edges = np.arange(n_new + 1) * (n_old / n_new)
    old = np.arange(n_old)
    shared = np.minimum(edges[1:, np.newaxis], old + 1) - np.maximum(edges[:-1, np.newaxis], old)
    shared = np.maximum(shared, 0)
    weights: Weights = shared / shared.sum(axis=1, keepdims=True)
    return weights


def linear_weights(n_old: int, n_new: int) -> Weights:
    """Return weights (new, old) that interpolate linearly between centres; rows sum to 1.

    The centre of position i is (i + 1/2) r - 1/2, r = n_old / n_new; the border is repeated. Shrinking aliases fine
    patterns.
    """
    centres = np.clip((np.arange(n_new) + 0.5) * (n_old / n_new) - 0.5, 0, n_old - 1)
    distances = np.abs(centres[:, np.newaxis] - np.arange(n_old))
    weights: Weights = np.maximum(1 - distances, 0)
    return weights


def resize(values: Array, rows: Weights, columns: Weights, axes: tuple[int, int]) -> npt.NDArray[np.float64]:
    """Apply weights (new, old) along rows and columns of a picture or layer."""
    result = values.astype(np.float64)
    for axis, weights in zip(axes, (rows, columns), strict=True):
        result = np.moveaxis(np.tensordot(weights, result, axes=(1, axis)), 0, axis)
    return result
