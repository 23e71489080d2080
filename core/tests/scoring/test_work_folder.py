"""A work folder is removed even after its owner was killed, but never while its owner is alive."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from brainscore_core.scoring.judging import work_folder

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="these locks do not exist on Windows")
OWNER = """
import sys
from brainscore_core.scoring.judging import work_folder

with work_folder("work-") as folder:
    (folder / "deep").mkdir()
    (folder / "deep" / "file").write_text("x")
    print(folder, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture
def start_owner(temporary):
    """Return a function that starts a process that owns a work folder, and returns both."""
    owners = []

    def start():
        environment = {**os.environ, "TMPDIR": str(temporary)}
        owner = subprocess.Popen(
            [sys.executable, "-c", OWNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        owners.append(owner)
        return owner, Path(owner.stdout.readline().strip())

    yield start
    for owner in owners:
        owner.kill()
        owner.communicate()


def test_folder_is_removed_after_the_block(temporary):
    with work_folder("work-") as folder:
        (folder / "file").write_text("x")
        assert folder.parent == temporary
        assert folder.stat().st_mode & 0o777 == 0o700
    with pytest.raises(KeyError), work_folder("work-"):
        raise KeyError
    assert list(temporary.iterdir()) == []


def test_only_folders_of_ended_owners_are_removed(temporary, start_owner):
    killed, left = start_owner()
    living, owned = start_owner()
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait()
    with work_folder("work-") as mine, work_folder("work-") as also_mine:
        assert not left.exists()
        assert (owned / "deep" / "file").read_text() == "x"
        assert mine.is_dir()
        assert also_mine.is_dir()
    living.communicate("")
    assert list(temporary.iterdir()) == []


def test_files_of_others_are_untouched(temporary):
    (temporary / "outside").mkdir()
    (temporary / "outside" / "file").write_text("x")
    (temporary / "work-link").symlink_to(temporary / "outside")
    (temporary / "work-link.lock").symlink_to(temporary / "outside" / "file")
    os.mkfifo(temporary / "work-pipe.lock")
    (temporary / "work-unlocked").mkdir()
    (temporary / "other-work.lock").touch()
    before = sorted(temporary.rglob("*"))
    with work_folder("work-"):
        pass
    assert sorted(temporary.rglob("*")) == before
    assert (temporary / "outside" / "file").read_text() == "x"


def test_link_in_place_of_a_folder_is_not_followed(temporary):
    (temporary / "outside").mkdir()
    (temporary / "outside" / "file").write_text("x")
    (temporary / "work-link").symlink_to(temporary / "outside")
    (temporary / "work-link.lock").touch()
    with work_folder("work-"):
        pass
    assert (temporary / "outside" / "file").read_text() == "x"
