import ast
import inspect
from pathlib import Path

import pytest

import brainscore_vision
from brainscore_core.errors import PluginError
from brainscore_core.plugin_management.owned_registry import OwnedRegistry
from brainscore_core.plugin_management.registry import KINDS
from brainscore_vision import registries


def test_each_kind_has_a_registry():
    assert {kind.registry for kind in KINDS.values()} == set(registries.__all__)


def test_registries_are_five_distinct_owned_dictionaries():
    values = [getattr(registries, name) for name in registries.__all__]
    assert [type(value) for value in values] == [OwnedRegistry] * 5
    assert all(isinstance(value, dict) for value in values)
    assert len({id(value) for value in values}) == 5


def test_module_imports_little_at_run_time():
    tree = ast.parse(inspect.getsource(registries))
    imported = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
    assert {node.module for node in imported} == {"__future__", "collections.abc", "typing", OwnedRegistry.__module__}


def test_plugin_cannot_replace_another_model_through_vars():
    # Compiled under the path of a plugin of this library, so that it counts as that plugin's code.
    file = Path(brainscore_vision.__file__).parent / "models" / "evil" / "__init__.py"
    attack = compile("vars(brainscore_vision)['model_registry']['pixels'] = lambda: 'evil'", file, "exec")
    before = brainscore_vision.model_registry.get("pixels")
    try:
        with pytest.raises(PluginError, match="choose another one"):
            exec(attack, {"brainscore_vision": brainscore_vision})  # noqa: S102 - the attack
        assert brainscore_vision.model_registry.get("pixels") is before
    finally:
        if before is None:
            brainscore_vision.model_registry.pop("pixels", None)
        else:
            brainscore_vision.model_registry["pixels"] = before
