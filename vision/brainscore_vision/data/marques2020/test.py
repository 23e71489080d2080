import pytest

from brainscore_vision import load_dataset, load_stimulus_set

PROPERTIES = {
    "Cavanaugh2002a": (190, 5, "Marques2020_size"),
    "DeValois1982a": (385, 1, "Marques2020_orientation"),
    "DeValois1982b": (363, 1, "Marques2020_spatial_frequency"),
    "FreemanZiemba2013_V1_properties": (102, 11, "FreemanZiemba2013_properties"),
    "Ringach2002": (304, 12, "Marques2020_orientation"),
    "Schiller1976c": (87, 2, "Marques2020_spatial_frequency"),
}
STIMULI = {
    "Marques2020_blank": 1,
    "Marques2020_receptive_field": 3528,
    "Marques2020_orientation": 1152,
    "Marques2020_spatial_frequency": 2112,
    "Marques2020_size": 2304,
    "FreemanZiemba2013_properties": 450,
}


@pytest.mark.private_access
@pytest.mark.parametrize("identifier", PROPERTIES)
def test_properties_are_as_published(identifier):
    assembly = load_dataset(identifier)
    n_neuroids, n_properties, shown = PROPERTIES[identifier]
    assert dict(assembly.sizes) == {"neuroid": n_neuroids, "neuronal_property": n_properties}
    assert assembly.stimulus_set.identifier == shown
    assert assembly.attrs["number_of_trials"] == 20


@pytest.mark.private_access
@pytest.mark.parametrize("identifier", STIMULI)
def test_number_of_stimuli(identifier):
    assert len(load_stimulus_set(identifier)) == STIMULI[identifier]
