import pytest

from brainscore_vision import load_dataset


@pytest.mark.private_access
@pytest.mark.memory_intense
def test_number_of_images_and_units():
    assembly = load_dataset("Li2026")
    assert assembly.shape == (1000, 47503, 1)
    assert set(assembly["region"].values) == {"V1", "V2", "V4", "IT"}
    assert load_dataset("Li2026.temporal").sizes["time_bin"] == 30
