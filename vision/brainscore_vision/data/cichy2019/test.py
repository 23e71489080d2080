import pytest

from brainscore_vision import load_dataset


@pytest.mark.private_access
def test_loads_with_its_stimuli():
    assert load_dataset("Cichy2019").stimulus_set.identifier == "Cichy2019"
