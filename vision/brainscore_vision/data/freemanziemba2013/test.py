"""Check that the published packages are registered, and what is in them where they can be had."""

import numpy as np
import pytest

from brainscore_vision import load_dataset


@pytest.mark.parametrize(
    ("identifier", "stimuli"),
    [
        pytest.param(
            "FreemanZiemba2013.public",
            "FreemanZiemba2013.aperture-public",
            marks=[pytest.mark.network, pytest.mark.memory_intense],
        ),
        pytest.param(
            "FreemanZiemba2013.private",
            "FreemanZiemba2013.aperture-private",
            marks=[pytest.mark.private_access, pytest.mark.memory_intense],
        ),
        pytest.param(
            "FreemanZiemba2013",
            "FreemanZiemba2013.aperture",
            marks=[pytest.mark.private_access, pytest.mark.memory_intense],
        ),
        pytest.param(
            "FreemanZiemba2013.noaperture",
            "FreemanZiemba2013",
            marks=[pytest.mark.private_access, pytest.mark.memory_intense],
        ),
        pytest.param(
            "FreemanZiemba2013.noaperture.public",
            "FreemanZiemba2013.public",
            marks=[pytest.mark.private_access, pytest.mark.memory_intense],
        ),
        pytest.param(
            "FreemanZiemba2013.noaperture.private",
            "FreemanZiemba2013.private",
            marks=[pytest.mark.private_access, pytest.mark.memory_intense],
        ),
    ],
)
def test_loads_with_its_stimuli(identifier, stimuli):
    assert load_dataset(identifier).stimulus_set.identifier == stimuli


@pytest.mark.parametrize(
    "identifier",
    [
        pytest.param("FreemanZiemba2013.public", marks=[pytest.mark.network, pytest.mark.memory_intense]),
        pytest.param("FreemanZiemba2013.private", marks=[pytest.mark.private_access, pytest.mark.memory_intense]),
    ],
)
def test_both_areas_saw_the_same_images(identifier):
    assembly = load_dataset(identifier)
    regions = assembly["region"].values
    assert {region: int((regions == region).sum()) for region in ("V1", "V2")} == {"V1": 102, "V2": 103}
    assert np.count_nonzero(assembly) > 0
