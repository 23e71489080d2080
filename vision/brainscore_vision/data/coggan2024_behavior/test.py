"""Check that the published files are registered, and what is in them where they can be had."""

import pytest

from brainscore_vision import load_dataset, load_stimulus_set
from brainscore_vision.testing.registrations import registered_files, registration_digest


def test_the_published_files_are_registered():
    assert len(registered_files("coggan2024_behavior")) == 5
    assert registration_digest("coggan2024_behavior") == "fb0cb12e40cd"


@pytest.mark.private_access
def test_occluded_objects_and_answers():
    assembly = load_dataset("Coggan2024_behavior")
    assert assembly.sizes == {"presentation": 22560}
    stimuli = assembly.attrs["stimulus_set"]
    assert stimuli["stimulus_id"].nunique() == len(stimuli) == 22560
    counts = {
        name: stimuli[name].nunique() for name in ("object_class", "occluder_type", "occluder_color", "visibility")
    }
    assert counts == {"object_class": 8, "occluder_type": 10, "occluder_color": 3, "visibility": 6}
    assert len(load_stimulus_set("Coggan2024_behavior_fitting")) == 2048
