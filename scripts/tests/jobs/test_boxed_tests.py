"""A plugin's tests find the shared data and can change only their own copy."""

import hashlib
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from brainscore_ci.jobs.run_tests import box_of_tests
from brainscore_core.identity.digest import recall, remember
from brainscore_core.scoring.isolation.box import run_boxed, why_no_box
from brainscore_core.transfer.http import fetch_url

POISON = """
import json, os, pathlib, sys
from brainscore_core.identity.digest import remember
from brainscore_core.transfer.http import fetch_url
shared, sha256 = pathlib.Path(sys.argv[1]), sys.argv[2]
own = pathlib.Path(os.environ["BRAINIO_HOME"], "file.bin")
print(own.read_bytes(), *(place for home in (shared.parent, own.parent) for place in home.glob(".locks/*")))
for file in (shared, own):
    for change in (lambda: file.write_bytes(b"poison"), lambda: (file.unlink(), file.write_bytes(b"poison"))):
        try:
            change()
        except OSError as error:
            print(type(error).__name__)
    remember(file, {"sha256": sha256})
print(own.read_bytes(), fetch_url("https://example.org/file.bin", own, sha256=sha256).read_bytes())
"""


@pytest.mark.skipif(bool(why_no_box()), reason=f"other: {why_no_box()}")
def test_data_changed_by_one_test_is_unseen_by_others(tmp_path, monkeypatch):
    monkeypatch.setenv("BRAINSCORE_OFFLINE", "1")
    plugin = SimpleNamespace(directory=tmp_path / "models/one", root=SimpleNamespace(path=tmp_path / "models"))
    plugin.directory.mkdir(parents=True)
    (tmp_path / "data/.locks").mkdir(parents=True)
    (tmp_path / "data/.locks/file.bin.lock").touch()
    file, sha256 = tmp_path / "data/file.bin", hashlib.sha256(b"right").hexdigest()
    file.write_bytes(b"right")
    remember(file, {"sha256": sha256})
    paths = {"repository": tmp_path / "models", "python": Path(sys.executable), "own": tmp_path / "own"}
    said = []
    for name in ("one", "two"):
        box = box_of_tests(
            plugin, **{**paths, "own": tmp_path / name}, data=tmp_path / "data", environment={}, network=False
        )
        said.append(run_boxed([sys.executable, "-c", POISON, file, sha256], box, timeout_s=100).output)
    assert said[0] == said[1]  # the second run does not see the poison of the first
    assert said[0].splitlines()[0] == "b'right'"
    assert "b'poison' b'poison'" in said[0]  # it sees its own change
    assert fetch_url("https://example.org/file.bin", file, sha256=sha256).read_bytes() == b"right"
    assert recall(file)["sha256"] == sha256
