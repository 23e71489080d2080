"""Give every test its own empty homes, those that need data what the caller has of them, and some a small library."""

import contextlib
import itertools
import os
import sys
import zipfile
from textwrap import dedent

import hypothesis
import pytest

from brainscore_core.config import settings
from brainscore_core.testing.machine import lend_weights
from brainscore_core.testing.pytest_plugin import needs_data

pytest.register_assert_rewrite("brainscore_vision.testing.proofs")  # so that they say which values differ
# How long an example takes, or to make one, says how busy the machine is; speed is measured in `perf/`.
# Examples share the fixtures of their test, which are made for that.
_UNASKED = [hypothesis.HealthCheck.too_slow, hypothesis.HealthCheck.function_scoped_fixture]
hypothesis.settings.register_profile("untimed", deadline=None, suppress_health_check=_UNASKED)
hypothesis.settings.load_profile("untimed")

LIBRARY = "tinylibrary"
CONTRACTS = """
from brainscore_core.testing.contracts import Contract
import tinylibrary

class ModelContract(Contract):
    kind, base = "model", "ModelContract"
    def load(self):
        import tinylibrary, brainscore_core.plugin_management.import_plugin as plugins
        return plugins.import_plugin("tinylibrary", "model", self.identifier)()
    def test_is_even(self):
        if self.loaded % 2:
            self.broken("is odd", "double it")

CONTRACTS = {"model": ModelContract}
"""


def pytest_make_parametrize_id(val):
    """Name a long value by its type: it may hold the time, and the processes of one run must agree on names."""
    return f"long_{type(val).__name__}" if isinstance(val, (str, bytes)) and len(val) > 200 else None


@pytest.fixture(scope="session", autouse=True)
def settings_of_caller():
    """Return what the caller has set, before any test points elsewhere."""
    return settings()


@pytest.fixture(scope="session")
def new_home(tmp_path_factory):
    """Return the function that makes a folder; `mktemp` would look at all there are to number each of thousands."""
    folder, numbers = tmp_path_factory.mktemp("homes"), itertools.count()

    def make():
        home = folder / str(next(numbers))
        home.mkdir()
        return home

    return make


@pytest.fixture(autouse=True)
def own_homes(request, settings_of_caller, new_home, monkeypatch):
    """Point every home at a fresh folder and let no plugin install anything.

    Tests that need data (by their markers, or as contract of a plugin) read those that lie in the caller's homes, and
    download to there.
    """
    base = new_home()
    home = base / "brain-score"
    if needs_data(request.node):
        lend_weights(settings_of_caller, home)
    elif request.node.get_closest_marker("contract") is None:
        monkeypatch.setenv("BRAINIO_HOME", str(base / "brainio"))
        for name in ("BRAINSCORE_OFFLINE", "BRAINSCORE_MIRROR"):
            monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("BRAINSCORE_HOME", str(home))
    monkeypatch.setenv("BS_INSTALL_DEPENDENCIES", "no")
    for name in (
        "BRAINSCORE_PLUGINS",
        "RESULTCACHING_DISABLE",
        "BRAINSCORE_MEMORY_MAP",
        "BRAINSCORE_MEMORY_GB",
        "BRAINSCORE_CACHE_GB",
        "BRAINSCORE_LOCK_S",
        "BRAINSCORE_TRUST_REPO",
    ):
        monkeypatch.delenv(name, raising=False)
    return base


@pytest.fixture(scope="session")
def lend_caches(tmp_path_factory):
    """Return the function that gives a home what is slow to make: all processes of a run make and share it once.

    These are the simulated recordings and the facts about benchmarks, both kept by digests of all they depend on.
    """
    base = tmp_path_factory.getbasetemp()
    shared = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "shared-caches"

    def lend(home):
        (home / "cache").mkdir(parents=True, exist_ok=True)
        for name in ("simulatedcortex2026", "benchmark-facts"):
            (shared / name).mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(OSError):  # where links are not allowed, each home makes its own
                (home / "cache" / name).symlink_to(shared / name, target_is_directory=True)
        return home

    return lend


@pytest.fixture
def shared_caches(own_homes, lend_caches):
    """Give the home of a test the caches that are shared."""
    return lend_caches(own_homes / "brain-score")


def write_plugin(library, folder, init, test=None, **files):
    """Write a plugin; in its sources, the registries are those of the small library."""
    path = library / folder
    path.mkdir(parents=True)
    (path / "__init__.py").write_text(f"from {LIBRARY} import *\n{dedent(init)}\n")
    for name, content in {"test.py": test, **files}.items():
        if content is not None:
            (path / name).write_text(dedent(content))
    return path


@pytest.fixture(scope="session")
def plugin_writer():
    """Return the function that writes a plugin."""
    return write_plugin


@pytest.fixture(scope="session")
def write_wheel():
    """Return the function that writes a wheel of `bs_example`, which knows its version, into a folder."""

    def write(folder, version="1", **files):
        folder.mkdir(parents=True, exist_ok=True)
        info = f"bs_example-{version}.dist-info"
        contents = {
            "bs_example.py": f"VERSION = {version}\n",
            f"{info}/METADATA": f"Metadata-Version: 2.1\nName: bs_example\nVersion: {version}\n",
            f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
            f"{info}/RECORD": "",
            **{name.replace("__", "."): text for name, text in files.items()},
        }
        with zipfile.ZipFile(folder / f"bs_example-{version}-py3-none-any.whl", "w") as wheel:
            for name, text in contents.items():
                wheel.writestr(name, text)

    return write


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """Make a library with a model `same`, a benchmark `same`, a failing model and others that go wrong."""
    library = tmp_path / LIBRARY
    good = "def test_good():\n    assert 1 + 1 == 2\n"
    write_plugin(library, "models/same", "model_registry['same-model'] = lambda: 4", good)
    write_plugin(library, "benchmarks/same", "benchmark_registry['Same-test'] = object", good)
    write_plugin(library, "models/bad-1", "model_registry['bad'] = lambda: 3", good.replace("2", "3"))
    write_plugin(library, "models/empty", "", "")
    write_plugin(library, "models/untested", "model_registry['untested'] = lambda: 2")
    (library / "__init__.py").write_text(
        "__all__ = ['model_registry', 'benchmark_registry']\nmodel_registry, benchmark_registry = {}, {}\n"
    )
    for folder in ("models", "benchmarks"):
        (library / folder / "__init__.py").write_text("")
    (library / "testing.py").write_text(CONTRACTS)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    yield library
    for name in [name for name in sys.modules if name.partition(".")[0] == LIBRARY]:
        del sys.modules[name]
