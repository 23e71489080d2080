import importlib
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from brainscore_core.config import settings
from brainscore_core.errors import MissingStimulusError
from brainscore_vision import load_dataset, load_stimulus_set
from brainscore_vision.benchmark_helpers import check_standard_format

dataset = importlib.import_module("brainscore_vision.data.simulatedcortex2026.dataset")
patches = importlib.import_module("brainscore_vision.data.simulatedcortex2026.patches")
population = importlib.import_module("brainscore_vision.data.simulatedcortex2026.population")
choices = importlib.import_module("brainscore_vision.data.simulatedcortex2026.choices")
cells = importlib.import_module("brainscore_vision.data.simulatedcortex2026.cells")

SMALL = population.PopulationParameters(n_orientations=4, frequencies=(4.0, 8.0), repetitions=3, it_neuroids=5)


def grating(orientation, frequency, phase=0.0, contrast=1.0, size=32):
    axis = (np.arange(size) + 0.5) / size
    along = axis[None, :] * np.cos(orientation) + axis[:, None] * np.sin(orientation)
    return 0.5 + 0.5 * contrast * np.cos(2 * np.pi * frequency * along + phase)


class TestPopulation:
    def test_filters_have_unit_norm_and_ignore_mean_luminance(self):
        pair = population.gabor_pair(32, orientation=0.4, frequency=5, centre=(0.3, 0.6), bandwidth=0.5)
        np.testing.assert_allclose(np.linalg.norm(pair, axis=(1, 2)), 1)
        np.testing.assert_allclose(pair.sum(axis=(1, 2)), 0, atol=1e-12)

    def test_pair_is_in_quadrature(self):
        even, odd = population.gabor_pair(64, orientation=0, frequency=8, centre=(0.5, 0.5), bandwidth=0.5)
        assert abs((even * odd).sum()) < 1e-12
        np.testing.assert_allclose(even, even[::-1, ::-1], atol=1e-12)
        np.testing.assert_allclose(odd, -odd[::-1, ::-1], atol=1e-12)

    def test_energy_does_not_depend_on_phase_but_on_squared_contrast(self):
        images = np.stack([grating(0, 8, phase) for phase in (0, 1, 2, 4)] + [grating(0, 8, 0, contrast=0.5)])
        energy = population.quadrature_energy(images, SMALL)[:, 0, 1, 4, 4]
        np.testing.assert_allclose(energy[:4], energy[0], rtol=0.02)
        assert energy[4] / energy[0] == pytest.approx(0.25)

    @pytest.mark.parametrize("preferred", range(4))
    @pytest.mark.parametrize("frequency", [0, 1])
    def test_each_cell_prefers_its_grating(self, preferred, frequency):
        images = np.stack([grating(np.pi * i / 4, f, phase=0.3) for i in range(4) for f in SMALL.frequencies])
        energy = population.quadrature_energy(images, SMALL)[:, preferred, frequency, 4, 4]
        assert energy.argmax() == 2 * preferred + frequency

    def test_blank_images_evoke_no_response(self):
        energy = population.quadrature_energy(np.full((1, 32, 32), 0.7), SMALL)
        np.testing.assert_allclose(energy, 0, atol=1e-20)
        np.testing.assert_array_equal(population.normalized_amplitude(np.zeros((1, 4, 2)), SMALL), 0)

    def test_normalisation_matches_a_direct_computation(self):
        energy = np.array([[[4.0, 16.0]]])  # amplitudes 2 and 4, pool 3
        normalized = population.normalized_amplitude(energy, replace(SMALL, semi_saturation=1.0))
        np.testing.assert_allclose(normalized, [[[2 / 4, 4 / 4]]])
        squared = population.normalized_amplitude(energy, replace(SMALL, semi_saturation=1.0, exponent=2.0))
        np.testing.assert_allclose(squared, [[[4 / 11, 16 / 11]]])

    def test_responses_saturate_with_contrast_and_a_mask_suppresses(self):
        alone, doubled, masked = np.zeros((3, 1, 4, 2))
        alone[:, 0, 0], doubled[:, 0, 0], masked[:, 0, 0] = 4.0, 16.0, 4.0
        masked[:, 2, 0] = 64.0
        responses = [population.normalized_amplitude(energy, SMALL)[0, 0, 0] for energy in (alone, doubled, masked)]
        assert responses[0] < responses[1] < 2 * responses[0]  # twice the contrast, less than twice the response
        assert responses[2] < responses[0] / 2  # Heeger (1992): cross-orientation suppression

    def test_drives_are_seeded_positive_and_scaled_to_counts(self):
        images = np.stack([grating(np.pi * i / 5, 3 + i, phase=i) for i in range(5)])
        energy = population.quadrature_energy(images, SMALL)
        v1 = population.v1_drive(energy, SMALL)
        it = population.it_drive(energy, SMALL, np.random.default_rng(0))
        assert v1.shape == (5, 4 * 2 * SMALL.v1_per_type)
        assert it.shape == (5, 5)
        assert (v1 >= 0).all()
        assert (it >= 0).all()
        np.testing.assert_array_equal(it, population.it_drive(energy, SMALL, np.random.default_rng(0)))
        expected = population.expected_counts(v1, SMALL)
        np.testing.assert_allclose(expected.mean(axis=0), SMALL.spontaneous_count + SMALL.evoked_count)

    @pytest.mark.parametrize("rate", [0.0, 0.3, 5.0, 40.0])
    def test_counts_are_poisson(self, rate):
        from scipy.stats import poisson

        counts = population.poisson_counts(np.full(20_000, rate), 2, np.random.default_rng(1)).ravel()
        # SciPy's quantile function of the same uniform numbers is an exact reference.
        uniform = np.random.default_rng(1).random((2, 20_000)).ravel()
        np.testing.assert_array_equal(counts, poisson.ppf(uniform, rate) if rate else 0)

    def test_small_change_of_one_rate_leaves_other_counts(self):
        rates = np.full((50, 4), 6.0)
        changed = rates.copy()
        changed[3, 2] += 1e-9
        before, after = (population.poisson_counts(each, 5, np.random.default_rng(0)) for each in (rates, changed))
        np.testing.assert_array_equal(before, after)


class TestPatches:
    def test_patches_equal_the_photograph_and_do_not_overlap(self):
        path = patches.photograph_paths()["chelsea" if "chelsea" in patches.PHOTOGRAPHS else "coffee"]
        with Image.open(path) as image:
            photograph = np.asarray(image.convert("RGB"))
        covered = np.zeros(photograph.shape[:2], dtype=int)
        cut = patches.cut_patches("p", photograph)
        for patch in cut:
            window = (slice(patch.row_px, patch.row_px + 64), slice(patch.column_px, patch.column_px + 64))
            np.testing.assert_array_equal(patch.pixels, photograph[window])
            covered[window] += 1
        assert len(cut) == 50
        assert covered.max() == 1

    def test_tiles_without_contrast_are_dropped_first(self):
        pixels = np.zeros((64, 192, 3), dtype=np.uint8)
        pixels[:32, 64:128] = 255  # only the middle tile has contrast
        (kept,) = patches.cut_patches("p", pixels, count=1)
        assert (kept.row_px, kept.column_px) == (0, 64)

    def test_missing_photograph_error_says_what_to_install(self, monkeypatch):
        monkeypatch.setitem(patches.PHOTOGRAPHS, "astronaut", ("skimage", "data/not-there.png"))
        with pytest.raises(MissingStimulusError, match="pip install 'scikit-image"):
            patches.photograph_paths()


class TestDataset:
    @pytest.fixture(scope="class")
    @classmethod
    def home(cls, tmp_path_factory, lend_caches):
        return lend_caches(tmp_path_factory.mktemp("shared-home"))

    @pytest.fixture(autouse=True)
    def shared_home(self, home, monkeypatch):
        monkeypatch.setenv("BRAINSCORE_HOME", str(home))

    def test_stimuli_are_500_patches_of_10_objects(self):
        stimuli = load_stimulus_set("SimulatedCortex2026")
        assert stimuli.identifier == "SimulatedCortex2026"
        assert len(stimuli) == 500
        assert stimuli["stimulus_id"].is_unique
        assert (stimuli["object_name"].value_counts() == 50).all()
        with Image.open(stimuli.get_stimulus(stimuli["stimulus_id"][0])) as image:
            assert image.size == (64, 64)

    def test_recordings_are_simulated_spike_counts(self):
        assembly = load_dataset("SimulatedCortex2026")
        check_standard_format(assembly)
        assert dict(assembly.sizes) == {"presentation": 500 * 20, "neuroid": 72 + 80 + 96 + 96, "time_bin": 1}
        assert assembly.attrs["simulated"] is True
        assert all(name.startswith("simulated-") for name in assembly["neuroid_id"].values)
        np.testing.assert_array_equal(assembly.values, np.round(assembly.values))

    def test_truth_is_the_mean_of_the_spikes(self):
        assembly, truth = load_dataset("SimulatedCortex2026"), load_dataset("SimulatedCortex2026.truth")
        counts = assembly.values.reshape(20, 500, -1)
        expected = truth.values[..., 0]
        # Standard score of the mean of 20 Poisson counts: standard normal over 172,000 cells.
        z = (counts.mean(axis=0) - expected) / np.sqrt(expected / 20)
        assert z.mean() == pytest.approx(0, abs=0.02)
        assert z.std() == pytest.approx(1, abs=0.02)
        fano = counts.var(axis=0, ddof=1).mean() / expected.mean()
        assert fano == pytest.approx(1, abs=0.02)

    def test_time_course_goes_from_v4_to_it(self):
        spikes, truth = (load_dataset(f"SimulatedCortex2026.temporal{part}") for part in ("", ".truth"))
        check_standard_format(spikes)
        assert (spikes.attrs["identifier"], truth.attrs["identifier"]) == (
            "SimulatedCortex2026.temporal",
            "SimulatedCortex2026.temporal.truth",
        )
        assert dict(spikes.sizes) == {"presentation": 500 * 20, "neuroid": 96, "time_bin": 5}
        assert spikes["time_bin_start"].values.tolist() == [70, 90, 110, 130, 150]
        assert set(spikes["region"].values) == {"IT"}
        z = (spikes.values.reshape(20, 500, 96, 5).mean(axis=0) - truth.values) / np.sqrt(truth.values / 20)
        assert z.std() == pytest.approx(1, abs=0.02)
        whole = load_dataset("SimulatedCortex2026.truth")
        by_region = {
            region: whole.values[:, whole["region"].values == region, 0] for region in ("V4", "IT")
        }  # the first bin is V4, the last IT, the middle one half of each
        np.testing.assert_allclose(truth.values[..., 0], by_region["V4"])
        np.testing.assert_allclose(truth.values[..., 2], (by_region["V4"] + by_region["IT"]) / 2)
        np.testing.assert_allclose(truth.values[..., 4], by_region["IT"])

    @pytest.mark.slow
    def test_damaged_caches_are_rebuilt_identically(self, tmp_path, monkeypatch):
        first = load_dataset("SimulatedCortex2026")
        whole = settings().cache_home / "simulatedcortex2026"
        monkeypatch.setenv("BRAINSCORE_HOME", str(tmp_path))
        damaged = settings().cache_home / "simulatedcortex2026"
        shutil.copytree(whole, damaged)
        (archive,) = damaged.rglob("*.npz")
        archive.write_bytes(archive.read_bytes()[:1000])
        next(damaged.rglob("*.png")).unlink()
        second = load_dataset("SimulatedCortex2026")
        np.testing.assert_array_equal(first.values, second.values)
        assert first["stimulus_id"].values.tolist() == second["stimulus_id"].values.tolist()
        assert all(Path(path).is_file() for path in second.stimulus_set.stimulus_paths.values())

    def test_changed_parameters_change_the_cache_key(self, monkeypatch):
        paths = patches.photograph_paths()
        before = dataset._key(paths)  # noqa: SLF001 - a wrong hit is the worst fault of a cache
        monkeypatch.setattr(dataset, "PARAMETERS", replace(dataset.PARAMETERS, seed=1))
        assert dataset._key(paths) != before  # noqa: SLF001

    def test_half_of_the_patches_are_for_training(self):
        fitting, tested = (
            load_stimulus_set("SimulatedCortex2026.fitting"),
            load_dataset("SimulatedCortex2026.choices").stimulus_set,
        )
        everything = load_stimulus_set("SimulatedCortex2026")
        assert {*fitting["stimulus_id"], *tested["stimulus_id"]} == set(everything["stimulus_id"])
        assert [len(fitting), len(tested)] == [250, 250]
        for part in (fitting, tested):
            assert (part["image_label"].value_counts() == 25).all()
            assert Path(part.get_stimulus(part["stimulus_id"][0])).is_file()

    def test_choices_follow_the_beliefs_of_people(self):
        trials, believed = (load_dataset(f"SimulatedCortex2026.choices{part}") for part in ("", ".truth"))
        assert trials.dims == ("presentation",)
        assert dict(believed.sizes) == {"presentation": 250, "choice": 10}
        np.testing.assert_allclose(believed.values.sum(axis=1), 1)
        row = {name: i for i, name in enumerate(believed["stimulus_id"].values)}
        column = {name: i for i, name in enumerate(believed["choice"].values)}
        image = np.array([row[name] for name in trials["stimulus_id"].values])
        own, other = (
            believed.values[image, [column[name] for name in trials[role].values]]
            for role in ("sample_obj", "dist_obj")
        )
        wrong = trials.values == trials["dist_obj"].values
        np.testing.assert_array_equal(trials["correct"].values, ~wrong)
        assert ((trials.values == trials["sample_obj"].values) | wrong).all()
        expected = other / (own + other)
        for chosen in np.array_split(np.argsort(expected), 5):  # rates are right for both rare and frequent choices
            z = (wrong[chosen] - expected[chosen]).sum() / np.sqrt((expected * (1 - expected))[chosen].sum())
            assert abs(z) < 3.5
        pairs = np.unique(np.stack([image, [column[name] for name in trials["dist_obj"].values]]), axis=1)
        assert pairs.shape[1] == 250 * 9
        assert len(trials) == 250 * 9 * choices.TRIALS_PER_PAIR == 180_000
        assert wrong.mean() == pytest.approx(0.38, abs=0.01)

    @pytest.mark.parametrize(("kind", "n"), [("blank", 1), ("receptive_field", 200), ("orientation", 64)])
    def test_gratings_match_their_columns(self, kind, n):
        stimuli = load_stimulus_set(f"SimulatedCortex2026.{kind}")
        assert (len(stimuli), stimuli.identifier) == (n, f"SimulatedCortex2026.{kind}")
        row = stimuli.iloc[-1]
        with Image.open(stimuli.get_stimulus(row["stimulus_id"])) as image:
            drawn = np.asarray(image) / 255
        expected = cells.draw_grating(**{name: row[name] for name in cells.CONDITIONS})
        np.testing.assert_allclose(drawn, expected, atol=0.5 / 255 + 1e-12)

    def test_deleted_gratings_are_drawn_again(self):
        stimuli = load_stimulus_set("SimulatedCortex2026.blank")
        path = Path(stimuli.get_stimulus(stimuli["stimulus_id"][0]))
        path.unlink()
        load_stimulus_set("SimulatedCortex2026.blank")
        assert path.is_file()

    def test_cells_prefer_planted_orientations_and_places(self):
        recorded = load_dataset("SimulatedCortex2026.preferences")
        assert recorded.attrs["stimulus_set"].identifier == "SimulatedCortex2026.orientation"
        preferred = recorded.values[:, 0]
        assert len(preferred) == 240
        assert np.median(preferred) == pytest.approx(30, abs=4)
        others = load_dataset("SimulatedCortex2026.preferences.truth")
        assert dict(others.sizes) == {"presentation": 1 + 200 + 64, "neuroid": 500}
        small = others.values[others["radius"].values == 0.25]
        strongest = small.reshape(25, 8, 500).max(axis=1).argmax(axis=0)
        here = 2 * 5 + 2  # row and column 2 of 5: .5, .5
        assert (strongest[:400] == here).mean() > 0.95
        assert not (strongest[400:] == here).any()


def test_grating_matches_a_direct_computation():
    made = cells.draw_grating(
        position_y=0, position_x=0, contrast=1, radius=2, spatial_frequency=0.5, orientation=0, phase=0
    )
    assert made.shape == (64, 64)
    np.testing.assert_array_equal(made[0], 0.5)  # outside the aperture
    assert made[32, 32] == pytest.approx(0.5 + 0.5 * np.cos(np.pi / 16))  # 1/16 degree right of the crest
    np.testing.assert_allclose(made[28, 28:36], made[36, 28:36])  # luminance changes from left to right
    turned = cells.draw_grating(
        position_y=0, position_x=0, contrast=1, radius=2, spatial_frequency=0.5, orientation=90, phase=0
    )
    np.testing.assert_allclose(turned, made.T, atol=1e-12)


def test_beliefs_do_not_depend_on_the_scale_of_responses():
    rng = np.random.default_rng(0)
    labels = np.repeat(["a", "b", "c"], 20)
    learned = rng.normal(size=(60, 5)) + 3 * np.arange(3).repeat(20)[:, None]
    asked = np.array([[0.0] * 5, [6.0] * 5])
    probabilities = choices.beliefs(asked, learned, labels)
    np.testing.assert_allclose(probabilities, choices.beliefs(7 * asked + 2, 7 * learned + 2, labels), rtol=1e-6)
    assert probabilities.argmax(axis=1).tolist() == [0, 2]
