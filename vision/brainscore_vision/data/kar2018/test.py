"""Check that the published packages are registered, and what is in them where they can be had."""

import pytest

from brainscore_vision import load_dataset
from brainscore_vision.testing.registrations import registered_files, registration_digest


def test_registrations_are_the_published_ones():
    assert len(registered_files("kar2018")) == 4
    assert registration_digest("kar2018") == "3e024e22a13b"


@pytest.mark.parametrize(
    ("identifier", "stimuli"),
    [
        pytest.param("Kar2018hvm", "hvm", marks=[pytest.mark.private_access]),
        pytest.param("Kar2018cocogray", "Kar2018cocogray", marks=[pytest.mark.private_access]),
    ],
)
def test_loads_with_its_stimuli(identifier, stimuli):
    assert load_dataset(identifier).stimulus_set.identifier == stimuli
