"""Check that the published packages are registered, and what is in them where they can be had."""

import pytest

from brainscore_vision import load_stimulus_set
from brainscore_vision.testing.registrations import registered_files, registration_digest


def test_registrations_are_the_published_ones():
    assert len(registered_files("barbumayo2019")) == 2
    assert registration_digest("barbumayo2019") == "76e341b232de"


@pytest.mark.private_access
def test_images_and_categories():
    stimulus_set = load_stimulus_set("BarbuMayo2019")
    assert len(stimulus_set) == 17_261
    assert len(set(stimulus_set["synset"])) == 104
