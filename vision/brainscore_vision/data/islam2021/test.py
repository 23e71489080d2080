import pytest

from brainscore_vision import load_stimulus_set


@pytest.mark.private_access
def test_each_image_has_each_texture():
    stimuli = load_stimulus_set("Islam2021")
    assert len(stimuli) == 4369 * 5
    assert (stimuli["shape"].nunique(), stimuli["texture"].nunique()) == (20, 5)
