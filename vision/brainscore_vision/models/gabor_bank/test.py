import numpy as np
import pytest
import torch

from brainscore_vision import load_benchmark, load_model
from brainscore_vision.model_helpers.activations.pytorch import PytorchWrapper
from brainscore_vision.model_helpers.brain_transformation import ModelCommitment
from brainscore_vision.models.gabor_bank import model, v1
from brainscore_vision.testing import ModelContract

PX_PER_DEGREE = 28


class TestGaborBank(ModelContract):
    identifier = "gabor_bank"


@pytest.fixture(scope="module")
def bank():
    return v1.GaborBank(n_simple=128, n_complex=128, stride_px=112).eval()  # one position is the centre


def grating(frequency, theta, phase, colour, side_px=225):
    """Return a picture (3, side, side) of one colour; frequency in cycles per degree, phase at the centre."""
    y, x = np.mgrid[:side_px, :side_px] - side_px // 2
    wave = np.cos(2 * np.pi * frequency / PX_PER_DEGREE * (x * np.cos(theta) + y * np.sin(theta)) + phase)
    picture = torch.zeros(3, side_px, side_px)
    picture[colour] = torch.from_numpy(wave).float()
    return picture


def at_centre(bank, pictures):
    with torch.no_grad():
        activity = bank(torch.stack(pictures))
    return activity[:, :, activity.shape[2] // 2, activity.shape[3] // 2].numpy()


def clear_cells(tuning, cells):
    """Return the cells whose receptive field lies inside the filter and holds a period of their grating."""
    sigmas = np.stack([tuning.size_x, tuning.size_y]) / tuning.frequency * PX_PER_DEGREE
    clear = (sigmas.max(axis=0) < 6) & (tuning.size_x > 0.35) & (tuning.size_y > 0.35)
    return [cell for cell in cells if clear[cell]]


@pytest.mark.parametrize("kind", ["simple", "complex"])
def test_cells_respond_most_to_their_preferred_grating(bank, kind):
    tuning = bank.tuning
    cells = clear_cells(tuning, range(128) if kind == "simple" else range(128, 256))
    assert len(cells) >= 10
    for cell in cells:
        f, theta, phase, colour = (
            values[cell] for values in (tuning.frequency, tuning.theta, tuning.phase, tuning.colour)
        )
        preferred = grating(f, theta, phase, colour)
        others = [
            grating(f, theta + np.pi / 2, phase, colour),
            grating(f, theta + np.pi / 5, phase, colour),
            grating(2.5 * f, theta, phase, colour),
            grating(f / 2.5, theta, phase, colour),
        ]
        driven, *weaker = at_centre(bank, [preferred, *others])[:, cell]
        assert driven > max(weaker)
        assert at_centre(bank, [grating(f, theta, phase, (colour + 1) % 3)])[0, cell] == pytest.approx(0, abs=1e-5)


def test_only_simple_cells_depend_on_phase(bank):
    tuning, phases = bank.tuning, np.arange(8) * np.pi / 4
    modulation = {}
    for kind, cells in (("simple", range(128)), ("complex", range(128, 256))):
        for cell in clear_cells(tuning, cells):
            shown = [
                grating(tuning.frequency[cell], tuning.theta[cell], phase, tuning.colour[cell]) for phase in phases
            ]
            responses = at_centre(bank, shown)[:, cell]
            # F1 / F0: how much of the response follows the phase, as for recorded cells.
            spectrum = np.abs(np.fft.rfft(responses))
            modulation.setdefault(kind, []).append(2 * spectrum[1] / spectrum[0])
    assert min(modulation["simple"]) > 1 > 0.1 > max(modulation["complex"])


def test_activity_matches_the_formula(bank):
    picture = torch.from_numpy(np.random.default_rng(0).normal(size=(3, 225, 225))).float()
    cut = picture[:, 112 - 12 : 112 + 13, 112 - 12 : 112 + 13].numpy()
    found = at_centre(bank, [picture])[0]
    y, x = np.mgrid[-12:13, -12:13]
    for cell in (0, 5, 130, 255):
        tuning = bank.tuning
        f = tuning.frequency[cell] / PX_PER_DEGREE
        theta, phase = tuning.theta[cell], tuning.phase[cell]
        sx, sy = tuning.size_x[cell] / f, tuning.size_y[cell] / f
        u, v = x * np.cos(theta) + y * np.sin(theta), -x * np.sin(theta) + y * np.cos(theta)
        envelope = np.exp(-(u**2 / sx**2 + v**2 / sy**2) / 2) / (2 * np.pi * sx * sy)
        q0, q1 = (
            (envelope * np.cos(2 * np.pi * f * u + phase + shift) * cut[tuning.colour[cell]]).sum()
            for shift in (0, np.pi / 2)
        )
        expected = 25 * (max(q0, 0) if cell < 128 else np.sqrt((q0**2 + q1**2) / 2))
        assert found[cell] == pytest.approx(expected, rel=1e-3, abs=1e-4)


def test_grey_evokes_no_response(bank):
    assert at_centre(bank, [torch.zeros(3, 225, 225)]).max() == 0


def test_tuning_is_distributed_as_published():
    tuning = v1.draw_tuning(40_000, seed=1)
    degrees = np.rad2deg(tuning.theta)
    around = [
        np.mean(np.minimum(abs(degrees - centre), 180 - abs(degrees - centre)) < 22.5) for centre in (0, 45, 90, 135)
    ]
    np.testing.assert_allclose(around, np.divide(v1.ORIENTATION_COUNTS, sum(v1.ORIENTATION_COUNTS)), atol=0.01)
    frequencies, _ = np.histogram(tuning.frequency, v1.FREQUENCY_EDGES)
    np.testing.assert_allclose(
        frequencies / 40_000, np.divide(v1.FREQUENCY_COUNTS, sum(v1.FREQUENCY_COUNTS)), atol=0.01
    )
    sizes, *_ = np.histogram2d(tuning.size_x, tuning.size_y, [v1.SIZE_EDGES[:-1], v1.SIZE_EDGES])
    np.testing.assert_allclose(sizes / 40_000, np.divide(v1.SIZE_COUNTS, np.sum(v1.SIZE_COUNTS)), atol=0.01)
    phases, _ = np.histogram(tuning.phase, np.linspace(0, 2 * np.pi, 5))
    np.testing.assert_allclose(phases / 40_000, 0.25, atol=0.01)
    np.testing.assert_allclose(np.bincount(tuning.colour) / 40_000, 1 / 3, atol=0.01)
    ranks = [np.argsort(np.argsort(values)) for values in (tuning.size_x, tuning.frequency)]
    spearman = 6 / np.pi * np.arcsin(0.75 / 2)  # for a Gaussian copula
    assert np.corrcoef(ranks)[0, 1] == pytest.approx(spearman, abs=0.02)


def test_the_same_seed_gives_the_same_bank():
    banks = [v1.GaborBank(n_simple=4, n_complex=4, seed=seed) for seed in (0, 0, 1)]
    assert torch.equal(banks[0].even, banks[1].even)
    assert not torch.equal(banks[0].even, banks[2].even)


def test_noise_is_off_by_default_and_poisson_like_with_a_seed():
    picture = 20 * torch.randn(1, 3, 65, 65, generator=torch.Generator().manual_seed(0))
    pictures = picture.repeat(400, 1, 1, 1)
    quiet = v1.GaborBank(n_simple=8, n_complex=8, stride_px=32)
    noisy = v1.GaborBank(n_simple=8, n_complex=8, stride_px=32, noise_seed=3)
    with torch.no_grad():
        assert torch.equal(quiet(pictures[:2]), quiet(pictures[:2]))
        mean, first, again = quiet(pictures[:1])[0], noisy(pictures), noisy(pictures)
    assert torch.equal(first, again)
    assert not torch.equal(first[0], first[1])
    strong = mean > 10  # far from 0, where noise is cut off
    assert strong.sum() >= 5
    spikes = 0.35 * first.std(dim=0)[strong] ** 2
    np.testing.assert_allclose((spikes / (mean[strong] + 0.07 / 0.35)).numpy(), 1, atol=0.3)


def test_layers_have_the_expected_shapes():
    pictures = np.zeros((1, 3, 224, 224), dtype=np.float32)
    activations = model.get_model("gabor_bank").get_activations(pictures, model.LAYERS)
    assert [values.shape[1:] for values in activations.values()] == [(256, 28, 28), (256, 28, 28), (512, 28, 28)]


def test_bank_models_only_v1():
    with pytest.raises(KeyError, match="IT"):
        load_model("gabor_bank").start_recording("IT", [(70, 170)])


@pytest.mark.slow
@pytest.mark.usefixtures("shared_caches")
def test_bank_predicts_simulated_v1_better_than_pixels():
    def scored(brain):
        return float(load_benchmark("SimulatedCortex2026.V1-pls")(brain))

    full = model.get_model("gabor_bank")
    small = PytorchWrapper(v1.GaborBank(n_simple=16, n_complex=16, stride_px=16), full._extractor.preprocess, "small")  # noqa: SLF001 - the same pictures
    brain = ModelCommitment("small", small, layers=["output"], region_layer_map={"V1": "output"})
    assert scored(brain) > 3 * scored(load_model("pixels"))


def test_activations_can_be_cached():
    parts = load_model("gabor_bank").activations_model._extractor.model_parts()  # noqa: SLF001 - raises if not
    assert {"model weights", "model code and settings"} <= parts.keys()
