import pytest

from brainscore_vision import load_stimulus_set


@pytest.mark.private_access
@pytest.mark.slow
@pytest.mark.parametrize(("corruption", "n_types"), [("noise", 3), ("blur", 4), ("weather", 4), ("digital", 4)])
def test_each_image_has_every_corruption(corruption, n_types):
    stimulus_set = load_stimulus_set(f"imagenet_c.{corruption}")
    assert len(stimulus_set) == n_types * 5 * 50_000
    assert len(set(stimulus_set["synset"])) == 1_000
