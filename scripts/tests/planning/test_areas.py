"""Test assigning paths to areas of the repository."""

import subprocess
import sys

import pytest

from brainscore_ci.planning.areas import PluginName, area_of, changes_ci, is_plugin_folder_name

V = "vision/brainscore_vision"


AREAS = {
    "plugin": (f"{V}/models/alexnet/model.py", f"{V}/models/alexnet/deep/er/file.py", f"{V}/data/x-y.z/__init__.py"),
    "refused": (
        *(f"{V}/models/x$(touch pwned)/__init__.py", f"{V}/models/.hidden/__init__.py"),
        *(f"{V}/models/-rf/__init__.py", f"{V}/models/_shared/__init__.py", f"{V}/models/line\nbreak/__init__.py"),
        *(f"{V}/models/ä/__init__.py", f"{V}/models/__pycache__/x.pyc"),
    ),
    "library": (f"{V}/models/__init__.py", f"{V}/model_helpers/activations/core.py"),
    "tooling": (
        *("scripts/brainscore_ci/planning/plan.py", "core/pyproject.toml", "vision/tests/conftest.py"),
        *("constraints.txt", "noxfile.py", "scripts/plan.py", ".ci/run", ".github/workflows/plugins.yml"),
        *(".github/dependabot.yml", ".github/workflows/ISSUE_TEMPLATE.yml", ".github/workflows/ISSUE_TEMPLATE/x.yml"),
        "web/pyproject.toml",
    ),
    "library tests": (
        *("scripts/tests/planning/test_plan.py", "core/tests/test_config.py", "vision/tests/test_loading.py"),
        "web/tests/browser/test_table.py",
    ),
    "documentation": (
        *("vision/README.md", "README.md", "docs/index.md", "docs/conf.py", "LICENSE"),
        *(".github/ISSUE_TEMPLATE/bug.yml", ".github/PULL_REQUEST_TEMPLATE.md", "web/README.md"),
    ),
    "measurements": ("perf/metrics.py",),
    "web": ("web/brainscore_web/leaderboard/static/table.js",),
    "unknown": ("web/else.py", "somewhere/else.py", "else.py"),
}


@pytest.mark.parametrize(("path", "kind"), [(path, kind) for kind, paths in AREAS.items() for path in paths])
def test_area_of_path(path, kind):
    assert area_of(path, [V]).kind == kind


def test_area_has_plugin_and_path_within():
    area = area_of(f"{V}/models/alexnet/deep/file.py", [V])
    assert area.plugin == PluginName("models", "alexnet")
    assert area.within == "deep/file.py"


def test_plugin_name_round_trip():
    assert str(PluginName.parse("data/a-b.c_1")) == "data/a-b.c_1"


@pytest.mark.parametrize("text", ["models", "models/", "papers/x", "models/a b", "models/../x", "/x"])
def test_rejects_malformed_plugin_names(text):
    with pytest.raises(ValueError, match="is no plugin"):
        PluginName.parse(text)


@pytest.mark.parametrize(("name", "allowed"), [("a", True), ("_a", True), ("3d", True), ("a\n", False), ("", False)])
def test_plugin_folder_names(name, allowed):
    assert is_plugin_folder_name(name) is allowed


@pytest.mark.parametrize(
    ("path", "changes"),
    [
        (f"{V}/models/alexnet/model.py", False),
        (f"{V}/model_helpers/x.py", False),
        (f"{V}/testing/contract.py", True),
        ("core/brainscore_core/testing/pytest_plugin.py", True),
        ("core/brainscore_core/untrusted.py", True),
        ("core/brainscore_core/metrics/_score.py", False),
        (".github/workflows/ISSUE_TEMPLATE.yml", True),
        (".github/ISSUE_TEMPLATE/bug.yml", False),
        ("docs/index.md", False),
        ("docs/conf.py", True),  # runs when the documentation is built
        ("pip/__main__.py", True),
        ("sitecustomize.py", True),
        (f"{V}/models/x y/a.py", True),
        ("LICENSE", False),
        ("perf/metrics.py", False),
        ("web/brainscore_web/leaderboard/board.py", False),
    ],
)
def test_changes_ci(path, changes):
    assert changes_ci(path, [V]) is changes


def test_all_modules_of_checks_and_plans_change_ci():
    modules = "planning.planner, checks.runner, jobs.collect, jobs.run_tests, jobs.score_shard, submission.publish"
    code = f"import sys; import brainscore_ci.{modules.replace(', ', ', brainscore_ci.')}; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    used = [name for name in run.stdout.split() if name.startswith(("brainscore_core.", "brainscore_ci."))]
    assert len(used) > 40
    files = [name.replace(".", "/") + ".py" for name in used]
    paths = [f"{'core' if name.startswith('brainscore_core') else 'scripts'}/{name}" for name in files]
    assert [path for path in paths if not changes_ci(path, [V])] == []
