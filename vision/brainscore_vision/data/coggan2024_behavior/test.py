import pytest

from brainscore_vision import load_dataset, load_stimulus_set


@pytest.mark.private_access
def test_objects_occluders_and_answers_are_as_published():
    assembly = load_dataset("Coggan2024_behavior")
    assert assembly.sizes == {"presentation": 22560}
    stimuli = assembly.attrs["stimulus_set"]
    assert stimuli["stimulus_id"].nunique() == len(stimuli) == 22560
    counts = {
        name: stimuli[name].nunique() for name in ("object_class", "occluder_type", "occluder_color", "visibility")
    }
    assert counts == {"object_class": 8, "occluder_type": 10, "occluder_color": 3, "visibility": 6}
    assert len(load_stimulus_set("Coggan2024_behavior_fitting")) == 2048
