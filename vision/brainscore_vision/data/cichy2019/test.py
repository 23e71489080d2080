"""Check that the published packages are registered, and what is in them where they can be had."""

import pytest

from brainscore_vision import load_dataset
from brainscore_vision.testing.registrations import registered_files, registration_digest


def test_registrations_are_the_published_ones():
    assert len(registered_files("cichy2019")) == 3
    assert registration_digest("cichy2019") == "b1fb4162d69c"


@pytest.mark.private_access
def test_it_loads():
    assembly = load_dataset("Cichy2019")
    assert assembly.stimulus_set.identifier == "Cichy2019"
