"""Video files read by PyAV: the right frames in the right order, compared with OpenCV where it does the same."""

import av
import cv2
import numpy as np
import pytest
import torch

from brainscore_core.errors import StimulusError
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
from brainscore_vision.model_helpers.activations.temporal.core import BlockInferencer, CausalInferencer
from brainscore_vision.model_helpers.activations.temporal.inputs import Video, area_weights, linear_weights, resize
from brainscore_vision.model_helpers.activations.temporal.model import PytorchWrapper


def frame_of(number):
    """Make the frame of a number: its red is five times the number."""
    frame = np.full((12, 16, 3), 100, dtype=np.uint8)
    frame[..., 0] = number * 5
    frame[3:6, number % 16, 1] = 255
    return frame


@pytest.fixture
def film(tmp_path):
    """Return a function that writes a film with lossless compression."""

    def write(n_frames=30, rate=25, name="film.mov"):
        path = tmp_path / name
        with av.open(str(path), "w") as container:
            stream = container.add_stream("png", rate=rate)
            stream.width, stream.height, stream.pix_fmt = 16, 12, "rgb24"
            for number in range(n_frames):
                container.mux(stream.encode(av.VideoFrame.from_ndarray(frame_of(number), format="rgb24")))
            container.mux(stream.encode(None))
        return path

    return write


def frame_numbers(frames):
    return (frames[:, 0, 0, 0] // 5).tolist()


def test_all_frames_are_read(film):
    video = Video.from_path(film())
    assert (video.fps, video.duration, video.frame_size, video.num_frames) == (25, 1200, (16, 12), 30)
    assert video.original_num_frames == 30
    np.testing.assert_array_equal(video.to_numpy(), np.stack([frame_of(number) for number in range(30)]))


@pytest.mark.parametrize(
    ("fps", "window", "expected"),
    [
        (10, None, [0, 2, 5, 7, 10, 12, 15, 17, 20, 22, 25, 27]),
        (12.5, (0, 400), [0, 2, 4, 6, 8]),
        (50, (0, 120), [0, 0, 1, 1, 2, 2]),
        (25, (1080, 1320), [27, 28, 29, 29, 29, 29]),
        (25, (-120, 120), [0, 0, 0, 0, 1, 2]),
    ],
)
def test_frame_at_a_time_is_the_one_shown_then(film, fps, window, expected):
    video = Video.from_path(film()).set_fps(fps)
    video = video if window is None else video.set_window(*window)
    assert frame_numbers(video.to_numpy()) == expected


def test_nested_windows_decode_the_file_once(film, monkeypatch):
    video = Video.from_path(film())
    inner = video.set_window(400, 1200).set_window(40, 120)
    assert frame_numbers(inner.to_numpy()) == [11, 12]
    video.to_numpy()
    monkeypatch.setattr(av, "open", None)
    assert frame_numbers(inner.to_numpy()) == [11, 12]


def test_broken_files_are_errors(tmp_path, film):
    broken = tmp_path / "broken.mp4"
    broken.write_bytes(b"no film")
    with pytest.raises(StimulusError, match=r"broken\.mp4' cannot be decoded as a video"):
        Video.from_path(broken)
    cut = tmp_path / "cut.mov"
    cut.write_bytes(film().read_bytes()[:2000])
    with pytest.raises(StimulusError, match="cannot be decoded as a video"):
        Video.from_path(cut).to_numpy()


def test_lossy_film_matches_opencv(tmp_path):
    path = tmp_path / "film.mp4"
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter_fourcc(*"mp4v"), 25, (64, 48))
    for number in range(20):
        writer.write(np.full((48, 64, 3), (number * 8, 255 - number * 8, 40), dtype=np.uint8))
    writer.release()
    reader = cv2.VideoCapture(str(path))
    expected = np.stack([reader.read()[1][..., ::-1] for _ in range(20)])
    video = Video.from_path(path)
    assert (video.fps, video.original_num_frames) == (25, 20)
    assert np.abs(video.to_numpy().astype(int) - expected).max() <= 2  # colours are converted with different rounding


def test_resizing_matches_opencv(film):
    picture = np.random.default_rng(0).integers(0, 256, (12, 16, 3)).astype(float)
    for rows, columns in ((6, 8), (5, 7), (24, 31)):
        linear = resize(picture, linear_weights(12, rows), linear_weights(16, columns), axes=(0, 1))
        expected = cv2.resize(picture, (columns, rows), interpolation=cv2.INTER_LINEAR)
        np.testing.assert_allclose(linear, expected, atol=1e-3)
        if rows <= 12:
            area = resize(picture, area_weights(12, rows), area_weights(16, columns), axes=(0, 1))
            expected = cv2.resize(picture, (columns, rows), interpolation=cv2.INTER_AREA)
            np.testing.assert_allclose(area, expected, atol=1e-3)
    assert Video.from_path(film()).set_size((8, 6)).to_numpy().shape == (30, 6, 8, 3)


class Redness(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.out = torch.nn.Identity()

    def forward(self, clips):
        return self.out(clips[..., 0].mean((2, 3))[..., None])  # clip, time, 1


@pytest.mark.parametrize(("inferencer", "n_bins"), [(CausalInferencer, 12), (BlockInferencer, 12)])
def test_set_may_have_films_of_different_lengths(film, inferencer, n_bins):
    stimuli = StimulusSet({"stimulus_id": ["long", "short"]})
    stimuli.stimulus_paths = {"long": film(), "short": film(10, name="short.mov")}
    stimuli.identifier = "films"
    wrapper = PytorchWrapper(
        "redness", Redness(), lambda video: torch.Tensor(video.to_numpy()), inferencer_cls=inferencer,
        fps=10, num_frames=2, layer_activation_format={"out": "TC"}, dtype=np.float32,
    )  # fmt: skip
    result = wrapper(stimuli, layers=["out"])
    assert result.shape == (2, 1, n_bins)
    # One value for each frame that is shown: the first at 0 ms, then every 100 ms (2.5 frames of the file).
    expected = [5 * number for number in (0, 2, 5, 7, 10, 12, 15, 17, 20, 22, 25, 27)]
    np.testing.assert_allclose(result.values[0, 0], expected)
    np.testing.assert_allclose(result.values[1, 0, :4], expected[:4])
    assert np.isnan(result.values[1, 0, 4:]).all()
