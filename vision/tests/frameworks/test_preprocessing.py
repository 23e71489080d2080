from __future__ import annotations

import functools

import numpy as np
import open_clip
import pytest
import timm
import torchvision
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from brainscore_vision.model_helpers.activations.images import load_preprocess_images, preprocess_images
from brainscore_vision.model_helpers.adapters.preprocessing import of_each_picture

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
TOLERANCE = {"rtol": 0, "atol": 1e-5}


def picture(height, width, seed=0):
    rng = np.random.default_rng(seed)
    coarse = rng.integers(0, 256, size=(height // 4 + 1, width // 4 + 1, 3), dtype=np.uint8)
    return Image.fromarray(coarse.repeat(4, axis=0).repeat(4, axis=1)[:height, :width])


def by_torchvision(image, size, kind, mean=MEAN, std=STD):
    from torchvision import transforms

    geometry = {
        "imagenet": [transforms.Resize((size, size))],
        "inception": [transforms.Resize(int(size * 256 / 224)), transforms.CenterCrop(size)],
    }[kind]
    if kind == "inception":
        mean = std = (0.5, 0.5, 0.5)
    return transforms.Compose([*geometry, transforms.ToTensor(), transforms.Normalize(mean, std)])(image).numpy()


@given(
    height=st.integers(5, 90),
    width=st.integers(5, 90),
    size=st.integers(4, 40),
    kind=st.sampled_from(["imagenet", "inception"]),
)
@settings(max_examples=60)
def test_any_size(height, width, size, kind):
    image = picture(height, width)
    ours = preprocess_images([image], image_size=size, preprocess_type=kind)[0]
    np.testing.assert_allclose(ours, by_torchvision(image, size, kind), **TOLERANCE)


@pytest.mark.parametrize("kind", ["imagenet", "inception"])
@pytest.mark.parametrize(
    ("mode", "suffix"),
    [
        ("RGB", "png"), ("RGB", "jpg"), ("L", "png"), ("L", "jpg"), ("LA", "png"), ("RGBA", "png"), ("P", "png"),
        ("P", "gif"), ("1", "png"), ("CMYK", "jpg"), ("CMYK", "tif"), ("YCbCr", "jpg"), ("RGB", "webp"), ("RGB", "bmp"),
    ],
)  # fmt: skip
def test_any_mode_from_files(tmp_path, mode, suffix, kind):
    path = tmp_path / f"a.{suffix}"
    picture(300, 400).convert(mode).save(path)
    with Image.open(path) as image:
        expected = by_torchvision(image.convert("RGB"), 224, kind)
    ours = load_preprocess_images([path], image_size=224, preprocess_type=kind)[0]
    np.testing.assert_allclose(ours, expected, **TOLERANCE)


@pytest.mark.parametrize("size", [32, 224, 299])
def test_own_mean_and_deviation(size):
    mean, std = (0.1, 0.5, 0.9), (0.3, 0.2, 1.0)
    image = picture(500, 333)
    ours = preprocess_images([image], image_size=size, normalize_mean=mean, normalize_std=std)[0]
    np.testing.assert_allclose(ours, by_torchvision(image, size, "imagenet", mean, std), **TOLERANCE)


def test_the_arithmetic_is_the_same_bit_by_bit():
    image = picture(300, 200)
    np.testing.assert_array_equal(preprocess_images([image], image_size=224)[0], by_torchvision(image, 224, "imagenet"))


TRANSFORMS = {
    "timm": lambda: timm.data.create_transform((3, 96, 96), crop_pct=0.95, interpolation="bicubic"),
    "timm, squeezed": lambda: timm.data.create_transform(
        (3, 64, 64), crop_pct=1, crop_mode="squash", interpolation="lanczos"
    ),
    "torchvision": lambda: torchvision.models.ConvNeXt_Tiny_Weights.IMAGENET1K_V1.transforms(),
    "torchvision, bicubic": lambda: torchvision.models.Swin_T_Weights.DEFAULT.transforms(),
    "open_clip": lambda: open_clip.transform.image_transform(64, is_train=False),
    "open_clip, squeezed": lambda: open_clip.transform.image_transform(48, is_train=False, resize_mode="squash"),
}


@pytest.mark.parametrize("kind", TRANSFORMS)
@given(height=st.integers(5, 400), width=st.integers(5, 400))
@settings(max_examples=8)
def test_libraries_are_followed_bit_by_bit(kind, height, width):
    transform, image = TRANSFORMS[kind](), picture(height, width)
    ours = of_each_picture(transform)
    assert isinstance(ours, functools.partial)
    np.testing.assert_array_equal(preprocess_images([image], **ours.keywords)[0], transform(image).numpy())


@pytest.mark.parametrize(
    "changes", [{"crop_mode": "border"}, {"crop_mode": "squash", "crop_pct": 0.9}, {"input_size": (3, 64, 32)}]
)
def test_other_pixels_are_those_of_the_library(changes):
    transform = timm.data.create_transform(**{"input_size": (3, 64, 64), **changes})
    assert of_each_picture(transform).transform is transform
