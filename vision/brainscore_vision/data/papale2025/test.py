import numpy as np
import pytest

from brainscore_vision import load_dataset, load_stimulus_set

SITES = {"monkeyF": {"V1": 332, "V4": 117, "IT": 157}, "monkeyN": {"V1": 410, "V4": 198, "IT": 141}}


@pytest.mark.private_access
@pytest.mark.parametrize(("split", "n_stimuli", "n_repetitions"), [("train", 1854 * 12, 1), ("test", 100, 30)])
def test_images_and_reliable_sites_are_as_published(split, n_stimuli, n_repetitions):
    assembly, stimuli = load_dataset(f"Papale2025_{split}"), load_stimulus_set(f"Papale2025_stim_{split}")
    assert assembly.shape == (n_stimuli * n_repetitions, 2048, 1)
    assert assembly["stimulus_id"].values.tolist() == np.repeat(stimuli["stimulus_id"], n_repetitions).tolist()
    reliable = assembly["reliability"].values > 0.3
    for monkey, regions in SITES.items():
        for region, n_sites in regions.items():
            here = (assembly["subject"].values == monkey) & (assembly["region"].values == region)
            assert (reliable & here).sum() == n_sites
