"""Archives are unpacked completely or not at all, and cannot write outside of their folder."""

import os
import stat
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brainscore_core.errors import CorruptFileError
from brainscore_core.transfer import unzip as unzip_module
from brainscore_core.transfer.unzip import check_extracted, unzip

FILES = {"a.png": b"first", "b.png": b"second" * 1000, "sub/c.png": b"third", "empty.png": b""}


def make_zip(path, members, compression=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in members.items() if isinstance(members, dict) else members:
            archive.writestr(name, content)
    return path


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in Path(folder).rglob("*") if path.is_file()}


def test_unzipping_again_writes_nothing(tmp_path):
    folder = unzip(make_zip(tmp_path / "stimulus_Made.2024.zip", FILES))
    assert folder == tmp_path / "stimulus_Made.2024"
    assert contents(folder) == FILES
    before = (folder / "a.png").stat()
    assert unzip(tmp_path / "stimulus_Made.2024.zip") == folder
    after = (folder / "a.png").stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_unzip_accepts_strings_folder_entries_and_empty_archives(tmp_path):
    path = make_zip(tmp_path / "set.zip", [("sub/", b""), ("sub/c.png", b"third")])
    assert contents(unzip(str(path))) == {"sub/c.png": b"third"}
    assert contents(unzip(make_zip(tmp_path / "empty.zip", {}))) == {}
    assert (tmp_path / "empty").is_dir()


def test_half_extracted_folder_is_completed(tmp_path):
    path = make_zip(tmp_path / "set.zip", FILES)
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "b.png").write_bytes(FILES["b.png"][:100])
    (tmp_path / "set" / "notes.txt").write_bytes(b"of the user")
    assert contents(unzip(path)) == {**FILES, "notes.txt": b"of the user"}


def test_killed_extraction_leaves_no_folder(tmp_path):
    path = make_zip(tmp_path / "set.zip", FILES)
    script = textwrap.dedent("""
        import os, shutil, sys
        from brainscore_core.transfer import unzip
        shutil.copyfileobj = lambda *_: os._exit(9)
        unzip.unzip(sys.argv[1])
    """)
    assert subprocess.run([sys.executable, "-c", script, str(path)], check=False).returncode == 9
    assert not (tmp_path / "set").exists()
    assert contents(unzip(path)) == FILES


def test_several_processes_can_unzip_the_same_archive(tmp_path):
    path = make_zip(tmp_path / "set.zip", {f"{number}.png": os.urandom(1000) for number in range(200)})
    script = "import sys; from brainscore_core.transfer.unzip import unzip; unzip(sys.argv[1])"
    processes = [subprocess.Popen([sys.executable, "-c", script, str(path)]) for _ in range(4)]
    assert [process.wait() for process in processes] == [0] * 4
    with zipfile.ZipFile(path) as archive:
        assert contents(tmp_path / "set") == {name: archive.read(name) for name in archive.namelist()}


def special_entry(name, mode):
    info = zipfile.ZipInfo(name)
    info.create_system = 3
    info.external_attr = mode << 16
    return info


HOSTILE = {
    "parent": ([("../evil.png", b"x")], "leaves its folder"),
    "parent inside": ([("a/../../evil.png", b"x")], "leaves its folder"),
    "absolute": ([("/tmp/evil.png", b"x")], "relative path"),  # noqa: S108 -- must not be written
    "drive": ([("C:/evil.png", b"x")], "relative path"),
    "backslash": ([("..\\evil.png", b"x")], "relative path"),
    "empty part": ([("a//b.png", b"x")], "not a plain path"),
    "dot": ([("./a.png", b"x")], "not a plain path"),
    "link": ([(special_entry("a.png", stat.S_IFLNK | 0o777), b"/etc/passwd")], "link or a device"),
    "device": ([(special_entry("a.png", stat.S_IFCHR | 0o666), b"")], "link or a device"),
    "pipe": ([(special_entry("a.png", stat.S_IFIFO | 0o666), b"")], "link or a device"),
    "file and folder": ([("a", b"x"), ("a/b.png", b"x")], "a file and a folder"),
}


@pytest.mark.parametrize(("members", "problem"), HOSTILE.values(), ids=HOSTILE)
def test_rejects_hostile_archives(tmp_path, members, problem):
    (tmp_path / "in").mkdir()
    path = make_zip(tmp_path / "in" / "set.zip", [("ok.png", b"y"), *members])
    with pytest.raises(CorruptFileError, match=problem):
        unzip(path)
    assert [entry.name for entry in (tmp_path / "in").iterdir()] == ["set.zip"]
    assert [entry.name for entry in tmp_path.iterdir()] == ["in"]


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_rejects_repeated_names_and_lists_up_to_ten_problems(tmp_path):
    path = make_zip(tmp_path / "set.zip", [("a.png", b"first"), ("a.png", b"other")])
    with pytest.raises(CorruptFileError, match=r"'a\.png' occurs twice"):
        unzip(path)
    path = make_zip(tmp_path / "many.zip", [(f"../{number}", b"x") for number in range(13)])
    with pytest.raises(CorruptFileError, match=r"(?s)'\.\./0'.*'\.\./9'.*and 3 more"):
        unzip(path)


def test_rejects_other_compressions_and_encryption(tmp_path):
    with pytest.raises(CorruptFileError, match="deflate"):
        unzip(make_zip(tmp_path / "bz2.zip", FILES, zipfile.ZIP_BZIP2))
    path = make_zip(tmp_path / "set.zip", {"a.png": b"x"}, zipfile.ZIP_STORED)
    data = bytearray(path.read_bytes())
    data[6] |= 1  # flag in the header of the member
    data[data.index(b"PK\x01\x02") + 8] |= 1  # and in the directory
    path.write_bytes(data)
    with pytest.raises(CorruptFileError, match="encrypted"):
        unzip(path)


def test_rejects_archives_that_are_too_large(tmp_path, monkeypatch):
    path = make_zip(tmp_path / "set.zip", {"a.png": b"0" * 10_000_000})
    with pytest.raises(CorruptFileError, match="most_bytes"):
        unzip(path, most_bytes=9_999_999)
    monkeypatch.setattr(unzip_module, "_RATIO_FROM_BYTES", 1_000_000)
    with pytest.raises(CorruptFileError, match="most_ratio"):
        unzip(path)
    assert not (tmp_path / "set").exists()
    assert unzip(path, most_ratio=2000).is_dir()


def test_link_within_the_target_folder_is_not_followed(tmp_path):
    path = make_zip(tmp_path / "set.zip", FILES)
    (tmp_path / "outside").mkdir()
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "sub").symlink_to(tmp_path / "outside")
    with pytest.raises(CorruptFileError, match="outside"):
        unzip(path)
    assert list((tmp_path / "outside").iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x03\x04"], ids=["empty", "text", "header only"])
def test_rejects_files_that_are_not_archives(tmp_path, content):
    (tmp_path / "set.zip").write_bytes(content)
    with pytest.raises(CorruptFileError, match=r"set\.zip cannot be unpacked"):
        unzip(tmp_path / "set.zip")
    with pytest.raises(CorruptFileError, match="suffix"):
        unzip(make_zip(tmp_path / "set", FILES))


@pytest.mark.parametrize("kept", [0.0, 0.3, 0.9, 0.999])
def test_rejects_truncated_archives(tmp_path, kept):
    path = make_zip(tmp_path / "set.zip", {f"{n}.png": os.urandom(100) for n in range(50)})
    os.truncate(path, int(path.stat().st_size * kept))
    with pytest.raises(CorruptFileError, match=r"set\.zip cannot be unpacked"):
        unzip(path)
    assert not (tmp_path / "set").exists()


@settings(max_examples=150)
@given(
    changes=st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), min_size=1, max_size=4), cut=st.booleans()
)
def test_damaged_archives_give_one_error_and_no_folder(tmp_path_factory, changes, cut):
    folder = tmp_path_factory.mktemp("damaged")
    path = make_zip(folder / "set.zip", {"a.png": b"first" * 50, "sub/c.png": b"third"})
    damaged = bytearray(path.read_bytes())
    for position, byte in changes:
        damaged[position % len(damaged)] = byte
    path.write_bytes(damaged[: changes[0][0] % len(damaged)] if cut else damaged)
    try:
        unzip(path)
    except CorruptFileError:
        assert not (folder / "set").exists()
    assert {entry.name for entry in folder.iterdir()} <= {"set.zip", "set", "set.lock"}


def test_names_that_differ_only_in_case_need_a_suitable_disk(tmp_path, monkeypatch):
    path = make_zip(tmp_path / "set.zip", {"a.png": b"lower", "A.png": b"upper", "x/b.png": b"1", "X/c.png": b"2"})
    if not unzip_module._folds_case(tmp_path):
        assert contents(unzip(path)) == {"a.png": b"lower", "A.png": b"upper", "x/b.png": b"1", "X/c.png": b"2"}
    other = make_zip(tmp_path / "other.zip", {"a.png": b"lower", "A.png": b"upper", "x/b.png": b"1", "X/c.png": b"2"})
    monkeypatch.setattr(unzip_module, "_folds_case", lambda directory: True)
    with pytest.raises(
        CorruptFileError, match=r"(?s)'A\.png' and 'a\.png' are the same file.*'X' and 'x' are the same"
    ):
        unzip(other)
    assert not (tmp_path / "other").exists()


def test_rejects_a_false_size_in_the_directory(tmp_path):
    path = make_zip(tmp_path / "set.zip", {"a.png": b"0" * 10_000_000})
    data = bytearray(path.read_bytes())
    directory = data.index(b"PK\x01\x02")
    data[directory + 24 : directory + 28] = (100).to_bytes(4, "little")
    path.write_bytes(data)
    with pytest.raises(CorruptFileError):
        unzip(path)
    assert not (tmp_path / "set").exists()


def test_default_limits_reject_a_zip_bomb(tmp_path):
    """1.5 GiB of zeros in 1.5 MB: refused by its directory, before anything is written."""
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros", bytes(10_000_000))
    data = bytearray(path.read_bytes())
    directory = data.index(b"PK\x01\x02")
    data[directory + 24 : directory + 28] = (3 * 2**29).to_bytes(4, "little")
    path.write_bytes(data)
    with pytest.raises(CorruptFileError, match="most_ratio"):
        unzip(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["bomb.zip"]


@pytest.mark.slow
def test_archive_may_have_a_hundred_thousand_members(tmp_path):
    path = make_zip(tmp_path / "set.zip", {f"{n % 100}/{n}.png": b"" for n in range(100_000)}, zipfile.ZIP_STORED)
    folder = unzip(path)
    assert unzip(path) == folder
    assert sum(1 for _ in folder.rglob("*.png")) == 100_000


def test_leftover_of_a_killed_extraction_is_removed(tmp_path):
    path = make_zip(tmp_path / "set.zip", FILES)
    (tmp_path / ".set.unpacking" / "sub").mkdir(parents=True)
    (tmp_path / ".set.unpacking" / "old.png").write_bytes(b"half")
    assert contents(unzip(path)) == FILES
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["set", "set.lock", "set.zip"]


def test_check_extracted_lists_differences(tmp_path):
    path = make_zip(tmp_path / "set.zip", FILES)
    assert check_extracted(path) == []
    folder = unzip(path)
    assert check_extracted(path) == []
    (folder / "a.png").write_bytes(b"FIRST")  # of the same size
    (folder / "sub" / "c.png").unlink()
    assert check_extracted(path) == [f"{folder}/a.png differs from the archive", f"{folder}/sub/c.png is missing"]
