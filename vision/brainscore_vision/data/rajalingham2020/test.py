import pytest

from brainscore_vision import load_dataset


@pytest.mark.private_access
def test_number_of_images_and_repetitions():
    assembly = load_dataset("Rajalingham2020")
    assert len(set(assembly["stimulus_id"].values)) == 616
    assert len(set(assembly["repetition"].values)) == 33
    assert set(assembly["region"].values) == {"IT"}
