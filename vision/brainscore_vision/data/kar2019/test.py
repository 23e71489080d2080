import pytest

from brainscore_core.supported_data_standards.brainio import s3
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
from brainscore_vision import load_dataset, load_stimulus_set


@pytest.mark.private_access
def test_number_of_images_and_decoders():
    assembly = load_dataset("Kar2019")
    assert set(assembly["decoder"].values) == {"svm", "logistic"}
    assert assembly.sizes["presentation"] == 1320
    assert len(set(assembly["stimulus_id"].values)) == 1318
    assert len(set(assembly["image_label"].values)) == 10


def test_images_listed_twice_are_loaded_once(monkeypatch):
    twice = StimulusSet({"stimulus_id": ["a", "b", "a"], "image_label": ["bear", "car", "bear"]})
    twice.identifier, twice.stimulus_paths = "Kar2019", {"a": "a.png", "b": "b.png"}
    monkeypatch.setattr(s3, "load_stimulus_set_from_s3", lambda *_, **__: twice)
    loaded = load_stimulus_set("Kar2019")
    assert loaded["stimulus_id"].tolist() == ["a", "b"]
    assert (loaded.identifier, loaded.get_stimulus("b")) == ("Kar2019", "b.png")
