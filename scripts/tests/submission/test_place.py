import os

import pytest

from brainscore_ci.planning.areas import PluginName
from brainscore_ci.submission import place
from brainscore_ci.submission.archive import Archive
from brainscore_ci.submission.place import compare, extract
from brainscore_core.errors import ConfigurationError

FOLDER = "vision/brainscore_vision/benchmarks"


@pytest.fixture
def repository(tmp_path):
    (tmp_path / "repository" / FOLDER).mkdir(parents=True)
    return tmp_path / "repository"


def archive(name="mine", **files):
    contents = {key.replace("__", "."): text.encode() for key, text in files.items()}
    return Archive(
        library="vision/brainscore_vision",
        plugin=PluginName("benchmarks", name),
        files={"__init__.py": b"", **contents},
    )


def files_below(folder):
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_writes_a_new_plugin(repository):
    target = extract(archive(test__py="x = 1\n"), repository)
    assert target == repository / FOLDER / "mine"
    assert files_below(repository) == {f"{FOLDER}/mine/__init__.py": "", f"{FOLDER}/mine/test.py": "x = 1\n"}
    assert compare(archive(test__py="x = 1\n"), repository, update=True).changes_nothing


def test_update_lists_changes_and_replaces_the_folder(repository):
    extract(archive(a__py="1", b__py="1", c__py="1"), repository)
    new = archive(a__py="1", b__py="2", d__py="1")
    found = compare(new, repository, update=True)
    assert (found.exists, found.added, found.changed, found.removed) == (True, ("d.py",), ("b.py",), ("c.py",))
    assert not found.problems
    extract(new, repository, update=True)
    assert files_below(repository / FOLDER / "mine") == {"__init__.py": "", "a.py": "1", "b.py": "2", "d.py": "1"}
    assert [path.name for path in (repository / FOLDER).iterdir()] == ["mine"]


@pytest.mark.parametrize(
    ("there", "name", "update", "problem"),
    [
        ("mine", "mine", False, "has a plugin of this name already"),
        ("other", "mine", True, "has no plugin of this name"),
        ("Mine", "mine", False, "differs only in capital letters"),
        ("Mine", "mine", True, "differs only in capital letters"),
    ],
)
def test_update_must_be_stated_and_match(repository, there, name, update, problem):
    extract(archive(there, a__py="1"), repository)
    before = files_below(repository)
    assert problem in str(compare(archive(name), repository, update=update).problems[0])
    with pytest.raises(ConfigurationError, match=problem):
        extract(archive(name), repository, update=update)
    assert files_below(repository) == before


def test_absent_library_folder_is_an_error(tmp_path):
    with pytest.raises(ConfigurationError, match="has no folder vision/brainscore_vision/benchmarks"):
        extract(archive(), tmp_path)


@pytest.mark.skipif(os.name == "nt", reason="making links needs rights there")
@pytest.mark.parametrize("link", ["vision", FOLDER, f"{FOLDER}/mine"])
def test_links_are_not_followed(repository, tmp_path, link):
    elsewhere = tmp_path / "elsewhere"
    if (repository / link).exists():
        (repository / link).rename(tmp_path / "moved")
    (elsewhere / "brainscore_vision/benchmarks").mkdir(parents=True)
    (repository / link).symlink_to(elsewhere, target_is_directory=True)
    with pytest.raises(ConfigurationError, match="is a link"):
        extract(archive(), repository, update=True)
    assert files_below(elsewhere) == {}


@pytest.mark.parametrize("name", ["../evil.py", "a/../../evil.py", "/evil.py", "a\\b.py", "a//b.py"])
def test_unsafe_name_is_refused_and_leaves_no_files(repository, name):
    extract(archive(a__py="1"), repository)
    before = files_below(repository)
    bad = Archive(
        library="vision/brainscore_vision", plugin=PluginName("benchmarks", "mine"), files={"b.py": b"", name: b""}
    )
    with pytest.raises(ConfigurationError, match="would leave the folder"):
        extract(bad, repository, update=True)
    assert files_below(repository) == before


def test_full_disk_keeps_the_old_plugin(repository, monkeypatch):
    extract(archive(a__py="1"), repository)
    before = files_below(repository)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(place, "_write", full)
    with pytest.raises(OSError, match="No space"):
        extract(archive(a__py="2"), repository, update=True)
    assert files_below(repository) == before
