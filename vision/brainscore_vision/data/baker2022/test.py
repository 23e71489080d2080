import pytest

from brainscore_vision import load_dataset, load_stimulus_set


@pytest.mark.private_access
@pytest.mark.parametrize(
    ("kind", "n_stimuli", "n_trials", "image_types"),
    [("normal", 716, 3702, set("wfo")), ("inverted", 360, 4320, set("wf"))],
)
def test_silhouettes_and_answers_are_as_published(kind, n_stimuli, n_trials, image_types):
    assembly = load_dataset(f"Baker2022_{kind}_distortion")
    stimuli = load_stimulus_set(f"Baker2022_{kind}_distortion")
    assert stimuli["stimulus_id"].nunique() == len(stimuli) == n_stimuli
    assert set(stimuli["image_type"]) == image_types
    assert (stimuli["animal"].nunique(), stimuli["image_number"].nunique()) == (9, 40)
    assert assembly.sizes == {"presentation": n_trials}
    assert set(assembly["correct"].values.tolist()) == {0, 1}
    assert set(assembly["truth"].values.tolist()) == set(stimuli["animal"])
