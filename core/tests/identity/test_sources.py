"""A plugin folder counts as reviewed only if it matches the main branch or the installed distribution."""

import subprocess

import pytest

from brainscore_core.identity.software import is_reviewed


def git(folder, *arguments):
    settings = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main")
    subprocess.run(["git", "-C", folder, *settings, *arguments], check=True, capture_output=True)


@pytest.fixture
def clone(tmp_path):
    """Return a plugin folder in a clone of its repository."""
    there, here = tmp_path / "there", tmp_path / "here"
    (there / "models" / "one").mkdir(parents=True)
    (there / "models" / "one" / "__init__.py").write_text("x = 1\n")
    (there / ".gitignore").write_text("*.secret.py\n__pycache__/\n")
    for arguments in (("init",), ("add", "."), ("commit", "-m", "one")):
        git(there, *arguments)
    git(tmp_path, "clone", str(there), str(here))
    return here / "models" / "one"


def test_folder_equal_to_main_is_reviewed(clone):
    assert is_reviewed(clone, "no-such-distribution")
    (clone / "__pycache__").mkdir()
    (clone / "__pycache__" / "x.pyc").write_bytes(b"")
    assert is_reviewed(clone, "no-such-distribution")


@pytest.mark.parametrize("name", ["__init__.py", "new.py", "ignored.secret.py"])
@pytest.mark.parametrize("committed", [False, True])
def test_folder_that_differs_from_main_is_not_reviewed(clone, name, committed):
    (clone / name).write_text("x = 2\n")
    if committed:
        git(clone, "add", "-f", ".")
        git(clone, "commit", "-m", "two")
    assert not is_reviewed(clone, "no-such-distribution")


def test_folder_absent_from_main_is_not_reviewed(clone, tmp_path):
    new = clone.with_name("two")
    new.mkdir()
    assert not is_reviewed(new, "no-such-distribution")
    (new / "__init__.py").write_text("x = 1\n")
    assert not is_reviewed(new, "no-such-distribution")
    assert not is_reviewed(tmp_path / "there" / "models" / "one", "no-such-distribution")  # it has no origin


def test_installed_folder_is_reviewed_until_a_file_is_added(tmp_path, monkeypatch):
    folder, info = tmp_path / "own" / "models" / "one", tmp_path / "own-1.dist-info"
    folder.mkdir(parents=True)
    info.mkdir()
    (folder / "__init__.py").touch()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: own\nVersion: 1\n")
    (info / "RECORD").write_text("own/models/one/__init__.py,,\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert is_reviewed(folder, "own")
    (folder / "dropped.py").touch()
    assert not is_reviewed(folder, "own")
