import importlib
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import brainscore_vision
from brainscore_vision import registries

HEAVY = ("numpy", "pandas", "xarray", "torch", "boto3", "sklearn", "scipy", "PIL", "packaging", "platformdirs")


def run(program):
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.strip()


def test_importing_the_package_loads_no_heavy_module():
    statement = "from brainscore_vision import load_model, model_registry; import sys"
    assert run(f"{statement}; print([name for name in {HEAVY} if name in sys.modules])") == "[]"


def test_every_public_name_exists():
    for name in (*brainscore_vision.__all__, "_run_score"):
        assert getattr(brainscore_vision, name) is not None
    assert dir(brainscore_vision) == sorted(brainscore_vision.__all__)


def test_lazy_names_are_declared_for_type_checkers():
    source = Path(brainscore_vision.__file__).read_text()
    late = set(brainscore_vision.__all__) - set(vars(brainscore_vision)) - {"score", "compare", "load_scores"}
    assert "    from brainscore_vision.scoring import score\n" in source
    assert "    from brainscore_core.records.frames import compare, load_scores\n" in source
    assert f"    from brainscore_core import {', '.join(sorted(late))}\n" in source
    assert "_run_score" not in brainscore_vision.__all__


def test_names_are_those_of_their_modules():
    from brainscore_core.metrics import Score
    from brainscore_vision.loading import load_model
    from brainscore_vision.model_interface import BrainModel

    assert brainscore_vision.load_model is load_model
    assert brainscore_vision.BrainModel is BrainModel
    assert brainscore_vision.Score is Score
    for name in registries.__all__:
        assert getattr(brainscore_vision, name) is getattr(registries, name)


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'load_modle'"):
        _ = brainscore_vision.load_modle
    with pytest.raises(ImportError, match="cannot import name 'modle_registry'"):
        exec("from brainscore_vision import modle_registry")  # noqa: S102 - as in a plugin with a typing error


def test_submodules_are_reached_through_the_package():
    names = sorted(brainscore_vision._SUBMODULES)
    reached = run(f"import brainscore_vision as b; print(*(getattr(b, name).__name__ for name in {names}))")
    assert reached.split() == [f"brainscore_vision.{name}" for name in names]


@pytest.mark.parametrize(
    ("package", "home"),
    [
        ("brainscore_vision.metrics", "brainscore_core.metrics"),
        ("brainscore_vision.benchmarks", "brainscore_core.benchmarks"),
    ],
)
def test_contracts_are_re_exported_from_core(package, home):
    module = importlib.import_module(package)
    for name in module.__all__:
        assert getattr(module, name) is getattr(importlib.import_module(home), name)
    assert dir(module) == sorted(module.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = module.Nothing


def test_factories_can_use_the_package_by_its_name(monkeypatch):
    monkeypatch.setitem(brainscore_vision.data_registry, "x", lambda: brainscore_vision.load_stimulus_set("y"))
    monkeypatch.setitem(brainscore_vision.stimulus_set_registry, "y", lambda: "loaded")
    assert brainscore_vision.load_dataset("x") == "loaded"


def test_types_are_marked_and_shipped_in_the_wheel():
    package = Path(brainscore_vision.__file__).parent
    assert (package / "py.typed").is_file()
    project = tomllib.loads((package.parent / "pyproject.toml").read_text())
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert package.name in wheel["packages"]
    assert wheel.keys() == {"packages"}  # nothing is excluded
