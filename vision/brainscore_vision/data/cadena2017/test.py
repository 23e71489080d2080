"""Check that the published packages are registered, and what is in them where they can be had."""

import pytest

from brainscore_vision import load_dataset, load_stimulus_set
from brainscore_vision.benchmark_helpers import check_standard_format
from brainscore_vision.testing.registrations import registered_files, registration_digest


def test_registrations_are_the_published_ones():
    assert len(registered_files("cadena2017")) == 3
    assert registration_digest("cadena2017") == "c857d0da6cf0"


@pytest.mark.private_access
def test_images_and_neurons():
    assembly = load_dataset("Cadena2017")
    check_standard_format(assembly, nans_expected=True)
    assert (assembly.sizes["presentation"], assembly.sizes["neuroid"]) == (29000, 166)
    assert len(load_stimulus_set("Cadena2017")) == 7249
