"""Check that the published packages are registered, and what is in them where they can be had."""

import pytest

from brainscore_vision import load_dataset


@pytest.mark.parametrize(
    ("identifier", "stimuli"),
    [
        pytest.param("Kar2018hvm", "hvm", marks=[pytest.mark.private_access]),
        pytest.param("Kar2018cocogray", "Kar2018cocogray", marks=[pytest.mark.private_access]),
    ],
)
def test_loads_with_its_stimuli(identifier, stimuli):
    assert load_dataset(identifier).stimulus_set.identifier == stimuli
