import pytest

from brainscore_vision import load_dataset

SETS = [
    "rgb",
    "contours",
    *(f"{kind}-{part}" for kind in ("phosphenes", "segments") for part in (12, 16, 21, 27, 35, 46, 59, 77, 100, "all")),
]


@pytest.mark.private_access
@pytest.mark.parametrize("name", SETS)
def test_images_and_choices_match(name):
    assembly = load_dataset(f"Scialom2024_{name}")
    stimulus_set = assembly.stimulus_set
    n_stimuli, n_subjects = (528 if name.endswith("all") else 48), (50 if name in ("rgb", "contours") else 25)
    assert stimulus_set.identifier == f"Scialom2024_{name}"
    assert len(stimulus_set) == n_stimuli
    assert assembly.sizes["presentation"] == n_stimuli * n_subjects
    assert len(set(assembly["subject"].values)) == n_subjects
    assert set(stimulus_set["truth"]) == set(assembly["truth"].values)
    assert len(set(stimulus_set["truth"])) == 12
