import numpy as np
import pytest
from PIL import Image

from brainscore_core.errors import MissingStimulusError
from brainscore_core.supported_data_standards.brainio.transform import average_repetition
from brainscore_core.testing.synthetic import assembly_of
from brainscore_vision import load_dataset, load_stimulus_set
from brainscore_vision.data.laion_fmri import loading


@pytest.fixture
def images(tmp_path):
    folder = tmp_path / "images"
    folder.mkdir()
    rows = ["stimulus_id,filename,dataset"]
    for name in ("shared_4rep_OOD_gabor_1.jpg", "shared_12rep_LAION_1.jpg"):
        Image.fromarray(np.zeros((8, 8, 3), dtype=np.uint8)).save(folder / name)
        rows.append(f"{name},{name},LAION")
    (folder / loading.TABLE).write_text("\n".join(rows))
    return folder


@pytest.mark.parametrize("identifier", ["Zerbe2026_fmri_stim_full", "Zerbe2026_fmri_persubject_stim_full"])
def test_images_are_read_from_the_folder_in_the_environment(images, monkeypatch, identifier):
    monkeypatch.setenv(loading.FOLDER_VARIABLE, str(images))
    stimuli = load_stimulus_set(identifier)
    assert stimuli.identifier == identifier
    assert len(stimuli) == 2
    assert stimuli.get_stimulus("shared_12rep_LAION_1.jpg") == images / "shared_12rep_LAION_1.jpg"


def test_images_are_read_from_the_default_of_the_authors(images, monkeypatch):
    monkeypatch.delenv(loading.FOLDER_VARIABLE, raising=False)
    monkeypatch.setattr(loading, "FOLDER", images)
    assert len(load_stimulus_set("Zerbe2026_fmri_stim_full")) == 2


def test_missing_images_error_names_folders_and_agreement(tmp_path, monkeypatch):
    monkeypatch.setenv(loading.FOLDER_VARIABLE, str(tmp_path / "nowhere"))
    monkeypatch.setattr(loading, "FOLDER", tmp_path / "not-there-either")
    monkeypatch.setenv("BRAINSCORE_OFFLINE", "1")
    with pytest.raises(MissingStimulusError, match=r"nowhere or .*not-there-either.*data use agreement") as caught:
        load_stimulus_set("Zerbe2026_fmri_stim_full")
    assert caught.value.__cause__ is not None


def test_repetitions_are_averaged_despite_trial_numbers():
    assembly = assembly_of(
        np.arange(8.0).reshape(4, 2),
        stimulus_id=["a", "b", "a", "b"],
        object_name=None,
        repetition=[0, 0, 1, 1],
        session=["ses-01", "ses-01", "ses-02", "ses-02"],
        run=[1, 2, 3, 4],
        beta_index=range(4),
        neuroid_id=None,
        nc_12rep=("neuroid", [50.0, 60.0]),
        region=("neuroid", ["V1", "V2"]),
    ).assign_attrs(kept=1)
    without = loading.without_trials(assembly, "sub-03")
    assert without.attrs == {"kept": 1}
    assert set(without["subject_id_pres"].values) == {"sub-03"}
    assert without["nc_12rep"].values.tolist() == [50, 60]
    np.testing.assert_array_equal(average_repetition(without).values, [[2, 3], [4, 5]])


@pytest.mark.private_access
@pytest.mark.parametrize("subject", ["sub-01", "sub-03", "sub-05", "sub-06", "sub-07"])
@pytest.mark.parametrize(("pool", "n_stimuli"), [("", 1492), ("persubject_", 6204)])
def test_recordings_are_as_published(subject, pool, n_stimuli):
    assembly = load_dataset(f"Zerbe2026_fmri_{pool}full_{subject}")
    assert len(set(assembly["stimulus_id"].values)) == n_stimuli
    assert {"V1", "V2", "V4", "IT"} <= set(assembly["region"].values)
    assert {"nc_4rep", "nc_12rep", "nc_allrep"} <= set(assembly.coords)
    assert not {"session", "run", "beta_index"} & set(assembly.coords)
