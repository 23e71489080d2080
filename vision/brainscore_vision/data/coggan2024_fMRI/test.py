"""Check that the published packages are registered, and what is in them where they can be had."""

import pytest

from brainscore_vision import load_dataset
from brainscore_vision.testing.registrations import registered_files, registration_digest


def test_registrations_are_the_published_ones():
    assert len(registered_files("coggan2024_fMRI")) == 3
    assert registration_digest("coggan2024_fMRI") == "82eb08f3719a"


@pytest.mark.network
def test_conditions_and_people():
    assembly = load_dataset("Coggan2024_fMRI")
    assert assembly.dims == ("presentation", "presentation", "neuroid")
    assert assembly.shape == (24, 24, 36)
    stimuli = assembly.stimulus_set
    assert (len(stimuli), stimuli["object_name"].nunique(), stimuli["occlusion_condition"].nunique()) == (24, 8, 3)
