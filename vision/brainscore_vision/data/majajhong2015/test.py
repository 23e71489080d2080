import pytest

from brainscore_vision import load_dataset

PRIVATE = {
    "MajajHong2015": "hvm",
    "MajajHong2015.temporal": "hvm",
    "MajajHong2015.temporal-10ms": "hvm",
    "MajajHong2015.private": "hvm-private",
    "MajajHong2015.temporal.private": "hvm-private",
}
PUBLIC = {"MajajHong2015.public": "hvm-public", "MajajHong2015.temporal.public": "hvm-public"}


@pytest.mark.memory_intense
@pytest.mark.parametrize(
    ("identifier", "stimuli"),
    [
        *(pytest.param(*each, marks=pytest.mark.private_access) for each in PRIVATE.items()),
        *(pytest.param(*each, marks=pytest.mark.network) for each in PUBLIC.items()),
    ],
)
def test_loads_with_its_stimuli(identifier, stimuli):
    assert load_dataset(identifier).stimulus_set.identifier == stimuli
