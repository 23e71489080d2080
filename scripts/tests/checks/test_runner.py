"""Plugins are found by name, path and change; checking any folder ends and reports where findings are."""

import json
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brainscore_ci.__main__ import main
from brainscore_ci.checks.runner import changelog_findings, check_changed, check_named, workplace
from brainscore_ci.reporting.results import Results
from brainscore_core.errors import UnknownIdentifierError

ROOT = Path(__file__).parents[3]
TEST = "def test_it():\n    assert load() == 1\n"


@pytest.fixture
def tree(tree):
    tree.plugin("benchmarks/author2024", registers=[("benchmark", "Author2024.IT-pls")], test=TEST,
                benchmark__py="make = lambda: B(version=1, visual_degrees=8)\n")  # fmt: skip
    return tree


def rules(checked):
    return [(one.rule, one.path) for one in checked.findings if one.is_error]


@pytest.mark.usefixtures("defined_names")
def test_this_repository_has_no_errors():
    place = workplace(ROOT)
    names = [
        plugin.name for folder in ("data", "metrics", "benchmarks", "models") for plugin in place.index.plugins(folder)
    ]
    checked = check_named(place, names)
    assert len(checked.plugins) >= 10
    assert [str(one) for one in checked.findings if one.is_error] == []


def test_findings_reach_the_report(repository, monkeypatch, capsys):
    metadata = "access: private\nlicence: CC-BY-4.0\ncontact: jane@example.org\ndoi: 10.1523/JNEUROSCI.5181-14.2015\n"
    init = "from brainscore_vision import metric_registry\nkey = input()\nmetric_registry[key] = 1\n"
    folder = repository.library / "metrics" / "mine2026"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(init)
    (folder / "metadata.yml").write_text(metadata)
    repository.git("checkout", "-qb", "change")
    repository.commit()
    monkeypatch.chdir(repository.path)
    assert main(["check", "--changed", "--results", "results"]) == 1
    check = Results.from_json((repository.path / "results/check.json").read_text()).check
    assert check.n_errors >= 1
    assert f"{check.n_errors} error" in capsys.readouterr().out
    assert check.findings[0].is_error
    assert check.findings[0].path.endswith("metrics/mine2026/__init__.py")
    (new,) = check.new
    assert (str(new.plugin), new.access, new.licence) == ("metrics/mine2026", "private", "CC-BY-4.0")
    assert new.citation == "doi.org/10.1523/JNEUROSCI.5181-14.2015"
    (repository.library / "benchmarks/author2024/benchmark.py").write_text("make = lambda: B(version=2)\n")
    repository.commit()
    main(["check", "author2024", "--base", "main", "--results", "again"])
    assert Results.from_json((repository.path / "again/check.json").read_text()).check.new == ()  # it existed before


def test_finds_plugins_by_folder_identifier_and_path(tree, tmp_path):
    place = workplace(tree.library / "models")
    assert place.repository == tree.path
    assert check_named(place, ["network"]).plugins == ("models/network",)
    assert check_named(place, ["network_small", "Recordings"]).plugins == ("data/recordings", "models/network")
    assert check_named(place, [str(tree.library / "metrics/other")]).plugins == ("metrics/other",)
    outside = tmp_path / "elsewhere" / "mine"
    outside.mkdir(parents=True)
    (outside / "__init__.py").write_text("metric_registry['mine'] = 1\n")
    checked = check_named(place, [str(outside)])
    assert checked.plugins == ("metrics/mine",)
    assert rules(checked) == [("tests", f"{outside.as_posix()}/test.py")]


def test_all_unknown_names_are_reported(tree):
    with pytest.raises(UnknownIdentifierError) as caught:
        check_named(workplace(tree.path), ["netwrk", "pixels", "recordngs"])
    assert "'network'" in str(caught.value)
    assert "'recordings'" in str(caught.value).lower()


def test_checks_changed_plugins(repository):
    place = workplace(repository.path)
    assert check_changed(place, "main").plugins == ()
    repository.write("vision/brainscore_vision/benchmarks/author2024/benchmark.py", "make = lambda: B(version=1)\n")
    repository.plugin("models/new", registers=[("model", "new")], test=None)
    repository.write("vision/brainscore_vision/models/empty/model.py", "x = 1\n")
    checked = check_changed(workplace(repository.path), "main")
    assert checked.plugins == ("benchmarks/author2024", "models/new")
    library = "vision/brainscore_vision"
    assert rules(checked) == [
        ("version", f"{library}/benchmarks/author2024/benchmark.py"),
        ("registration", f"{library}/models/empty/__init__.py"),
        ("tests", f"{library}/models/new/test.py"),
    ]
    repository.write("vision/brainscore_vision/benchmarks/author2024/benchmark.py", "make = lambda: B(version=2)\n")
    assert ("version", f"{library}/benchmarks/author2024/benchmark.py") not in rules(check_changed(place, "main"))


@pytest.mark.parametrize("exempt", ["CHANGELOG.md", "Changelog: none (renames a variable)"])
def test_library_change_needs_a_changelog_entry(exempt):
    v = "vision/brainscore_vision"
    plugin, packages = f"{v}/models/pixels/model.py", [f"{v}/models/__init__.py", "core/brainscore_core/git.py"]
    others = [plugin, "core/tests/test_git.py", "docs/index.md", "perf/x.py", "pyproject.toml", "core/README.md"]
    assert changelog_findings(others, "", [v]) == []
    for path in (*packages, "scripts/brainscore_ci/__main__.py", "web/brainscore_web/portal/app.py"):
        (finding,) = changelog_findings([*others, path], "Changelog: none ()\nno Changelog: none (x)", [v])
        assert (finding.path, finding.rule) == ("CHANGELOG.md", "changelog")
        assert path in finding.message
        assert changelog_findings([*others, path, exempt], f"Faster\n\n{exempt}\n", [v]) == []


def test_changelog_is_required_where_one_exists(repository):
    repository.write("CHANGELOG.md", "# Changelog\n")
    repository.commit()
    repository.git("checkout", "-qb", "change")
    repository.write("vision/brainscore_vision/utils.py", "x = 1\n")
    repository.commit()
    assert rules(check_changed(workplace(repository.path), "main")) == [("changelog", "CHANGELOG.md")]
    repository.git("commit", "-q", "--allow-empty", "-m", "Rename", "-m", "Changelog: none (internal)")
    assert rules(check_changed(workplace(repository.path), "main")) == []


def test_compares_with_a_remote_branch(repository):
    repository.git("update-ref", "refs/remotes/origin/trunk", "HEAD")
    assert check_changed(workplace(repository.path), "trunk").plugins == ()


@pytest.mark.skipif(sys.platform == "win32", reason="such names are not allowed there")
def test_unsafe_folder_name_is_an_error(repository):
    repository.write("vision/brainscore_vision/models/x$(touch pwned)/__init__.py", "model_registry['x'] = 1\n")
    assert rules(check_changed(workplace(repository.path), "main")) == [("folder-name", "x$(touch pwned)")]


@pytest.mark.parametrize("old", ["models/network", "benchmarks/author2024"])
def test_deleted_plugins_are_not_checked(repository, old):
    repository.git("rm", "-rq", f"vision/brainscore_vision/{old}")
    assert check_changed(workplace(repository.path), "main").plugins == ()


def run(capsys, *arguments):
    code = main(["check", *arguments])
    return code, capsys.readouterr()


def test_command_line_output_and_exit_codes(repository, monkeypatch, capsys):
    monkeypatch.chdir(repository.path)
    code, said = run(capsys, "author2024")
    assert code == 0
    assert said.out.splitlines()[-1].startswith("0 errors, ")
    repository.write("vision/brainscore_vision/models/network/model.pth", "x")
    code, said = run(capsys, "network", "--github")
    assert code == 1
    assert "models/network/model.pth:1: binary-file: " in said.out
    assert "::error file=vision/brainscore_vision/models/network/model.pth,line=1,title=binary-file::" in said.out
    code, said = run(capsys, "--changed", "--json")
    assert (code, json.loads(said.out)["checked"]) == (1, ["models/network"])
    code, said = run(capsys, "netwrk")
    assert (code, said.out) == (2, "")
    assert "Did you mean 'network'" in said.err


@pytest.mark.parametrize("arguments", [[], ["--changed", "network"], ["--changed", "--base", "nonsense"]])
def test_wrong_usage_exits_with_2(repository, monkeypatch, capsys, arguments):
    monkeypatch.chdir(repository.path)
    assert run(capsys, *arguments)[0] == 2


FILES = st.dictionaries(
    st.sampled_from(["__init__.py", "benchmark.py", "test.py", "requirements.txt", "metadata.yml", "setup.py"]),
    st.binary(max_size=40)
    | st.lists(
        st.sampled_from(
            ["benchmark_registry['A2024-x'] = f\n", "from . import benchmark\n", "from .benchmark import *\n",
             "from ...x import y\n", "import torch\n", "torch.load('x')\n", "def f():\n    return f()\n", "f()\n",
             "class TestA(TestA):\n    pass\n", "BIBTEX = '@a{'\n", "x = B(version=1, parent='?')\n", "assert f\n",
             "import os\nos.environ['a'] = 'b'\n", "benchmark_registry[f()] = lambda: f(identifier='b')\n",
             "def test_f():\n    test_f()\n", "-r requirements.txt\n", "a @ git+https://x\n", "access: [\n"]
        ),
        max_size=6,
    ).map(lambda parts: "".join(parts).encode())
)  # fmt: skip


@settings(max_examples=60)
@given(files=FILES)
def test_checking_ends_on_arbitrary_files(bench, files):
    for file in (bench.path / "benchmarks/any").rglob("*"):
        file.unlink()
    bench.write("benchmarks", "any", benchmark__py=None, test__py=None, __init____py=None)
    for name, content in files.items():
        (bench.path / "benchmarks/any").mkdir(parents=True, exist_ok=True)
        (bench.path / "benchmarks/any" / name).write_bytes(content)
    for finding in bench.check("benchmarks", "any", earlier={"benchmark.py": b"x = B(version=1)\n"}):
        assert finding.path.startswith("benchmarks/any")
        assert finding.line >= 1
        assert finding.message
        assert finding.fix
