import functools
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from brainscore_core.errors import ConfigurationError
from brainscore_vision.identity.objects import preprocessing_digest
from brainscore_vision.model_helpers.activations.images import load_preprocess_images, preprocess_images
from brainscore_vision.model_helpers.adapters import preprocessing


@pytest.fixture
def paths(tmp_path):
    for number, size in enumerate([(20, 30), (50, 40)]):
        pixels = np.random.default_rng(number).integers(0, 256, (*size, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(tmp_path / f"{number}.png")
    return [str(tmp_path / "0.png"), str(tmp_path / "1.png")]


def resized(size, gain=1.0):
    def transform(image):
        return np.asarray(image.resize((size, size)), dtype=np.float32).transpose(2, 0, 1) * gain

    return transform


@pytest.mark.parametrize(
    ("name", "kind", "size"), [("imagenet-16", "imagenet", 16), ("inception-299", "inception", 299)]
)
def test_names_give_the_published_pipelines(paths, name, kind, size):
    expected = load_preprocess_images(paths, image_size=size, preprocess_type=kind)
    np.testing.assert_array_equal(preprocessing.preprocessing_from(name)(paths), expected)


@pytest.mark.parametrize("wrong", ["imagenet", "imagenet-", "imagenet-0", "Imagenet-224", "resnet-224", ""])
def test_error_for_unknown_names_lists_the_known_ones(wrong):
    with pytest.raises(ConfigurationError, match=r"expected 'imagenet-224' .*'inception-299'"):
        preprocessing.preprocessing_from(wrong)


def test_function_gets_one_rgb_image_at_a_time(paths):
    seen = []

    def transform(image):
        seen.append((image.mode, image.size))
        return resized(8)(image)

    assert preprocessing.preprocessing_from(transform)(paths).shape == (2, 3, 8, 8)
    assert seen == [("RGB", (30, 20)), ("RGB", (40, 50))]


def test_known_functions_of_paths_are_used_unchanged(paths):
    partial = functools.partial(load_preprocess_images, image_size=8)
    assert preprocessing.preprocessing_from(partial) is partial


class Weights:
    """A replacement of a member of torchvision's weights."""

    url = "https://download.pytorch.org/models/resnet18-f37072fd.pth"

    def transforms(self):
        return resized(8)


def test_weights_supply_their_transforms(paths):
    assert preprocessing.preprocessing_from(Weights())(paths).shape == (2, 3, 8, 8)


class WeightsTransform:
    """A replacement of the transforms of torchvision's weights."""

    resize_size, crop_size, mean, std, interpolation = (
        [20],
        [16],
        [0.1] * 3,
        [0.2] * 3,
        SimpleNamespace(value="bicubic"),
    )

    def __init__(self, factor=1.0):
        self.factor = factor

    def __call__(self, image):
        return self.factor * preprocess_images(
            [image], 16, short_side=20, resample="bicubic", normalize_mean=self.mean, normalize_std=self.std
        )[0]  # fmt: skip


def test_our_loader_replaces_a_transform_of_equal_pixels(paths):
    same, other = WeightsTransform(), WeightsTransform(1 + 1e-6)
    reduced = preprocessing.of_each_picture(same)
    assert (reduced.func, reduced.keywords["short_side"]) == (load_preprocess_images, 20)
    np.testing.assert_array_equal(reduced(paths), preprocessing.EachPicture(same)(paths))
    assert isinstance(preprocessing.of_each_picture(other), preprocessing.EachPicture)


def test_image_processors_get_all_images_at_once(paths):
    def processor(images, return_tensors):
        assert [image.mode for image in images] == ["RGB", "RGB"]
        return {"pixel_values": [resized(8)(image) for image in images]}

    assert preprocessing.ImageProcessor(processor)(paths).shape == (2, 3, 8, 8)


@pytest.mark.parametrize("wrong", [3, object(), preprocessing.EachPicture])
def test_other_objects_are_refused_as_preprocessing(wrong):
    with pytest.raises(ConfigurationError, match="expected a name"):
        preprocessing.preprocessing_from(wrong)


@pytest.mark.parametrize(
    ("transform", "message"),
    [
        (lambda image: image, "returned a Image.*ToTensor"),
        (lambda image: np.asarray(image)[:, :, 0], r"shape \(20, 30\)"),
        (lambda image: None, "NoneType"),
        (lambda image: np.asarray(image).transpose(2, 0, 1), r"different shapes \(\(3, 20, 30\), \(3, 50, 40\)\)"),
    ],
)
def test_returned_images_are_checked(paths, transform, message):
    with pytest.raises(ConfigurationError, match=message):
        preprocessing.preprocessing_from(transform)(paths)


def test_cache_distinguishes_preprocessing():
    made = [resized(8), resized(9), resized(8, gain=2), lambda image: resized(8)(image) + 1]
    digests = [
        preprocessing_digest(preprocessing.preprocessing_from(each)) for each in ("imagenet-8", "imagenet-9", *made)
    ]
    assert len(set(digests)) == len(digests)
    assert digests[2] == preprocessing_digest(preprocessing.preprocessing_from(resized(8)))
