"""What a hostile model leaves in the phase with the network, through the real preparation and a real box."""

import stat

import pytest

from brainscore_core.scoring.isolation.box import why_no_box
from brainscore_vision.isolation.prepared import prepare
from brainscore_vision.isolation.starting import started

pytestmark = pytest.mark.skipif(bool(why_no_box()), reason=str(why_no_box()))

# It runs when the plugin is imported: with a home that it may write only in the phase with the network.
LEAVES = """
import pathlib as _pathlib
def _leave():
    home = _pathlib.Path.home()
    if os.environ.get("BRAINSCORE_OFFLINE") == "1":
        return
    (home / "brain-score").mkdir(exist_ok=True)
    (home / "weights.bin").write_bytes(b"weights")
    (home / "brain-score" / "weights").symlink_to(TARGET)
    (home / ".cache").symlink_to(TARGET)
    (home / "again").symlink_to("weights.bin")
    (home / "away").symlink_to(TARGET + "/secret")
    os.mkfifo(home / "pipe")
    server = socket.socket(socket.AF_UNIX)
    os.chdir(home)  # the whole path may be too long for a socket
    server.bind("socket")
    (home / "program").write_text("#!/bin/sh")
    (home / "program").chmod(0o6755)
    with (home / "sparse").open("wb") as stream:
        stream.truncate(2**33)
_leave()
"""


@pytest.mark.slow
def test_of_what_a_model_left_plain_files_arrive_and_the_rest_is_written_down(
    tree, surroundings, tmp_path, monkeypatch, caplog
):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text("secret")
    plugin = tree / "models" / "hostile" / "__init__.py"
    source = plugin.read_text()
    with surroundings(tree, tmp_path / "home"):
        try:
            plugin.write_text(source + LEAVES.replace("TARGET", repr(str(tmp_path / "outside"))))
            monkeypatch.setenv("BRAINSCORE_OFFLINE", "0")
            prepared = prepare("hostile")
            with started("hostile", answer_s=120) as model:  # of the phase without the network
                model.load()
                assert model.visual_degrees() == 8
        finally:
            plugin.write_text(source)
    files = {path.relative_to(prepared.home).as_posix(): path.lstat() for path in prepared.home.rglob("*")}
    assert all(stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode) for status in files.values())
    modes = {name: stat.S_IMODE(status.st_mode) for name, status in files.items() if not name.startswith("brain-score")}
    assert modes == {"weights.bin": 0o600, "again": 0o600, "program": 0o700, "sparse": 0o600}
    assert files["sparse"].st_blocks * 512 < 2**20
    refused = prepared.home.with_name(f"{prepared.home.name}.fetched").read_text().splitlines()
    names = (".cache", "away", "brain-score/weights", "pipe", "socket")
    assert refused == [f"not taken over: {name!r}" for name in names]
    assert "'pipe', 'socket'" in caplog.text
    assert not (prepared.home.parent / f"{prepared.home.name}.fetching").exists()
