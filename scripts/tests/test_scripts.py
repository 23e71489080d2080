"""Test the command lines in scripts/ as CI calls them."""

import json
import subprocess
import sys
from pathlib import Path

from brainscore_ci.__main__ import main

SCRIPTS = Path(__file__).parents[1]


def test_list_plugins_prints_registrations():
    command = [sys.executable, SCRIPTS / "list_plugins.py"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    listing = json.loads(done.stdout)
    assert listing["models"]["pixels"] == {"model_registry": ["pixels"]}
    assert "SimulatedCortex2026" in listing["data"]["simulatedcortex2026"]["stimulus_set_registry"]


def test_list_plugins_rejects_an_unknown_library(capsys):
    assert main(["list_plugins", "brainscore_visoin"]) == 2
    assert "brainscore_visoin" in capsys.readouterr().err


def test_scripts_stay_short():
    lengths = {path.name: len(path.read_text().splitlines()) for path in SCRIPTS.glob("*.py")}
    assert lengths
    assert max(lengths.values()) <= 60, lengths
