"""Files left by strangers are taken over as plain files of ours, whatever they are."""

import os
import socket
import stat

import pytest

from brainscore_core.errors import IsolationError
from brainscore_core.scoring.isolation.handover import take_over


@pytest.fixture
def left(tmp_path):
    folder = tmp_path / "left"
    (folder / "a/b").mkdir(parents=True)
    (folder / "a/b/weights.bin").write_bytes(b"weights")
    return folder


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_files_are_copied_with_safe_modes_and_removed(left, tmp_path):
    (left / "empty").mkdir()
    program = left / "program"
    program.write_text("#!")
    program.chmod(0o6777)
    take_over(left, tmp_path / "ours")
    assert contents(tmp_path / "ours") == {"a/b/weights.bin": b"weights", "program": b"#!"}
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "ours").rglob("*")}
    assert modes == {"a": 0o700, "b": 0o700, "empty": 0o700, "weights.bin": 0o600, "program": 0o700}
    assert not left.exists()


def test_inner_links_become_files_and_others_are_dropped(left, tmp_path, caplog):
    (tmp_path / "secret").write_text("secret")
    for name, goal in {
        "snapshot": "a/b/weights.bin",
        "a/again": "../snapshot",
        "out": "../secret",
        "absolute": str(tmp_path / "secret"),
        "above": "a/../../secret",
        "folder": "a",
        "through": "folder/b/weights.bin",
        "to-out": "out",
        "one": "other",
        "other": "one",
        "gone": "nothing",
    }.items():
        (left / name).symlink_to(goal)
    take_over(left, tmp_path / "ours")
    same = dict.fromkeys(["a/b/weights.bin", "snapshot", "a/again"], b"weights")
    assert contents(tmp_path / "ours") == same
    assert not any(path.is_symlink() for path in (tmp_path / "ours").rglob("*"))
    assert "'above'" in caplog.text
    assert "'through'" in caplog.text
    assert (tmp_path / "secret").read_text() == "secret"


def test_link_in_place_of_the_folder_is_rejected(tmp_path):
    folder = tmp_path / "left"
    folder.symlink_to("/etc")
    with pytest.raises(OSError):
        take_over(folder, tmp_path / "ours")
    assert not (tmp_path / "ours").exists()


def test_special_files_are_dropped_without_blocking(left, tmp_path, caplog):
    os.mkfifo(left / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(left / "socket"))
        take_over(left, tmp_path / "ours")
    assert contents(tmp_path / "ours") == {"a/b/weights.bin": b"weights"}
    assert "'pipe', 'socket'" in caplog.text


@pytest.mark.parametrize("name", ["line\nbreak", "\x1b[31m", "\u202egpj", b"\xff".decode("utf-8", "surrogateescape")])
def test_rejects_names_with_control_characters(left, tmp_path, name):
    (left / name).write_text("")
    with pytest.raises(IsolationError, match="not plain text"):
        take_over(left, tmp_path / "ours")
    assert not (tmp_path / "ours").exists()


def test_rejects_too_many_too_large_or_too_deep_files(left, tmp_path):
    (left / "large").write_bytes(b"x" * 1000)
    with pytest.raises(IsolationError, match="too large"):
        take_over(left, tmp_path / "ours", most_bytes=1000)
    with pytest.raises(IsolationError, match="too many files"):
        take_over(left, tmp_path / "ours", most_files=3)
    deep = left
    for _ in range(70):
        deep = deep / "d"
    deep.mkdir(parents=True)
    with pytest.raises(IsolationError, match="nested"):
        take_over(left, tmp_path / "ours")
    assert not (tmp_path / "ours").exists()


def test_sparse_file_counts_its_full_size_and_stays_sparse(left, tmp_path):
    with (left / "sparse").open("wb") as stream:
        stream.write(b"start")
        stream.truncate(2**26)
    with pytest.raises(IsolationError, match="too large"):
        take_over(left, tmp_path / "ours", most_bytes=2**26)
    take_over(left, tmp_path / "ours")
    copy = (tmp_path / "ours" / "sparse").stat()
    assert (copy.st_size, copy.st_blocks * 512 < 2**24) == (2**26, True)


def test_file_replaced_during_the_copy_is_rejected(left, tmp_path, monkeypatch):
    plain, real = (left / "a/b/weights.bin").stat(), os.stat
    os.mkfifo(left / "pipe")
    (left / "link").symlink_to("/etc/passwd")
    monkeypatch.setattr(os, "stat", lambda path, **more: plain if path in ("pipe", "link") else real(path, **more))
    for name in ("link", "pipe"):  # each looked like a regular file a moment before
        with pytest.raises((IsolationError, OSError)):
            take_over(left, tmp_path / "ours")
        (left / name).unlink()
    take_over(left, tmp_path / "ours")
    assert contents(tmp_path / "ours") == {"a/b/weights.bin": b"weights"}
