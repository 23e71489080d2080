import hashlib
import io
import textwrap
import zipfile
from types import SimpleNamespace

import pytest

from brainscore_core.plugin_management.index import PluginRoot
from brainscore_vision.catalogue import entries


def sha1_of(content):
    return hashlib.sha1(content, usedforsecurity=False).hexdigest()


def make_zip(members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


CSV = b"stimulus_id,filename\na,a.png\n"
ZIP = make_zip({"a.png": b"A"})
NC = b"values"

PLUGIN = f'''
from brainscore_vision import data_registry, stimulus_set_registry
from brainscore_core.supported_data_standards.brainio.s3 import load_assembly_from_s3, load_stimulus_set_from_s3

raise RuntimeError("the catalogue must not run this")

BIBTEX = """@article{{made2024, title={{Made up}}}}"""
LICENSE = "CC-BY-4.0"

stimulus_set_registry["Made2024"] = lambda: load_stimulus_set_from_s3(
    identifier="Made2024",
    bucket="brainscore-storage/folder",
    csv_sha1="{sha1_of(CSV)}",
    zip_sha1="{sha1_of(ZIP)}",
    csv_version_id="csv-version",
    zip_version_id="zip-version",
)
data_registry["Made2024.public"] = lambda: load_assembly_from_s3(
    identifier="lab.Made2024",
    version_id="null",
    sha1="{sha1_of(NC)}",
    bucket="brainscore-storage/folder",
    cls=NeuroidAssembly,
    stimulus_set_loader=lambda: load_stimulus_set("Made2024"),
)
data_registry["Made2024"] = make_up
'''


@pytest.fixture
def plugins(tmp_path, monkeypatch):
    """Return a function that writes a plugin; the catalogue sees only these plugins."""
    root = PluginRoot(folder="data", path=tmp_path / "data", package="brainscore_vision.data")

    def write(name, **files):
        (root.path / name).mkdir(parents=True)
        for stem, text in files.items():
            (root.path / name / f"{stem}.py").write_text(textwrap.dedent(text))
        return root.path / name

    monkeypatch.setattr(entries, "library_roots", lambda library: [root])
    return write


@pytest.fixture
def made(plugins):
    return plugins("made2024", __init__=PLUGIN)


@pytest.fixture
def home(own_homes, made):
    """Return the data home with all files of the plugin cached and the archive extracted."""
    base = own_homes / "brainio"
    for name, content in {
        "stimulus_Made2024.csv": CSV,
        "stimulus_Made2024.zip": ZIP,
        "assy_lab_Made2024.nc": NC,
    }.items():
        folder = base / sha1_of(content)
        folder.mkdir(parents=True)
        (folder / name).write_bytes(content)
    extracted = base / sha1_of(ZIP) / "stimulus_Made2024"
    extracted.mkdir()
    (extracted / "a.png").write_bytes(b"A")
    return base


@pytest.fixture(scope="session")
def files():
    """Return the contents of the plugin's files and the function for their digests."""
    return SimpleNamespace(CSV=CSV, ZIP=ZIP, NC=NC, sha1_of=sha1_of)
