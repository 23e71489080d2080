"""Time windows of still pictures. Video files need a decoder, so their windows are tested in tests/frameworks."""

import builtins

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image as PILImage

from brainscore_core.errors import MissingStimulusError, RequirementsError, StimulusError
from brainscore_vision.model_helpers.activations.temporal.inputs import (
    Image,
    Stimulus,
    Video,
    area_weights,
    linear_weights,
    resize,
)


@pytest.fixture
def picture(tmp_path):
    path = tmp_path / "picture.png"
    PILImage.fromarray(np.arange(2 * 3 * 3, dtype=np.uint8).reshape(2, 3, 3)).save(path)
    return path


def test_file_endings_tell_images_from_videos():
    assert Stimulus.is_video_path("a.b.MP4")
    assert Stimulus.is_image_path("folder.mp4/a.JPG")
    assert not Stimulus.is_image_path("png")
    assert not Stimulus.is_video_path("a.png")
    with pytest.raises(NotImplementedError, match="Image or Video"):
        Stimulus.from_path("a.png")


def test_image_keeps_its_pixels_and_resizes(picture):
    image = Image.from_path(picture)
    assert image.size == (3, 2)
    np.testing.assert_array_equal(image.to_numpy(), np.arange(18).reshape(2, 3, 3))
    assert image.set_size((6, 4)).to_numpy().shape == (4, 6, 3)
    assert image.set_size((6, 4)).to_pil_img().size == (6, 4)
    assert image.to_pil_img().size == (3, 2)


def test_image_shown_as_video_repeats_one_frame(picture):
    video = Video.from_img_path(picture, 1000, 7.5)
    assert (video.duration, video.fps, video.num_frames, video.frame_size) == (1000, 7.5, 7, (3, 2))
    assert video.original_num_frames == 7
    frames = video.to_numpy()
    assert frames.shape == (8, 2, 3, 3)  # one at 0 ms and one every 133.3 ms, the last at 933 ms
    assert (frames == np.arange(18, dtype=np.uint8).reshape(2, 3, 3)).all()
    assert [len(part) for part in (video.to_frames(), video.to_pil_imgs())] == [8, 8]


@pytest.mark.parametrize(
    ("fps", "window", "n_frames"), [(10, (0, 1000), 10), (25, (-200, 300), 13), (30, (0, 1000), 30)]
)
def test_windows_sample_one_frame_per_period(picture, fps, window, n_frames):
    video = Video.from_img_path(picture, 1000, 25).set_fps(fps)
    assert len(video.set_window(*window).to_numpy()) == n_frames
    assert video.duration == 1000  # the original video is unchanged


def test_resized_frames_average_the_pixels(picture):
    video = Video.from_img_path(picture, 200, 10).set_size((1, 1))
    assert video.frame_size == (1, 1)
    np.testing.assert_array_equal(video.to_numpy(), np.tile([7.5 + 0.5, 8.5 - 0.5, 9.5 + 0.5], (2, 1, 1, 1)).round())


def test_errors_name_the_problem(picture, tmp_path):
    video = Video.from_img_path(picture, 100, 10)
    with pytest.raises(StimulusError, match="lasts 100 ms, less than one frame at 5 frames"):
        video.set_fps(5)
    with pytest.raises(ValueError, match="starts at 5 ms and ends before"):
        video.set_window(5, 4)
    with pytest.raises(NotImplementedError, match="'black'"):
        video.set_window(0, 4, padding="black")
    with pytest.raises(MissingStimulusError, match=r"none\.png"):
        Video.from_img_path(tmp_path / "none.png", 100, 10)
    broken = tmp_path / "broken.png"
    broken.write_bytes(b"no picture")
    with pytest.raises(StimulusError, match="cannot be decoded as an image"):
        Image.from_path(broken)


def test_missing_decoder_error_names_the_extra(tmp_path, monkeypatch):
    film = tmp_path / "film.mp4"
    film.write_bytes(b"")
    original = builtins.__import__

    def without_av(name, *args, **kwargs):
        if name == "av":
            raise ImportError("No module named 'av'")
        return original(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_av)
    with pytest.raises(RequirementsError, match=r"pip install 'brainscore-vision\[video\]'"):
        Video.from_path(film)
    with pytest.raises(MissingStimulusError, match="does not exist"):
        Video.from_path(tmp_path / "none.mp4")


# -- resizing ----------------------------------------------------------------------------------------------------------

SIZES = st.integers(1, 20)


def test_area_weights_match_hand_computed_values():
    np.testing.assert_allclose(area_weights(4, 2), [[0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5]])
    np.testing.assert_allclose(area_weights(3, 2), [[2 / 3, 1 / 3, 0], [0, 1 / 3, 2 / 3]])


def test_linear_weights_match_hand_computed_values():
    np.testing.assert_allclose(linear_weights(2, 4), [[1, 0], [0.75, 0.25], [0.25, 0.75], [0, 1]])
    np.testing.assert_allclose(linear_weights(4, 2), [[0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5]])


@given(SIZES, SIZES)
def test_weights_sum_to_one_and_keep_an_equal_size(n_old, n_new):
    for weights in (area_weights(n_old, n_new), linear_weights(n_old, n_new)):
        assert weights.shape == (n_new, n_old)
        assert (weights >= 0).all()
        np.testing.assert_allclose(weights.sum(axis=1), 1)
    np.testing.assert_allclose(area_weights(n_old, n_old), np.eye(n_old))
    np.testing.assert_allclose(linear_weights(n_old, n_old), np.eye(n_old))


def test_resizes_any_two_axes():
    values = np.arange(2 * 4 * 3 * 6, dtype=np.float16).reshape(2, 4, 3, 6)
    smaller = resize(values, area_weights(4, 2), area_weights(6, 3), axes=(1, 3))
    assert smaller.dtype == np.float64
    np.testing.assert_allclose(smaller, values.astype(float).reshape(2, 2, 2, 3, 3, 2).mean(axis=(2, 5)))
    turned = resize(values, area_weights(6, 3), area_weights(4, 2), axes=(3, 1))
    np.testing.assert_allclose(turned, smaller)
