import pytest

from brainscore_core.plugin_management.index import PluginRoot
from brainscore_vision.isolation import reach
from brainscore_vision.isolation.reach import folders_of_plugins, readable_plugins


@pytest.fixture
def models(tmp_path, monkeypatch):
    """Return the folder of models `own`, `other`, `third`, `fourth` of a library that also has a data plugin."""
    package = tmp_path / "brainscore_vision"
    for kind, name in (*(("models", name) for name in ("own", "other", "third", "fourth")), ("data", "measured")):
        (package / kind / name).mkdir(parents=True)
        registry = "model_registry" if kind == "models" else "data_registry"
        (package / kind / name / "__init__.py").write_text(f"{registry}['{name.title()}-1'] = lambda: None\n")
    roots = [PluginRoot(folder=kind, path=package / kind, package=kind) for kind in ("models", "data")]
    monkeypatch.setattr(reach, "library_roots", lambda library: roots)
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
def test_models_that_sources_name_are_readable_with_those_they_name(models, source, names):
    (models / "own" / "model.py").write_text(source)
    (models / "third" / "model.py").write_text("load_model('Fourth-1'); load_model('Own-1')")
    assert readable_plugins(models / "own") == [models / name for name in names]


def test_the_folders_of_every_kind_are_known(models):
    assert {models, models.parent / "data"} <= set(folders_of_plugins())
