import pytest

from brainscore_vision import load_dataset, load_stimulus_set


@pytest.mark.private_access
@pytest.mark.parametrize(
    ("experiment", "n_subjects"),
    [("inlab-instructions", 10), ("inlab-no-instructions", 10), ("online-no-instructions", 92)],
)
def test_curves_and_answers_are_as_published(experiment, n_subjects):
    assembly, stimuli = load_dataset(f"Lonnqvist2024_{experiment}"), load_stimulus_set("Lonnqvist2024_test")
    assert stimuli["stimulus_id"].nunique() == 380
    assert assembly.sizes == {"presentation": 380 * n_subjects}
    assert len(set(assembly["subject"].values.tolist())) == n_subjects
    assert set(assembly["truth"].values.tolist()) == set(stimuli["truth"])
    assert load_stimulus_set("Lonnqvist2024_train")["stimulus_id"].nunique() == 185
