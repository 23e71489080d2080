import pytest

from brainscore_vision import load_dataset


@pytest.mark.private_access
@pytest.mark.memory_intense
@pytest.mark.parametrize(
    ("identifier", "stimuli", "n_repetitions", "degrees"),
    [
        ("Sanghavi2020", "hvm", 28, 8),
        ("SanghaviJozwik2020", "BOLD5000", 37, 8),
        ("SanghaviMurty2020", "Rust2012", 50, 5),
    ],
)
def test_stimuli_repetitions_and_degrees_are_as_published(identifier, stimuli, n_repetitions, degrees):
    assembly = load_dataset(identifier)
    assert assembly.stimulus_set.identifier == stimuli
    assert len(set(assembly["repetition"].values)) == n_repetitions
    assert assembly.attrs["image_size_degree"] == degrees
    assert {"V4", "IT"} <= set(assembly["region"].values)
