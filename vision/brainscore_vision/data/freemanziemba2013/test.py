import numpy as np
import pytest

from brainscore_vision import load_dataset

pytestmark = pytest.mark.memory_intense
PUBLIC = pytest.param("FreemanZiemba2013.public", marks=pytest.mark.network)
STIMULI = {
    "FreemanZiemba2013": "FreemanZiemba2013.aperture",
    "FreemanZiemba2013.private": "FreemanZiemba2013.aperture-private",
    "FreemanZiemba2013.public": "FreemanZiemba2013.aperture-public",
    "FreemanZiemba2013.noaperture": "FreemanZiemba2013",
    "FreemanZiemba2013.noaperture.private": "FreemanZiemba2013.private",
    "FreemanZiemba2013.noaperture.public": "FreemanZiemba2013.public",
}
MARKED = {
    name: PUBLIC if name in PUBLIC.values else pytest.param(name, marks=pytest.mark.private_access) for name in STIMULI
}


@pytest.mark.parametrize("identifier", MARKED.values())
def test_loads_with_its_stimuli(identifier):
    assert load_dataset(identifier).stimulus_set.identifier == STIMULI[identifier]


@pytest.mark.parametrize("identifier", [PUBLIC, MARKED["FreemanZiemba2013.private"]])
def test_both_areas_saw_the_same_images(identifier):
    assembly = load_dataset(identifier)
    regions = assembly["region"].values
    assert {region: int((regions == region).sum()) for region in ("V1", "V2")} == {"V1": 102, "V2": 103}
    assert np.count_nonzero(assembly) > 0
