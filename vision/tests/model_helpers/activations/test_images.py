"""Conversion of image files to arrays, compared with hand-computed values and values pinned from torchvision."""

import threading

import numpy as np
import pytest
from PIL import Image

from brainscore_core.errors import MissingStimulusError, StimulusError
from brainscore_vision.model_helpers.activations.images import (
    crop_centre,
    load_image,
    load_images,
    load_preprocess_images,
    preprocess_images,
    resize_as_opencv,
)

MEAN = np.array([0.485, 0.456, 0.406]).reshape(3, 1, 1)
STD = np.array([0.229, 0.224, 0.225]).reshape(3, 1, 1)


def picture(height=60, width=100):
    y, x = np.mgrid[0:height, 0:width]
    return np.stack([(x * 7 + y * 3) % 256, (x * y) % 256, (x + 5 * y) % 256], axis=-1).astype(np.uint8)


def test_pixels_are_scaled_and_normalised(tmp_path):
    pixels = picture(16, 16)
    Image.fromarray(pixels).save(tmp_path / "a.png")
    result = load_preprocess_images([tmp_path / "a.png", str(tmp_path / "a.png")], image_size=16)
    assert result.shape == (2, 3, 16, 16)
    assert result.dtype == np.float32
    np.testing.assert_allclose(result[0], (pixels.transpose(2, 0, 1) / 255 - MEAN) / STD, atol=1e-6)
    np.testing.assert_array_equal(result[0], result[1])


def test_accepts_a_custom_mean_and_deviation():
    result = preprocess_images(
        [Image.fromarray(picture(4, 4))], image_size=4, normalize_mean=(127 / 255,) * 3, normalize_std=(128 / 255,) * 3
    )
    np.testing.assert_allclose(result[0], (picture(4, 4).transpose(2, 0, 1) - 127.0) / 128, atol=1e-6)


@pytest.mark.parametrize(
    ("side", "expected"),
    [
        (2, [[66, 123], [102, 121]]),
        (3, [[15, 214, 67], [62, 64, 226], [155, 71, 52]]),
        (
            5,
            [
                [0, 102, 255, 126, 40],
                [63, 70, 81, 124, 152],
                [62, 62, 64, 161, 226],
                [77, 87, 102, 148, 179],
                [180, 132, 61, 31, 12],
            ],
        ),
    ],
)
def test_resizing_equals_opencv(side, expected):
    """Expected values are from ``cv2.resize`` of OpenCV 5.0."""
    grey = np.array([[0, 255, 40], [90, 7, 200], [33, 120, 251], [180, 61, 12]], np.uint8)
    image = Image.fromarray(np.stack([grey, 255 - grey, grey // 3], axis=-1))
    assert np.asarray(resize_as_opencv(image, side))[:, :, 0].tolist() == expected


@pytest.mark.parametrize(
    ("width", "side", "first", "last"), [(9, 2, 4, 5), (7, 2, 2, 3), (8, 4, 2, 5), (5, 8, -1, 6), (6, 9, -1, 7)]
)
def test_central_crop_equals_torchvision(width, side, first, last):
    """Expected columns are those that ``CenterCrop`` of torchvision 0.28 keeps; columns outside the image are black."""
    levels = np.arange(1, width + 1, dtype=np.uint8)
    image = Image.fromarray(np.broadcast_to(levels[:, None], (width, width, 3)).copy())
    expected = [column + 1 if 0 <= column < width else 0 for column in range(first, last + 1)]
    assert np.asarray(crop_centre(image, side))[side // 2, :, 0].tolist() == expected
    turned = crop_centre(image.transpose(Image.Transpose.TRANSPOSE), side)
    assert np.asarray(turned)[:, side // 2, 0].tolist() == expected


def test_resizing_equals_torchvision():
    # Pinned from torchvision 0.28: Resize((8, 8)), ToTensor(), Normalize(ImageNet) on the same Pillow image.
    result = preprocess_images([Image.fromarray(picture())], image_size=8)[0]
    red = [-1.073294, 0.6220567, -0.33692956, 0.00556549, 0.6220567, -0.59380084, 0.9988013, -0.9362959]
    green = [-1.5455182, 0.4327732, 0.2226892, 0.17016806, 0.15266106, 0.2051822, 0.18767506, 0.18767506]
    np.testing.assert_allclose(result[0].diagonal(), red, atol=1e-6)
    np.testing.assert_allclose(result[1].diagonal(), green, atol=1e-6)


def test_inception_equals_torchvision():
    # Pinned from torchvision 0.28: Resize(32), CenterCrop(28), ToTensor(), Normalize(.5, .5).
    result = preprocess_images([Image.fromarray(picture())], image_size=28, preprocess_type="inception")[0]
    blue = [-0.654902, -0.29411763, 0.05098045, 0.41176474, 0.75686276, -0.8901961, -0.54509807]
    assert result.shape == (3, 28, 28)
    np.testing.assert_allclose(result[2].diagonal()[::4], blue, atol=1e-6)


def test_no_images_give_an_empty_batch():
    assert preprocess_images([], image_size=7).shape == (0, 3, 7, 7)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"preprocess_type": "inceptoin"}, "inceptoin"),
        ({"normalize_std": (1, 1)}, "three values"),
        ({"normalize_std": (1, 0, 1)}, "greater than 0"),
    ],
)
def test_rejects_invalid_options(options, message):
    with pytest.raises(ValueError, match=message):
        preprocess_images([Image.fromarray(picture())], image_size=8, **options)


@pytest.mark.parametrize("mode", ["L", "LA", "RGBA", "P", "1", "CMYK"])
def test_images_of_every_mode_become_rgb(tmp_path, mode):
    path = tmp_path / ("a.tif" if mode == "CMYK" else "a.png")
    original = Image.fromarray(picture()).convert(mode)
    original.save(path)
    loaded = load_images([path])[0]
    assert loaded.mode == "RGB"
    np.testing.assert_array_equal(np.asarray(loaded), np.asarray(original.convert("RGB")))


def test_16_bit_grey_in_memory_is_also_scaled(tmp_path):
    levels = np.array([[0, 257, 25700, 65535]], dtype=np.uint16)
    Image.fromarray(levels).save(tmp_path / "a.png")
    in_memory = preprocess_images([Image.fromarray(levels)], image_size=4)
    np.testing.assert_array_equal(in_memory, load_preprocess_images([tmp_path / "a.png"], image_size=4))


@pytest.mark.parametrize("mode", ["L", "RGBA", "P", "1", "CMYK"])
def test_images_in_memory_may_have_any_mode(mode):
    original = Image.fromarray(picture()).convert(mode)
    np.testing.assert_array_equal(
        preprocess_images([original], image_size=8), preprocess_images([original.convert("RGB")], image_size=8)
    )


@pytest.mark.parametrize("processors", [1, 2, 7])
def test_number_of_threads_does_not_change_results(tmp_path, monkeypatch, processors):
    from brainscore_vision.model_helpers.activations import images

    paths = [tmp_path / f"{index}.jpg" for index in range(9)]
    for index, path in enumerate(paths):
        Image.fromarray(picture() + np.uint8(index)).save(path)
    expected = np.concatenate([load_preprocess_images([path], image_size=20) for path in paths])
    monkeypatch.setattr(images.os, "sched_getaffinity", lambda _process: range(processors), raising=False)
    np.testing.assert_array_equal(load_preprocess_images(paths, image_size=20), expected)
    loaded = load_images(paths)
    np.testing.assert_array_equal(preprocess_images([*loaded, loaded[0]], image_size=20), expected[[*range(9), 0]])
    paths[5].write_bytes(b"broken")
    with pytest.raises(StimulusError, match=r"5\.jpg"):
        load_preprocess_images(paths, image_size=20)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("brainscore-decode")]


def test_image_listed_several_times_is_decoded_once(tmp_path):
    Image.fromarray(picture()).save(tmp_path / "a.png")
    with Image.open(tmp_path / "a.png") as lazy:
        result = preprocess_images([lazy] * 8, image_size=8)
    np.testing.assert_array_equal(result, np.broadcast_to(result[:1], result.shape))


def test_transparency_is_ignored(tmp_path):
    pixels = np.dstack([picture(), np.full((60, 100), 10, dtype=np.uint8)])
    Image.fromarray(pixels).save(tmp_path / "a.png")
    np.testing.assert_array_equal(np.asarray(load_image(tmp_path / "a.png")), picture())


def test_16_bit_grey_is_scaled_not_clipped(tmp_path):
    Image.fromarray(np.array([[0, 257, 25700, 65535]], dtype=np.uint16)).save(tmp_path / "a.png")
    np.testing.assert_array_equal(np.asarray(load_image(tmp_path / "a.png"))[0, :, 0], [0, 1, 100, 255])


@pytest.mark.parametrize("ending", ["tif", "png", "pgm"])
def test_16_bit_grey_of_every_format_is_scaled(tmp_path, ending):
    levels = np.random.default_rng(0).integers(0, 2**16, (9, 11), dtype=np.uint16)
    Image.fromarray(levels).save(tmp_path / f"a.{ending}")
    np.testing.assert_array_equal(np.asarray(load_image(tmp_path / f"a.{ending}"))[..., 1], scaled_by_hand(levels))


def scaled_by_hand(levels):
    """Round level / 257 half up, in integers; no level lies halfway, since 257 is odd."""
    return (2 * levels.astype(np.int64) + 257) // 514


@pytest.mark.parametrize("dtype", [np.int32, np.float32])
def test_32_bit_grey_is_converted_like_pillow(tmp_path, dtype):
    levels = np.random.default_rng(0).uniform(0, 255, (9, 11)).astype(dtype)
    levels[0, :5] = [65, 126, 190, 255, 0]
    Image.fromarray(levels).save(tmp_path / "a.tif")
    loaded = np.asarray(load_image(tmp_path / "a.tif"))
    np.testing.assert_array_equal(loaded, np.repeat(np.floor(levels)[..., np.newaxis], 3, axis=-1))
    np.testing.assert_array_equal(loaded, np.asarray(Image.open(tmp_path / "a.tif").convert("RGB")))
    in_memory = preprocess_images([Image.open(tmp_path / "a.tif")], image_size=8)
    np.testing.assert_array_equal(load_preprocess_images([tmp_path / "a.tif"], image_size=8), in_memory)


def test_black_stays_black_at_any_depth(tmp_path):
    for dtype in (np.uint16, np.int32, np.float32):
        Image.fromarray(np.zeros((4, 4), dtype=dtype)).save(tmp_path / "a.tif")
        assert not np.asarray(load_image(tmp_path / "a.tif")).any()


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        (np.float32([[0, 1]]), "floating-point levels from 0 to 1 of"),
        (np.float32([[0, 0.5]]), "floating-point levels from 0 to 0.5 of"),
        (np.float32([[-1, 100]]), "levels from -1 to 100 of"),
        (np.float32([[np.nan, 100]]), "levels from nan to nan of"),
        (np.int32([[0, 256]]), "32-bit levels from 0 to 256 of"),
        (np.int32([[-3, 70000]]), "32-bit levels from -3 to 70000 of"),
    ],
)
def test_rejects_grey_levels_of_unknown_scale(tmp_path, levels, message):
    Image.fromarray(levels).save(tmp_path / "a.tif")
    with pytest.raises(StimulusError, match=f"a.tif.*{message}.*expected 0"):
        load_image(tmp_path / "a.tif")


def test_transparency_of_palettes_is_ignored(tmp_path):
    original = Image.fromarray(picture()).convert("P")
    original.save(tmp_path / "a.png", transparency=3)
    np.testing.assert_array_equal(np.asarray(load_image(tmp_path / "a.png")), np.asarray(original.convert("RGB")))


def test_error_names_files_that_are_not_images(tmp_path):
    text = tmp_path / "notes.png"
    text.write_text("no picture")
    with pytest.raises(StimulusError, match=r"notes\.png"):
        load_image(text)
    Image.fromarray(picture()).save(tmp_path / "whole.png")
    cut = tmp_path / "cut.png"
    content = (tmp_path / "whole.png").read_bytes()
    cut.write_bytes(content[: len(content) // 2])
    with pytest.raises(StimulusError, match=r"cut\.png"):
        load_image(cut)
    with pytest.raises(MissingStimulusError, match=r"absent\.png"):
        load_image(tmp_path / "absent.png")
