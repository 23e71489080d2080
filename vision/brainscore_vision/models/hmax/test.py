from functools import cache

import numpy as np
import pytest
import torch

from brainscore_vision import load_model
from brainscore_vision.models.hmax import model
from brainscore_vision.models.hmax.hierarchy import HMAX, POOLING, PROTOTYPE_SIDES, SCALES, dead_leaves
from brainscore_vision.testing import ModelContract


@cache
def brain():
    return load_model("hmax_discs")


class TestHMAX(ModelContract):
    identifier = "hmax_discs"

    def load(self):
        return brain()

    @pytest.mark.slow  # 44 s on two cores, 56 s on one
    def test_activations_are_finite(self, tmp_path):
        super().test_activations_are_finite(tmp_path)


@pytest.fixture(scope="module")
def network():
    return HMAX(n_prototypes=10).eval()


@pytest.fixture(scope="module")
def scenes():
    return torch.stack([dead_leaves(np.random.default_rng(100 + number)) for number in range(3)])


def grating(wavelength, theta, phase=0.0):
    y, x = np.mgrid[:224, :224] - 112
    wave = np.cos(2 * np.pi / wavelength * (x * np.cos(theta) + y * np.sin(theta)) + phase)
    return torch.from_numpy(0.5 + 0.5 * wave).float()[None]


def run(function, *arguments):
    with torch.no_grad():
        return function(*arguments)


@pytest.mark.parametrize("scale", [0, 3, 7, 11, 15])
def test_filters_respond_most_to_their_preferred_grating(network, scale):
    wavelength = SCALES[scale][2]
    thetas = np.pi * np.arange(4) / 4
    s1 = run(network.filter, torch.stack([grating(wavelength, theta) for theta in thetas]), scale)
    strongest = s1[:, :, 60:160, 60:160].amax(dim=(2, 3))
    assert strongest.argmax(dim=1).tolist() == [0, 1, 2, 3]
    others = torch.stack([grating(factor * wavelength, thetas[1]) for factor in (0.5, 2)])
    assert run(network.filter, others, scale)[:, 1, 60:160, 60:160].max() < strongest[1, 1]


def test_filters_ignore_constants_and_have_unit_norm(network):
    for scale, (size_px, _, _) in enumerate(SCALES):
        filters = network.get_buffer(f"filters{scale}")
        assert filters.shape == (4, 1, size_px, size_px)
        np.testing.assert_allclose(filters.sum(dim=(1, 2, 3)), 0, atol=1e-5)
        np.testing.assert_allclose(filters.flatten(1).norm(dim=1), 1, rtol=1e-5)
    assert run(network.filter, torch.full((1, 1, 224, 224), 0.7), 2)[:, :, 20:-20, 20:-20].max() < 1e-4


def test_s1_is_the_cosine_of_filter_and_picture(network, scenes):
    for scale in (0, 8):
        size_px = SCALES[scale][0]
        cut = scenes[0, 0, 100 : 100 + size_px, 90 : 90 + size_px]
        filters = network.get_buffer(f"filters{scale}")[:, 0]
        expected = (filters * cut).sum(dim=(1, 2)).abs() / cut.norm()
        middle = size_px // 2
        found = run(network.filter, scenes[:1], scale)[0, :, 100 + middle, 90 + middle]
        torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-5)


@pytest.mark.slow
def test_c2_does_not_depend_on_contrast(network, scenes):
    torch.testing.assert_close(run(network, scenes[:1]), run(network, 0.3 * scenes[:1]), rtol=1e-3, atol=1e-4)


def test_c1_is_the_maximum_over_scales_and_positions(network, scenes):
    for band in (0, 7):
        pair = [run(network.filter, scenes[:1], 2 * band + each) for each in (0, 1)]
        c1 = run(network.pool, scenes[:1], band)
        side, step = POOLING[band], POOLING[band] // 2
        row, column = 5, 3
        cut = (..., slice(row * step, row * step + side), slice(column * step, column * step + side))
        expected = torch.maximum(pair[0][cut].amax(dim=(2, 3)), pair[1][cut].amax(dim=(2, 3)))
        assert torch.equal(c1[:, :, row, column], expected)


def test_c1_does_not_depend_on_phase(network):
    # Band 3 has filters of wavelength 9.1 and 10.3 and maxima over 14 pixels, more than a period.
    shown = torch.stack([grating(9.7, 0, phase) for phase in np.arange(8) * np.pi / 4])
    c1 = run(network.pool, shown, 3)[:, 0, 8:-8, 8:-8]
    s1 = run(network.filter, shown, 6)[:, 0, 56:-56, 56:-56]
    assert (c1.std(dim=0) / c1.mean()).max() < 0.02 < 0.3 < (s1.std(dim=0) / s1.mean()).median()


@pytest.mark.parametrize("side", PROTOTYPE_SIDES)
def test_prototype_responds_most_to_itself(network, side):
    prototypes = network.get_buffer(f"prototypes{side}")
    responses = run(network.match, prototypes, side)[:, :, 0, 0]
    np.testing.assert_allclose(responses.diagonal(), 1, atol=1e-3)
    distances = torch.cdist(prototypes.flatten(1), prototypes.flatten(1)) ** 2
    beta = float(network.get_buffer(f"beta{side}"))
    assert beta == pytest.approx(1 / float(distances.sum() / (10 * 9)), rel=1e-3)
    torch.testing.assert_close(responses, torch.exp(-beta * distances), rtol=1e-2, atol=1e-3)


@pytest.mark.slow
def test_c2_is_the_strongest_s2_of_all_bands(network, scenes):
    scenes = scenes[:1]
    c2 = run(network, scenes)
    assert c2.shape == (1, 4 * 10)
    best = torch.stack(
        [
            torch.cat(
                [
                    run(network.match, run(network.pool, scenes, band), side).amax(dim=(2, 3))
                    for side in PROTOTYPE_SIDES
                ],
                dim=1,
            )
            for band in range(len(POOLING))
        ]
    )
    assert torch.equal(c2, best.amax(dim=0))
    assert 0 < c2.min() < c2.max() <= 1


@pytest.mark.slow
def test_c2_recognises_a_shifted_scene(network, scenes):
    large = torch.stack([dead_leaves(np.random.default_rng(200 + n), side_px=260) for n in range(3)])
    still, moved = (run(network, large[:, :, at : at + 224, at : at + 224]) for at in (10, 17))
    distances = torch.cdist(still, moved)
    assert distances.argmin(dim=1).tolist() == [0, 1, 2]
    assert distances.diagonal().max() < 0.5 * (distances.sum() - distances.diagonal().sum()) / 6


def test_dead_leaves_pictures_are_seeded():
    first, again, other = (dead_leaves(np.random.default_rng(seed)) for seed in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert first.shape == (1, 224, 224)
    assert 0 <= first.min() < first.max() <= 1


def test_layers_have_the_expected_shapes():
    pictures = np.random.default_rng(0).random((1, 1, 224, 224)).astype(np.float32)
    activations = brain().activations_model.get_activations(pictures, model.LAYERS)
    sides = {f"c1.{band}": (224 - side) // (side // 2) + 1 for band, side in enumerate(POOLING)}
    expected = {layer: (1, 4, side, side) for layer, side in sides.items()}
    for band in (6, 7):
        n_positions = sum((sides[f"c1.{band}"] - side + 1) ** 2 for side in PROTOTYPE_SIDES)
        expected[f"s2.{band}"] = (1, 100 * n_positions)
    expected["c2"] = (1, 400)
    assert {layer: values.shape for layer, values in activations.items()} == expected


def test_pictures_are_averaged_to_grey(tmp_path):
    from PIL import Image

    Image.new("RGB", (30, 30), (255, 0, 51)).save(tmp_path / "a.png")
    grey = model.load_grey([tmp_path / "a.png"])
    assert grey.shape == (1, 1, 224, 224)
    np.testing.assert_allclose(grey, (1 + 0 + 0.2) / 3, rtol=1e-5)
