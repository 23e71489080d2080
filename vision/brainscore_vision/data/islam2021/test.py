"""Check that the published files are registered, and what is in them where they can be had."""

import pytest

from brainscore_vision import load_stimulus_set
from brainscore_vision.testing.registrations import registered_files, registration_digest


def test_the_published_files_are_registered():
    assert len(registered_files("islam2021")) == 2
    assert registration_digest("islam2021") == "5d6d13313153"


@pytest.mark.private_access
def test_each_image_is_there_in_each_texture():
    stimuli = load_stimulus_set("Islam2021")
    assert len(stimuli) == 4369 * 5
    assert (stimuli["shape"].nunique(), stimuli["texture"].nunique()) == (20, 5)
