"""No plugin can change what another one registers, whatever it tries; notebooks and tests can."""

import importlib

import pytest

from brainscore_core.errors import PluginError, UnknownIdentifierError
from brainscore_core.plugin_management import index
from brainscore_core.plugin_management.import_plugin import import_plugin

ATTACKS = {
    "assignment": "model_registry['pixels'] = lambda: 'evil'",
    "vars": "import LIBRARY\nvars(LIBRARY)['model_registry']['pixels'] = lambda: 'evil'",
    "update": "model_registry.update(pixels=lambda: 'evil')",
    "in place": "registry = model_registry\nregistry |= {'pixels': lambda: 'evil'}",
    "setdefault": "model_registry.pop('pixels', None)\nmodel_registry.setdefault('pixels', lambda: 'evil')",
    "operator": "import operator\noperator.setitem(model_registry, 'pixels', lambda: 'evil')",
    "test module": "from . import test",
    "past the methods": "dict.__setitem__(model_registry, 'pixels', lambda: 'evil')",
    "another registry": "import LIBRARY\nLIBRARY.model_registry = {'pixels': lambda: 'evil', 'evil': list}",
    "another kind": "from LIBRARY import metric_registry\nmetric_registry['pls'] = lambda: 'evil'",
}


@pytest.fixture
def owned(library):
    """Return a library with owned registries, a model `pixels` and a metric `pls`."""
    (library.path / "__init__.py").write_text(
        "from brainscore_core.plugin_management.index import owners\n"
        "from brainscore_core.plugin_management.owned_registry import OwnedRegistry\n"
        "for kind in ('data', 'stimulus_set', 'metric', 'benchmark', 'model'):\n"
        "    globals()[f'{kind}_registry'] = OwnedRegistry(__name__, kind, owners)\n"
    )
    library.add("models", "pixels", "model_registry['pixels'] = lambda: 'pixels'")
    library.add("metrics", "pls", "metric_registry['pls'] = lambda: 'pls'")
    return library


def load(library, identifier, kind="model"):
    return import_plugin(library.name, kind, identifier)()


def evil(library, source, *, late=False):
    """Write a plugin that runs `source` when it is imported or, if `late`, when its model is made."""
    act = f"def act():\n    {source.replace(chr(10), chr(10) + '    ')}\n    return 4\n"
    register = "model_registry['evil'] = act" if late else "model_registry['evil'] = list\nact()"
    test = "from LIBRARY import model_registry\nmodel_registry['pixels'] = lambda: 'evil'"
    library.add("models", "evil", f"{act}{register}", test__py=test)


@pytest.mark.parametrize("before", [True, False], ids=["loaded before", "loaded after"])
@pytest.mark.parametrize("late", [True, False], ids=["by its factory", "when imported"])
@pytest.mark.parametrize("attack", ATTACKS)
def test_no_attack_replaces_the_entry_of_another_plugin(owned, attack, late, before):
    evil(owned, ATTACKS[attack], late=late)
    if before:
        assert (load(owned, "pixels"), load(owned, "pls", "metric")) == ("pixels", "pls")
    said = [attempt(owned, "evil"), attempt(owned, "pixels"), attempt(owned, "pls", "metric")]
    assert not {"evil"} & {each for each in said[1:] if isinstance(each, str)}
    assert any(isinstance(each, PluginError) for each in said)


def attempt(library, identifier, kind="model"):
    """Return the loaded object, or the error if loading fails."""
    try:
        return load(library, identifier, kind)
    except (PluginError, UnknownIdentifierError) as error:
        return error


def test_error_names_both_plugins_and_the_remedy(owned):
    evil(owned, ATTACKS["assignment"])
    with pytest.raises(PluginError, match=r"evil/__init__\.py changes the model 'pixels', which .*pixels/__init__\.py"):
        load(owned, "evil")
    with pytest.raises(PluginError, match="choose another one"):
        load(owned, "evil")


def test_plugin_cannot_remove_the_entry_of_another(owned):
    load(owned, "pixels")
    for removal in ("del model_registry['pixels']", "model_registry.clear()", "model_registry.popitem()"):
        evil(owned, removal)
        with pytest.raises(PluginError, match="changes the model 'pixels'"):
            load(owned, "evil")
    assert load(owned, "pixels") == "pixels"


def test_notebooks_and_tests_may_replace_entries(owned):
    registry = importlib.import_module(owned.name).model_registry
    load(owned, "pixels")
    registry["pixels"] = lambda: "mine"
    assert load(owned, "pixels") == "mine"
    registry |= {"pixels": lambda: "again"}
    assert load(owned, "pixels") == "again"
    assert registry.pop("pixels")() == "again"
    assert "pixels" not in registry
    assert registry.setdefault("new", list) is list
    assert registry.pop("absent", 3) == 3
    with pytest.raises(KeyError):
        registry.pop("absent")
    with pytest.raises(KeyError):
        del registry["absent"]


def test_plugin_may_compute_names_and_import_other_plugins(owned):
    package = owned.name
    owned.add("models", "many", "for n in (1, 2):\n    model_registry[f'many-{n}'] = lambda n=n: n")
    owned.add("benchmarks", "uses", f"import {package}.metrics.pls\nbenchmark_registry['uses'] = lambda: 'used'")
    assert load(owned, "many-2") == 2
    assert load(owned, "uses", "benchmark") == "used"
    assert load(owned, "pls", "metric") == "pls"


def test_failed_plugin_is_undone_even_if_another_loaded_it(owned):
    owned.add("models", "broken", "model_registry['broken'] = list\nraise ValueError('no')")
    importing = "from brainscore_core.plugin_management.import_plugin import import_plugin"
    evil(owned, f"{importing}\nimport_plugin({owned.name!r}, 'model', 'broken')", late=True)
    with pytest.raises(PluginError, match="ValueError: no"):
        load(owned, "evil")
    assert "broken" not in importlib.import_module(owned.name).model_registry


@pytest.fixture
def lookups(monkeypatch):
    """Return the list that collects the kind of plugin of each look-up in the index."""
    kinds = []
    asked = index.PluginIndex.owners
    monkeypatch.setattr(index.PluginIndex, "owners", lambda self, kind: (kinds.append(kind.name), asked(self, kind))[1])
    return kinds


def test_index_is_searched_once_per_plugin(owned, lookups):
    more = "from LIBRARY import model_registry\nmodel_registry['more'] = list"
    owned.add("models", "many", "for n in range(50):\n    model_registry[n] = list\nfrom . import more", more__py=more)
    owned.add("data", "both", "from LIBRARY import stimulus_set_registry\nstimulus_set_registry['pictures'] = list")
    load(owned, "more")
    assert lookups == ["model"]
    assert len(importlib.import_module(owned.name).model_registry) == 51
    load(owned, "pixels")
    assert lookups == ["model"] * 2
    load(owned, "pictures", "stimulus_set")
    assert lookups == ["model"] * 2 + ["stimulus_set"]


def test_plugin_added_after_a_look_up_is_protected(owned):
    act = "def make():\n    model_registry['late'] = lambda: 'evil'\nmodel_registry['early'] = make"
    owned.add("models", "early", act)
    make = import_plugin(owned.name, "model", "early")
    owned.add("models", "late", "model_registry['late'] = lambda: 'late'")
    importlib.invalidate_caches()
    assert load(owned, "late") == "late"
    with pytest.raises(PluginError, match="changes the model 'late'"):
        make()
    assert load(owned, "late") == "late"


def test_identifier_moved_to_another_plugin_changes_owner(owned):
    owned.add("models", "heir", "def make():\n    model_registry['moved'] = list\nmodel_registry['heir'] = make")
    donor = owned.add("models", "donor", "model_registry['moved'] = list")
    make = import_plugin(owned.name, "model", "heir")
    with pytest.raises(PluginError, match=r"'moved', which .*donor"):
        make()
    (donor / "__init__.py").write_text("")
    make()
    assert load(owned, "moved") == []


def test_repr_counts_known_and_imported_entries(owned):
    load(owned, "pixels")
    assert repr(owned.module.model_registry) == f"<model registry of {owned.name}, 1 known, 1 imported: 'pixels'>"
    owned.add("metrics", "more", "\n".join(f"metric_registry['m{number}'] = list" for number in range(6)))
    shown = "7 known, 0 imported: 'm0', 'm1', 'm2', 'm3', 'm4', ...>"
    assert repr(owned.module.metric_registry).endswith(shown)
