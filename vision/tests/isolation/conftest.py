import itertools
import json
import os
import shutil
import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

import brainscore_vision
from brainscore_core.plugin_management.index import PluginRoot
from brainscore_core.processes import run_bounded
from brainscore_core.records.record import ScoreRecord, record_path
from brainscore_vision.isolation import prepared
from brainscore_vision.testing.benchmarks import as_judged

_SECRET = "a-secret-of-the-judge"  # noqa: S105 - not a real one


@pytest.fixture
def remote(tmp_path):
    """Return a function that makes the judge's proxy of a model; the model answers in a thread."""
    numbers = itertools.count()
    with ExitStack() as open_ones:

        def make(model, **options):
            load = model if callable(model) and not hasattr(model, "look_at") else lambda: model
            return open_ones.enter_context(as_judged(load, tmp_path / f"stimuli{next(numbers)}", **options))

        yield make


@pytest.fixture(scope="session")
def tree(tmp_path_factory):
    """Return a library whose only model is the hostile one."""
    return _make_tree(tmp_path_factory.mktemp("tree"))


@pytest.fixture(scope="session")
def surroundings():
    """Return a context manager, called with a tree and a home: candidates find plugins in the tree; a secret is set."""
    return _surroundings


@pytest.fixture(scope="session")
def secret():
    """Return the secret in the judge's environment within these surroundings."""
    return _SECRET


@pytest.fixture
def run_there(tree, surroundings, tmp_path):
    """Return a function that runs a command in a separate process within these surroundings."""

    def run(*arguments, **variables):
        with surroundings(tree, tmp_path / "home"):
            command = [sys.executable, "-m", "brainscore_vision", *arguments]
            return run_bounded(command, environment={**os.environ, **variables}, timeout_s=300)

    return run


@pytest.fixture
def run_judge(run_there, tmp_path):
    """Return a function that runs a judge, and returns its records and events."""

    def run(model, benchmarks, *options, folder="records", **variables):
        records, events = tmp_path / folder, tmp_path / f"{folder}.jsonl"
        judge = ("judge", "--model", model, "--benchmark", *benchmarks, "--records", records, "--events", events)
        ended = run_there(*judge, *options, **variables)
        assert ended.status == 0, ended.output
        found = [ScoreRecord.read(record_path(records, model, name)) for name in benchmarks]
        return found, [json.loads(line) for line in events.read_text().splitlines()]

    return run


def _make_tree(folder):
    """Return a copy of this library whose only model is hostile, with benchmarks that request its attacks."""
    package = folder / "brainscore_vision"
    for each in Path(brainscore_vision.__file__).parent.iterdir():
        if each.name not in ("models", "benchmarks", "__pycache__"):
            package.mkdir(exist_ok=True, parents=True)
            (package / each.name).symlink_to(each)
    for kind, name in (("models", "hostile"), ("benchmarks", "attacked")):
        (package / kind / name).mkdir(parents=True)
        shutil.copy(Path(__file__).with_name(f"{name}.py"), package / kind / name / "__init__.py")
    return package


@contextmanager
def _surroundings(tree, home):
    """Let candidates find their plugins in a tree, and put a secret into the judge's environment."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [sys.path[0], str(tree.parent), *sys.path[1:]])  # the first is the script's folder
        paths = [str(tree.parent), *(each for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if each)]
        for name, value in {
            "PYTHONPATH": os.pathsep.join(paths),
            "BRAINSCORE_HOME": str(home),
            "BRAINSCORE_OFFLINE": "1",
            "AWS_SECRET_ACCESS_KEY": _SECRET,
            "BRAINSCORE_SECRET_TOKEN": _SECRET,
        }.items():
            patch.setenv(name, value)
        root = PluginRoot(folder="models", path=tree / "models", package="brainscore_vision.models")
        patch.setattr(prepared, "library_roots", lambda library: [root])
        yield
