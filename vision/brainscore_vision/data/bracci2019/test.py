import pytest

from brainscore_vision import load_dataset, load_stimulus_set


@pytest.mark.private_access
def test_conditions_and_regions_are_as_published():
    assembly = load_dataset("Bracci2019")
    assert assembly["stimulus_id"].values.tolist() == load_stimulus_set("Bracci2019")["stimulus_id"].tolist()
    assert assembly.sizes["presentation"] == 27
    assert set(assembly["roi"].values) == {0, 1, 2}
