"""What strangers leave is taken over as plain files of ours, whatever they left."""

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


def taken(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_files_arrive_as_they_were_and_what_was_left_is_gone(left, tmp_path):
    (left / "empty").mkdir()
    program = left / "program"
    program.write_text("#!")
    program.chmod(0o6777)
    take_over(left, tmp_path / "ours")
    assert taken(tmp_path / "ours") == {"a/b/weights.bin": b"weights", "program": b"#!"}
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "ours").rglob("*")}
    assert modes == {"a": 0o700, "b": 0o700, "empty": 0o700, "weights.bin": 0o600, "program": 0o700}
    assert not left.exists()


def test_links_within_become_their_files_and_others_do_not_arrive(left, tmp_path, caplog):
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
    assert taken(tmp_path / "ours") == same
    assert not any(path.is_symlink() for path in (tmp_path / "ours").rglob("*"))
    assert "'above'" in caplog.text
    assert "'through'" in caplog.text
    assert (tmp_path / "secret").read_text() == "secret"


def test_a_link_to_everything_leads_nowhere(tmp_path):
    folder = tmp_path / "left"
    folder.symlink_to("/etc")
    with pytest.raises(OSError):
        take_over(folder, tmp_path / "ours")
    assert not (tmp_path / "ours").exists()


def test_special_files_do_not_arrive_and_hold_nothing_up(left, tmp_path, caplog):
    os.mkfifo(left / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(left / "socket"))
        take_over(left, tmp_path / "ours")
    assert taken(tmp_path / "ours") == {"a/b/weights.bin": b"weights"}
    assert "'pipe', 'socket'" in caplog.text


@pytest.mark.parametrize("name", ["line\nbreak", "\x1b[31m", "\u202egpj", b"\xff".decode("utf-8", "surrogateescape")])
def test_names_are_plain_texts(left, tmp_path, name):
    (left / name).write_text("")
    with pytest.raises(IsolationError, match="no plain text"):
        take_over(left, tmp_path / "ours")
    assert not (tmp_path / "ours").exists()


def test_there_is_an_end_of_size_number_and_depth(left, tmp_path):
    (left / "large").write_bytes(b"x" * 1000)
    with pytest.raises(IsolationError, match="larger"):
        take_over(left, tmp_path / "ours", most_bytes=1000)
    with pytest.raises(IsolationError, match="more files"):
        take_over(left, tmp_path / "ours", most_files=3)
    deep = left
    for _ in range(70):
        deep = deep / "d"
    deep.mkdir(parents=True)
    with pytest.raises(IsolationError, match="nested"):
        take_over(left, tmp_path / "ours")
    assert not (tmp_path / "ours").exists()


def test_a_sparse_file_counts_as_large_as_it_reads_and_stays_sparse(left, tmp_path):
    with (left / "sparse").open("wb") as stream:
        stream.write(b"start")
        stream.truncate(2**26)
    with pytest.raises(IsolationError, match="larger"):
        take_over(left, tmp_path / "ours", most_bytes=2**26)
    take_over(left, tmp_path / "ours")
    copy = (tmp_path / "ours" / "sparse").stat()
    assert (copy.st_size, copy.st_blocks * 512 < 2**24) == (2**26, True)


def test_what_is_replaced_while_it_is_copied_does_not_arrive(left, tmp_path, monkeypatch):
    plain, real = (left / "a/b/weights.bin").stat(), os.stat
    os.mkfifo(left / "pipe")
    (left / "link").symlink_to("/etc/passwd")
    monkeypatch.setattr(os, "stat", lambda path, **more: plain if path in ("pipe", "link") else real(path, **more))
    for name in ("link", "pipe"):  # regular files a moment ago
        with pytest.raises((IsolationError, OSError)):
            take_over(left, tmp_path / "ours")
        (left / name).unlink()
    take_over(left, tmp_path / "ours")
    assert taken(tmp_path / "ours") == {"a/b/weights.bin": b"weights"}
