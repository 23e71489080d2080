import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from brainscore_vision.benchmark_helpers.screen.png import can_write_png, write_png

CHANNELS = {"L": (), "RGB": (3,), "RGBA": (4,)}


@given(st.sampled_from(list(CHANNELS)), st.integers(1, 20), st.integers(1, 20), st.integers(0, 2**32 - 1))
def test_pixels_survive_a_round_trip(tmp_path_factory, mode, height, width, seed):
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width, *CHANNELS[mode]), dtype=np.uint8)
    image = Image.fromarray(pixels)
    assert image.mode == mode
    assert can_write_png(image)
    path = tmp_path_factory.mktemp("png") / "image.png"
    write_png(image, path)
    with Image.open(path) as found:
        found.verify()  # checks the checksums
    with Image.open(path) as found:
        assert (found.format, found.mode, found.info) == ("PNG", mode, {})
        np.testing.assert_array_equal(np.asarray(found), pixels)


@pytest.mark.parametrize("mode", ["1", "P", "LA", "I;16", "F", "CMYK"])
def test_other_modes_are_left_to_pillow(mode):
    assert not can_write_png(Image.new(mode, (2, 2)))


@pytest.mark.parametrize("name", ["icc_profile", "exif", "transparency"])
def test_images_with_metadata_are_left_to_pillow(name):
    image = Image.new("RGB", (2, 2))
    image.info["comment"] = "does not matter"
    assert can_write_png(image)
    image.info[name] = b"something"
    assert not can_write_png(image)
