import pytest

from brainscore_vision import load_dataset


@pytest.mark.network
def test_number_of_conditions_and_people():
    assembly = load_dataset("Coggan2024_fMRI")
    assert assembly.dims == ("presentation", "presentation", "neuroid")
    assert assembly.shape == (24, 24, 36)
    stimuli = assembly.stimulus_set
    assert (len(stimuli), stimuli["object_name"].nunique(), stimuli["occlusion_condition"].nunique()) == (24, 8, 3)
