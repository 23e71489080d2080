"""Load files that the published system wrote; `fixtures/README.txt` describes how they were made."""

import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from brainscore_core.supported_data_standards.brainio import assemblies
from brainscore_core.supported_data_standards.brainio.fetch import unzip
from brainscore_core.supported_data_standards.brainio.netcdf import list_groups, write_netcdf
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet

ARCHIVE = Path(__file__).parents[2] / "fixtures" / "published.zip"
CLASSES = {
    "BehavioralAssembly": ("presentation",),
    "DataAssembly": ("presentation",),
    "MetadataAssembly": ("session",),
    "ModelFeaturesAssembly": ("presentation", "neuroid"),
    "NeuroidAssembly": ("presentation", "neuroid"),
    "NeuronRecordingAssembly": ("presentation", "neuroid", "time_bin"),
    "PropertyAssembly": ("neuroid", "neuronal_property"),
    "SpikeTimesAssembly": ("event",),
}


@pytest.fixture
def folder(tmp_path):
    with zipfile.ZipFile(ARCHIVE) as archive:
        archive.extractall(tmp_path)
    return tmp_path


def load(folder, name, **kwargs):
    return getattr(assemblies, name).from_files(folder / f"{name}.nc", **kwargs)


def test_choices_properties_legacy_names_and_bare_values_load(folder):
    assert ARCHIVE.stat().st_size < 100_000
    assert load(folder, "BehavioralAssembly").values.tolist() == ["dog", "cat", "dog", "", "cat", "dog"]
    np.testing.assert_array_equal(load(folder, "PropertyAssembly").values, [[0.5], [np.nan]])
    loaded = assemblies.NeuroidAssembly.from_files(folder / "legacy.nc")
    assert loaded["stimulus_id"].values.tolist() == ["a", "b"]
    assert "image_id" not in loaded.coords
    assert assemblies.DataAssembly.from_files(folder / "bare.nc").values.tolist() == [[0.0]]


@pytest.mark.parametrize("name", CLASSES)
def test_every_class_loads(folder, name):
    loaded = load(folder, name)
    assert type(loaded).__name__ == name
    assert loaded.dims == CLASSES[name]
    assert loaded.attrs["stimulus_set_identifier"] is None  # as the published loader does


@pytest.mark.parametrize("name", CLASSES)
def test_rewriting_changes_nothing(folder, name):
    loaded = load(folder, name)
    for key in [key for key, value in loaded.attrs.items() if value is None or key == "sessions"]:
        del loaded.attrs[key]
    write_netcdf(loaded, folder / "again.nc")
    again = type(loaded).from_files(folder / "again.nc")
    del again.attrs["stimulus_set"], again.attrs["stimulus_set_identifier"]
    assert again.equals(loaded)  # `identical` is false for an index with missing values, even against itself
    assert again.attrs == loaded.attrs


def test_recording_keeps_values_and_coordinates(folder):
    loaded = load(folder, "NeuronRecordingAssembly")
    expected = np.arange(24, dtype="float32").reshape(6, 2, 2) / 8
    expected[1, 1, 0] = np.nan
    assert loaded.dtype == np.float32
    np.testing.assert_array_equal(loaded.values, expected)
    assert loaded["stimulus_id"].values.tolist() == list("abcabc")
    assert loaded["label"].values.tolist() == ["", "äß中", "two words", "x" * 40, "1", "nan"]
    np.testing.assert_array_equal(loaded["contrast"].values, [0.25, np.nan, np.inf, -np.inf, 0.5, 1.0])
    assert loaded["shown"].values.tolist() == [True, False, True, True, False, True]
    assert loaded["date"].values[5] == np.datetime64("2020-01-06")
    assert loaded.sel(region="IT", time_bin_start=90, stimulus_id="b").values.ravel().tolist() == [0.875, 2.375]
    loaded.validate()


def test_recording_joins_a_stimulus_set(folder):
    table = pd.DataFrame({"stimulus_id": ["c", "b", "a"], "number": [3, 2, 1]})
    loaded = load(folder, "NeuronRecordingAssembly", stimulus_set=table)
    assert loaded["number"].values.tolist() == [1, 2, 3] * 2
    averaged = loaded.drop_vars(["date", "label", "contrast", "shown"]).mean(dim="repetition")
    assert averaged["number"].values.tolist() == [1, 2, 3]


def test_single_coordinate_keeps_the_name_of_its_dimension(folder):
    # The published system stored it under the name of the dimension, so it is loaded under that name.
    loaded = load(folder, "DataAssembly")
    assert loaded["presentation"].values.tolist() == ["a", "b", "c"]
    assert loaded.sel(presentation="b").item() == 2


def test_groups_become_metadata_assemblies(folder):
    assert list_groups(folder / "SpikeTimesAssembly.nc") == ["sessions"]
    sessions = load(folder, "SpikeTimesAssembly").attrs["sessions"]
    assert isinstance(sessions, assemblies.MetadataAssembly)
    assert sessions.sel(session_id="s1")["rig"].values.tolist() == [4]


def test_stimulus_set_loads(folder):
    stimuli = StimulusSet.from_files(
        folder / "stimulus_Published2020.csv", unzip(folder / "stimulus_Published2020.zip")
    )
    assert stimuli["stimulus_id"].tolist() == ["a", "b"]
    assert stimuli["object_name"].tolist() == ['face, "old"', "äß中"]
    np.testing.assert_array_equal(stimuli["size"], [0.1, np.nan])
    assert stimuli["number"].tolist() == [1, 2]
    assert Path(stimuli.get_stimulus("b")).read_bytes().startswith(b"\x89PNG")
