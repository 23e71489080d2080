from __future__ import annotations

import functools

import cv2
import numpy as np
import open_clip
import pytest
import timm
import torch
import torchvision
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from brainscore_vision.catalogue.model_tables import PICTURES, published_rows, steps_of_pictures
from brainscore_vision.model_helpers.activations.images import load_preprocess_images, preprocess_images
from brainscore_vision.model_helpers.adapters.preprocessing import of_each_picture, preprocessing_from
from brainscore_vision.model_helpers.tables import _preprocessing

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
TOLERANCE = {"rtol": 0, "atol": 1e-5}


def picture(height, width, seed=0):
    rng = np.random.default_rng(seed)
    coarse = rng.integers(0, 256, size=(height // 4 + 1, width // 4 + 1, 3), dtype=np.uint8)
    return Image.fromarray(coarse.repeat(4, axis=0).repeat(4, axis=1)[:height, :width])


def preprocess_with_torchvision(image, size, kind, mean=MEAN, std=STD):
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
def test_any_size_matches_torchvision(height, width, size, kind):
    image = picture(height, width)
    ours = preprocess_images([image], image_size=size, preprocess_type=kind)[0]
    np.testing.assert_allclose(ours, preprocess_with_torchvision(image, size, kind), **TOLERANCE)


@pytest.mark.parametrize("kind", ["imagenet", "inception"])
@pytest.mark.parametrize(
    ("mode", "suffix"),
    [
        ("RGB", "png"), ("RGB", "jpg"), ("L", "png"), ("L", "jpg"), ("LA", "png"), ("RGBA", "png"), ("P", "png"),
        ("P", "gif"), ("1", "png"), ("CMYK", "jpg"), ("CMYK", "tif"), ("YCbCr", "jpg"), ("RGB", "webp"), ("RGB", "bmp"),
    ],
)  # fmt: skip
def test_any_mode_of_file_matches_torchvision(tmp_path, mode, suffix, kind):
    path = tmp_path / f"a.{suffix}"
    picture(300, 400).convert(mode).save(path)
    with Image.open(path) as image:
        expected = preprocess_with_torchvision(image.convert("RGB"), 224, kind)
    ours = load_preprocess_images([path], image_size=224, preprocess_type=kind)[0]
    np.testing.assert_allclose(ours, expected, **TOLERANCE)


@pytest.mark.parametrize("size", [32, 224, 299])
def test_custom_mean_and_deviation_match_torchvision(size):
    mean, std = (0.1, 0.5, 0.9), (0.3, 0.2, 1.0)
    image = picture(500, 333)
    ours = preprocess_images([image], image_size=size, normalize_mean=mean, normalize_std=std)[0]
    np.testing.assert_allclose(ours, preprocess_with_torchvision(image, size, "imagenet", mean, std), **TOLERANCE)


def test_arithmetic_matches_torchvision_exactly():
    image = picture(300, 200)
    np.testing.assert_array_equal(
        preprocess_images([image], image_size=224)[0], preprocess_with_torchvision(image, 224, "imagenet")
    )


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
def test_known_transforms_match_their_library_exactly(kind, height, width):
    transform, image = TRANSFORMS[kind](), picture(height, width)
    ours = of_each_picture(transform)
    assert isinstance(ours, functools.partial)
    np.testing.assert_array_equal(preprocess_images([image], **ours.keywords)[0], transform(image).numpy())


@pytest.mark.parametrize(
    "changes", [{"crop_mode": "border"}, {"crop_mode": "squash", "crop_pct": 0.9}, {"input_size": (3, 64, 32)}]
)
def test_unknown_transforms_are_run_by_the_library(changes):
    transform = timm.data.create_transform(**{"input_size": (3, 64, 64), **changes})
    assert of_each_picture(transform).transform is transform


# -- preprocessing steps of model tables -------------------------------------------------------------------------------


def assert_equal_on_files(pictures, expected, files, network=None):
    """Compare preprocessing by a table's steps with a function from an RGB image to a tensor."""
    ours = preprocessing_from(_preprocessing(pictures, network or torch.nn.Identity()))(files)
    for file, values in zip(files, ours, strict=True):
        with Image.open(file) as image:
            rgb = image.convert("RGB")
        np.testing.assert_allclose(values, np.asarray(expected(rgb)), rtol=0, atol=1e-6, err_msg=f"{pictures}: {file}")


def published_steps(pictures):
    """Return the steps as a transform of torchvision, or of OpenCV with the central crop of Albumentations."""
    from torchvision import transforms

    steps = steps_of_pictures(pictures)
    side, crop = int(steps["side"]), int(steps["crop"] or steps["side"])
    values = [transforms.ToTensor(), transforms.Normalize(*PICTURES[steps["values"]])]
    if steps["resample"] == "opencv":
        part = slice((side - crop) // 2, (side - crop) // 2 + crop)
        resized = lambda image: cv2.resize(np.asarray(image), (side, side), interpolation=cv2.INTER_LINEAR)  # noqa: E731
        return transforms.Compose([resized, lambda pixels: np.ascontiguousarray(pixels[part, part]), *values])
    interpolation = transforms.InterpolationMode(steps["resample"] or "bilinear")
    resized = transforms.Resize(side if steps["shape"] == "short" else (side, side), interpolation)
    return transforms.Compose([resized, transforms.CenterCrop(crop), *values])


STATED = {row.pictures or "square 224, imagenet" for row in published_rows().values() if not row.reason}
ODD = {
    "square 41, crop 26, half",
    "square 41 opencv, crop 26, half",
    "short 41, crop 26, unit",
    "short 40, crop 63, unit",
}
"""Steps that no row has: the crop removes an odd number of pixels, or is larger than the picture."""


@pytest.mark.parametrize("pictures", sorted(ODD.union(STATED - {each for each in STATED if "library" in each})))
def test_table_steps_match_torchvision_and_opencv(pictures, ten_files):
    assert_equal_on_files(pictures, published_steps(pictures), ten_files)


def test_table_blur_matches_torchvision(ten_files):
    network = timm.create_model("resnet18")
    steps = timm.data.create_transform(**timm.data.resolve_model_data_config(network), is_training=False).transforms
    blur = torchvision.transforms.GaussianBlur(kernel_size=17, sigma=2.5)
    expected = torchvision.transforms.Compose([*steps[:-2], blur, *steps[-2:]])
    assert_equal_on_files("library, blur 2.5", expected, ten_files, network)


def test_preprocessing_that_timm_states_for_rows_is_applied(ten_files):
    """Check each configuration that timm states for the rows' networks, requested as by the published plugins."""
    names = [
        row.source
        for row in published_rows().values()
        if row.library == "timm" and "library" in (row.pictures or "library")
    ]
    settings_of_timm = {}
    for name in names:
        config = timm.data.resolve_data_config(
            pretrained_cfg=timm.get_pretrained_cfg(name.removeprefix("timm:")).to_dict()
        )
        settings_of_timm[str(config)] = config
    assert len(settings_of_timm) > 5
    for config in settings_of_timm.values():
        transform = timm.data.create_transform(**config, is_training=False)
        ours = preprocessing_from(transform)(ten_files)
        for file, values in zip(ten_files, ours, strict=True):
            with Image.open(file) as image:
                expected = transform(image.convert("RGB")).numpy()
            np.testing.assert_allclose(values, expected, rtol=0, atol=1e-6, err_msg=f"{config}: {file}")
