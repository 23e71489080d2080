import pytest

from brainscore_vision import load_dataset, load_stimulus_set


@pytest.mark.private_access
def test_choices_have_their_columns():
    assembly = load_dataset("Maniquet2024")
    for name in ("stimulus_id", "task", "image_label", "prediction", "subject_id"):
        assert name in assembly.coords


@pytest.mark.private_access
@pytest.mark.parametrize("identifier", ["Maniquet2024", "Maniquet2024-train", "Maniquet2024-test"])
def test_images_have_their_columns(identifier):
    stimulus_set = load_stimulus_set(identifier)
    assert {"image_label", "manipulation", "manipulation_details"} <= set(stimulus_set.columns)
