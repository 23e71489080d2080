"""Check that the published packages are registered, and what is in them where they can be had."""

import pytest

from brainscore_vision import load_dataset


@pytest.mark.parametrize(
    ("identifier", "stimuli"),
    [
        pytest.param("MajajHong2015", "hvm", marks=[pytest.mark.private_access]),
        pytest.param("MajajHong2015.temporal", "hvm", marks=[pytest.mark.private_access, pytest.mark.memory_intense]),
        pytest.param(
            "MajajHong2015.temporal-10ms", "hvm", marks=[pytest.mark.private_access, pytest.mark.memory_intense]
        ),
        pytest.param("MajajHong2015.public", "hvm-public", marks=[pytest.mark.network]),
        pytest.param("MajajHong2015.private", "hvm-private", marks=[pytest.mark.private_access]),
        pytest.param(
            "MajajHong2015.temporal.public", "hvm-public", marks=[pytest.mark.network, pytest.mark.memory_intense]
        ),
        pytest.param(
            "MajajHong2015.temporal.private",
            "hvm-private",
            marks=[pytest.mark.private_access, pytest.mark.memory_intense],
        ),
    ],
)
def test_loads_with_its_stimuli(identifier, stimuli):
    assert load_dataset(identifier).stimulus_set.identifier == stimuli
