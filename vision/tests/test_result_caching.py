import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import result_caching
from result_caching import NotCachedError, cache, is_iterable, store, store_dict, store_netcdf, store_xarray

DECORATORS = {
    "store": store(),
    "ignoring": store(identifier_ignore=["stimuli"]),
    "cache": cache(),
    "netcdf": store_netcdf(identifier_ignore=["stimuli"]),
    "dict": store_dict("layers", identifier_ignore=["stimuli"]),
    "xarray": store_xarray(identifier_ignore=["stimuli", "layers"], combine_fields={"layers": "layer"}),
}


@pytest.mark.parametrize("decorate", DECORATORS.values(), ids=DECORATORS)
def test_ignored_arguments_still_separate_results(decorate):
    calls = []

    @decorate
    def mean(identifier, layers, stimuli):
        """Say what it does."""
        calls.append(identifier)
        return float(np.mean(stimuli))

    assert mean("alexnet", layers=("a",), stimuli=[1, 2]) == 1.5
    assert mean("alexnet", layers=("a",), stimuli=[3, 5]) == 4
    assert len(calls) == 2
    assert mean.__doc__ == "Say what it does."


def test_methods_of_different_objects_have_separate_results():
    class Model:
        def __init__(self, weight):
            self.weight = weight

        def __repr__(self):
            return "Model"

        @store(identifier_ignore=["stimuli"])
        def look_at(self, identifier, stimuli):
            return self.weight * stimuli

    assert [Model(weight).look_at("one name", 2) for weight in (1, 3)] == [2, 6]


def test_decorators_write_no_files(tmp_path, monkeypatch):
    monkeypatch.setenv("RESULTCACHING_HOME", str(tmp_path))
    assert store()(lambda x: x + 1)(1) == 2
    assert list(tmp_path.iterdir()) == []


def test_package_from_pypi_takes_precedence(tmp_path):
    # Both in one folder, as in site-packages.
    (tmp_path / "result_caching.py").write_text(Path(result_caching.__file__).read_text())
    package = tmp_path / "result_caching"
    package.mkdir()
    (package / "__init__.py").write_text("store = 'that of PyPI'")
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import result_caching; print(result_caching.store)"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert found.strip() == "that of PyPI"


def test_helper_names_are_available():
    assert issubclass(NotCachedError, Exception)
    assert is_iterable([1])
    assert is_iterable(np.zeros(2))
    assert not is_iterable("layer")
    assert not is_iterable(3)
