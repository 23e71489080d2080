"""Folders are checked for write access, and locks work between processes."""

import logging
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from brainscore_core import files
from brainscore_core.errors import ConfigurationError, LockTimeoutError
from brainscore_core.files import check_writable, locked


def test_rejects_a_read_only_folder():
    with tempfile.TemporaryDirectory() as name:  # pytest's own folders are closed to other users
        folder, is_root = Path(name), os.geteuid() == 0
        folder.chmod(0o555)
        os.seteuid(65534 if is_root else os.geteuid())  # root may write everywhere
        try:
            with pytest.raises(ConfigurationError, match=f"{name} is read-only. Choose another path"):
                check_writable(folder / "new/x.csv")
        finally:
            os.seteuid(os.getuid())
            folder.chmod(0o700)
        check_writable(folder / "new/x.csv")
        assert list(folder.iterdir()) == []


HOLDS = """
import sys, time
from brainscore_core.files import locked
with locked(sys.argv[1]):
    print("held", flush=True)
    time.sleep(float(sys.argv[2]))
"""


@pytest.fixture
def hold():
    """Return a function that lets another process hold a lock for some seconds."""
    processes = []

    def start(path, seconds):
        command = [sys.executable, "-c", HOLDS, str(path), str(seconds)]
        processes.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        assert processes[-1].stdout.readline() == "held\n"
        return processes[-1]

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def holder_of(process):
    """Return how messages describe a process: by its number if the system lists locks."""
    numbers = Path("/proc/locks").read_text().split() if sys.platform == "linux" else []
    return f"process {process.pid}" if str(process.pid) in numbers else "another process"


def test_warning_names_the_process_that_holds_a_lock(hold, tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(files, "_WARNING_AFTER_S", 0.1)
    process = hold(tmp_path / "thing", 1)
    holder = holder_of(process)
    with caplog.at_level(logging.WARNING), locked(tmp_path / "thing"):
        pass
    assert caplog.messages == [f"Waiting for {tmp_path}/thing.lock, which {holder} holds ..."]


@pytest.mark.parametrize(("argument", "setting"), [(0, "60"), (0.2, "60"), (0.6, "60"), (None, "0.5")])
def test_waiting_for_a_lock_times_out_and_names_the_holder(hold, tmp_path, monkeypatch, argument, setting):
    monkeypatch.setattr(files, "_WARNING_AFTER_S", 0.3)
    monkeypatch.setenv("BRAINSCORE_LOCK_S", setting)
    process = hold(tmp_path / "thing", 60)
    said = f"thing.lock was locked by {holder_of(process)} for {setting if argument is None else argument} s"
    with pytest.raises(LockTimeoutError, match=said), locked(tmp_path / "thing", timeout_s=argument):
        pass


def test_weight_and_data_locks_are_in_a_folder_hidden_from_boxes(tmp_path, monkeypatch):
    monkeypatch.setenv("BRAINSCORE_HOME", str(tmp_path))
    monkeypatch.setenv("BRAINIO_HOME", str(tmp_path / "data"))
    for home in ("weights", "data"):
        with locked(tmp_path / home / "ab/net.pth"):
            assert (tmp_path / home / "ab").is_dir()
            assert (tmp_path / home / ".locks/ab/.net.pth.lock").is_file()
    with locked(tmp_path / "other/file"):
        assert (tmp_path / "other/file.lock").is_file()


def test_weights_shared_over_a_link_share_their_locks(hold, tmp_path, monkeypatch):
    (tmp_path / "shared").mkdir()
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "weights").symlink_to(tmp_path / "shared")
    monkeypatch.setenv("BRAINSCORE_HOME", str(tmp_path / "one"))
    hold(tmp_path / "one/weights/net.pth", 60)
    monkeypatch.setenv("BRAINSCORE_HOME", str(tmp_path / "two"))
    with pytest.raises(LockTimeoutError), locked(tmp_path / "two/weights/net.pth", timeout_s=0):
        pass
