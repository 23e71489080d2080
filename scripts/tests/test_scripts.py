"""Test the command lines in scripts/ as CI calls them."""

import json
import subprocess
import sys
from pathlib import Path

SCRIPTS = Path(__file__).parents[1]


def run(name, *arguments):
    return subprocess.run(
        [sys.executable, SCRIPTS / name, *arguments], capture_output=True, text=True, check=False, timeout=60
    )


def test_list_plugins_tells_what_is_registered_where():
    done = run("list_plugins.py")
    assert done.returncode == 0, done.stderr
    listing = json.loads(done.stdout)
    assert listing["models"]["pixels"] == {"model_registry": ["pixels"]}
    assert "SimulatedCortex2026" in listing["data"]["simulatedcortex2026"]["stimulus_set_registry"]


def test_list_plugins_refuses_an_unknown_library():
    done = run("list_plugins.py", "brainscore_visoin")
    assert done.returncode == 2
    assert "brainscore_visoin" in done.stderr
    assert "Traceback" not in done.stderr


def test_scripts_stay_short():
    lengths = {path.name: len(path.read_text().splitlines()) for path in SCRIPTS.glob("*.py")}
    assert lengths
    assert max(lengths.values()) <= 60, lengths
