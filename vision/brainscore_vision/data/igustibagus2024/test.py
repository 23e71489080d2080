import pytest

from brainscore_vision import load_dataset, load_stimulus_set
from brainscore_vision.benchmark_helpers import check_standard_format


@pytest.mark.private_access
@pytest.mark.memory_intense
def test_number_of_images_and_sites():
    assembly = load_dataset("Igustibagus2024")
    check_standard_format(assembly, nans_expected=True)
    assert (assembly.sizes["presentation"], assembly.sizes["neuroid"]) == (197_694, 181)
    assert set(assembly["animal"].values) == {"Pico", "Oleo"}
    assert len(set(assembly["background_id"].values)) == 121
    assert len(load_stimulus_set("Igustibagus2024")) == 3138
