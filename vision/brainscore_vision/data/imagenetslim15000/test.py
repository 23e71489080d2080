"""Check that the published packages are registered, and what is in them where they can be had."""

import pytest

from brainscore_vision import load_stimulus_set
from brainscore_vision.testing.registrations import registered_files, registration_digest


def test_registrations_are_the_published_ones():
    assert len(registered_files("imagenetslim15000")) == 2
    assert registration_digest("imagenetslim15000") == "dc8d0ecb0519"


@pytest.mark.private_access
def test_images():
    assert load_stimulus_set("ImageNetSlim15000").identifier == "ImageNetSlim15000"
