import pytest

from brainscore_vision import load_dataset, load_stimulus_set

SUBJECTS = {
    "short2": 6, "short4": 5, "short6": 5, "short8": 5, "short16": 6,
    "equal2": 5, "long2": 5, "equal16": 5, "long16": 5, "vernier_only": 6,
}  # fmt: skip


@pytest.mark.private_access
@pytest.mark.parametrize(("condition", "n_subjects"), SUBJECTS.items())
def test_number_of_thresholds(condition, n_subjects):
    assert int(load_dataset(f"Malania2007.{condition}").notnull().sum()) == n_subjects


@pytest.mark.private_access
@pytest.mark.parametrize("condition", SUBJECTS)
def test_drawings_are_as_published(condition):
    drawings = load_stimulus_set(f"Malania2007.{condition}")
    assert len(drawings) == 50
    assert {"image_label", "vernier_offset_arcsec", "num_flankers"} <= set(drawings.columns)
    if condition != "vernier_only":
        assert len(load_stimulus_set(f"Malania2007.{condition}_fit")) == 500
