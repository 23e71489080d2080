import pytest

from brainscore_vision import load_dataset, load_stimulus_set


@pytest.mark.private_access
@pytest.mark.parametrize(
    ("kind", "n_subjects"), [("texture_1", 51), ("texture_2", 52), ("dotted_1", 54), ("dotted_2", 54)]
)
def test_images_and_choices_are_as_published(kind, n_subjects):
    assembly, stimuli = load_dataset(f"BMD2024.{kind}"), load_stimulus_set(f"BMD2024.{kind}")
    assert stimuli.identifier == f"BMD_2024_{kind}"
    assert stimuli["stimulus_id"].nunique() == 100
    assert assembly.sizes == {"presentation": 100 * n_subjects}
    assert len(set(assembly["subject"].values.tolist())) == n_subjects
    for field in ("stimulus_id", "condition", "truth"):
        assert set(assembly[field].values.tolist()) == set(stimuli[field])
