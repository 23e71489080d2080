import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import entry_points

from brainscore_core.plugin_management.import_plugin import load_plugin
from brainscore_core.plugin_management.index import plugin_at
from brainscore_core.testing.plugin_session import PluginSession, contract_classes
from brainscore_core.testing.pytest_plugin import MARKERS

pytest_plugins = ["pytester"]


def test_every_marker_is_declared_and_explained(pytester, monkeypatch):
    marks = "\n".join(f"@pytest.mark.{name}" for name in MARKERS)
    pytester.makepyfile(f"import pytest\n{marks}\ndef test_marked(): pass")
    # Pytest finds an installed plugin by its entry point; here it is named, so the test needs no installation.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    arguments = ("-p", "brainscore_core.testing.pytest_plugin")
    pytester.runpytest_subprocess(*arguments, "--strict-markers").assert_outcomes(passed=1)
    pytester.runpytest_subprocess(*arguments, "--markers").stdout.fnmatch_lines(
        [f"@pytest.mark.{name}: {meaning}" for name, meaning in MARKERS.items()]
    )


def test_installed_library_declares_the_pytest_plugin():
    (found,) = [point for point in entry_points(group="pytest11") if point.name == "brainscore"]
    assert found.value == "brainscore_core.testing.pytest_plugin"


def test_registrations_without_a_contract_class_get_one(tiny, tmp_path, plugin_writer):
    init = "for_sure = 1\nmodel_registry['a/b'] = lambda: 2\nmodel_registry['c'] = lambda: 2\n"
    init += "if for_sure:\n    model_registry['perhaps'] = lambda: 2\nbenchmark_registry['other kind'] = 1\n"
    folder = plugin_writer(tiny, "models/several", init)
    plugin = plugin_at(folder, "tinylibrary")
    load_plugin("tinylibrary", plugin)
    classes = contract_classes(plugin, tmp_path)
    assert list(classes) == ["a/b", "c"]
    assert classes["c"].registered_at == "tinylibrary/models/several/__init__.py:4"
    own = type("Own", (classes["c"].__base__,), {"identifier": "c", "__module__": f"{plugin.module}.test"})
    assert list(contract_classes(plugin, tmp_path)) == ["a/b"]
    del own


def test_library_without_contracts_has_no_contract_classes(tiny, tmp_path):
    (tiny / "testing.py").unlink()
    assert contract_classes(plugin_at(tiny / "models" / "same", "tinylibrary"), tmp_path) == {}


def test_markers_skip_nothing_outside_plugins(pytester):
    pytester.makepyfile("import pytest\n@pytest.mark.slow\n@pytest.mark.gpu\ndef test_marked(): pass")
    pytester.runpytest().assert_outcomes(passed=1)


def _first_of_each(folder, turn, mine, errors):
    session = PluginSession(None, folder / "outcomes.jsonl")
    turn.wait()
    return [session._first(("ImportError", str(n), "here"), mine) for n in range(errors)]


def test_workers_agree_which_test_met_an_error_first(tmp_path):
    with multiprocessing.Manager() as manager, ProcessPoolExecutor(4) as pool:
        turn = manager.Barrier(4)
        answers = [pool.submit(_first_of_each, tmp_path, turn, f"test_of_{worker}", 300) for worker in range(4)]
        first, *others = [answer.result() for answer in answers]
    assert all(other == first for other in others)
    assert set(first) <= {f"test_of_{worker}" for worker in range(4)}
    assert len(list(tmp_path.iterdir())) == 300
