import os
import sys

import pytest

from brainscore_core.errors import (
    DuplicateIdentifierError,
    PluginError,
    RequirementsError,
    UnavailableError,
    UnknownIdentifierError,
)
from brainscore_core.plugin_management.import_plugin import (
    ImportPlugin,
    find_plugin,
    import_plugin,
    known_identifiers_of,
)
from brainscore_core.plugin_management.index import PluginIndex, PluginRoot, library_roots


def load(library, identifier, kind="model"):
    return import_plugin(library.name, kind, identifier)()


@pytest.mark.parametrize("name", ["alexnet", "alexnet-7be5be79", "3dresnet", "v1.5", "class"])
def test_folder_of_any_name_is_imported_with_its_modules(library, name):
    source = "from .model import VALUE\nfrom . import model\nmodel_registry['x=1:y'] = lambda: (VALUE, model.__name__)"
    library.add("models", name, source, model__py="VALUE = 42")
    assert load(library, "x=1:y") == (42, f"{library.name}.models.{name}.model")
    assert f"{library.name}.models.{name}" in sys.modules


def test_plugin_is_imported_once_but_made_at_every_load(library):
    library.add("models", "plugin", "print('imported')\nmodel_registry['x'] = list")
    first, second = load(library, "x"), load(library, "x")
    assert first == []
    assert first is not second


def test_run_time_registration_needs_no_plugin(library):
    library.module.model_registry["mine"] = lambda: "made here"
    assert load(library, "mine") == "made here"
    assert known_identifiers_of(library.name, "models") == ["mine"]
    with pytest.raises(UnknownIdentifierError):
        find_plugin(library.name, "model", "mine")


def test_metric_is_found_by_its_alias(library):
    source = "metric_registry['pls_cv'] = dict\nmetric_registry['pls'] = metric_registry['pls_cv']"
    library.add("metrics", "pls", source)
    assert import_plugin(library.name, "metric", "pls")(a=1) == {"a": 1}


def test_import_plugin_class_has_the_published_attributes(library):
    images = "from LIBRARY import stimulus_set_registry\nstimulus_set_registry['Lab.images'] = list"
    library.add("data", "lab", f"data_registry['Lab'] = list\n{images}")
    found = ImportPlugin(library.name, "data", "Lab")
    assert (found.plugin_dirname, found.locate_plugin(), found.registry_name) == ("lab", "lab", "data_registry")
    assert (found.plugins_dir, found.plugin_type, found.identifier) == (library.path / "data", "data", "Lab")
    images = ImportPlugin(library.name, "data", "Lab.images", registry_prefix="stimulus_set")
    assert (images.plugin_dirname, images.registry_name) == ("lab", "stimulus_set_registry")
    with pytest.raises(AssertionError, match=r"No data is registered as 'Lab.images'"):
        ImportPlugin(library.name, "data", "Lab.images")
    for name in ("one", "two"):
        library.add("models", name, "model_registry['same'] = list")
    with pytest.raises(AssertionError, match="more than one plugin"):
        ImportPlugin(library.name, "models", "same")
    assert f"{library.name}.data.lab" not in sys.modules


def test_import_plugin_class_installs_requirements(library):
    library.add("models", "needy", "model_registry['x'] = list", requirements__txt="numpy")
    ImportPlugin(library.name, "models", "x").install_requirements()
    library.add("models", "lost", "model_registry['y'] = list", requirements__txt="numpy ==")
    with pytest.raises(RequirementsError, match="lost"):
        ImportPlugin(library.name, "models", "y").install_requirements()


def test_unknown_identifier_gets_suggestions(library):
    library.add("models", "alexnet", "model_registry['alexnet'] = list")
    library.add("benchmarks", "lab", "benchmark_registry['Lab.IT-pls'] = list")
    with pytest.raises(UnknownIdentifierError, match=r"'alexnt' \(1 known\)\. Did you mean 'alexnet'\?"):
        load(library, "alexnt")
    with pytest.raises(KeyError, match=r"use load_benchmark\('Lab.IT-pls'\)"):
        load(library, "Lab.IT-pls")


def test_rejects_two_plugins_with_one_identifier(library):
    for name in ("one", "two"):
        library.add("models", name, "model_registry['same'] = list")
    with pytest.raises(DuplicateIdentifierError) as caught:
        load(library, "same")
    for name in ("one", "two"):
        assert str(library.path / "models" / name / "__init__.py:2") in str(caught.value)


def test_plugin_may_register_an_identifier_in_both_branches(library):
    library.add("models", "plugin", "if True:\n    model_registry['x'] = list\nelse:\n    model_registry['x'] = dict")
    assert load(library, "x") == []


def test_conditional_registration_that_did_not_run_is_explained(library):
    library.add("data", "lab", "READY = False\nif READY:\n    data_registry['x'] = list")
    with pytest.raises(PluginError, match=r"__init__\.py:4\): the registration depends on a condition"):
        load(library, "x", "data")


def test_unavailable_model_error_gives_the_reason(library, tmp_path):
    source = "model_registry.update({'small': f})\nmodel_registry.update(models_of(__file__))"
    folder = library.add("models", "family", source)
    (folder / "models.csv").write_text("identifier,reason\nlarge,no public weights\nsmall,\n")
    problem = r"The model 'large' is known but cannot be loaded here: no public weights.* --plugins PATH"
    with pytest.raises(UnavailableError, match=problem):
        find_plugin(library.name, "model", "large")
    assert known_identifiers_of(library.name, "model") == ["small"]
    other = library.add("models", "checkout", "model_registry['large'] = f")  # it has the model that the table lacks
    assert find_plugin(library.name, "model", "large").directory == other


def test_computed_identifier_is_found_by_importing(library):
    source = "for name in make():\n    model_registry[name] = list"
    folder = library.add("models", "family", source, registry="make, model_registry")
    (library.path / "__init__.py").open("a").write("\ndef make(): return ['big', 'small']\n")
    assert find_plugin(library.name, "model", "big").directory == folder
    assert load(library, "small") == []
    with pytest.raises(UnknownIdentifierError, match="Did you mean 'small'"):
        load(library, "smal")


def test_failing_computed_plugin_does_not_hide_others(library):
    library.add("models", "a_fails", "model_registry[1 / 0] = list")
    library.add("models", "b_works", "model_registry[str.lower('WORKS')] = lambda: 1")
    assert load(library, "works") == 1
    with pytest.raises(UnknownIdentifierError, match="ZeroDivisionError"):
        load(library, "elsewhere")


def test_unparsable_plugin_is_named_only_if_needed(library):
    library.add("models", "good", "model_registry['good'] = list")
    library.add("models", "broken", "model_registry['wanted'] = list(")
    assert load(library, "good") == []
    with pytest.raises(PluginError, match=r"models.broken.__init__\.py:2: ") as caught:
        load(library, "wanted")
    assert "Correct that file" in str(caught.value)
    with pytest.raises(UnknownIdentifierError, match=r"1 plugin there cannot be read: .*:2: "):
        load(library, "another")


@pytest.mark.parametrize(
    ("init", "model", "place"),
    [
        ("from . import model\nmodel_registry['x'] = list", "import math\n\nmath.sqrt(-1)\n", "model.py:3: ValueError"),
        ("from . import model\nmodel_registry['x'] = list", "\ndef f(:\n", "model.py:2: SyntaxError"),
        ("import json\n\njson.loads('{')\nmodel_registry['x'] = list", "", "__init__.py:4: JSONDecodeError"),
        ("import sys\nmodel_registry['x'] = list\nsys.exit(3)", "", "__init__.py:4: SystemExit: 3"),
    ],
    ids=["in a module", "syntax", "far below", "exit"],
)
def test_import_error_names_plugin_file_and_line(library, init, model, place):
    directory = library.add("models", "fails", init, model__py=model)
    with pytest.raises(PluginError) as caught:
        load(library, "x")
    assert f"{directory}/{place}" in str(caught.value)
    assert "'fails'" in str(caught.value)
    assert type(caught.value.__cause__).__name__ == place.split(": ")[1]


def test_keyboard_interrupt_is_passed_on_and_undoes_registrations(library):
    library.add("models", "slow", "model_registry['x'] = list\nraise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        load(library, "x")
    assert library.module.model_registry == {}


def test_failed_import_is_undone_and_can_be_repeated(library):
    library.module.model_registry["kept"] = dict
    source = "from . import model\nmodel_registry['x'] = list\nmodel_registry['kept'] = model.Other\n1 / 0"
    library.add("models", "fails", source, model__py="class Other: pass")
    with pytest.raises(PluginError):
        load(library, "x")
    assert library.module.model_registry == {"kept": dict}
    assert [name for name in sys.modules if name.startswith(f"{library.name}.models.fails")] == []
    library.add("models", "fails", "from . import model\nmodel_registry['x'] = lambda: 'mended'", model__py="")
    assert load(library, "x") == "mended"


def test_failed_import_keeps_the_plugins_it_loaded(library):
    library.add("metrics", "good", "metric_registry['good'] = list")
    imports = "from brainscore_core.plugin_management.import_plugin import import_plugin\n"
    source = "import_plugin('LIBRARY', 'metric', 'good')\nbenchmark_registry['x'] = list\n1 / 0"
    library.add("benchmarks", "fails", imports + source)
    with pytest.raises(PluginError):
        load(library, "x", "benchmark")
    assert library.module.metric_registry == {"good": list}
    assert library.module.benchmark_registry == {}


def test_missing_module_error_points_to_the_requirements(library, monkeypatch):
    source = "import no_such_module.sub\nmodel_registry['x'] = list"
    directory = library.add("models", "needs", source, requirements__txt="no-such-module\n")
    with pytest.raises(PluginError, match="BS_INSTALL_DEPENDENCIES=no") as caught:
        load(library, "x")
    assert f"-m pip install -r {directory / 'requirements.txt'}" in str(caught.value)
    (directory / "requirements.txt").unlink()
    with pytest.raises(ImportError, match=r"provides 'no_such_module' to .*requirements\.txt"):
        load(library, "x")


def test_missing_library_module_is_not_called_a_requirement(library):
    library.add("models", "old", "import LIBRARY.gone\nmodel_registry['x'] = list")
    with pytest.raises(PluginError, match=rf"no module '{library.name}\.gone'") as caught:
        load(library, "x")
    assert "requirements" not in str(caught.value)


@pytest.mark.parametrize("module", ["brainscore", "brainscore.benchmarks", "model_tools.activations"])
def test_former_library_name_error_gives_the_current_name(library, monkeypatch, module):
    monkeypatch.setitem(sys.modules, module.partition(".")[0], None)  # even if it is installed here
    library.add("models", "old", f"import {module}\nmodel_registry['old'] = list")
    with pytest.raises(PluginError) as caught:
        load(library, "old")
    first = module.partition(".")[0]
    assert f"{first!r} is a former name of these libraries: import {library.name!r} instead" in str(caught.value)
    assert "check old --fix" in str(caught.value)
    assert "distribution" not in str(caught.value)


def index_with_outside(library, folder, name, **files):
    """Return an index of the library and of a model plugin in a folder outside it."""
    (folder / name).mkdir(parents=True)
    for file, text in files.items():
        (folder / name / f"{file}.py").write_text(text)
    root = PluginRoot(folder="models", path=folder, package=f"{library.name}.models")
    return PluginIndex([*library_roots(library.name), root])


def test_plugin_outside_the_library_is_imported(library, tmp_path):
    library.add("models", "inside", "model_registry['inside'] = list")
    (library.path / "models" / "inside").rename(library.path / "models" / "moved")
    imports = f"from {library.name} import model_registry\nfrom .part import VALUE\n"
    lines = f"{imports}model_registry['mine'] = lambda: VALUE"
    index = index_with_outside(library, tmp_path / "outside", "mine", part="VALUE = 7", __init__=lines)
    assert import_plugin(library.name, "model", "mine", index=index)() == 7


def test_rejects_two_folders_with_the_same_module_name(library, tmp_path):
    library.add("models", "same", "model_registry['first'] = list")
    lines = f"from {library.name} import model_registry\nmodel_registry['second'] = list"
    index = index_with_outside(library, tmp_path / "outside", "same", __init__=lines)
    import_plugin(library.name, "model", "first", index=index)
    with pytest.raises(PluginError, match="Two plugins would be imported"):
        import_plugin(library.name, "model", "second", index=index)


def test_known_identifiers_are_sorted_without_importing(library):
    library.add("models", "b", "model_registry['z'] = 1\nmodel_registry['a'] = 1")
    library.module.model_registry["m"] = list
    assert known_identifiers_of(library.name, "model") == ["a", "m", "z"]
    assert f"{library.name}.models.b" not in sys.modules


SCHEME = """
class Factory:
    def __call__(self, name): return f"made {name}"
    def names(self): return ["a", "b.C/d@1"]
model_registry["zoo:"] = Factory()
"""


def test_scheme_makes_every_name_after_its_prefix(library):
    folder = library.add("models", "zoo_by_name", SCHEME)
    library.add("models", "other", "model_registry['zoo:a'] = lambda: 'its own'")
    assert find_plugin(library.name, "model", "zoo:b.C/d@1").directory == folder
    assert known_identifiers_of(library.name, "model") == ["zoo:a"]
    assert f"{library.name}.models.zoo_by_name" not in sys.modules
    assert load(library, "zoo:b.C/d@1") == "made b.C/d@1"
    assert load(library, "zoo::") == "made :"
    assert load(library, "zoo:") == "made "
    assert load(library, "zoo:a") == "its own"
    assert known_identifiers_of(library.name, "model", schemes=True) == ["zoo:a", "zoo:b.C/d@1"]
    with pytest.raises(UnknownIdentifierError, match=r"start with 'zo:'; expected zoo:\. Did you mean 'zoo:'\?"):
        load(library, "zo:a")
    with pytest.raises(UnknownIdentifierError, match=r"No model is registered as 'zoo' "):
        load(library, "zoo")


def test_names_of_an_uninstalled_library_are_skipped(library):
    fails = "def names(self): from brainscore_core.errors import RequirementsError; raise RequirementsError('absent')"
    library.add("models", "zoo_by_name", SCHEME.replace('def names(self): return ["a", "b.C/d@1"]', fails))
    assert known_identifiers_of(library.name, "model", schemes=True) == []


def test_listing_names_installs_no_requirements(library, monkeypatch):
    monkeypatch.setenv("BS_INSTALL_DEPENDENCIES", "yes")
    library.add("models", "zoo_by_name", SCHEME, requirements__txt="absent-zoo==1.0\n")
    assert known_identifiers_of(library.name, "model", schemes=True) == ["zoo:a", "zoo:b.C/d@1"]
    assert os.environ["BS_INSTALL_DEPENDENCIES"] == "yes"
