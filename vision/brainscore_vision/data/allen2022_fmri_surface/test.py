from pathlib import Path

import numpy as np
import pytest

from brainscore_vision import load_dataset

N_VERTICES = {"V1": 34208, "V2": 27128, "V4": 7312, "IT": 152520}


def test_scenes_are_shared_with_the_voxels():
    source = Path(__file__).with_name("__init__.py").read_text()
    assert "stimulus_set_registry" not in source
    assert source.count('stimuli="Allen2022_fmri_') == 4


@pytest.mark.private_access
@pytest.mark.parametrize(
    ("dataset", "n_train", "n_test", "n_neuroids", "subjects"),
    [
        ("Allen2022_fmri_surface", 412, 103, 221168, range(1, 9)),
        ("Allen2022_fmri_surface_4subj", 800, 200, 110584, [1, 2, 5, 7]),
    ],
)
def test_recordings_are_as_published(dataset, n_train, n_test, n_neuroids, subjects):
    train, test = (load_dataset(f"{dataset}_{split}") for split in ("train", "test"))
    assert (train.shape, test.shape) == ((n_train, n_neuroids, 1), (3 * n_test, n_neuroids, 1))
    assert set(test["repetition"].values) == {0, 1, 2}
    assert set(train["subject"].values) == {f"subj{number:02d}" for number in subjects}
    assert set(train["hemisphere"].values) == {"lh", "rh"}
    assert {"nc_testset", "vertex_index"} <= set(train.coords)
    np.testing.assert_array_equal(train["neuroid_id"].values, test["neuroid_id"].values)
    assert not any(np.isnan(each.values).any() for each in (train, test))


@pytest.mark.private_access
def test_number_of_vertices_in_each_region():
    regions = load_dataset("Allen2022_fmri_surface_train")["region"].values
    assert {region: int((regions == region).sum()) for region in N_VERTICES} == N_VERTICES
