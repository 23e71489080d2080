"""Recorded versions and revisions agree with git and the interpreter."""

import platform
import subprocess
from pathlib import Path

import pytest

import brainscore_core
from brainscore_core.identity import software


def test_versions_name_python_and_the_numerical_libraries():
    versions = software.versions()
    assert versions["python"] == platform.python_version()
    assert versions["brainscore"] == brainscore_core.__version__
    assert {"numpy", "pandas", "xarray"} <= set(versions)


def test_source_revision_is_the_commit_of_the_checkout():
    folder = Path(brainscore_core.__file__).parent
    asked = subprocess.run(["git", "-C", str(folder), "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    if asked.returncode != 0:
        pytest.skip("the tests do not run from a git checkout")
    assert software.source_revision().removesuffix("+changes") == asked.stdout.strip()


def test_source_revision_is_none_outside_a_checkout(tmp_path, monkeypatch):
    monkeypatch.setattr(software, "__file__", str(tmp_path / "sources.py"))
    assert software.source_revision() is None


def test_source_revision_is_none_without_git(monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert software.source_revision() is None


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """Return the folder of an unchanged checkout from which the package runs."""
    folder = tmp_path / "core" / "package"
    folder.mkdir(parents=True)
    (folder / "sources.py").write_text("")
    (tmp_path / ".gitignore").write_text("ignored/\n")
    for arguments in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=a", "-c", "user.email=b@c", "commit", "-qm", "x"],
    ):
        subprocess.run(["git", "-C", str(tmp_path), *arguments], check=True)
    monkeypatch.setattr(software, "__file__", str(folder / "sources.py"))
    return tmp_path


@pytest.mark.parametrize(
    ("path", "changed"),
    [
        ("library/models/mine/__init__.py", True),
        ("core/package/sources.py", True),
        ("notes.py", False),
        ("library/models/mine/notes.txt", False),
        ("ignored/models/mine/__init__.py", False),
    ],
)
def test_untracked_plugin_counts_as_a_change(checkout, path, changed):
    assert not software.source_revision().endswith("+changes")
    (checkout / path).parent.mkdir(parents=True, exist_ok=True)
    (checkout / path).write_text("x = 1\n")
    assert software.source_revision().endswith("+changes") == changed


def test_folder_revision_follows_its_files(tmp_path):
    (tmp_path / "__init__.py").write_text("a = 1")
    first = software.folder_revision(tmp_path)
    assert first.startswith("folder-")
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "x.pyc").write_bytes(b"x")
    (tmp_path / ".hidden").write_text("x")
    assert software.folder_revision(tmp_path) == first
    (tmp_path / "__init__.py").write_text("a = 2")
    second = software.folder_revision(tmp_path)
    (tmp_path / "__init__.py").rename(tmp_path / "other.py")
    assert len({first, second, software.folder_revision(tmp_path)}) == 3
