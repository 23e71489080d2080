"""Test following a change of the library to the plugins that use the changed names."""

from pathlib import Path

import pytest

from brainscore_ci.planning import planner
from brainscore_ci.planning.checkout import read_checkout, read_own_checkout
from brainscore_ci.planning.dependencies import follow_changes, read_library
from brainscore_core.plugin_management.source import SourceFile

ROOT, V = Path(__file__).parents[3], "vision/brainscore_vision"
HELPER = f"{V}/metric_helpers/shapes.py"
BEFORE = """
from typing import TYPE_CHECKING

SIDES = 4
OTHER = 1

def _area(width):
    return width**2

def area(width):
    return _area(width)

def edge():
    return OTHER
"""


@pytest.fixture
def tree_with_helper(tree):
    """Return a tree with a helper, a module that uses one of its names, a door, and plugins that import from them."""
    tree.write(HELPER, BEFORE)
    package = "from brainscore_vision.metric_helpers"
    tree.write(
        f"{V}/metric_helpers/between.py", f"{package}.shapes import area as a\n\ndef f():\n    return a(1)\n\ng = 1\n"
    )
    tree.write(f"{V}/metric_helpers/door/__init__.py", f"{package}.shapes import edge, area\n")
    tree.plugin("metrics/by_area", metric__py=f"{package}.between import f\n")
    tree.plugin("metrics/by_nothing", metric__py=f"{package}.between import g\n{package} import shapes2\n")
    tree.plugin("metrics/by_edge", metric__py="from ...metric_helpers.door import edge\n")
    tree.plugin("models/by_module", model__py=f"def make():\n    {package} import shapes\n    return shapes.area\n")
    tree.plugin("models/by_text", model__py="import_module('brainscore_vision.metric_helpers.door')\n")
    tree.plugin("models/by_test", test=f"{package}.shapes import edge\n")
    types = f"from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    {package}.shapes import area\n"
    tree.plugin("models/by_type", model__py=types)
    return tree


def users(tree, before=BEFORE, after=BEFORE, path=HELPER):
    tree.write(path, after)
    checkout = read_checkout(tree.path)
    sources = {path: SourceFile(path, content=before.encode())}
    library = read_library(tree.path, checkout.policy.libraries)
    effect = follow_changes(sources, library, checkout.facts, checkout.dependencies.reach)
    assert list(effect.general) in ([], [path])
    return {name.name for name in (*effect.users, *effect.test_users)} | ({"any"} if effect.general else set())


AREA = {"by_area", "by_module", "by_text"}
EDGE = {"by_edge", "by_module", "by_text", "by_test"}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("width**2", "width * width", AREA),  # through a function used only by area
        ("OTHER = 1", "OTHER = 2", EDGE),
        ("def area(width)", "def surface(width)", AREA),  # removed
        ("OTHER = 1", "OTHER = 1\nprint(OTHER)", AREA | EDGE),  # runs on import
        ("SIDES = 4", "SIDES = 5", {"by_module"}),
        ("def edge", "def more():\n    pass\n\ndef edge", set()),  # new
        ("SIDES = 4", "SIDES = 4  # comment", set()),
        ("def edge", "def edge(:", AREA | EDGE),
    ],
)
def test_users_of_changed_names(tree_with_helper, old, new, expected):
    assert old in BEFORE
    assert users(tree_with_helper, after=BEFORE.replace(old, new)) == expected


def test_users_in_tests_are_separate_and_have_reasons(tree_with_helper):
    tree_with_helper.write(HELPER, BEFORE.replace("OTHER = 1", "OTHER = 2"))
    checkout = read_checkout(tree_with_helper.path)
    library = read_library(tree_with_helper.path, [V])
    sources = {HELPER: SourceFile(HELPER, content=BEFORE.encode())}
    effect = follow_changes(sources, library, checkout.facts, checkout.dependencies.reach)
    assert [name.name for name in effect.test_users] == ["by_test"]
    reasons = {name.name: reason for name, reason in effect.users.items()}
    assert reasons["by_edge"] == (
        f"imports brainscore_vision.metric_helpers.door.edge in metric.py:1, which {HELPER} alters"
    )


@pytest.mark.parametrize("path", [f"{V}/scoring.py", f"{V}/data/table.csv", "core/brainscore_core/gone.py"])
def test_files_that_no_plugin_imports_are_general(tree_with_helper, path):
    after = "x = 2\n"
    assert users(tree_with_helper, before="x = 1\n", after=after, path=path) == {"any"}


def test_lazily_loading_package_is_followed(tree_with_helper):
    front = (
        "def __getattr__(name):\n    return getattr(import_module('brainscore_vision.metric_helpers.shapes'), name)\n"
    )
    tree_with_helper.write(f"{V}/metric_helpers/__init__.py", front)
    tree_with_helper.plugin("metrics/by_front", metric__py="from brainscore_vision.metric_helpers import area\n")
    assert "by_front" in users(tree_with_helper, after=BEFORE.replace("SIDES = 4", "SIDES = 5"))


@pytest.mark.parametrize(
    ("path", "expected", "not_expected"),
    [
        ("benchmark_helpers/behaviour/odd_one_out.py", {"benchmarks/hebart2023"}, {"benchmarks/geirhos2021"}),
        (
            "metric_helpers/arrays/geometry/rdm.py",
            {"metrics/rdm", "metrics/rsa_crossnobis", "benchmarks/bracci2019"},
            {"metrics/regression_correlation", "benchmarks/hebart2023"},
        ),
    ],
)
def test_users_of_helpers_in_this_repository(path, expected, not_expected):
    checkout = read_checkout(ROOT)
    sources = {f"{V}/{path}": SourceFile(path, content=b"(")}  # unreadable before, so every name counts as changed
    library = read_library(ROOT, checkout.policy.libraries)
    effect = follow_changes(sources, library, checkout.facts, checkout.dependencies.reach)
    found = {str(name) for name in (*effect.users, *effect.test_users)}
    assert expected <= found
    assert not (found & not_expected)
    assert effect.general == frozenset()


def test_plan_of_a_changed_helper(tree_with_helper):
    tree_with_helper.plugin(
        "models/pixels", registers=[("model", "pixels")], model__py="from ...metric_helpers.shapes import area"
    )
    tree_with_helper.commit()
    tree_with_helper.write(HELPER, BEFORE.replace("width**2", "width * width"))
    plan = planner.plan_work_tree(read_own_checkout(tree_with_helper.path))
    assert [str(task.plugin) for task in plan.tests] == [
        *("metrics/by_area", "models/by_module", "models/by_text", "models/pixels")
    ]
    assert {(pair.model, pair.benchmark) for pair in plan.pairs} == {("pixels", "Unrelated")}
