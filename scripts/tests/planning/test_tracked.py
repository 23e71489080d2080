"""Test that byte code, links and names differing by case are refused anywhere, before any code runs."""

import importlib._bootstrap_external as bootstrap
import os
import subprocess
import sys
from pathlib import Path

import pytest

from brainscore_ci.checks.runner import check_changed, check_named, workplace
from brainscore_ci.planning import planner
from brainscore_ci.planning.changes import TrackedFile, find_unwanted, is_byte_code, tracked_files
from brainscore_ci.planning.checkout import read_own_checkout

ROOT = Path(__file__).parents[3]
V = "vision/brainscore_vision"


def put_byte_code(folder, module, source):
    """Write byte code that Python runs without checking the source: with an unchecked hash."""
    file = folder / "__pycache__" / f"{module}.{sys.implementation.cache_tag}.pyc"
    file.parent.mkdir(parents=True, exist_ok=True)
    code = compile(source, str(folder / f"{module}.py"), "exec")
    file.write_bytes(bootstrap._code_to_hash_pyc(code, b"\0" * 8, checked=False))
    return file.relative_to(folder).as_posix()


def refused_paths(tree):
    """Return the refused paths, which must be equal for the commit and the working tree."""
    checkout = read_own_checkout(tree.path)
    of_commit = planner.plan_change(checkout, "HEAD~1", "HEAD", event="pull_request")
    plans = (of_commit, planner.plan_work_tree(checkout, "HEAD~1"))
    first, second = ({refusal.path for refusal in plan.refused} for plan in plans)
    assert first == second
    return first


def test_byte_code_of_a_plugin_is_refused(repository):
    name = put_byte_code(repository.library / "models/pixels", "__init__", "print('attack')")
    path = f"{V}/models/pixels/{name}"
    repository.commit(path)
    ran = subprocess.run(
        [sys.executable, "-c", "import pixels"],
        cwd=repository.library / "models", capture_output=True, text=True, check=True,
        env={key: value for key, value in os.environ.items() if key != "PYTHONPYCACHEPREFIX"},
    )  # fmt: skip
    assert ran.stdout == "attack\n", "the attack itself has to work"
    assert refused_paths(repository) == {path}
    place = workplace(repository.path)
    for checked in (check_changed(place, "HEAD~1"), check_named(place, ["models/pixels"])):
        assert path in {finding.path for finding in checked.findings if finding.is_error}
    assert path not in {finding.path for finding in check_named(place, ["models/network"]).findings}


def test_uncommitted_byte_code_is_ignored(repository):
    repository.write(".gitignore", "__pycache__/\n")
    repository.commit()
    put_byte_code(repository.library / "models/pixels", "__init__", "x = 1")
    assert refused_paths(repository) == set()
    findings = check_named(workplace(repository.path), ["pixels"]).findings
    assert "binary-file" not in {finding.rule for finding in findings}


def test_earlier_byte_code_is_refused_in_any_change(repository):
    """An unrelated change is refused too: committed byte code runs in every job."""
    name = put_byte_code(repository.path / "core", "brainscore_core", "x = 1")
    repository.commit(f"core/{name}")
    repository.write(f"{V}/models/pixels/model.py", "x = 1\n")
    repository.commit()
    assert refused_paths(repository) == {f"core/{name}"}


@pytest.mark.parametrize(
    "path",
    [
        f"{V}/models/pixels/fast.pyc", f"{V}/models/pixels/fast.PYO", f"{V}/models/pixels/fast.cpython-311-x86_64.so",
        f"{V}/models/pixels/libfast.so.1", f"{V}/models/pixels/fast.pyd", "vision/hook.pth",
        f"{V}/models/__pycache__/x.txt",
        "scripts/brainscore_ci/__pycache__/x.cpython-311.pyc", "other/libx.dylib", "core/x.egg-link",
    ],
)  # fmt: skip
def test_compiled_files_are_refused(repository, path):
    repository.write(path, "x")
    repository.commit(path)
    assert refused_paths(repository) == {path}
    assert path in {finding.path for finding in check_changed(workplace(repository.path), "HEAD~1").findings}


@pytest.mark.parametrize("path", ["a/pathology.py", "so.py", "a.pyc/b.md", "docs/lib.so.md", "x.python", "pycache/x"])
def test_names_similar_to_byte_code_are_accepted(path):
    assert not is_byte_code(path)


@pytest.mark.skipif(sys.platform == "win32", reason="making links needs a privilege there")
@pytest.mark.parametrize(
    ("link", "target"),
    [
        (f"{V}/models/alias", "pixels"),
        (f"{V}/models/pixels/other.py", "../network/__init__.py"),
        ("core/brainscore_core", "../vision"),
        ("README.md", "/etc/passwd"),
    ],
)
def test_links_are_refused(repository, link, target):
    file = repository.path / link
    file.parent.mkdir(parents=True, exist_ok=True)
    file.symlink_to(target)
    repository.commit()
    assert refused_paths(repository) == {link}
    assert link in {finding.path for finding in check_changed(workplace(repository.path), "HEAD~1").findings}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Model.py", "model.py"),
        ("Deep/x.py", "deep/y.py"),
        ("stra\N{LATIN SMALL LETTER SHARP S}e", "strasse"),
        ("\xe9", "e\u0301"),
    ],
)
def test_names_equal_on_some_systems_are_refused(one, other):
    found = find_unwanted([TrackedFile(path=f"a/{name}", mode="100644") for name in (one, other)])
    assert [(each.path, each.rule) for each in found] == [(f"a/{other}", "file-name")]


def test_plugins_differing_only_in_case_are_refused(repository):
    if (repository.library / "models/PIXELS").exists():
        pytest.skip("this system takes the two for one")
    repository.plugin("models/PIXELS", registers=[("model", "PIXELS")])
    repository.commit()
    assert refused_paths(repository) == {f"{V}/models/pixels/__init__.py", f"{V}/models/pixels/test.py"}


def test_submodules_are_refused():
    (found,) = find_unwanted([TrackedFile(path="a", mode="160000")])
    assert found.rule == "symlink"


def test_removed_files_are_not_refused(repository):
    repository.write(f"{V}/models/pixels/fast.so", "x")
    repository.commit()
    (repository.path / V / "models/pixels/fast.so").unlink()
    assert [file.path for file in tracked_files(repository.path) if is_byte_code(file.path)] == []
    repository.git("rm", "-q", f"{V}/models/pixels/fast.so")
    repository.commit()
    assert refused_paths(repository) == set()


def test_this_repository_has_no_unwanted_files():
    if not (ROOT / ".git").exists():
        pytest.skip("no checkout")
    assert find_unwanted(tracked_files(ROOT)) == []
