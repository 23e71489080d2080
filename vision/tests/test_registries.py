import ast
import inspect

from brainscore_core.plugin_management.registry import KINDS
from brainscore_vision import registries


def test_there_is_one_registry_for_each_kind():
    assert {kind.registry for kind in KINDS.values()} == set(registries.__all__)


def test_registries_are_five_different_plain_dictionaries():
    values = [getattr(registries, name) for name in registries.__all__]
    assert [type(value) for value in values] == [dict] * 5
    assert len({id(value) for value in values}) == 5


def test_the_module_imports_nothing_at_run_time_but_the_standard_library():
    tree = ast.parse(inspect.getsource(registries))
    imported = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
    assert {node.module for node in imported} == {"__future__", "collections.abc", "typing"}
