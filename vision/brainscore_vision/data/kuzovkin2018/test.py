"""Check that the published packages are registered, and what is in them where they can be had."""

import pytest

from brainscore_vision import load_dataset
from brainscore_vision.testing.registrations import registered_files, registration_digest


def test_registrations_are_the_published_ones():
    assert len(registered_files("kuzovkin2018")) == 3
    assert registration_digest("kuzovkin2018") == "7c7da3ade176"


@pytest.mark.private_access
def test_loads_with_its_stimuli():
    assert load_dataset("Kuzovkin2018").stimulus_set.identifier == "Kuzovkin2018"
