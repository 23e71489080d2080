"""Test telling what a path belongs to."""

import pytest

from brainscore_ci.planning.areas import PluginName, area_of, is_plugin_folder_name

V = "vision/brainscore_vision"


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        (f"{V}/models/alexnet/model.py", "plugin"),
        (f"{V}/models/alexnet/deep/er/file.py", "plugin"),
        (f"{V}/data/x-y.z/__init__.py", "plugin"),
        (f"{V}/models/x$(touch pwned)/__init__.py", "refused"),
        (f"{V}/models/.hidden/__init__.py", "refused"),
        (f"{V}/models/-rf/__init__.py", "refused"),
        (f"{V}/models/line\nbreak/__init__.py", "refused"),
        (f"{V}/models/ä/__init__.py", "refused"),
        (f"{V}/models/__init__.py", "library"),
        (f"{V}/model_helpers/activations/core.py", "library"),
        (f"{V}/models/__pycache__/x.pyc", "documentation"),
        ("scripts/brainscore_ci/planning/plan.py", "tooling"),
        ("scripts/tests/planning/test_plan.py", "library tests"),
        ("core/pyproject.toml", "tooling"),
        ("core/tests/test_config.py", "library tests"),
        ("vision/tests/conftest.py", "tooling"),
        ("vision/tests/test_loading.py", "library tests"),
        ("vision/README.md", "documentation"),
        ("README.md", "documentation"),
        ("docs/index.md", "documentation"),
        ("docs/conf.py", "documentation"),
        ("LICENSE", "documentation"),
        ("constraints.txt", "tooling"),
        ("noxfile.py", "tooling"),
        ("scripts/plan.py", "tooling"),
        (".ci/run", "tooling"),
        (".github/workflows/plugins.yml", "tooling"),
        (".github/dependabot.yml", "tooling"),
        (".github/ISSUE_TEMPLATE/bug.yml", "documentation"),
        (".github/PULL_REQUEST_TEMPLATE.md", "documentation"),
        ("perf/metrics.py", "measurements"),
        ("somewhere/else.py", "unknown"),
        ("else.py", "unknown"),
    ],
)
def test_area(path, kind):
    assert area_of(path, [V]).kind == kind


def test_plugin_and_path_inside():
    area = area_of(f"{V}/models/alexnet/deep/file.py", [V])
    assert area.plugin == PluginName("models", "alexnet")
    assert area.within == "deep/file.py"


@pytest.mark.parametrize(
    ("within", "changes"),
    [
        ("__init__.py", True),
        ("model.py", True),
        ("weights.json", True),
        ("requirements.txt", True),
        ("nested/test.py", True),
        ("test.py", False),
        ("test_more.py", False),
        ("tests/test_it.py", False),
        ("README.md", False),
        ("citation.bib", False),
        ("metadata.yml", False),
        ("data_packaging/packaging.py", False),
    ],
)
def test_which_files_of_a_plugin_change_scores(within, changes):
    assert area_of(f"{V}/models/alexnet/{within}", [V]).changes_scores is changes


def test_name_round_trip():
    assert str(PluginName.parse("data/a-b.c_1")) == "data/a-b.c_1"


@pytest.mark.parametrize("text", ["models", "models/", "papers/x", "models/a b", "models/../x", "/x"])
def test_what_is_no_name(text):
    with pytest.raises(ValueError, match="is no plugin"):
        PluginName.parse(text)


@pytest.mark.parametrize(("name", "allowed"), [("a", True), ("_a", True), ("3d", True), ("a\n", False), ("", False)])
def test_folder_names(name, allowed):
    assert is_plugin_folder_name(name) is allowed
