import pytest

from brainscore_vision import load_dataset


@pytest.mark.private_access
@pytest.mark.parametrize(("identifier", "stimuli"), [("Kar2018hvm", "hvm"), ("Kar2018cocogray", "Kar2018cocogray")])
def test_loads_with_its_stimuli(identifier, stimuli):
    assert load_dataset(identifier).stimulus_set.identifier == stimuli
