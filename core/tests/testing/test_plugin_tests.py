"""Test the runner of plugin tests on a small library made for the test."""

import pytest

from brainscore_core.errors import PluginError, UnknownIdentifierError
from brainscore_core.plugin_management.discovery import PluginIndex, library_roots
from brainscore_core.testing.plugin_tests import plugins_named, run_plugin_tests

LIBRARY = "tinylibrary"


@pytest.fixture(autouse=True)
def library(tmp_path, monkeypatch):
    """Make a library with a model `same`, a benchmark `same`, a failing model and one without tests."""
    plugins = {
        "models/same": ("model_registry['same-model'] = object", "def test_good():\n    assert 1 + 1 == 2\n"),
        "benchmarks/same": ("benchmark_registry['Same-test'] = object", "def test_good():\n    assert 2 > 1\n"),
        "models/bad-1": ("model_registry['bad'] = object", "def test_bad():\n    assert 1 + 1 == 3\n"),
        "models/empty": ("model_registry['empty'] = object", ""),
        "models/untested": ("model_registry['untested'] = object", None),
    }
    for folder, (registration, test) in plugins.items():
        path = tmp_path / LIBRARY / folder
        path.mkdir(parents=True)
        (path / "__init__.py").write_text(f"from {LIBRARY} import *\n{registration}\n")
        if test is not None:
            (path / "test.py").write_text(test)
    (tmp_path / LIBRARY / "__init__.py").write_text("model_registry, benchmark_registry = {}, {}\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)


def folders_named(name):
    return [
        f"{plugin.root.folder}/{plugin.name}" for plugin in plugins_named(PluginIndex(library_roots(LIBRARY)), name)
    ]


def test_a_folder_name_means_the_plugins_of_every_kind():
    assert sorted(folders_named("same")) == ["benchmarks/same", "models/same"]


def test_an_identifier_means_the_plugin_that_registers_it():
    assert folders_named("Same-test") == ["benchmarks/same"]


def test_a_wrong_name_gets_the_nearest_ones():
    with pytest.raises(UnknownIdentifierError, match="'same-model'"):
        folders_named("same-modle")


def test_status_tells_whether_the_tests_passed(capfd):
    assert run_plugin_tests(LIBRARY, "same") == 0
    assert "2 passed" in capfd.readouterr().out
    assert run_plugin_tests(LIBRARY, "bad-1") == 1
    assert "1 failed" in capfd.readouterr().out


def test_further_arguments_reach_pytest(capfd):
    assert run_plugin_tests(LIBRARY, "bad-1", ["--collect-only", "-q"]) == 0
    assert "test_bad" in capfd.readouterr().out


def test_no_test_at_all_is_a_failure():
    assert run_plugin_tests(LIBRARY, "empty") == 1


def test_a_missing_test_file_is_named():
    with pytest.raises(PluginError, match="untested"):
        run_plugin_tests(LIBRARY, "untested")
