import pytest

from brainscore_vision import load_dataset


@pytest.mark.parametrize(
    ("identifier", "stimuli"),
    [
        pytest.param("Rajalingham2018.public", "objectome.public", marks=[pytest.mark.network]),
        pytest.param("Rajalingham2018.private", "objectome.private", marks=[pytest.mark.private_access]),
    ],
)
def test_loads_with_its_stimuli(identifier, stimuli):
    assert load_dataset(identifier).stimulus_set.identifier == stimuli
