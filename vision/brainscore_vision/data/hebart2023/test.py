import pytest

from brainscore_vision import load_dataset, load_stimulus_set


@pytest.mark.private_access
@pytest.mark.memory_intense
def test_triplets_consist_of_the_images():
    assembly, stimuli = load_dataset("Hebart2023"), load_stimulus_set("Hebart2023")
    assert len(stimuli) == 1854
    assert len(assembly["triplet_id"]) == 453642
    for name in ("image_1", "image_2", "image_3"):
        assert set(assembly[name].values.tolist()) == set(stimuli["stimulus_id"])
