import numpy as np
import pytest

from brainscore_vision import load_dataset, load_stimulus_set


@pytest.mark.private_access
@pytest.mark.memory_intense
@pytest.mark.parametrize(
    ("split", "n_concepts", "n_examples", "n_repetitions"), [("train", 1654, 10, 4), ("test", 200, 1, 80)]
)
def test_recordings_are_as_published(split, n_concepts, n_examples, n_repetitions):
    stimuli, assembly = load_stimulus_set(f"Gifford2022_stim_{split}"), load_dataset(f"Gifford2022_{split}")
    assert assembly.shape == (n_concepts * n_examples * n_repetitions, 17 * 10, 100)
    assert len(set(assembly["neuroid_id"].values)) == 170
    np.testing.assert_allclose(assembly["time_bin_start"].values, np.arange(-20, 80) / 100)  # seconds
    assert len(stimuli) == n_concepts * n_examples
    assert stimuli["label"].nunique() == n_concepts
    shown = np.repeat(stimuli["stimulus_id"].to_numpy(), n_repetitions)
    np.testing.assert_array_equal(assembly["stimulus_id"].values, shown)
