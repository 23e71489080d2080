import pytest

from brainscore_vision import load_dataset
from brainscore_vision.testing.data import registered_files

IDENTIFIERS = sorted({line.split()[1] for line in registered_files("geirhos2021")})


def test_all_published_data_are_registered():
    assert len(IDENTIFIERS) == 17


def test_edges_and_silhouettes_share_one_table():
    assert len({line.split()[-1] for line in registered_files("geirhos2021")}) == 50


@pytest.mark.network
@pytest.mark.parametrize("identifier", IDENTIFIERS)
def test_images_and_choices_match(identifier):
    assembly = load_dataset(identifier)
    assert assembly.stimulus_set.identifier == identifier
    assert set(assembly.stimulus_set["stimulus_id"]) == set(assembly["stimulus_id"].values)
