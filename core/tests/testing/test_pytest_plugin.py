from importlib.metadata import entry_points

from brainscore_core.testing.pytest_plugin import MARKERS

pytest_plugins = ["pytester"]


def test_every_marker_is_declared_and_explained(pytester, monkeypatch):
    marks = "\n".join(f"@pytest.mark.{name}" for name in MARKERS)
    pytester.makepyfile(f"import pytest\n{marks}\ndef test_marked(): pass")
    # Installed, pytest finds the plugin by its entry point; here it is named, so that the test needs no installation.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    arguments = ("-p", "brainscore_core.testing.pytest_plugin")
    pytester.runpytest_subprocess(*arguments, "--strict-markers").assert_outcomes(passed=1)
    pytester.runpytest_subprocess(*arguments, "--markers").stdout.fnmatch_lines(
        [f"@pytest.mark.{name}: {meaning}" for name, meaning in MARKERS.items()]
    )


def test_pytest_finds_the_plugin_where_the_library_is_installed():
    (found,) = [point for point in entry_points(group="pytest11") if point.name == "brainscore"]
    assert found.value == "brainscore_core.testing.pytest_plugin"


def test_the_markers_are_those_of_the_contract():
    assert set(MARKERS) == {
        *("private_access", "slow", "memory_intense", "network", "gpu"),
        *("travis_slow", "requires_gpu"),
    }
