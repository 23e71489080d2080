"""Plugins outside the library are found after its own, under names that are unique."""

import logging
import os
import sys

import pytest

from brainscore_core.errors import ConfigurationError, PluginError, UnknownIdentifierError
from brainscore_core.git import run_git
from brainscore_core.identity.software import folder_commit
from brainscore_core.plugin_management import index as indexing
from brainscore_core.plugin_management.import_plugin import find_plugin, import_plugin, known_identifiers_of
from brainscore_core.plugin_management.index import PluginIndex, library_roots, plugin_at
from brainscore_core.plugin_management.owned_registry import OwnedRegistry
from brainscore_core.plugin_management.registry import KINDS, outside_folders


@pytest.fixture
def owned(library):
    """Return the library with a model registry where plugins can change only their own entries."""
    library.module.model_registry = OwnedRegistry(library.name, "model", indexing.owners)
    return library


@pytest.fixture
def outside(library, tmp_path, monkeypatch):
    """Return a function that writes a plugin outside the library, in a folder that the library searches."""
    place = tmp_path / "lab"
    monkeypatch.setenv("BRAINSCORE_PLUGINS", str(place))
    monkeypatch.setattr(indexing, "_said", set())

    def write(plugin, init, folder="models", place=place, **files):
        directory = place / folder / plugin
        directory.mkdir(parents=True)
        for name, text in {"__init__.py": init, **{f"{stem}.py": text for stem, text in files.items()}}.items():
            (directory / name).write_text(text.replace("LIBRARY", library.name))
        return directory

    return write


REGISTER = "from LIBRARY import model_registry\n"


def load(library, identifier):
    return import_plugin(library.name, "model", identifier)()


def test_outside_plugin_is_found_without_import_and_can_be_loaded(library, outside):
    library.add("models", "ours", "model_registry['ours'] = list")
    outside(
        "theirs",
        f"{REGISTER}from LIBRARY.models.theirs.model import get\nmodel_registry['theirs'] = get",
        model="""
def get():
    from LIBRARY.models.beside.helper import VALUE
    from ..beside import helper
    return VALUE, helper.__name__
""",
    )
    outside("beside", REGISTER, helper="VALUE = 4")
    outside("broken", f"{REGISTER}model_registry['broken'] = (")
    assert known_identifiers_of(library.name, "model") == ["ours", "theirs"]
    assert not [name for name in sys.modules if name.startswith(f"{library.name}.models.")]
    assert load(library, "theirs") == (4, f"{library.name}.models.beside.helper")
    assert load(library, "ours") == []
    with pytest.raises(PluginError, match="cannot be read"):
        load(library, "broken")


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_every_kind_of_plugin_is_found_outside(library, outside, kind):
    outside("theirs", f"from LIBRARY import {kind.registry}\n{kind.registry}['x'] = lambda: 1", folder=kind.folder)
    assert import_plugin(library.name, kind.name, "x")() == 1
    with pytest.raises(UnknownIdentifierError, match="Did you mean 'x'"):
        import_plugin(library.name, kind.name, "xx")


def test_name_in_both_places_is_the_library_s_and_logged_once(owned, outside, caplog):
    library = owned
    library.add("models", "ours", "model_registry['both'] = lambda: 'ours'\nmodel_registry['too'] = lambda: 'ours'")
    theirs = outside(
        "theirs",
        "".join([REGISTER, *(f"model_registry['{name}'] = lambda: 'theirs'\n" for name in ("both", "too", "own"))]),
    )
    index = PluginIndex(library_roots(library.name))
    assert index.owners(KINDS["model"])["both"] == [library.path / "models/ours/__init__.py"]
    plugin = plugin_at(theirs, library.name)
    assert ([entry.identifier for entry in plugin.taken], plugin.identifiers(KINDS["model"])) == (
        ["both", "too"],
        ["own"],
    )
    with caplog.at_level(logging.WARNING):
        assert [load(library, name) for name in ("own", "both", "too", "own", "both")] == [
            "theirs",
            "ours",
            "ours",
            "theirs",
            "ours",
        ]
        index.find(KINDS["model"], "too")
    (line,) = caplog.messages
    assert [text in line for text in ("'both'", str(library.path / "models/ours"), str(theirs))] == [True] * 3


@pytest.mark.parametrize("first", ["ours", "theirs"])
@pytest.mark.parametrize("own_import", [
    "from .model import VALUE", "from LIBRARY.models.alexnet.model import VALUE",
    "from LIBRARY.models.alexnet import model\nVALUE = model.VALUE",
    "from LIBRARY.models import alexnet as me\nfrom . import model\nVALUE = me.model.VALUE",
    "import LIBRARY.models.alexnet.model as model\nVALUE = model.VALUE",
])  # fmt: skip
def test_outside_folder_may_share_a_name_with_the_library(owned, outside, first, own_import):
    library = owned
    deep = "from LIBRARY.models.alexnet.deep import VALUE"  # a module of the plugin imports the plugin by name too
    library.add(
        "models",
        "alexnet",
        f"{own_import}\nmodel_registry['ours'] = lambda: VALUE",
        model__py=deep,
        deep__py="VALUE = 'ours'",
    )
    outside(
        "alexnet",
        f"{REGISTER}{own_import}\nmodel_registry['theirs'] = lambda: VALUE",
        model=deep,
        deep="VALUE = 'theirs'",
    )
    for name in (first, "ours", "theirs"):
        assert load(library, name) == name
    assert find_plugin(library.name, "model", "theirs").module == f"{library.name}.models.alexnet@1"
    listing = PluginIndex(library_roots(library.name)).listing()["models"]
    assert listing == {"alexnet": {"model_registry": ["ours"]}, "alexnet@1": {"model_registry": ["theirs"]}}


def test_import_that_would_find_the_library_plugin_is_rejected(library, outside):
    library.add("models", "alexnet", "model_registry['ours'] = list")
    outside("alexnet", f"import LIBRARY.models.alexnet.model\n{REGISTER}model_registry['theirs'] = list", model="")
    with pytest.raises(PluginError, match=r"alexnet/__init__.py:1.*'from . import"):
        load(library, "theirs")


def test_outside_plugin_cannot_change_other_plugins(owned, outside):
    library = owned
    library.add("models", "ours", "model_registry['ours'] = list")
    outside("removes", f"{REGISTER}model_registry['removes'] = list\ndel model_registry['ours']")
    outside("one", f"{REGISTER}model_registry['one'] = list\nmodel_registry['two'] = dict")
    load(library, "ours")
    with pytest.raises(PluginError, match="changes the model 'ours'") as raised:
        load(library, "removes")
    assert str(raised.value).count("models/ours/__init__.py") == 1
    assert load(library, "ours") == []


def test_outside_plugin_cannot_take_a_name_of_a_library_scheme(owned, outside):
    library = owned
    library.add("models", "zoo", "model_registry['zoo:'] = lambda name: f'our {name}'")
    outside("theirs", f"{REGISTER}model_registry['zoo:a'] = lambda: 'theirs'\nmodel_registry['mine:b'] = list")
    assert load(library, "zoo:a") == "our a"
    assert load(library, "mine:b") == []  # imports the plugin, which assigns both names
    assert load(library, "zoo:a") == "our a"
    index = PluginIndex(library_roots(library.name))
    assert [entry.identifier for plugin in index.plugins("models") for entry in plugin.taken] == ["zoo:a"]


def test_computed_library_name_wins_once_it_is_imported(owned, outside):
    owned.add("models", "computes", "model_registry['ours'] = list\nmodel_registry['X'.lower()] = lambda: 'ours'")
    outside("theirs", f"{REGISTER}model_registry['x'] = lambda: 'theirs'")
    assert [load(owned, name) for name in ("x", "ours", "x")] == ["theirs", [], "ours"]


def test_folders_keep_the_order_of_the_variable(library, outside, tmp_path, monkeypatch):
    places = [tmp_path / "a", tmp_path / "b" / library.name]
    for place in places:
        outside("x", f"{REGISTER}model_registry['x'] = lambda: {place.name!r}", place=place)
    monkeypatch.setenv("BRAINSCORE_PLUGINS", os.pathsep.join(str(tmp_path / name) for name in "bab"))
    assert outside_folders(library.name) == [places[1], places[0]]
    assert load(library, "x") == library.name
    assert [root.rank for root in library_roots(library.name) if root.folder == "models"] == [0, 1, 2]
    monkeypatch.setenv("BRAINSCORE_PLUGINS", str(library.path))  # the library's folder does not count as outside
    assert {root.rank for root in library_roots(library.name)} == {0}


def test_variable_takes_precedence_over_pyproject(library, outside, tmp_path, monkeypatch):
    outside("x", f"{REGISTER}model_registry['x'] = list")
    monkeypatch.delenv("BRAINSCORE_PLUGINS")
    inner = tmp_path / "lab" / "notebooks"
    inner.mkdir()
    (inner / "pyproject.toml").write_text("[project]\nname = 'other'")  # no key: the next file above counts
    (tmp_path / "lab/pyproject.toml").write_text("[tool.brainscore]\nplugins = ['.']")
    monkeypatch.chdir(inner)
    assert known_identifiers_of(library.name, "model") == ["x"]
    monkeypatch.setenv("BRAINSCORE_PLUGINS", "")
    assert known_identifiers_of(library.name, "model") == []
    monkeypatch.delenv("BRAINSCORE_PLUGINS")
    (tmp_path / "lab/pyproject.toml").write_text("[tool.brainscore]\nplugins = 'elsewhere'")
    with pytest.raises(ConfigurationError, match=r"pyproject.toml is 'elsewhere'; expected a list of paths"):
        known_identifiers_of(library.name, "model")


@pytest.mark.parametrize(
    ("path", "problem"),
    [("none", "does not exist"), ("file", "is not a folder"), ("empty", "contains no plugin folders")],
)
def test_rejects_a_path_without_plugins(library, tmp_path, monkeypatch, path, problem):
    (tmp_path / "file").touch()
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("BRAINSCORE_PLUGINS", str(tmp_path / path))
    message = rf"BRAINSCORE_PLUGINS.*names {tmp_path / path}, which {problem}.*Expected"
    with pytest.raises(ConfigurationError, match=message) as caught:
        find_plugin(library.name, "model", "x")
    assert not isinstance(caught.value, UnknownIdentifierError)


def test_folder_commit_marks_changes_in_the_folder(tmp_path):
    plugin = tmp_path / "models/x"
    plugin.mkdir(parents=True)
    (plugin / "__init__.py").touch()
    assert folder_commit(plugin) == "unknown"
    for words in (["init", "-q"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"]):
        assert run_git(tmp_path, *words).status == 0
    commit = folder_commit(plugin)
    assert len(commit) == 40
    (tmp_path / "elsewhere").touch()
    assert folder_commit(plugin) == commit
    (plugin / "model.py").touch()
    assert folder_commit(plugin) == f"{commit}+changes"
