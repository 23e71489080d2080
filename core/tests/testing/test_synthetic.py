import numpy as np
import pytest
from PIL import Image

from brainscore_core.testing.synthetic import (
    make_behavioral_assembly,
    make_images,
    make_neuroid_assembly,
    make_property_assembly,
    make_spike_times_assembly,
    make_stimulus_set,
)


def test_images_are_small_and_reproducible(tmp_path):
    first = make_images(tmp_path / "a", 3, size_px=5)
    second = make_images(tmp_path / "b", 3, size_px=5)
    assert list(first) == ["stimulus_000", "stimulus_001", "stimulus_002"]
    assert [path.read_bytes() for path in first.values()] == [path.read_bytes() for path in second.values()]
    with Image.open(first["stimulus_000"]) as image:
        assert (image.size, image.mode) == ((5, 5), "RGB")


def test_stimulus_set_has_unique_ids_and_files(tmp_path):
    stimulus_set = make_stimulus_set(tmp_path, 6, identifier="Made2026")
    assert stimulus_set.identifier == "Made2026"
    assert stimulus_set["stimulus_id"].is_unique
    assert stimulus_set.get_stimulus("stimulus_005").is_file()


def test_neuroid_assembly_has_signal_and_noise():
    assembly = make_neuroid_assembly(50, 4, n_repetitions=2, noise=0.5)
    assembly.validate(allow_nan=False)
    first, second = assembly.sel(repetition=0).values, assembly.sel(repetition=1).values
    assert np.std(first - second) == pytest.approx(0.5 * np.sqrt(2), rel=0.2)
    assert np.corrcoef(first.ravel(), second.ravel())[0, 1] > 0.6
    assert make_neuroid_assembly(50, 4, n_repetitions=2, noise=0.5).identical(assembly)
    assert not make_neuroid_assembly(50, 4, n_repetitions=2, noise=0.5, seed=1).equals(assembly)


def test_neuroid_assembly_can_have_time_bins():
    assembly = make_neuroid_assembly(3, 2, time_bins=[(0, 10), (10, 20)])
    assembly.validate()
    assert assembly.sizes == {"presentation": 3, "neuroid": 2, "time_bin": 2}


def test_behavior_has_the_given_accuracy():
    choices = make_behavioral_assembly(200, n_subjects=5, accuracy=0.8)
    choices.validate()
    assert np.mean(choices.values == choices["truth"].values) == pytest.approx(0.8, abs=0.05)
    probabilities = make_behavioral_assembly(4, accuracy=0.7, probabilities=True)
    np.testing.assert_allclose(probabilities.sum("choice").values, 1)
    assert probabilities.sel(choice="cat").values.max() == pytest.approx(0.7)


def test_properties_and_spikes_are_valid():
    make_property_assembly(5).validate()
    spikes = make_spike_times_assembly(30)
    spikes.validate()
    assert (np.diff(spikes.values) >= 0).all()
