"""Check that the published packages are registered, and what is in them where they can be had."""

import pytest

from brainscore_vision import load_dataset
from brainscore_vision.testing.registrations import registered_files, registration_digest


def test_registrations_are_the_published_ones():
    assert len(registered_files("rajalingham2018")) == 6
    assert registration_digest("rajalingham2018") == "e772c1682751"


@pytest.mark.parametrize(
    ("identifier", "stimuli"),
    [
        pytest.param("Rajalingham2018.public", "objectome.public", marks=[pytest.mark.network]),
        pytest.param("Rajalingham2018.private", "objectome.private", marks=[pytest.mark.private_access]),
    ],
)
def test_loads_with_its_stimuli(identifier, stimuli):
    assert load_dataset(identifier).stimulus_set.identifier == stimuli
