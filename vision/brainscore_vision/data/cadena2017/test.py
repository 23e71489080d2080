import pytest

from brainscore_vision import load_dataset, load_stimulus_set
from brainscore_vision.benchmark_helpers import check_standard_format


@pytest.mark.private_access
def test_number_of_images_and_neurons():
    assembly = load_dataset("Cadena2017")
    check_standard_format(assembly, nans_expected=True)
    assert (assembly.sizes["presentation"], assembly.sizes["neuroid"]) == (29000, 166)
    assert len(load_stimulus_set("Cadena2017")) == 7249
