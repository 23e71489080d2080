"""Test finding what changed, on real git repositories."""

import shutil
import subprocess

import pytest

from brainscore_ci.planning.changes import NO_COMMIT, FileChange, changes_between, changes_since, parse_raw_diff
from brainscore_core.errors import ConfigurationError


@pytest.fixture
def repository(tree):
    """Return a repository of three files, with user settings that must have no effect."""
    shutil.rmtree(tree.path)
    for name, text in {"kept.py": "kept\n" * 20, "old/name.py": "name\n" * 20, "gone.py": "gone\n"}.items():
        tree.write(name, text)
    tree.commit()
    tree.git("config", "diff.renames", "false")
    tree.git("config", "diff.noprefix", "true")
    return tree


def statuses(changeset):
    return [(change.status, change.paths) for change in changeset.changes]


def commit_file(repository, name, *switch):
    """Commit a file, on another branch if one is given; return the commit."""
    if switch:
        repository.git("switch", "-q", *switch)
    repository.write(name, f"{name}\n")
    return repository.commit()


def test_added_modified_deleted_and_renamed_files(repository):
    repository.git("switch", "-q", "-c", "feature")
    repository.write("kept.py", "changed\n")
    repository.write("added.py", "added\n")
    (repository.path / "gone.py").unlink()
    repository.git("mv", "old", "new")
    head = repository.commit()
    changeset = changes_between(repository.path, "main", "feature")
    assert statuses(changeset) == [
        ("added", ("added.py",)),
        ("deleted", ("gone.py",)),
        ("modified", ("kept.py",)),
        ("renamed", ("old/name.py", "new/name.py")),
    ]
    assert changeset.head == head
    assert changeset.base == repository.git("rev-parse", "main")


def test_later_merges_of_others_do_not_count(repository):
    commit_file(repository, "mine.py", "-c", "feature")
    commit_file(repository, "theirs.py", "main")
    assert statuses(changes_between(repository.path, "main", "feature")) == [("added", ("mine.py",))]


def test_first_push_of_the_default_branch_counts_everything(repository):
    head = repository.git("rev-parse", "HEAD")
    changeset = changes_between(repository.path, NO_COMMIT, head, default_branch="main")
    assert changeset.base is None
    assert {change.path for change in changeset.changes} == {"kept.py", "old/name.py", "gone.py"}
    assert {change.status for change in changeset.changes} == {"added"}


@pytest.mark.parametrize(("before", "note"), [(NO_COMMIT, ""), ("1234567890" * 4, "not in the history")])
def test_first_or_forced_push_uses_the_default_branch(repository, before, note):
    head = commit_file(repository, "mine.py", "-c", "feature")
    changeset = changes_between(repository.path, before, head, default_branch="main")
    assert statuses(changeset) == [("added", ("mine.py",))]
    assert note in changeset.note


def test_forced_push_uses_the_earlier_commit_if_present(repository):
    before = commit_file(repository, "dropped.py")
    repository.git("reset", "-q", "--hard", "HEAD~1")
    head = commit_file(repository, "instead.py")
    assert statuses(changes_between(repository.path, before, head)) == [("added", ("instead.py",))]


def test_more_than_300_files_and_odd_names(repository):
    odd = ["line\nbreak.py", "x$(touch pwned)/a.py", "tab\tname", "ä.py"]
    names = [f"many/{index:04d}.py" for index in range(350)] + odd
    for name in names:
        repository.write(name, name)
    repository.commit()
    changeset = changes_between(repository.path, "HEAD~1", "HEAD")
    assert [change.path for change in changeset.changes] == sorted(names)


def test_file_name_that_is_not_utf_8(repository):
    blob = repository.git("hash-object", "-w", "kept.py")
    entry = f"100644 {blob}\t".encode() + b"bad\xff.py\n"
    subprocess.run(["git", "-C", repository.path, "update-index", "--index-info"], input=entry, check=True)
    repository.git("commit", "-q", "-m", "odd")
    (change,) = changes_between(repository.path, "HEAD~1", "HEAD").changes
    assert change.path.encode("utf-8", "surrogateescape") == b"bad\xff.py"


def test_symbolic_links_and_type_changes(repository):
    (repository.path / "link").symlink_to("kept.py")
    (repository.path / "gone.py").unlink()
    (repository.path / "gone.py").symlink_to("kept.py")
    repository.commit()
    changes = changes_between(repository.path, "HEAD~1", "HEAD").changes
    assert changes == (
        FileChange(path="gone.py", status="type changed", special="symlink"),
        FileChange(path="link", status="added", special="symlink"),
    )


def test_working_tree_includes_untracked_files(repository):
    repository.write("kept.py", "changed\n")
    repository.write("folder/new file.py", "new\n")
    repository.write(".gitignore", "ignored\n")
    repository.write("ignored", "ignored\n")
    subfolder = repository.path / "folder"
    changeset = changes_since(subfolder, "main")
    assert statuses(changeset) == [
        ("added", (".gitignore",)),
        ("added", ("folder/new file.py",)),
        ("modified", ("kept.py",)),
    ]
    assert changeset.head is None


def test_unrelated_history_counts_everything(repository):
    commit_file(repository, "fresh.py", "--orphan", "other")
    changeset = changes_between(repository.path, "main", "other")
    assert changeset.base is None
    assert statuses(changeset) == [("added", ("fresh.py",))]


def test_shallow_history_error_names_the_fetch_depth(repository, tmp_path):
    commit_file(repository, "mine.py", "-c", "feature")
    commit_file(repository, "theirs.py", "main")
    clone = tmp_path / "clone"
    repository.git("clone", "-q", "--depth=1", "--no-single-branch", repository.path.as_uri(), clone)
    with pytest.raises(ConfigurationError, match="fetch-depth: 0"):
        changes_between(clone, "origin/main", "origin/feature")


@pytest.mark.parametrize("head", ["nobranch", "--output=pwned"])
def test_unknown_commit_or_branch_is_an_error(repository, tmp_path, head):
    with pytest.raises(ConfigurationError, match="is no commit or branch"):
        changes_between(repository.path, "main", head)
    assert not (repository.path / "pwned").exists()
    with pytest.raises(ConfigurationError, match="origin/main"):
        changes_since(repository.path, "nobranch")
    with pytest.raises(ConfigurationError):
        changes_between(tmp_path, "main", "HEAD")


@pytest.mark.parametrize("output", [b":100644 100644 a b M\0file", b"M\0file\0", b":1 2 a b Q\0file\0"])
def test_malformed_diff_output_is_an_error(output):
    with pytest.raises(ValueError, match=r"NUL|entry"):
        parse_raw_diff(output)
