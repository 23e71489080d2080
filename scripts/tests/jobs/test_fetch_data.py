"""A job with private data fetches what its plugins need, and no plugin runs meanwhile."""

import pytest

from brainscore_ci.jobs import fetch_data
from brainscore_ci.jobs.fetch_data import data_home_of_tests, fetch_for_pairs, fetch_for_tests
from brainscore_ci.planning.areas import PluginName
from brainscore_ci.planning.plan import Plan, TestTask
from brainscore_core.config import settings
from brainscore_core.errors import ConfigurationError
from brainscore_core.processes import Ended
from brainscore_core.scoring.pairs import Pair


@pytest.fixture
def fetched(tree, tmp_path, monkeypatch):
    """What the library was asked to fetch: (arguments, data home), and the function that asks."""
    asked = []

    def run_bounded(command, *, environment, folder, show):
        assert (folder, callable(show)) == (tree.path, True)
        asked.append((command[1:], environment["BRAINIO_HOME"]))
        return Ended(status=len(asked) - 1)

    monkeypatch.setattr(fetch_data, "run_bounded", run_bounded)
    monkeypatch.chdir(tree.path)
    monkeypatch.setenv("BRAINSCORE_HOME", str(tmp_path / "home"))

    def fetch(function, **planned):
        plan = Plan(base=None, head=None, event="push", changed=("x",), **planned)
        (tmp_path / "plan.json").write_text(plan.to_json())
        return function(tmp_path / "plan.json", 0), asked

    return fetch


FETCH = ["-m", "brainscore_vision", "data", "fetch", "--plugin=recordings"]


def test_what_the_benchmarks_of_private_pairs_use(fetched):
    pairs = (Pair("pixels", "Experiment-similarity", 1.0, 1.0, private=True),)
    status, asked = fetched(fetch_for_pairs, pairs=pairs)
    assert (status, asked) == (0, [(FETCH, str(settings().data_home))])


def test_nothing_for_public_pairs(fetched):
    pairs = (Pair("pixels", "Experiment-similarity", 1.0, 1.0), Pair("pixels", "Unrelated", 1.0, 1.0))
    assert fetched(fetch_for_pairs, pairs=pairs) == (0, [])


def test_each_plugin_with_private_tests_has_a_copy_of_its_own(fetched):
    names = [
        PluginName("benchmarks", "experiment"),
        PluginName("benchmarks", "unrelated"),
        PluginName("data", "recordings"),
    ]
    tasks = tuple(
        TestTask(plugin=name, minutes=1.0, memory_gb=1.0, reasons=("changed",), with_private=True) for name in names
    )
    public = TestTask(plugin=PluginName("models", "pixels"), minutes=1.0, memory_gb=1.0, reasons=("changed",))
    status, asked = fetched(fetch_for_tests, tests=(*tasks, public))
    assert asked == [(FETCH, str(data_home_of_tests(names[0]))), (FETCH, str(data_home_of_tests(names[2])))]
    assert status == 1  # of the second one
    assert not data_home_of_tests(names[0]).is_relative_to(settings().data_home)


def test_a_job_that_is_not_planned(fetched):
    with pytest.raises(ConfigurationError, match="no job 0"):
        fetched(fetch_for_pairs)
