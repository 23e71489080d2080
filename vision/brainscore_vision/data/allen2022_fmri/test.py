import numpy as np
import pytest

from brainscore_vision import load_dataset, load_stimulus_set

N_VOXELS = {"V1": 9039, "V2": 8792, "V4": 3982, "IT": 62751}


@pytest.mark.private_access
@pytest.mark.parametrize(
    ("dataset", "n_train", "n_test", "n_neuroids", "subjects"),
    [("Allen2022_fmri", 412, 103, 84564, range(1, 9)), ("Allen2022_fmri_4subj", 800, 200, 40314, [1, 2, 5, 7])],
)
def test_recordings_are_as_published(dataset, n_train, n_test, n_neuroids, subjects):
    train, test = (load_dataset(f"{dataset}_{split}") for split in ("train", "test"))
    assert (train.shape, test.shape) == ((n_train, n_neuroids, 1), (3 * n_test, n_neuroids, 1))
    assert set(test["repetition"].values) == {0, 1, 2}
    assert set(train["subject"].values) == {f"subj{number:02d}" for number in subjects}
    assert {"nc_testset", "voxel_x", "voxel_y", "voxel_z"} <= set(train.coords)
    np.testing.assert_array_equal(train["neuroid_id"].values, test["neuroid_id"].values)
    assert not set(train["stimulus_id"].values) & set(test["stimulus_id"].values)
    assert not any(np.isnan(each.values).any() for each in (train, test))
    assert len(load_stimulus_set(f"{dataset}_stim_train")) == n_train


@pytest.mark.private_access
def test_number_of_voxels_in_each_region():
    regions = load_dataset("Allen2022_fmri_train")["region"].values
    assert {region: int((regions == region).sum()) for region in N_VOXELS} == N_VOXELS
