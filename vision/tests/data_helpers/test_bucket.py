import subprocess
import sys

import numpy as np
import pytest

from brainscore_core.errors import PluginError
from brainscore_core.plugin_management.source import read_plugin
from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly, NeuroidAssembly
from brainscore_core.supported_data_standards.brainio.packaging import (
    package_data_assembly_locally,
    package_stimulus_set_locally,
)
from brainscore_core.testing.synthetic import assembly_of
from brainscore_vision.catalogue.references import citation
from brainscore_vision.data_helpers import Bucket, cite_data
from brainscore_vision.registries import data_registry, stimulus_set_registry

PATH = "storage/folder"
BUCKET = Bucket(PATH, NeuroidAssembly)
IDS = ["a", "b", "c"]


@pytest.fixture
def packages(tmp_path, monkeypatch, write_stimuli):
    """Return digests of packaged stimuli and responses; packaging puts the files where fetching would."""
    monkeypatch.setenv("BRAINIO_HOME", str(tmp_path / "brainio"))
    monkeypatch.setenv("BRAINSCORE_OFFLINE", "1")
    pictures = {name: np.full((4, 4, 3), number) for number, name in enumerate(IDS)}
    stimuli = write_stimuli(pictures, colour=["red", "green", "blue"])
    responses = assembly_of(np.arange(6.0).reshape(3, 2), stimulus_id=IDS)
    packed = package_stimulus_set_locally(stimuli, "Made2026.shown", downloads_path=tmp_path)
    measured = package_data_assembly_locally(responses, "lab.Made2026", "Made2026.shown", downloads_path=tmp_path)
    digests = {name: packed[name] for name in ("csv_sha1", "zip_sha1")}
    monkeypatch.setitem(stimulus_set_registry, "Made2026", BUCKET.stimuli("Made2026.shown", **digests))
    return digests, measured["sha1"]


def test_stimuli_are_loaded_and_prepared(packages):
    loaded = stimulus_set_registry["Made2026"]()
    assert loaded.identifier == "Made2026.shown"
    assert loaded["colour"].tolist() == ["red", "green", "blue"]
    first = BUCKET.stimuli("Made2026.shown", **packages[0], prepare=lambda stimuli: stimuli[:1])()
    assert first["stimulus_id"].tolist() == ["a"]


def test_assembly_has_its_registered_stimuli(packages, monkeypatch):
    load = BUCKET.assembly("lab.Made2026", sha1=packages[1], stimuli="Made2026")
    monkeypatch.setitem(data_registry, "Made2026", load)
    loaded = load()
    assert type(loaded) is NeuroidAssembly
    assert loaded.stimulus_set.identifier == "Made2026.shown"
    assert loaded["colour"].values.tolist() == ["red", "green", "blue"]
    assert loaded.values.tolist() == [[0, 1], [2, 3], [4, 5]]
    assert load() is not loaded


def test_options_of_an_assembly(packages):
    sha1 = packages[1]
    bare = Bucket(PATH).assembly("lab.Made2026", sha1=sha1)()
    assert type(bare) is DataAssembly
    assert "stimulus_set" not in bare.attrs
    apart = BUCKET.assembly("lab.Made2026", sha1=sha1, stimuli="Made2026", merge_stimulus_set_meta=False)()
    assert "colour" not in apart.coords
    assert apart.stimulus_set.identifier == "Made2026.shown"
    mapped = BUCKET.assembly("lab.Made2026", sha1=sha1, memory_map=True, prepare=lambda found: found[:, :1])()
    assert mapped.values.tolist() == [[0], [2], [4]]


def test_declaring_files_imports_neither_pandas_nor_xarray():
    code = (
        "import sys\n"
        "from brainscore_vision.data_helpers import Bucket\n"
        "Bucket('b').assembly('A', sha1='0' * 40)\n"
        "Bucket('b').stimuli('A', csv_sha1='0' * 40, zip_sha1='0' * 40)\n"
        "print(*({'pandas', 'xarray', 'boto3'} & sys.modules.keys()))\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.split() == []


# -- citations ---------------------------------------------------------------------------------------------------------


def test_cites_the_constant_of_a_plugin_without_running_it():
    assert cite_data("allen2022_fmri").startswith("@article{allen2022massive")


@pytest.mark.parametrize("folder", ["absent2026", ""])
def test_rejects_plugins_without_a_citation(folder):
    with pytest.raises(PluginError, match=r"Cannot cite|states no citation"):
        cite_data(folder)


@pytest.mark.parametrize("file", ["__init__.py", "benchmark.py"])
def test_catalogue_resolves_cite_data(file, tmp_path):
    (tmp_path / "__init__.py").touch()
    (tmp_path / file).write_text("BIBTEX = cite_data('allen2022_fmri')")
    assert citation(read_plugin(tmp_path, "x.benchmarks.y")) == cite_data("allen2022_fmri")
    (tmp_path / file).write_text("BIBTEX = other('allen2022_fmri')")
    assert citation(read_plugin(tmp_path, "x.benchmarks.y")) is None
