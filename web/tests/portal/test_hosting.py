"""Test that the commands in the hosting page, the systemd unit and the container exist, with their options."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from brainscore_web import commands
from brainscore_web.__main__ import main

ROOT = Path(__file__).parents[3]
FILES = ("docs/how-to/host_the_portal.md", "web/portal.service", "web/Containerfile")


@pytest.mark.parametrize("file", FILES)
def test_documented_commands_and_options_exist(file, capsys):
    text = (ROOT / file).read_text(encoding="utf-8")
    found = re.findall(r"brainscore portal ([a-z-]+)([^`\n&|\"]*)", text)
    assert len(found) >= 2
    for name, options in found:
        assert main(["portal", name, "--help"]) == 0, name
        offered = capsys.readouterr().out
        assert [each for each in re.findall("--[a-z-]+", options) if each.removeprefix("--no-") not in offered] == []


def test_absent_libraries_error_names_the_nox_session(monkeypatch, capsys):
    monkeypatch.setattr(commands, "find_spec", lambda _: None)
    assert main(["portal", "serve", "--demo"]) != 0
    said = capsys.readouterr().err
    assert "In a clone, start it with: nox -s portal." in said
    assert "\ndef portal(session" in (ROOT / "noxfile.py").read_text(encoding="utf-8")


def test_systemd_unit_is_valid(tmp_path):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("other: no systemd-analyze here")
    text = (ROOT / "web/portal.service").read_text(encoding="utf-8")
    file = tmp_path / "brainscore-portal.service"
    file.write_text(text.replace("/opt/brainscore/bin/brainscore", sys.executable))
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", file], capture_output=True, text=True, check=False)
    assert [line for line in done.stderr.splitlines() if "brainscore-portal" in line] == []
    file.write_text(text + "\n[Service]\nRestrat=always\n")
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", file], capture_output=True, text=True, check=False)
    assert "Restrat" in done.stderr


def test_container_installs_existing_requirements():
    text = (ROOT / "web/Containerfile").read_text(encoding="utf-8")
    assert "[portal]" in text
    assert "\nportal = [" in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert (ROOT / re.search(r"-c (\S+)", text)[1]).is_file()
