import stat
import sys
from pathlib import Path

import numpy as np
import pytest

from brainscore_core.errors import CandidateError
from brainscore_core.files import LOCKS
from brainscore_core.plugin_management.index import PluginRoot
from brainscore_core.scoring.isolation.box import why_no_box
from brainscore_vision.isolation import prepared
from brainscore_vision.isolation.judge import started
from brainscore_vision.isolation.prepared import Prepared, _home, box_of, folders_of_plugins, prepare, readable_plugins
from brainscore_vision.loading import find_plugin_directory

pytestmark = pytest.mark.skipif(bool(why_no_box()), reason=str(why_no_box()))

# Runs when the plugin is imported; its home is writable only in the phase with network access.
LEAVES = """
import pathlib as _pathlib
def _leave():
    home = _pathlib.Path.home()
    if os.environ.get("BRAINSCORE_OFFLINE") == "1":
        return
    (home / "brain-score").mkdir(exist_ok=True)
    (home / "weights.bin").write_bytes(b"weights")
    (home / "brain-score" / "weights").symlink_to(TARGET)
    (home / ".cache").symlink_to(TARGET)
    (home / "again").symlink_to("weights.bin")
    (home / "away").symlink_to(TARGET + "/secret")
    os.mkfifo(home / "pipe")
    server = socket.socket(socket.AF_UNIX)
    os.chdir(home)  # the whole path may be too long for a socket
    server.bind("socket")
    (home / "program").write_text("#!/bin/sh")
    (home / "program").chmod(0o6755)
    with (home / "sparse").open("wb") as stream:
        stream.truncate(2**28)
_leave()
"""


def test_box_gets_local_weights_but_no_mirror(own_homes, tmp_path, monkeypatch):
    """A mirror may hold private data, and in one phase the box has network access."""
    mirror, weights = tmp_path / "mirror", own_homes / "brain-score/weights"
    monkeypatch.setenv("BRAINSCORE_MIRROR", str(mirror))
    for folder in (mirror, weights):
        folder.mkdir(parents=True)
    prepared = Prepared(model="pixels", python=Path(sys.executable), home=tmp_path / "candidate")
    for network in (True, False):
        box = box_of(prepared, network=network)
        assert (weights in box.readable) == (not network)
        assert not any(mirror.is_relative_to(path) for path in box.readable)
        assert "BRAINSCORE_MIRROR" not in box.environment
    assert (weights / LOCKS).is_dir()  # it is hidden from a box only if it exists when the box starts


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("transformers:lab/net-x", "transformers:lab_net-x"),
        ("torchhub:lab/net:v1:a", "torchhub:lab/net:v1_a"),
        (f"timm:{'x' * 90}a", f"timm:{'x' * 90}b"),
    ],
)
def test_models_of_similar_names_have_separate_homes(one, other):
    folder = find_plugin_directory("model", "pixels")
    assert _home(one, folder) != _home(other, folder)
    assert _home(one, folder) == _home(one, folder)


@pytest.mark.slow
def test_unreachable_model_is_explained_in_two_lines(own_homes, monkeypatch, caplog):
    """One says why the download failed, the other that the box cannot repeat it; neither blames a variable of ours."""
    monkeypatch.delenv("BRAINSCORE_OFFLINE", raising=False)
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")  # nothing listens there
    name = "torchhub:owner/repo:entry"
    prepare(name)
    (warning,) = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert warning.startswith(f"Loading {name} with the network failed: Cannot download https://github.com/owner/repo")
    assert len(warning.splitlines()) == 1
    with started(name, answer_s=120) as model, pytest.raises(CandidateError) as raised:
        model.load()
    assert "https://github.com/owner/repo/archive/HEAD.zip is not on this machine" in str(raised.value)
    assert "Unset" not in str(raised.value)


@pytest.mark.slow
def test_preparing_keeps_plain_files_and_logs_the_rest(tree, surroundings, tmp_path, monkeypatch, caplog):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text("secret")
    plugin = tree / "models" / "hostile" / "__init__.py"
    source = plugin.read_text()
    with surroundings(tree, tmp_path / "home"):
        try:
            plugin.write_text(source + LEAVES.replace("TARGET", repr(str(tmp_path / "outside"))))
            monkeypatch.setenv("BRAINSCORE_OFFLINE", "0")
            prepared = prepare("hostile")
            with started("hostile", answer_s=120) as model:  # the phase without network access
                model.load()
                assert model.visual_degrees() == 8
        finally:
            plugin.write_text(source)
    files = {path.relative_to(prepared.home).as_posix(): path.lstat() for path in prepared.home.rglob("*")}
    assert all(stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode) for status in files.values())
    modes = {name: stat.S_IMODE(status.st_mode) for name, status in files.items() if not name.startswith("brain-score")}
    assert modes == {"weights.bin": 0o600, "again": 0o600, "program": 0o700, "sparse": 0o600}
    assert files["sparse"].st_blocks * 512 < 2**20
    refused = prepared.home.with_name(f"{prepared.home.name}.fetched").read_text().splitlines()
    names = (".cache", "away", "brain-score/weights", "pipe", "socket")
    assert refused == [f"not copied: {name!r}" for name in names]
    assert "'pipe', 'socket'" in caplog.text
    assert not (prepared.home.parent / f"{prepared.home.name}.fetching").exists()


NUMPY_1 = """
import numpy as np
from brainscore_vision import model_registry
from brainscore_vision.model_helpers.adapters import as_brain_model

assert np.__version__.startswith("1.")
model_registry["older"] = lambda: as_brain_model(
    lambda images: np.stack([np.asarray(image.resize((4, 4)), dtype=float) for image in images]), identifier="older"
)
"""


@pytest.mark.slow
@pytest.mark.network
def test_candidate_with_numpy_1_answers_a_judge_with_numpy_2(tree, surroundings, tmp_path, monkeypatch, write_stimuli):
    plugin = tree / "models" / "older"
    plugin.mkdir()
    (plugin / "__init__.py").write_text(NUMPY_1)
    (plugin / "requirements.txt").write_text("numpy<2.0\n")
    pixels = np.random.default_rng(0).integers(0, 255, (3, 4, 4, 3))
    stimuli = write_stimuli(dict(zip("abc", pixels, strict=True)))
    with surroundings(tree, tmp_path / "home"):
        monkeypatch.setenv("BRAINSCORE_OFFLINE", "0")
        monkeypatch.setenv("BS_INSTALL_DEPENDENCIES", "yes")
        assert "numpy==1." in prepare("older").lock
        with started("older", answer_s=120) as model:
            model.load()
            model.start_recording("IT", [(70, 170)])
            answer = model.look_at(stimuli)
    assert np.__version__ >= "2"
    np.testing.assert_array_equal(answer.transpose("presentation", ...).values.reshape(3, -1), pixels.reshape(3, -1))


# -- plugins that a candidate may read ---------------------------------------------------------------------------------


@pytest.fixture
def models(tmp_path, monkeypatch):
    """Return the folder of models `own`, `other`, `third`, `fourth` of a library that also has a data plugin."""
    package = tmp_path / "brainscore_vision"
    for kind, name in (*(("models", name) for name in ("own", "other", "third", "fourth")), ("data", "measured")):
        (package / kind / name).mkdir(parents=True)
        registry = "model_registry" if kind == "models" else "data_registry"
        (package / kind / name / "__init__.py").write_text(f"{registry}['{name.title()}-1'] = lambda: None\n")
    roots = [PluginRoot(folder=kind, path=package / kind, package=kind) for kind in ("models", "data")]
    monkeypatch.setattr(prepared, "library_roots", lambda library: roots)
    monkeypatch.setenv("BRAINSCORE_HOME", str(tmp_path / "home"))
    return package / "models"


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("load_dataset('Measured-1'); load_model('gone')", ["own"]),
        ("load_model('Other-1')", ["other", "own"]),
        ("BASE = 'Other-1'\nload_model(BASE)", ["other", "own"]),
        ("load_model(f'Oth{x}-1')", ["other", "own"]),
        ("import brainscore_vision.models.other.model", ["other", "own"]),
        ("from brainscore_vision.models import other", ["other", "own"]),
        ("from ..other.model import Net", ["other", "own"]),
        ("from brainscore_vision.data import measured\nfrom ...data import measured", ["own"]),
        ("load_model('Third-1')", ["fourth", "own", "third"]),
        ("not python (", ["own"]),
    ],
)
def test_models_named_by_sources_are_readable_recursively(models, source, names):
    (models / "own" / "model.py").write_text(source)
    (models / "third" / "model.py").write_text("load_model('Fourth-1'); load_model('Own-1')")
    assert readable_plugins(models / "own") == [models / name for name in names]


def test_plugin_folders_of_every_kind_are_listed(models):
    assert {models, models.parent / "data"} <= set(folders_of_plugins())
