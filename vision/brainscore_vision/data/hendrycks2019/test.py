"""Check that the published packages are registered, and what is in them where they can be had."""

import pytest

from brainscore_vision import load_stimulus_set
from brainscore_vision.testing.registrations import registered_files, registration_digest


def test_registrations_are_the_published_ones():
    assert len(registered_files("hendrycks2019")) == 8
    assert registration_digest("hendrycks2019") == "954b0701a5a1"


@pytest.mark.private_access
@pytest.mark.slow
@pytest.mark.parametrize(("corruption", "n_types"), [("noise", 3), ("blur", 4), ("weather", 4), ("digital", 4)])
def test_each_image_is_changed_in_every_way(corruption, n_types):
    stimulus_set = load_stimulus_set(f"imagenet_c.{corruption}")
    assert len(stimulus_set) == n_types * 5 * 50_000
    assert len(set(stimulus_set["synset"])) == 1_000
