import pytest

from brainscore_vision import load_stimulus_set


@pytest.mark.private_access
def test_images_load():
    assert load_stimulus_set("ImageNetSlim15000").identifier == "ImageNetSlim15000"
