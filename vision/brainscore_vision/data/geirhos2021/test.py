import pytest

from brainscore_vision import load_dataset
from brainscore_vision.testing.data import registered_files

IDENTIFIERS = sorted({line.split()[1] for line in registered_files("geirhos2021")})


def test_registrations_are_the_published_ones():
    assert len(IDENTIFIERS) == 17


def test_edges_and_silhouettes_share_the_table_as_their_images_have_the_same_names():
    assert len({line.split()[-1] for line in registered_files("geirhos2021")}) == 50


@pytest.mark.network
@pytest.mark.parametrize("identifier", IDENTIFIERS)
def test_images_and_choices_fit_together(identifier):
    assembly = load_dataset(identifier)
    assert assembly.stimulus_set.identifier == identifier
    assert set(assembly.stimulus_set["stimulus_id"]) == set(assembly["stimulus_id"].values)
