import numpy as np
import pytest

from brainscore_vision import load_dataset, load_stimulus_set

RELIABLE = {
    "01": {"IT": 250, "V1": 385, "V2": 257, "V4": 152},
    "02": {"IT": 389, "V1": 356, "V2": 278, "V4": 225},
    "03": {"IT": 120, "V1": 174, "V2": 131, "V4": 101},
}


@pytest.mark.private_access
@pytest.mark.parametrize(("split", "shape"), [("train", (8640, 18394, 1)), ("test", (1200, 18394, 1))])
def test_recordings_are_as_published(split, shape):
    assembly = load_dataset(f"Hebart2023_fmri_{split}")
    assert assembly.shape == shape
    assert len(set(assembly["neuroid_id"].values)) == 18394
    reliable = assembly["nc_testset"].values > 30
    for subject, regions in RELIABLE.items():
        of_subject = reliable & (assembly["subject"].values == subject)
        assert {name: int((of_subject & (assembly["region"].values == name)).sum()) for name in regions} == regions


@pytest.mark.private_access
@pytest.mark.parametrize(
    ("split", "n_concepts", "n_examples", "n_repetitions"), [("train", 720, 12, 1), ("test", 100, 1, 12)]
)
def test_objects_are_as_published(split, n_concepts, n_examples, n_repetitions):
    stimuli, assembly = load_stimulus_set(f"Hebart2023_fmri_stim_{split}"), load_dataset(f"Hebart2023_fmri_{split}")
    assert len(stimuli) == n_concepts * n_examples
    assert stimuli["label"].nunique() == n_concepts
    shown = np.repeat(stimuli["stimulus_id"].to_numpy(), n_repetitions)
    np.testing.assert_array_equal(assembly["stimulus_id"].values, shown)
