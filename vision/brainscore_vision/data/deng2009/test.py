"""Check that the published packages are registered, and what is in them where they can be had."""

import pytest

from brainscore_vision import load_stimulus_set
from brainscore_vision.testing.registrations import registered_files, registration_digest


def test_registrations_are_the_published_ones():
    assert len(registered_files("deng2009")) == 2
    assert registration_digest("deng2009") == "400c2b91db86"


@pytest.mark.private_access
def test_fifty_images_of_each_category():
    stimulus_set = load_stimulus_set("imagenet_val")
    assert len(stimulus_set) == 50_000
    assert len(set(stimulus_set["label"])) == 1_000
